"""The estimator: a classifier from hints, in scikit-learn's manners."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.backends import place
from tacit.convex import certificate
from tacit.estimators._base import HintEstimator, name_array, warn_of_empty_classes
from tacit.estimators._labels import Known, gather, too_few
from tacit.features import score
from tacit.hints import Hint
from tacit.hints._classes import ClassCodes
from tacit.hints.combine import infer_classes
from tacit.losses import Loss, get_loss
from tacit.problem import Problem, memory_estimate
from tacit.result import Certificate, Solution, Status
from tacit.solvers import solve
from tacit.solvers.progress import progress

__all__ = ["HintClassifier"]


def _gives_probabilities(estimator: HintClassifier) -> bool:
    loss = getattr(estimator, "loss_", None) or get_loss(estimator.loss)
    if loss.probabilistic:
        return True
    raise AttributeError(
        f"loss={loss.name!r} gives no probabilities; use loss='logistic' or 'softmax'."
    )


class HintClassifier(ClassifierMixin, HintEstimator):
    r"""A classifier learned from what is known about the labels.

    .. math:: \min_{y, f} \; \sum_i \ell(y_i, f(x_i)) + \frac{1}{2C} \|f\|^2 + S(y)

    over the labels y and the classifier f together; S holds the hints. With every label given this
    is an ordinary support vector machine or logistic regression without intercept.

    Parameters
    ----------
    classes : sequence, optional
        Class names in order. By default the sorted names found in y and the hints, or 0..C-1
        from the width of the hints' arrays.
    loss : {"hinge", "squared_hinge", "crammer_singer", "softmax", "logistic", "squared"}
        Convex loss. hinge, squared_hinge, logistic and squared are one-vs-all.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable
        As in `sklearn.svm.SVC`.
    gamma, degree, coef0
        Parameters of the rbf and poly kernels.
    C : float
        Weight of the loss against the regulariser.
    nu : float, optional
        Weight of the regulariser, 1 / (2 C) by default.
    approximation : {None, "lowrank", "nystroem", "fourier"}
        "lowrank": the kernel matrix as low rank plus diagonal while learning and the exact kernel
        for new rows. The others: explicit features in place of the kernel.
    n_components : int, optional
        Landmarks or features of an approximation, at most. By default 500 features; for "lowrank"
        a tenth of the rows as landmarks, but not fewer than 1500 nor more than 4000.
    label_weight : float
        Factor on the weight of rows whose label is known: how much they count against the others.
    fit_intercept : bool
        Add 1 to the kernel: an intercept, regularised like everything else.
    solver : {"admm", "consensus", "exact", "em", "sdp", "inductive"}
        Discrete-continuous ADMM, its consensus form (linear kernel only); branch and bound, which
        proves its answer to be the best, for two classes, few rows and the hinge, squared hinge or
        logistic loss (give a `time_limit`); or a baseline: hard EM; a rounded convex relaxation
        (for the softmax loss and strict hints); or a fit of the labelled rows alone, after which
        the others get the cheapest labels that the hints allow.
    n_init : int or "auto"
        Starts, of which the best by objective is kept.
    max_iter : int
        Iterations of one run.
    tol : float
        Relative duality gap of the classifier at the labels found.
    polish : bool
        Whether to fit the classifier to the labels found until that gap is reached. False is
        faster and takes the classifier that the search for labels left.
    n_reheats : int or "auto"
        How often, at most, the best answer of a start is molten again in search of a better one,
        for solver="admm". By default up to eight times where hints bound counts, else never; 0 is
        fast.
    dtype : {"float64", "float32"}
        Precision of scores, kernel matrix and solves.
    device : str, optional
        Where to compute, as torch names it ("cpu", "cuda"); by default where X lies.
    unlabeled : "auto", None or a label
        What stands for "unknown" in y, beside None, NaN and "". By default -1 does, as in
        scikit-learn's semi-supervised estimators, unless it is a class: because `classes` or the
        hints name it, or because every other label in y is 1. Where it may well be one, because
        the others are 0 and 1 or negative, a warning says how it was read. None: -1 is a class.
    time_limit : float, optional
        Seconds after which the best answer so far is taken.
    random_state : int, RandomState or None
        Seed of everything random. The order of the rows never matters.
    verbose : int
        Above 0, show progress on the terminal's error stream, with the memory that is needed.
    callback : callable, optional
        Called with each `Iteration`; returning True stops.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Class names in order.
    transduction_ : array of shape (N,)
        Labels inferred for the training rows.
    loss_ : Loss
        The loss that was minimised.
    objective_ : float
        Value of the problem above.
    solution_ : Solution
        Everything the solver returned.
    history_ : History
        Every iteration.
    n_iter_ : int
        Iterations of all runs.
    converged_ : bool
        Whether the solver met its own stopping rule.

    Examples
    --------
    >>> from tacit import HintClassifier
    >>> from tacit.datasets import make_batches, make_four_moons
    >>> X, y = make_four_moons(n=120, layout="grid", random_state=0)
    >>> known = make_batches(y, n_batches=20, size=10, slack=0, random_state=0)
    >>> clf = HintClassifier(kernel="rbf", gamma=8, random_state=0).fit(X, hints=known)
    >>> clf.transduction_.shape
    (120,)

    Notes
    -----
    Equation: (1) in 000, corrected
    Equation: (2) in 004
    """

    solution_: Solution
    loss_: Loss
    _problem: Problem

    def __init__(
        self,
        classes: Any = None,
        *,
        loss: Any = "hinge",
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        C: float = 1.0,
        nu: float | None = None,
        approximation: str | None = None,
        n_components: int | None = None,
        label_weight: float = 1.0,
        fit_intercept: bool = False,
        solver: str = "admm",
        n_init: int | str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        polish: bool = True,
        n_reheats: int | str = "auto",
        dtype: str = "float64",
        device: str | None = None,
        unlabeled: Any = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.classes = classes
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.nu = nu
        self.approximation = approximation
        self.n_components = n_components
        self.label_weight = label_weight
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.polish = polish
        self.n_reheats = n_reheats
        self.dtype = dtype
        self.device = device
        self.unlabeled = unlabeled
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(
        self, X: Any, y: Any = None, *, hints: Hint | None = None, sample_weight: Any = None
    ) -> HintClassifier:
        """Learn labels and classifier together.

        Parameters
        ----------
        X : array or sparse matrix of shape (N, d)
            Rows, or their kernel matrix for ``kernel="precomputed"``.
        y : array of shape (N,), optional
            Labels where they are known; see `unlabeled`.
        hints : Hint, optional
            What else is known.
        sample_weight : array of shape (N,), optional
            Weight of each row's loss.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleHints
            With a smallest conflicting subset of the hints, in words.
        """
        if y is None and hints is None:
            raise ValueError(
                "HintClassifier requires y to be passed, but the target y is None and there are "
                "no hints; give at least one of them."
            )
        X = self._rows(X, reset=True)
        known = gather(y, hints, X.shape[0], self.classes, self.unlabeled)
        codes = self._codes(known)
        problem = Problem(
            X,
            known.hints,
            loss=self.loss,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            C=self.C,
            nu=self.nu,
            classes=codes.names,
            sample_weight=sample_weight,
            approximation=self.approximation,
            n_components=self.n_components,
            label_weight=self.label_weight,
            fit_intercept=self.fit_intercept,
            dtype=self.dtype,
            device=self.device,
        )
        shows = self._shown()
        title = str(memory_estimate(problem, self.solver)) if shows else ""
        with progress(shows, title) as shown:
            self._take(
                solve(
                    problem,
                    self.solver,
                    n_init=self.n_init,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    polish=self.polish,
                    n_reheats=self.n_reheats,
                    random_state=self.random_state,
                    time_limit=self.time_limit,
                    callback=self._callbacks(shown),
                )
            )
        self.loss_, self._problem = problem.loss_, problem
        if self.solution_.status is Status.MAX_ITER:
            warnings.warn(self.solution_.status.value, ConvergenceWarning, stacklevel=2)
        warn_of_empty_classes(problem)  # not before the hints are known to be satisfiable
        return self

    def _codes(self, known: Known) -> ClassCodes:
        """Set `classes_` from what y and the hints say."""
        codes = infer_classes(self.classes, known.found, known.hints)
        if len(codes) < 2:
            raise ValueError(too_few(self.classes, codes, (*known.found, *known.hints.names())))
        self.classes_ = name_array(codes.names, known.dtype)
        return codes

    def _columns(self) -> int:
        return self.loss_.n_columns(len(self.classes_))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores of new rows: (N,) for two classes (positive: the second), else (N, C)."""
        scores = self._scores(X)
        if len(self.classes_) > 2:
            return scores
        return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        check_is_fitted(self)
        X, features = self._rows(X, reset=False), self.solution_.features
        if features.basis_ is not None:
            X = features.bring(X)
        elif not sp.issparse(X):
            X = place(X, self.device, self.dtype)
        return score(features, X, self.solution_.coef)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Class names of new rows."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Class probabilities of new rows, (N, C); for losses that give them."""
        scores = self._scores(X)
        return np.asarray(self.loss_.predict_proba(scores))

    def certify(self, time_limit: float | None = None) -> Certificate:
        """Prove how far `objective_` is, at most, from that of the best labels and classifier.

        Parameters
        ----------
        time_limit : float, optional
            Seconds for branch and bound. By default only the bound at its root is computed.

        Returns
        -------
        Certificate

        Raises
        ------
        NoOracle
            Where no bound is known: more than two classes, or another loss.
        """
        check_is_fitted(self)
        if not hasattr(self, "_problem"):
            raise ValueError(
                "this model was loaded from a file, which does not hold the training problem; fit "
                "it again, or call tacit.certify on the Problem."
            )
        solution = self.solution_
        return certificate(
            self._problem,
            labels=solution.labels,
            objective=solution.objective,
            features=solution.features if solution.features.explicit else None,
            time_limit=time_limit,
        )

    def plot_history(self, axes: Any = None) -> Any:
        """Draw objective, residuals, penalty and label changes; returns the matplotlib figure."""
        from tacit.plots import plot_history

        check_is_fitted(self)
        return plot_history(self.history_, axes)
