r"""Likelihood of hidden labels, whatever the scale of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from tacit.hints._classes import plain

__all__ = ["Logits", "calibrated_likelihood", "each_likelihood", "hidden_logits"]

FloatArray = npt.NDArray[np.float64]
# Logarithms of probabilities (M, C), and the columns of the right classes (M,).
Logits: TypeAlias = tuple[FloatArray, npt.NDArray[np.intp]]
# The logarithm of the temperature is believed to be within this of 0, as a standard deviation:
# few labels hardly move it, many do.
SPREAD = 0.3
WIDEST = 10 * SPREAD  # where it is looked for
# Smallest probability that is told from none.
LEAST = 1e-300


def hidden_logits(estimator: Any, X: Any, y: Any) -> Logits:
    """Logarithms of the probabilities of hidden labels; needs `predict_proba`."""
    column = {plain(name): c for c, name in enumerate(estimator.classes_)}
    P = np.asarray(estimator.predict_proba(X), np.float64)
    return np.log(np.maximum(P, LEAST)), np.array([column[plain(name)] for name in y], np.intp)


def calibrated_likelihood(folds: Sequence[Logits | float]) -> FloatArray:
    r"""Mean log-likelihood of the hidden labels in each fold at one common temperature.

    .. math:: \frac{1}{n} \sum_i \log q_i(s), \qquad
        q_i(s) = \frac{p_{i, y_i}^s}{\sum_c p_{i c}^s}, \qquad
        s = \arg\max_s \sum_i \log q_i(s) - \frac{(\log s)^2}{2 \cdot 0.3^2}

    for all n hidden labels together. Learning from unlabelled rows makes classifiers surer than
    they ought to be, the more so the heavier the loss. With few labels that is held against them;
    with many the temperature 1 / s takes it out, and what counts is whether doubtful rows are the
    ones that go wrong.

    Parameters
    ----------
    folds : sequence of (log P, columns)
        Of each fold, as `hidden_logits` gives them; NaN for one that could not be fitted.

    Returns
    -------
    array of shape (folds,)
    """
    found = [fold for fold in folds if not isinstance(fold, float)]
    if len(found) < len(folds):
        return np.full(len(folds), np.nan)
    cuts = np.cumsum([len(right) for _, right in found])[:-1]
    return np.array([part.mean() for part in np.split(each_likelihood(found), cuts)])


def each_likelihood(folds: Sequence[Logits]) -> FloatArray:
    """Log-likelihood of every hidden label, fold after fold; see `calibrated_likelihood`."""
    L = np.concatenate([logits for logits, _ in folds])
    columns = np.concatenate([right for _, right in folds])

    def each(t: float) -> FloatArray:
        scaled = np.exp(t) * L
        return scaled[np.arange(len(L)), columns] - np.asarray(logsumexp(scaled, axis=1))

    best = minimize_scalar(
        lambda t: t**2 / (2.0 * SPREAD**2) - float(each(t).sum()),
        bounds=(-WIDEST, WIDEST),
        method="bounded",
    )
    return each(float(best.x))
