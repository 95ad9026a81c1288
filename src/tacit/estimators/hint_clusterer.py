"""The estimator: clusters from pairs that are known, through a classifier of pairs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.estimators._labels import gather
from tacit.estimators._pairs import Links, choose_pairs, components, pair_hints, read_links
from tacit.estimators.hint_classifier import HintClassifier
from tacit.exceptions import CollapseWarning, InfeasibleHints
from tacit.features import PAIR_KINDS, pair_features
from tacit.hints import Count, Hint, Partition
from tacit.solvers._order import content_keys

__all__ = ["HintClusterer"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# Cost of contradicting a guess, in units of one pair's loss, and guesses per row.
GUESS, GUESSED = 3.0, 5
# With expected_clusters, at most so many times the joined pairs that clusters of equal size have.
UNEVEN = 2.0
# Pairs with new rows that are scored at a time.
BLOCK = 200_000


class HintClusterer(ClusterMixin, BaseEstimator):
    r"""Correlation clustering by a classifier of pairs that is learned along with the clusters.

    .. math:: \min_{y, f} \; \sum_{(a, b)} \ell(y_{ab}, f(x_a, x_b)) + \frac{1}{2C} \|f\|^2 + S(y)

    over the pairs that are joined, which must be those within the clusters of a partition, and a
    classifier f of pairs. Known are labels of some rows, and links between some; the number of
    clusters need not be. What is learned is which differences between two rows matter.

    Parameters
    ----------
    expected_clusters : int, optional
        About how many there are. With all pairs at hand, as many pairs are joined as at
        most so many clusters have to have, and at most twice as many: without it a classifier that
        calls nearly every pair apart may be the cheapest. It bounds pairs, not clusters: a few
        small ones more may come out.
    features : {"absdiff", "sqdiff", "product"}
        What the classifier sees of a pair; see `tacit.features.pair_features`.
    loss, kernel, gamma, C, approximation, n_components
        Of the classifier of pairs; see `HintClassifier`. Its rows are pairs: other kernels than
        the linear one need an approximation beyond some thousand pairs.
    label_weight : float
        Factor on the weight of pairs that are known.
    max_pairs : int
        All pairs of the rows are learned from if they are no more than this (200 rows have
        19,900). Otherwise the neighbours of each row, random pairs, and those that are known.
    n_neighbors, n_random : int
        How many neighbours and random partners of each row then.
    solver : {"admm", "em", "inductive"}
        "inductive" learns from the known pairs alone and clusters once.
    max_iter : int
        Iterations of the solver.
    tol : float
        Relative duality gap of the classifier of pairs.
    unlabeled : "auto", None or a label
        What stands for "unknown" in y, beside None, NaN and ""; see `HintClassifier`.
    time_limit : float, optional
        Seconds after which the best answer so far is taken.
    random_state : int, RandomState or None
        Seed of everything random. The order of the rows never matters.

    Attributes
    ----------
    labels_ : array of shape (N,)
        Cluster of each row, numbered as they appear.
    n_clusters_ : int
        How many there are.
    pair_classifier_ : HintClassifier
        Takes features of pairs, of rows divided by `scale_`; positive scores mean joined.
    pairs_ : array of shape (M, 2)
        The pairs learned from.
    scale_ : float
        Standard deviation of the features, all together.

    Notes
    -----
    Where no pair is known to be joined, each row and its nearest neighbours are guessed to be, at a
    cost; where none is known to be apart, as many random pairs further away than half of all are
    guessed to be. Without anything known that is all there is to go by.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit import HintClusterer, hints
    >>> X = np.array([[0.0, 5.0], [0.2, -4.0], [3.0, 4.0], [3.1, -5.0], [0.1, 0.0], [2.9, 1.0]])
    >>> known = hints.MustLink([(0, 1)]) + hints.CannotLink([(0, 2)])
    >>> HintClusterer(random_state=0).fit(X, hints=known).labels_
    array([0, 0, 1, 1, 0, 1])
    """

    def __init__(
        self,
        expected_clusters: int | None = None,
        *,
        features: str = "absdiff",
        loss: Any = "logistic",
        kernel: Any = "linear",
        gamma: float | str = "scale",
        C: float = 1.0,
        approximation: str | None = None,
        n_components: int | None = None,
        label_weight: float = 10.0,
        max_pairs: int = 20_000,
        n_neighbors: int = 10,
        n_random: int = 10,
        solver: str = "admm",
        max_iter: int = 1000,
        tol: float = 1e-3,
        unlabeled: Any = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.expected_clusters = expected_clusters
        self.features = features
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.approximation = approximation
        self.n_components = n_components
        self.label_weight = label_weight
        self.max_pairs = max_pairs
        self.n_neighbors = n_neighbors
        self.n_random = n_random
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.unlabeled = unlabeled
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, hints: Hint | None = None) -> HintClusterer:
        """Learn classifier and clusters together.

        Parameters
        ----------
        X : array of shape (N, d)
            Rows.
        y : array of shape (N,), optional
            Labels where they are known: rows of one label are joined, those of two apart.
        hints : Hint, optional
            `MustLink` and `CannotLink` between rows.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleHints
            If rows have to be apart that others join.
        """
        X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        self._check()
        known = gather(y, hints, len(X), None, self.unlabeled)
        links = read_links(known.hints, len(X))
        if self.expected_clusters == 1 and len(links.apart):
            raise InfeasibleHints(
                "expected_clusters=1, but labels or cannot-links keep some rows apart; expect 2 or "
                "more."
            )
        seed = int(check_random_state(self.random_state).randint(2**31))
        # Rows are looked at in an order that does not depend on where they stand.
        order = np.argsort(content_keys(X, seed), kind="stable")
        self.scale_ = float((X - X.mean(axis=0)).std()) or 1.0
        self._X = X / self.scale_
        labels, pairs = self._learn(self._X[order], links.take(order), seed)
        self.pairs_ = np.sort(order[pairs], axis=1)
        self.labels_ = components(len(X), self.pairs_[labels == 1])
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.n_iter_ = self.pair_classifier_.n_iter_
        return self

    def _check(self) -> None:
        if self.features not in PAIR_KINDS[:3]:
            known = ", ".join(map(repr, PAIR_KINDS[:3]))
            raise ValueError(f"features={self.features!r}; expected one of {known}.")
        for name in ("expected_clusters", "max_pairs", "n_neighbors", "n_random"):
            value, least = getattr(self, name), 0 if name in {"max_pairs", "n_random"} else 1
            if name == "expected_clusters" and value is None:
                continue
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not whole or value < least:
                raise ValueError(f"{name}={value!r}; expected a whole number, at least {least}.")

    def _learn(self, X: FloatArray, links: Links, seed: int) -> tuple[npt.NDArray[Any], IntArray]:
        """Labels of the pairs, and the pairs."""
        rng = np.random.default_rng(seed)
        extra = np.concatenate([links.examples(), links.soft])
        pairs, complete = choose_pairs(
            X, extra, self.max_pairs, self.n_neighbors, self.n_random, rng
        )
        rows = pair_features(X, pairs, self.features)
        parts = pair_hints(pairs, links, _guesses(X, pairs, links.known(pairs), rng))
        if self.expected_clusters is not None and complete:
            parts = parts + _share(len(X), int(self.expected_clusters), links, pairs)
        self.pair_classifier_ = HintClassifier(
            [0, 1],
            loss=self.loss,
            kernel=self.kernel,
            gamma=self.gamma,
            C=self.C,
            approximation=self.approximation,
            n_components=self.n_components,
            label_weight=self.label_weight,
            fit_intercept=True,
            solver=self.solver,
            n_init=1,
            max_iter=self.max_iter,
            tol=self.tol,
            n_reheats=0,
            time_limit=self.time_limit,
            random_state=seed,
        )
        with warnings.catch_warnings():
            # Most pairs are apart: that is no class swallowed. And all or none may be joined.
            warnings.simplefilter("ignore", CollapseWarning)
            warnings.filterwarnings("ignore", "no row can have the class")
            self.pair_classifier_.fit(rows, hints=parts + Partition(pairs))
        return self.pair_classifier_.transduction_, pairs

    def predict(self, X: Any) -> IntArray:
        """Cluster of new rows: the one to whose rows they are joined best, -1 where to none.

        Each row is looked at alone: joining it to a cluster pays the sum of its pairs' scores.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False) / self.scale_
        n, answer = len(self._X), np.empty(len(X), np.intp)
        member = np.zeros((n, self.n_clusters_))
        member[np.arange(n), self.labels_] = 1.0
        step = max(1, BLOCK // n)
        for start in range(0, len(X), step):
            part = X[start : start + step]
            both = np.concatenate([part, self._X])
            a, b = np.divmod(np.arange(len(part) * n), n)
            rows = pair_features(both, np.column_stack([a, len(part) + b]), self.features)
            scores = self.pair_classifier_.decision_function(rows).reshape(len(part), n)
            sums = scores @ member
            best = sums.argmax(axis=1)
            joined = sums[np.arange(len(part)), best] > 0
            answer[start : start + step] = np.where(joined, best, -1)
        return answer


def _share(n: int, n_clusters: int, links: Links, pairs: IntArray) -> Count:
    """Bounds on joined pairs: what at most so many clusters have to have, and twice that."""
    answer = links.known(pairs)
    least = int(np.ceil(n * (n / n_clusters - 1.0) / 2.0))
    lower = max(min(least, int((answer != 0).sum())), 0)
    upper = min(max(int(UNEVEN * least), 1, int((answer == 1).sum()), lower), len(pairs))
    return Count([np.arange(len(pairs))], {1: lower}, {1: upper})


def _guesses(
    X: FloatArray, pairs: IntArray, answer: npt.NDArray[np.int8], rng: np.random.Generator
) -> FloatArray | None:
    """Costs of contradicting distances, for kinds of pairs of which none is known."""
    if (answer == 1).any() and (answer == 0).any():
        return None
    table = np.zeros((len(pairs), 2))
    far = ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=1)
    n = len(X)
    if not (answer == 1).any():
        table[_nearest(n, pairs, far) & (answer < 0), 0] = GUESS
    if not (answer == 0).any():
        beyond = np.flatnonzero((far > np.median(far)) & (answer < 0))
        table[rng.choice(beyond, min(GUESSED * n, len(beyond)), replace=False), 1] = GUESS
    return table


def _nearest(n: int, pairs: IntArray, far: FloatArray) -> npt.NDArray[np.bool_]:
    """Pairs of which one row is among the nearest of the other."""
    both = np.concatenate([pairs[:, 0], pairs[:, 1]])
    order = np.lexsort((np.tile(far, 2), both))
    start = np.searchsorted(both[order], np.arange(n))
    near = order[np.arange(len(order)) - start[both[order]] < GUESSED]
    found = np.zeros(2 * len(pairs), bool)
    found[near] = True
    return np.asarray(found[: len(pairs)] | found[len(pairs) :])
