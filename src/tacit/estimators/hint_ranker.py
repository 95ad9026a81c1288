"""The estimator: a ranking from comparisons of some pairs."""

from __future__ import annotations

import warnings
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from tacit.estimators.hint_classifier import HintClassifier
from tacit.exceptions import CollapseWarning, InfeasibleHints
from tacit.features import pair_features
from tacit.hints import Cost, Hint, Labels, Order
from tacit.oracles._order_graph import rank as in_order
from tacit.solvers._order import content_keys

__all__ = ["HintRanker"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# Rows of a cycle that a message names.
MOST_SHOWN = 6


class HintRanker(BaseEstimator):
    r"""A linear ranker learned from comparisons of some pairs, together with an order of all rows.

    .. math:: \min_{y, w} \; \sum_{(a, b)} \ell(y_{ab}, \langle w, x_a - x_b \rangle)
        + \frac{1}{2C} |w|^2 + S(y)

    over the pairs' directions, which must be those of a linear order, and the weights. With every
    pair known this is a ranking support vector machine (hinge) or Bradley-Terry regression
    (logistic).

    Parameters
    ----------
    loss : {"logistic", "hinge", "squared_hinge", "squared"}
        Convex loss of a pair's score.
    C : float
        Weight of the loss against the regulariser.
    label_weight : float
        Factor on the weight of pairs that are known.
    max_pairs : int
        All pairs of the rows are learned from if they are no more than this (200 rows have
        19,900). Otherwise the comparisons, and random pairs; of values in y, all comparisons of
        neighbouring values if no more than this, else one for each row and random ones.
    n_random : int
        How many random partners each row then has.
    solver : {"auto", "inductive", "admm", "em"}
        "inductive" learns from the comparisons that must hold alone, and orders all rows by that;
        the others learn weights and order together. "auto" is "inductive" where any comparison
        must hold, else "admm".
    max_iter : int
        Iterations of the solver.
    tol : float
        Relative duality gap of the classifier of pairs.
    time_limit : float, optional
        Seconds after which the best answer so far is taken.
    random_state : int, RandomState or None
        Seed of everything random. The order of the rows never matters.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Weights; larger scores come first.
    ranking_ : array of shape (N,)
        The training rows from first to last, in an order that all comparisons agree with; of
        those that values in y imply, the ones that were learned from (`max_pairs`).
    pair_classifier_ : HintClassifier
        Takes differences of rows divided by `scale_`.
    scale_ : float
        Standard deviation of the features, all together.

    Notes
    -----
    Scores of a linear model always agree with some order, so pairs that nothing is known of can
    only confirm what it says already: on digits ranked by value, learning together was worse than
    learning from the comparisons alone (``examples/rank_digits.py``), which is the default. The
    order adds a `ranking_` that keeps every comparison.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit import HintRanker
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> ranker = HintRanker(random_state=0).fit(X, comparisons=[(2, 0), (3, 1)])
    >>> ranker.ranking_
    array([3, 2, 1, 0])
    """

    def __init__(
        self,
        *,
        loss: Any = "logistic",
        C: float = 1.0,
        label_weight: float = 10.0,
        max_pairs: int = 20_000,
        n_random: int = 20,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-3,
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.label_weight = label_weight
        self.max_pairs = max_pairs
        self.n_random = n_random
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, comparisons: Any = None, cost: Any = np.inf
    ) -> HintRanker:
        """Learn weights and an order together.

        Parameters
        ----------
        X : array of shape (N, d)
            Rows.
        y : array of shape (N,), optional
            Values where they are known, NaN elsewhere: of two rows the larger value comes first.
        comparisons : array of int of shape (M, 2), optional
            Pairs of rows, the first of which comes before the second.
        cost : float or array of shape (M,)
            Of contradicting a comparison, in units of one pair's loss; infinite: never.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleHints
            If comparisons that must hold go round in a circle.
        """
        X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        n = len(X)
        if y is None and comparisons is None:
            raise ValueError(
                "HintRanker requires y to be passed, but the target y is None and there are no "
                "comparisons; give at least one of them."
            )
        given, price = _read(comparisons, cost, n)
        values = _values(y, n)
        seed = int(check_random_state(self.random_state).randint(2**31))
        # Rows are looked at in an order that does not depend on where they stand.
        order = np.argsort(content_keys(X, seed), kind="stable")
        from_values = _compare(values[order], self.max_pairs, np.random.default_rng(seed))
        given = np.concatenate([given, order[from_values]])
        price = np.concatenate([price, np.full(len(from_values), np.inf)])
        _require_order(given[np.isinf(price)], n)
        place = np.empty(n, np.intp)
        place[order] = np.arange(n)
        self.scale_ = float((X - X.mean(axis=0)).std()) or 1.0
        found = self._learn(X[order] / self.scale_, place[given], price, seed)
        self.coef_ = np.ravel(self.pair_classifier_.decision_function(np.eye(X.shape[1])))
        # Pairs that are no rows of the problem follow the scores.
        self.ranking_ = order[in_order(n, found, (X @ self.coef_)[order])]
        self.n_iter_ = self.pair_classifier_.n_iter_
        return self

    def _learn(self, X: FloatArray, given: IntArray, price: FloatArray, seed: int) -> IntArray:
        """All pairs learned from, the first before the second."""
        n, rng = len(X), np.random.default_rng(seed)
        if n * (n - 1) // 2 <= self.max_pairs:
            pairs = np.column_stack(np.triu_indices(n, 1)).astype(np.intp)
        else:
            source = np.repeat(np.arange(n), self.n_random)
            drawn = np.column_stack([source, rng.integers(0, n, len(source))])
            drawn = np.sort(np.concatenate([drawn, given]), axis=1)
            key = np.unique(drawn[drawn[:, 0] < drawn[:, 1]] @ np.array([n, 1]))
            pairs = np.column_stack(np.divmod(key, n)).astype(np.intp)
        known: Hint = Order(pairs)
        at = np.searchsorted(pairs @ np.array([n, 1]), np.sort(given, axis=1) @ np.array([n, 1]))
        first = (given[:, 0] < given[:, 1]).astype(int)
        hard = np.isinf(price)
        if hard.any():
            known = known + Labels(at[hard], first[hard])
        if not hard.all():
            table = np.zeros((len(pairs), 2))
            np.add.at(table, (at[~hard], 1 - first[~hard]), price[~hard])
            known = known + Cost(table)
        solver = ("inductive" if hard.any() else "admm") if self.solver == "auto" else self.solver
        self.pair_classifier_ = HintClassifier(
            [0, 1],
            loss=self.loss,
            kernel="linear",
            C=self.C,
            label_weight=self.label_weight,
            solver=solver,
            n_init=1,
            max_iter=self.max_iter,
            tol=self.tol,
            n_reheats=0,
            time_limit=self.time_limit,
            random_state=seed,
        )
        with warnings.catch_warnings():
            # Which way round a pair is written says nothing.
            warnings.simplefilter("ignore", CollapseWarning)
            warnings.filterwarnings("ignore", "no row can have the class")
            self.pair_classifier_.fit(pair_features(X, pairs, "difference"), hints=known)
        yes = self.pair_classifier_.transduction_ == 1
        return np.where(yes[:, None], pairs, pairs[:, ::-1])

    def predict(self, X: Any) -> FloatArray:
        """Scores of rows: larger ones come first."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return np.asarray(X @ self.coef_ / self.scale_)

    def rank(self, X: Any) -> IntArray:
        """Rows from first to last by their scores."""
        return np.argsort(-self.predict(X), kind="stable")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _read(comparisons: Any, cost: Any, n: int) -> tuple[IntArray, FloatArray]:
    """Check comparisons and their costs."""
    pairs = np.empty((0, 2), np.intp) if comparisons is None else np.asarray(comparisons)
    if pairs.size == 0:
        pairs = np.empty((0, 2), np.intp)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise ValueError(
            f"comparisons must be whole numbers of shape (M, 2), got {pairs.dtype} of shape "
            f"{pairs.shape}."
        )
    wrong = np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= n).any(axis=1))
    if len(wrong):
        raise ValueError(f"comparison {wrong[0]} is {pairs[wrong[0]]}, but X has {n} rows.")
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(loops):
        raise ValueError(f"comparison {loops[0]} compares row {pairs[loops[0], 0]} with itself.")
    price = np.asarray(cost, np.float64)
    if price.shape not in {(), (len(pairs),)} or np.isnan(price).any() or (price < 0).any():
        raise ValueError(
            f"cost must be 0 or more, one number or one for each of {len(pairs)} comparisons."
        )
    return pairs.astype(np.intp), np.array(np.broadcast_to(price, (len(pairs),)))


def _require_order(pairs: IntArray, n: int) -> None:
    """Raise if comparisons that must hold go round in a circle, and say which rows do."""
    graph = sp.coo_array((np.ones(len(pairs), np.int8), pairs.T), (n, n)).tocsr()
    count, group = connected_components(graph, directed=True, connection="strong")
    if count == n:
        return
    inside = pairs[group[pairs[:, 0]] == group[pairs[:, 1]]]
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for first, then in inside.tolist():
        sorter.add(then, first)
    try:
        sorter.prepare()
    except CycleError as error:
        rows = error.args[1]
    shown = rows if len(rows) <= MOST_SHOWN else [*rows[: MOST_SHOWN - 2], "...", rows[-1]]
    raise InfeasibleHints(
        f"comparisons (of rows, or of values in y) put row {' before '.join(map(str, shown))}, "
        "which is a cycle; leave one of them out, or give comparisons a finite cost."
    )


def _values(y: Any, n: int) -> FloatArray:
    """Check values; NaN for all rows if there are none."""
    if y is None:
        return np.full(n, np.nan)
    values = column_or_1d(y, warn=True).astype(np.float64)
    if len(values) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows but y "
            f"has {len(values)}."
        )
    if np.isinf(values).any():
        raise ValueError("y holds infinity; expected numbers, or NaN where nothing is known.")
    return values


def _compare(values: FloatArray, most: int, rng: np.random.Generator) -> IntArray:
    """Comparisons that values imply: all, or those of neighbouring values and random ones.

    All between each two neighbouring values imply the others. Where these are more than `most`
    too, each row is compared with one of the next lower value.
    """
    rows = np.flatnonzero(~np.isnan(values))
    if len(rows) * (len(rows) - 1) // 2 <= most:
        a, b = np.triu_indices(len(rows), 1)
        pairs = np.column_stack([rows[a], rows[b]])
    else:
        pairs = np.concatenate(
            [_next_lower(rows, values, most, rng), rng.choice(rows, (20 * len(rows), 2))]
        )
    pairs = pairs[values[pairs[:, 0]] != values[pairs[:, 1]]]
    larger = values[pairs[:, 0]] > values[pairs[:, 1]]
    return np.where(larger[:, None], pairs, pairs[:, ::-1]).astype(np.intp)


def _next_lower(
    rows: IntArray, values: FloatArray, most: int, rng: np.random.Generator
) -> IntArray:
    """Rows with those of the next lower value: all if they are at most `most`, else one each."""
    level = np.unique(-values[rows], return_inverse=True)[1]
    rows, level = rows[np.argsort(level, kind="stable")], np.sort(level)
    size = np.append(np.bincount(level), 0)
    start, below = np.cumsum(size)[level], size[level + 1]  # of the next lower value
    if below.sum() > most:
        some = below > 0
        return np.column_stack([rows[some], rows[start[some] + rng.integers(0, below[some])]])
    first = np.cumsum(below) - below
    nth = np.arange(below.sum()) - np.repeat(first, below)
    return np.column_stack([np.repeat(rows, below), rows[np.repeat(start, below) + nth]])
