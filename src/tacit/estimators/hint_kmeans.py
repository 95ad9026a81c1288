"""The estimator: clusters from hints, in the manners of scikit-learn's KMeans."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tacit.backends import is_torch, to_numpy
from tacit.estimators._base import HintEstimator, name_array
from tacit.estimators._labels import gather
from tacit.features import KernelMap, square_distances
from tacit.hints import Hint
from tacit.hints._classes import ClassCodes
from tacit.problem import ClusterProblem, cluster_codes
from tacit.result import Clustering
from tacit.solvers import assign, cluster
from tacit.solvers.progress import progress

__all__ = ["HintKMeans"]

FloatArray = npt.NDArray[np.float64]


class HintKMeans(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    HintEstimator,
):
    r"""K-means and kernel k-means under any hints about the labels.

    .. math:: \min_{y, m} \; \sum_i w_i |\phi(x_i) - m_{y_i}|^2 + S(y)

    over the labels y and one centre m per cluster; S holds the hints. Without hints and with the
    linear kernel this is scikit-learn's `KMeans`. Bounds on cluster sizes are `hints.Share` and
    `hints.Count`, links between rows `hints.MustLink` and `hints.CannotLink`; costs are in units of
    squared distance.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters. By default as many as `classes`, y and the hints name, and 8 where they
        name none. More names than that have their way, with a warning.
    classes : sequence, optional
        Cluster names in order. By default the names found in y and the hints, or 0..n_clusters-1.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable
        As in `sklearn.svm.SVC`. All but linear need the N x N kernel matrix.
    gamma, degree, coef0
        Parameters of the rbf and poly kernels.
    init : {"k-means++", "random"} or array of shape (n_clusters, d)
        First centres; rows of an array belong to the clusters in their order. Otherwise a cluster
        with labelled rows starts from their mean, and the rest from rows that may belong to it.
    n_init : int or "auto"
        Starts, of which the best by objective is kept. By default one from an array, or for
        k-means++ without hints; ten otherwise.
    max_iter : int
        Iterations of one start.
    tol : float
        Relative fall of the objective at which a start ends; 0: when the labels stay.
    unlabeled : "auto", None or a label
        What stands for "unknown" in y, beside None, NaN and ""; see `HintClassifier`.
    time_limit : float, optional
        Seconds after which the best answer so far is taken.
    random_state : int, RandomState or None
        Seed of everything random. The order of the rows never matters.
    verbose : int
        Above 0, show progress on the terminal's error stream.
    callback : callable, optional
        Called with each `Iteration`; returning True stops.

    Attributes
    ----------
    labels_ : array of shape (N,)
        Cluster of each training row, 0..n_clusters-1.
    classes_ : array of shape (n_clusters,)
        Cluster names in order.
    transduction_ : array of shape (N,)
        The same labels by name.
    cluster_centers_ : array of shape (n_clusters, d)
        Centres; with the linear kernel only.
    inertia_ : float
        Weighted sum of squared distances of the rows from their centres.
    objective_ : float
        Inertia and the soft costs of the hints.
    solution_ : Clustering
        Everything the solver returned.
    history_ : History
        Every iteration.
    n_iter_ : int
        Iterations of all starts.
    converged_ : bool
        Whether the best start met its stopping rule.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit import HintKMeans, hints
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> HintKMeans(2, random_state=0).fit(X, hints=hints.Share(0.5, 0.5)).inertia_
    25.0

    Notes
    -----
    Equation: Sec. 3.1 in 000, constrained kernel k-means
    """

    solution_: Clustering

    def __init__(
        self,
        n_clusters: int | None = None,
        classes: Any = None,
        *,
        kernel: Any = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 0.0,
        unlabeled: Any = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.classes = classes
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.unlabeled = unlabeled
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(
        self, X: Any, y: Any = None, *, hints: Hint | None = None, sample_weight: Any = None
    ) -> HintKMeans:
        """Learn labels and centres together.

        Parameters
        ----------
        X : array or sparse matrix of shape (N, d)
            Rows, or their kernel matrix for ``kernel="precomputed"``.
        y : array of shape (N,), optional
            Labels where they are known; they are kept.
        hints : Hint, optional
            What else is known.
        sample_weight : array of shape (N,), optional
            Weight of each row's squared distance.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleHints
            With a smallest conflicting subset of the hints, in words.
        """
        X = self._rows(X, reset=True)
        known = gather(y, hints, X.shape[0], self.classes, self.unlabeled)
        codes = cluster_codes(self.n_clusters, self.classes, known.found, known.hints)
        self.classes_ = name_array(codes.names, known.dtype)
        problem = ClusterProblem(
            X,
            known.hints if len(known.hints.parts) else None,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            classes=codes.names,
            sample_weight=sample_weight,
        )
        with progress(self._shown()) as shown:
            solution = cluster(
                problem,
                init=self.init,
                n_init=self.n_init,
                max_iter=self.max_iter,
                tol=self.tol,
                random_state=self.random_state,
                time_limit=self.time_limit,
                callback=self._callbacks(shown),
            )
        self._take(solution)
        self._warn_of_empty_clusters(solution)
        return self

    def _rows(self, X: Any, reset: bool) -> Any:
        """Check rows; tensors are copied to the host, where the computing is done."""
        X = super()._rows(X, reset)
        if not is_torch(X):
            return X
        known = str(X.dtype) in {"torch.float32", "torch.float64"}
        return to_numpy(X if known else X.double())

    def _take(self, solution: Clustering) -> None:
        super()._take(solution)
        self.labels_ = solution.labels
        self.inertia_ = solution.inertia
        self._n_features_out = len(self.classes_)
        self.__dict__.pop("cluster_centers_", None)
        if solution.features.explicit:
            self.cluster_centers_ = np.ascontiguousarray(solution.coef.T)

    def _warn_of_empty_clusters(self, solution: Clustering) -> None:
        if solution.empty.any():
            names = ", ".join(repr(v) for v in self.classes_[solution.empty].tolist())
            warnings.warn(
                f"no row is in cluster {names}: the hints leave it none, or there are fewer "
                "distinct rows than clusters.",
                UserWarning,
                stacklevel=3,
            )

    def fit_predict(
        self, X: Any, y: Any = None, *, hints: Hint | None = None, sample_weight: Any = None
    ) -> npt.NDArray[Any]:
        """Fit, and return the names of the training rows' clusters."""
        return self.fit(X, y, hints=hints, sample_weight=sample_weight).transduction_

    def predict(self, X: Any, hints: Hint | None = None) -> npt.NDArray[Any]:
        """Cluster names of new rows: the nearest centre, or the best labels under hints.

        Parameters
        ----------
        X : array or sparse matrix of shape (M, d)
            New rows.
        hints : Hint, optional
            What is known about these rows, such as bounds on how many of them a cluster takes.
            Those given to `fit` are about other rows and do not count here.
        """
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        features = self.solution_.features
        precomputed = isinstance(features, KernelMap) and features.kernel.name == "precomputed"
        D = self._distances(X, precomputed)
        if hints is None:
            D[:, self.solution_.empty] = np.inf
            return np.asarray(self.classes_[D.argmin(axis=1)])
        known = gather(None, hints, X.shape[0], None, None).hints
        codes = ClassCodes(self.classes_.tolist())
        labels = assign(X, D, known, codes, self.solution_.seed, self.time_limit)
        return np.asarray(self.classes_[labels])

    def _distances(self, X: Any, relative: bool = False) -> FloatArray:
        """Squared distances of new rows from the centres; `relative`: all less k(x, x)."""
        features, coef = self.solution_.features, self.solution_.coef
        if not isinstance(features, KernelMap):
            return square_distances(X, coef.T)
        D = np.asarray(self.solution_.norms - 2.0 * (features.rows(X) @ coef))
        if relative:
            return D
        return np.maximum(D + features.kernel.diagonal(X)[:, None], 0.0)

    def transform(self, X: Any) -> FloatArray:
        """Distances of rows from the centres, (M, n_clusters); not with a precomputed kernel."""
        check_is_fitted(self)
        return np.sqrt(self._distances(self._rows(X, reset=False)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the weighted squared distances of rows from their nearest centres."""
        check_is_fitted(self)
        D = self._distances(self._rows(X, reset=False))
        D[:, self.solution_.empty] = np.inf
        nearest = D.min(axis=1)
        weights = np.ones(len(D)) if sample_weight is None else np.asarray(sample_weight)
        return -float(weights @ nearest)
