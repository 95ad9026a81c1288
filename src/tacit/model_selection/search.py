"""Grid search in which only labels are hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.exceptions import InfeasibleHints
from tacit.model_selection.folds import HintsFrom
from tacit.model_selection.scoring import (
    Scoring,
    fit,
    is_square,
    read_folds,
    rows_of,
    run,
    together,
)

__all__ = ["HintSearchCV"]

FloatArray = npt.NDArray[np.float64]
# Settings whose scores differ by less have the same rank: means of folds are rounded.
SAME = 12


def _has(name: str) -> Callable[[HintSearchCV], bool]:
    def check(search: HintSearchCV) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return check


class HintSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Choose settings by cross-validation over labelled rows, with all other rows and hints in use.

    Every combination of settings is scored as in `cross_val_hints`; the best is fitted to all that
    is known. Where several are equally good, the first in the grid is taken: list what you would
    rather have first.

    Parameters
    ----------
    estimator : HintClassifier or another estimator of this package
        What is fitted.
    param_grid : dict or list of dicts
        Settings to try, as in `GridSearchCV`. The name "hints" is special: its values are hints,
        or functions as in `cross_val_hints`, that are added to those given to `fit`.
    cv, scoring, n_jobs, random_state
        As in `cross_val_hints`.
    refit : bool or callable
        Whether to fit the best settings at the end; a callable gets `cv_results_` and returns the
        index of the settings to take.
    error_score : float or "raise"
        Score where hints contradict each other in some fold, with a warning.

    Attributes
    ----------
    best_params_, best_score_, best_index_
        Best settings, their mean score, and where they are in `cv_results_`.
    best_estimator_ : estimator
        Fitted to everything, unless refit=False.
    cv_results_ : dict of arrays
        Scores by setting and fold, under the names of `GridSearchCV`.
    n_splits_ : int
        Folds.
    classes_, transduction_
        Those of the best estimator.

    Examples
    --------
    >>> from tacit import HintClassifier, hints
    >>> from tacit.model_selection import HintSearchCV
    >>> X = [[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]]
    >>> y = ["low", "low", "", "", "high", "high"]
    >>> grid = {"C": [1.0, 10.0], "hints": [hints.Share.from_labels, hints.Share(0.5, 0.5)]}
    >>> search = HintSearchCV(HintClassifier(random_state=0), grid, cv=2).fit(X, y)
    >>> search.best_score_, search.best_params_["C"]
    (np.float64(1.0), 1.0)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = 5,
        scoring: Scoring = None,
        n_jobs: int | None = None,
        refit: Any = True,
        error_score: float | str = np.nan,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.error_score = error_score
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, hints: HintsFrom = None, sample_weight: Any = None
    ) -> HintSearchCV:
        """Score all settings, then fit the best to everything.

        Parameters
        ----------
        X : array or sparse matrix of shape (N, d)
            All rows, labelled or not.
        y : array of shape (N,), optional
            Labels where they are known.
        hints : Hint or callable, optional
            What else is known; see `cross_val_hints`.
        sample_weight : array of shape (N,), optional
            Weight of each row's loss.
        """
        candidates = list(ParameterGrid(self.param_grid))
        folds = read_folds(self.estimator, X, y, hints)
        square = is_square(self.estimator)
        hidden = list(folds.split(self.cv, rows_of(X), self.random_state, square))
        tasks = ((self.estimator, folds.known(rows), p) for p in candidates for rows in hidden)
        found = run(tasks, X, folds, sample_weight, self.scoring, self.n_jobs, self.error_score)
        self.n_splits_ = len(hidden)
        self.cv_results_ = _results(candidates, together(found, len(hidden), self.scoring))
        self._choose(candidates)
        if self.refit:
            everything = folds.known()
            self.best_estimator_ = fit(
                self.estimator, everything, self.best_params_, X, folds, sample_weight
            )
        return self

    def _choose(self, candidates: list[dict[str, Any]]) -> None:
        means = self.cv_results_["mean_test_score"]
        if np.isnan(means).all():
            raise InfeasibleHints(
                "no settings could be scored: with each of them the hints contradict each other "
                "in some fold; see the warnings."
            )
        if callable(self.refit):
            self.best_index_ = int(self.refit(self.cv_results_))
        else:
            self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = means[self.best_index_]

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Class names in order."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.classes_)

    @property
    def transduction_(self) -> npt.NDArray[Any]:
        """Labels inferred for the training rows."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.transduction_)

    @available_if(_has("predict"))
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Class names of new rows."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """Scores of new rows."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.decision_function(X))

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities of new rows."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict_proba(X))

    @available_if(_has("score"))
    def score(self, X: Any, y: Any) -> float:
        """Accuracy on new rows."""
        check_is_fitted(self, "best_estimator_")
        return float(self.best_estimator_.score(X, y))


def _results(candidates: list[dict[str, Any]], scores: FloatArray) -> dict[str, Any]:
    """Put scores by setting and fold under scikit-learn's names."""
    means = scores.mean(axis=1)
    # NaN ranks last.
    low = np.where(np.isnan(means), -np.inf, np.round(means, SAME))
    results: dict[str, Any] = {"params": candidates}
    for name in sorted({name for params in candidates for name in params}):
        column = np.ma.array(np.empty(len(candidates), object), mask=True)
        for i, params in enumerate(candidates):
            if name in params:
                column[i] = params[name]
        results[f"param_{name}"] = column
    for fold in range(scores.shape[1]):
        results[f"split{fold}_test_score"] = scores[:, fold]
    results["mean_test_score"] = means
    results["std_test_score"] = scores.std(axis=1)
    results["rank_test_score"] = np.array([1 + int((low > v).sum()) for v in low], np.int32)
    return results
