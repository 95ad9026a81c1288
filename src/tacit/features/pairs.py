"""Features of pairs of rows, for models of what a pair is: joined or apart, before or behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.backends import is_torch, to_numpy

__all__ = ["PAIR_KINDS", "pair_features"]

PAIR_KINDS = ("absdiff", "sqdiff", "product", "difference")
# Rows of the result made at a time: the two halves of a pair are copies.
BLOCK = 8192


def pair_features(
    X: Any, pairs: Any, kind: str = "absdiff"
) -> npt.NDArray[np.float64] | npt.NDArray[np.float32]:
    r"""One row per pair (a, b), made of the rows of its two items.

    .. math:: |x_a - x_b|, \quad (x_a - x_b)^2, \quad x_a x_b \quad\text{or}\quad x_a - x_b,

    feature by feature. The first three are the same for (b, a); the last one changes its sign, so
    that a linear model without intercept has scores that do, too: what a ranker needs.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows of the items; not sparse, since a difference seldom is.
    pairs : array of int of shape (M, 2)
        Items of each pair.
    kind : {"absdiff", "sqdiff", "product", "difference"}
        Which of the four.

    Returns
    -------
    array of shape (M, d)
        In the precision of X where that is a floating-point one.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.features import pair_features
    >>> pair_features(np.array([[0.0, 1.0], [2.0, 0.5]]), [(0, 1)], "difference")
    array([[-2. ,  0.5]])
    """
    if kind not in PAIR_KINDS:
        raise ValueError(f"kind={kind!r}; expected one of {', '.join(map(repr, PAIR_KINDS))}.")
    if sp.issparse(X):
        raise TypeError("pair_features takes dense rows; use X.toarray(), or reduce them first.")
    X = np.asarray(to_numpy(X) if is_torch(X) else X)
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}; expected rows, shape (n, d).")
    if not np.issubdtype(X.dtype, np.floating):
        X = X.astype(np.float64)
    ends = np.asarray(pairs)
    if ends.size == 0:
        ends = np.empty((0, 2), np.intp)
    if ends.ndim != 2 or ends.shape[1] != 2 or not np.issubdtype(ends.dtype, np.integer):
        raise ValueError(
            f"pairs must be whole numbers of shape (M, 2), got {ends.dtype} of shape {ends.shape}."
        )
    if ends.size and not (ends.min() >= 0 and ends.max() < len(X)):
        wrong = ends.min() if ends.min() < 0 else ends.max()
        raise ValueError(f"pairs name item {wrong}, but X has {len(X)} rows.")
    rows = np.empty((len(ends), X.shape[1]), X.dtype)
    for start in range(0, len(ends), BLOCK):
        part = slice(start, start + BLOCK)
        rows[part] = _combine(X[ends[part, 0]], X[ends[part, 1]], kind)
    return rows


def _combine(first: Any, second: Any, kind: str) -> Any:
    if kind == "product":
        return first * second
    difference = first - second
    if kind == "absdiff":
        return np.abs(difference)
    return difference * difference if kind == "sqdiff" else difference
