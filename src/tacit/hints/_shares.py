"""Class shares estimated from the rows whose labels are known."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from tacit.hints._classes import ClassCodes, plain, sort_names
from tacit.hints._partial import read_labels

__all__ = ["estimate_shares"]

FloatArray = npt.NDArray[np.float64]
# Rows of each class that the prior adds: shares near one half are likelier than near 0 or 1.
PRIOR = 2.0
ROUNDING = 1e-9  # of a product of a share and a number of rows


def estimate_shares(
    y: Any, level: float, classes: Any, unlabeled: Any
) -> tuple[dict[Any, float], dict[Any, float]]:
    """Lower and upper share of each class; see `Share.from_labels`."""
    if not (isinstance(level, int | float | np.number) and 0.0 < level < 1.0):
        raise ValueError(f"Share.from_labels: level={level!r}; expected a number between 0 and 1.")
    known = read_labels(y, classes, None, unlabeled)
    if not len(known.rows):
        raise ValueError(
            "Share.from_labels: no entry of y is a label, so shares cannot be estimated; "
            "give Share(lower, upper) yourself."
        )
    names = [plain(v) for v in known.names.tolist()]
    codes = ClassCodes(sort_names(names) if classes is None else list(classes))
    found = Counter(codes.code(name, "Share.from_labels: y") for name in names)
    counts = np.array([found[c] for c in range(len(codes))], np.float64)
    if len(codes) < 2:
        raise ValueError(
            f"Share.from_labels: y names only one class, {codes[0]!r}; give classes=[...] with "
            "all of them."
        )
    lower, upper = _interval(counts, float(level))
    if not _possible(lower, upper, counts, known.n):
        # Few rows are open: whole rows of them, beside the labelled ones as they are.
        left = known.n - len(names)
        lower = (counts + np.floor(left * lower)) / known.n
        upper = (counts + np.ceil(left * upper)) / known.n
    return _by_name(codes, lower), _by_name(codes, upper)


def _interval(counts: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Central interval of each share, and at least its mean, so that all means hold together."""
    a = counts + PRIOR
    b = a.sum() - a
    tail = (1.0 - level) / 2.0
    lower, upper = betaincinv(a, b, tail), betaincinv(a, b, 1.0 - tail)
    mean = a / a.sum()
    return np.minimum(lower, mean), np.maximum(upper, mean)


def _possible(lower: FloatArray, upper: FloatArray, counts: FloatArray, n: int) -> bool:
    """Whether whole rows, among them the labelled ones, can be within all bounds."""
    least = np.maximum(np.ceil(lower * n - ROUNDING), counts)
    most = np.minimum(np.floor(upper * n + ROUNDING), counts + n - counts.sum())
    return bool((least <= most).all() and least.sum() <= n <= most.sum())


def _by_name(codes: ClassCodes, values: FloatArray) -> dict[Any, float]:
    return dict(zip(codes.names, values.tolist(), strict=True))
