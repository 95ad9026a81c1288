"""Scores on labels that are hidden in turn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import get_scorer
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from tacit.exceptions import InfeasibleHints
from tacit.hints._classes import plain
from tacit.model_selection.folds import HintFolds, HintsFrom, HintsOf
from tacit.model_selection.likelihood import calibrated_likelihood, hidden_logits
from tacit.problem import read_rows

__all__ = [
    "Scoring",
    "cross_val_hints",
    "fit",
    "is_square",
    "read_folds",
    "rows_of",
    "run",
    "together",
]

FloatArray = npt.NDArray[np.float64]
Scoring: TypeAlias = str | Callable[..., float] | None
Task: TypeAlias = tuple[Any, HintsOf, dict[str, Any]]


def cross_val_hints(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    hints: HintsFrom = None,
    sample_weight: Any = None,
    cv: Any = 5,
    scoring: Scoring = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> FloatArray:
    """Score an estimator on labels that are hidden from it in turn.

    Unlike scikit-learn's `cross_val_score`, only labels are left out: the rows whose labels are
    hidden stay among the unlabelled ones, with every other hint about them.

    Parameters
    ----------
    estimator : HintClassifier or another estimator of this package
        Not changed.
    X : array or sparse matrix of shape (N, d)
        All rows, labelled or not.
    y : array of shape (N,), optional
        Labels where they are known.
    hints : Hint or callable, optional
        What else is known; labels in it are hidden too. A callable gets an array of N labels, None
        where they are unknown or hidden, and returns hints: for bounds estimated from labels.
    sample_weight : array of shape (N,), optional
        Weight of each row's loss.
    cv : int, splitter or iterable, default=5
        Folds over the labelled rows. A number: that many, or one for each label where these are
        fewer, each with its share of every class, the same for every order of the rows.
    scoring : None, "likelihood", str or callable
        By default the share of the hidden labels that `transduction_` holds. "likelihood": their
        mean log-likelihood at the temperature that suits all folds best, see
        `calibrated_likelihood`; it tells more where labels are few. Else a scorer of
        scikit-learn's, which gets the rows with hidden labels, and those labels.
    n_jobs : int, optional
        Processes.
    random_state : int
        Seed of the folds.

    Returns
    -------
    array of shape (folds,)

    Examples
    --------
    >>> from tacit import HintClassifier, hints
    >>> from tacit.model_selection import cross_val_hints
    >>> X = [[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]]
    >>> y = ["low", "low", "", "", "high", "high"]
    >>> cross_val_hints(HintClassifier(random_state=0), X, y, hints=hints.Share(0.5, 0.5), cv=2)
    array([1., 1.])
    """
    folds = read_folds(estimator, X, y, hints)
    hidden = list(folds.split(cv, rows_of(X), random_state, is_square(estimator)))
    tasks: list[Task] = [(estimator, folds.known(rows), {}) for rows in hidden]
    found = run(tasks, X, folds, sample_weight, scoring, n_jobs, "raise")
    return together(found, len(hidden), scoring)[0]


def read_folds(estimator: Any, X: Any, y: Any, hints: HintsFrom) -> HintFolds:
    """Read labels and hints as the estimator would."""
    return HintFolds(
        y,
        hints,
        rows_of(X).shape[0],
        getattr(estimator, "classes", None),
        getattr(estimator, "unlabeled", "auto"),
    )


def rows_of(X: Any) -> Any:
    """X as it can be indexed by rows."""
    return read_rows(X, "linear")


def is_square(estimator: Any) -> bool:
    """Whether the estimator takes a kernel matrix for X."""
    return getattr(estimator, "kernel", None) == "precomputed"


def run(
    tasks: Iterable[Task],
    X: Any,
    folds: HintFolds,
    sample_weight: Any,
    scoring: Scoring,
    n_jobs: int | None,
    error_score: float | str,
) -> list[Any]:
    """Fit and score everything, in order; see `together`."""
    X = X.tocsr() if sp.issparse(X) else X  # scorers get some of the rows
    scorer: Any = hidden_logits if scoring == "likelihood" else scoring
    scorer = None if scorer is None else get_scorer(scorer)
    jobs = (
        delayed(_score)(estimator, known, params, X, folds, sample_weight, scorer, error_score)
        for estimator, known, params in tasks
    )
    return list(Parallel(n_jobs=n_jobs)(jobs))


def together(found: list[Any], n_folds: int, scoring: Scoring) -> FloatArray:
    """Scores by setting and fold of what `run` found."""
    settings = [found[a : a + n_folds] for a in range(0, len(found), n_folds)]
    if scoring == "likelihood":
        return np.array([calibrated_likelihood(part) for part in settings])
    return np.array(settings, np.float64)


def _score(
    estimator: Any,
    known: HintsOf,
    params: dict[str, Any],
    X: Any,
    folds: HintFolds,
    sample_weight: Any,
    scorer: Callable[..., Any] | None,
    error_score: float | str,
) -> Any:
    """Score one fit on the labels hidden from it."""
    try:
        fitted = fit(estimator, known, params, X, folds, sample_weight)
    except InfeasibleHints as error:
        if error_score == "raise":
            raise
        warnings.warn(f"{params}: {error}", FitFailedWarning, stacklevel=2)
        return float(error_score)
    if scorer is not None:
        return scorer(fitted, _safe_indexing(X, known.hidden), np.array(known.names.tolist()))
    found = fitted.transduction_[known.hidden].tolist()
    return float(np.mean([plain(a) == b for a, b in zip(found, known.names, strict=True)]))


def fit(
    estimator: Any,
    known: HintsOf,
    params: dict[str, Any],
    X: Any,
    folds: HintFolds,
    sample_weight: Any,
) -> Any:
    """Fit with some settings to what is known; "hints" among the settings are added."""
    params = dict(params)
    more = params.pop("hints", None)
    made = clone(estimator).set_params(**params, classes=folds.codes.names)
    return made.fit(X, hints=known.plus(more), sample_weight=sample_weight)
