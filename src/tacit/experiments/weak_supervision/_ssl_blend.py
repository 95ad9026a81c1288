r"""Average what was fitted while labels were hidden, in place of one setting chosen by few labels.

With ten labels several settings are about equally likely, and each fit depends on which labels it
saw. So no setting is chosen; the answer is that of all settings and folds together,

.. math:: \bar P = \sum_k w_k \frac{1}{F + 1} \sum_{f=0}^F P_{k f}, \qquad
    w_k = E_\omega \frac{\pi_k e^{L_k(\omega)}}{\sum_j \pi_j e^{L_j(\omega)}}, \qquad
    L_k(\omega) = l \sum_{i=1}^l \omega_i \ell_{k i},

with :math:`P_{k f}` the probabilities by setting k without the labels of fold f (f = 0: with all
labels; supervised settings have that term alone), and :math:`\ell_{k i}` the log-likelihood of
hidden label i. The weights of the l labels are drawn evenly from the simplex: so much as L changes
when some labels count more and others less, so little is it trusted (the Bayesian bootstrap; Yao
and others, "Using stacking to average Bayesian predictive distributions", Bayesian Analysis 2018,
call the result pseudo-BMA+). Learning from all rows and from the labelled ones alone are equally
likely beforehand, whatever the number of their settings. With many labels the weights single out
the best setting by themselves.
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
from tacit.model_selection import HintFolds
from tacit.model_selection.folds import HintsOf
from tacit.model_selection.likelihood import each_likelihood

__all__ = ["Candidate", "average", "cheapest", "try_settings", "weigh"]

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
    each : (l,) array
        Log-likelihood of every hidden label, all settings in the same order.
    P : (N, C) array
        Probabilities: the mean of all fits where learning has many local minima, those of the fit
        to all labels where it has one.
    """

    estimator: HintClassifier
    width: str
    each: FloatArray
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
        # Supervised fits have no other minima: none is better than that to all labels.
        convex = estimator.solver == "inductive"
        P = fits[0] if convex else np.mean(fits, axis=0)
        yield Candidate(estimator, width, each_likelihood(parts), P)


def _probabilities(estimator: HintClassifier, X: FloatArray, known: HintsOf) -> FloatArray:
    return np.asarray(clone(estimator).fit(X, hints=known.hints).predict_proba(X), np.float64)


def _hidden(
    P: FloatArray, known: HintsOf, folds: HintFolds
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Logarithms of the probabilities of hidden rows, and their classes."""
    columns = folds.codes.encode(known.names, "cross-validation")
    return np.log(np.maximum(P[known.hidden], LEAST)), np.asarray(columns, np.intp)


def average(found: list[Candidate], draws: int) -> tuple[FloatArray, Candidate]:
    """Probabilities by all settings, and the one that weighs most."""
    weights = weigh(found, draws)
    best = found[int(weights.argmax())]
    return np.einsum("k,kic->ic", weights, [one.P for one in found]), best


def weigh(found: list[Candidate], draws: int) -> FloatArray:
    """Weights of the settings: their mean over draws of how much each hidden label counts."""
    kinds = [one.estimator.solver for one in found]
    prior = -np.log([kinds.count(kind) for kind in kinds])
    each = np.array([one.each for one in found])
    each = each[:, np.lexsort(each)]  # whatever the order of the rows
    count = each.shape[1]
    omega = np.random.default_rng(0).dirichlet(np.ones(count), draws)
    return np.asarray(softmax(count * omega @ each.T + prior, axis=1).mean(axis=0))


def cheapest(P: FloatArray, part: npt.NDArray[Any], folds: HintFolds, level: float) -> Any:
    """Likeliest classes that leave the known labels and keep the shares estimated from them."""
    codes = np.full(len(part), None, object)
    codes[folds.rows] = folds.codes.encode(part[folds.rows], "y").tolist()
    bounds = Share.from_labels(codes, level, classes=range(P.shape[1]))
    cost = -np.log(np.maximum(P, LEAST))
    found = oracles.solve(cost, Labels(folds.rows, codes[folds.rows]) + bounds)
    return np.asarray(folds.codes.names)[found.labels]
