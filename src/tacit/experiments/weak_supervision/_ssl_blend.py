r"""Average what was fitted while labels were hidden, in place of one setting chosen by few labels.

With ten labels several settings are about equally likely, and each fit depends on which labels it
saw. So one likelihood of hidden labels decides no more than how to learn, with the unlabelled rows
or without; the answer is that of all settings and folds together,

.. math:: \bar P = \sum_k w_k \frac{1}{F + 1} \sum_{f=0}^F P_{k f}, \qquad
    w_k \propto e^{t L_k},

with :math:`P_{k f}` the probabilities by setting k without the labels of fold f (f = 0: with all
labels; supervised settings have that term alone), and :math:`L_k` the log-likelihood of all hidden
labels. With many labels the weights single out the best setting by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import clone

from tacit import HintClassifier, oracles
from tacit.hints import Labels, Share
from tacit.model_selection import HintFolds, calibrated_likelihood
from tacit.model_selection.folds import HintsOf

__all__ = ["Candidate", "average", "cheapest", "try_settings"]

FloatArray = npt.NDArray[np.float64]
# Smallest probability that is told from none.
LEAST = 1e-300


@dataclass(frozen=True)
class Candidate:
    """One setting, fitted without the labels of each fold, and with all.

    Attributes
    ----------
    estimator : HintClassifier
        The setting, not fitted.
    width : str
        Width of the kernel it was given.
    likelihood : float
        Log-likelihood of all hidden labels together.
    P : (N, C) array
        Probabilities: the mean of all fits where learning has many local minima, those of the fit
        to all labels where it has one.
    """

    estimator: HintClassifier
    width: str
    likelihood: float
    P: FloatArray


def try_settings(
    settings: list[tuple[str, HintClassifier]],
    inputs: dict[str, FloatArray],
    folds: HintFolds,
    cv: int,
) -> Iterator[Candidate]:
    """Fit all settings, with the same folds for all widths: differences count, not levels."""
    first = next(iter(inputs.values()))
    square = settings[0][1].kernel == "precomputed"
    known = [folds.known(), *map(folds.known, folds.split(cv, first, square=square))]
    for width, estimator in settings:
        fits = [_probabilities(estimator, inputs[width], part) for part in known]
        parts = [_hidden(P, part, folds) for P, part in zip(fits[1:], known[1:], strict=True)]
        counts = np.array([len(part.hidden) for part in known[1:]])
        likelihood = float(counts @ calibrated_likelihood(parts))
        # Supervised fits have no other minima: none is better than that to all labels.
        convex = estimator.solver == "inductive"
        P = fits[0] if convex else np.mean(fits, axis=0)
        yield Candidate(estimator, width, likelihood, P)


def _probabilities(estimator: HintClassifier, X: FloatArray, known: HintsOf) -> FloatArray:
    return np.asarray(clone(estimator).fit(X, hints=known.hints).predict_proba(X), np.float64)


def _hidden(
    P: FloatArray, known: HintsOf, folds: HintFolds
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Logarithms of the probabilities of hidden rows, and their classes."""
    columns = folds.codes.encode(known.names, "cross-validation")
    return np.log(np.maximum(P[known.hidden], LEAST)), np.asarray(columns, np.intp)


def average(found: list[Candidate], t: float) -> tuple[FloatArray, Candidate]:
    """Probabilities by all settings of the best one's solver, and the best one."""
    best = max(found, key=lambda one: one.likelihood)
    same = [one for one in found if one.estimator.solver == best.estimator.solver]
    weights = softmax([t * one.likelihood for one in same])
    return np.einsum("k,kic->ic", weights, [one.P for one in same]), best


def cheapest(P: FloatArray, part: npt.NDArray[Any], folds: HintFolds, level: float) -> Any:
    """Likeliest classes that leave the known labels and keep the shares estimated from them."""
    codes = np.full(len(part), None, object)
    codes[folds.rows] = folds.codes.encode(part[folds.rows], "y").tolist()
    bounds = Share.from_labels(codes, level, classes=range(P.shape[1]))
    cost = -np.log(np.maximum(P, LEAST))
    found = oracles.solve(cost, Labels(folds.rows, codes[folds.rows]) + bounds)
    return np.asarray(folds.codes.names)[found.labels]
