"""Which pairs of rows a model of pairs learns from, and what is known about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from tacit.exceptions import InfeasibleHints
from tacit.hints import CannotLink, Cost, Hint, Hints, Labels, MustLink
from tacit.hints.combine import infer_classes
from tacit.hints.pairs import linked_groups

__all__ = ["Links", "choose_pairs", "components", "pair_hints", "read_links"]

IntArray = npt.NDArray[np.intp]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Links:
    """What is known about pairs of n rows.

    Attributes
    ----------
    group : (n,) array
        Rows of one group are joined for certain.
    apart : (A, 2) array
        Pairs of groups that are apart for certain, the smaller first.
    soft : (S, 2) array
        Pairs of rows with a cost.
    cost : (S, 2) array
        Of being apart, and of being joined.
    """

    group: IntArray
    apart: IntArray
    soft: IntArray
    cost: FloatArray

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return len(self.group)

    def take(self, order: IntArray) -> Links:
        """Return the same for rows in another order."""
        new = np.empty(self.n, np.intp)
        new[order] = np.arange(self.n)
        return Links(self.group[order], self.apart, new[self.soft], self.cost)

    def known(self, pairs: IntArray) -> npt.NDArray[np.int8]:
        """Return 1 for pairs that are joined for certain, 0 apart, -1 unknown."""
        ends = np.sort(self.group[pairs], axis=1)
        answer = np.where(ends[:, 0] == ends[:, 1], 1, -1).astype(np.int8)
        key = np.array([self.n, 1])
        answer[np.isin(ends @ key, self.apart @ key)] = 0
        return answer

    def examples(self) -> IntArray:
        """Pairs that say all that is certain: chains within groups, one pair between two."""
        order = np.argsort(self.group, kind="stable")
        same = self.group[order[1:]] == self.group[order[:-1]]
        chains = np.column_stack([order[:-1], order[1:]])[same]
        _, first = np.unique(self.group, return_index=True)
        return np.concatenate([chains, first[self.apart]]).astype(np.intp)


def read_links(hint: Hint, n: int) -> Links:
    """Read labels and links as what is known about pairs.

    Raises
    ------
    TypeError
        For hints of other kinds.
    InfeasibleHints
        If rows are apart that others join.
    """
    parts = list(Hints([hint]))
    for part in parts:
        if not isinstance(part, Labels | MustLink | CannotLink):
            raise TypeError(
                f"{part!r} says nothing about pairs of rows; give labels in y, hints.MustLink and "
                "hints.CannotLink."
            )
    label = _labels([part for part in parts if isinstance(part, Labels)], n)
    must = [part for part in parts if isinstance(part, MustLink)]
    cannot = [part for part in parts if isinstance(part, CannotLink)]
    for part in (*must, *cannot):
        part._fit(n)
    rows = np.flatnonzero(label >= 0)
    _, first = np.unique(label[rows], return_index=True)
    chains = np.column_stack([rows, rows[first][label[rows]]])
    hard = [part.hard for part in must]
    group = linked_groups(np.concatenate([chains, *hard]).astype(np.intp), n).astype(np.intp)
    sides = [part._pairs[np.isinf(part._cost)] for part in cannot]
    classes = np.unique(group[rows[first]])
    if len(classes) < len(first):
        raise InfeasibleHints("must-links join rows that are labelled with different classes.")
    between = classes[np.column_stack(np.triu_indices(len(classes), 1))]
    for pairs in sides:
        if len(broken := np.flatnonzero(group[pairs[:, 0]] == group[pairs[:, 1]])):
            a, b = pairs[broken[0]]
            raise InfeasibleHints(
                f"a cannot-link parts rows {a} and {b}, which labels or must-links join; leave one "
                "of them out, or give links a finite cost."
            )
    apart = np.sort(np.concatenate([between, *(group[pairs] for pairs in sides)]), axis=1)
    soft, cost = _soft(must, cannot)
    return Links(group, np.unique(apart, axis=0).astype(np.intp), soft, cost)


def _labels(parts: Sequence[Labels], n: int) -> IntArray:
    """Class code of each row, -1 for none; codes without gaps."""
    known = Hints(parts)
    codes = infer_classes(None, (), known)
    label = np.full(n, -1, np.intp)
    if not len(codes):
        return label
    mask = known.compile(n, codes).mask
    if not mask.any(axis=1).all():
        row = np.flatnonzero(~mask.any(axis=1))[0]
        raise InfeasibleHints(f"row {row} is labelled with two classes.")
    rows = np.unique(np.concatenate([part.rows() for part in parts]))
    label[rows] = np.unique(mask[rows].argmax(axis=1), return_inverse=True)[1]
    return label


def _soft(must: Sequence[MustLink], cannot: Sequence[CannotLink]) -> tuple[IntArray, FloatArray]:
    pairs, costs = [np.empty((0, 2), np.intp)], [np.empty((0, 2))]
    for side, parts in ((0, must), (1, cannot)):
        for part in parts:
            finite = np.isfinite(part._cost)
            paid = np.zeros((int(finite.sum()), 2))
            paid[:, side] = part._cost[finite]
            pairs.append(part._pairs[finite])
            costs.append(paid)
    return np.concatenate(pairs), np.concatenate(costs)


def choose_pairs(
    X: Any, extra: IntArray, max_pairs: int, n_neighbors: int, n_random: int, rng: Any
) -> tuple[IntArray, bool]:
    """All pairs of rows if they are at most `max_pairs`; else neighbours, random ones and `extra`.

    Returns
    -------
    pairs : (M, 2) array
        The smaller row first, sorted, none twice.
    complete : bool
        Whether these are all.
    """
    n = len(X)
    if n * (n - 1) // 2 <= max_pairs:
        return np.column_stack(np.triu_indices(n, 1)).astype(np.intp), True
    near = NearestNeighbors(n_neighbors=min(n_neighbors, n - 1)).fit(X).kneighbors()[1]
    beside = np.column_stack([np.repeat(np.arange(n), near.shape[1]), near.ravel()])
    anywhere = np.column_stack(
        [np.repeat(np.arange(n), n_random), rng.integers(0, n, n * n_random)]
    )
    found = np.sort(np.concatenate([beside, anywhere, extra]), axis=1)
    found = found[found[:, 0] < found[:, 1]]
    key = np.unique(found @ np.array([n, 1]))
    return np.column_stack(np.divmod(key, n)).astype(np.intp), False


def pair_hints(pairs: IntArray, links: Links, guesses: FloatArray | None) -> Hints:
    """Say what is known about each pair: labels 0 apart and 1 joined, and costs."""
    answer = links.known(pairs)
    rows = np.flatnonzero(answer >= 0)
    parts: list[Hint] = [Labels(rows, answer[rows].astype(int))] if len(rows) else []
    table = np.zeros((len(pairs), 2)) if guesses is None else guesses
    if len(links.soft):
        key = np.array([links.n, 1])
        at = np.searchsorted(pairs @ key, np.sort(links.soft, axis=1) @ key)
        np.add.at(table, at, links.cost)
    if table.any():
        parts.append(Cost(table))
    return Hints(parts)


def components(n: int, pairs: IntArray) -> IntArray:
    """Group of each row, numbered as they appear."""
    graph = sp.coo_array((np.ones(len(pairs), np.int8), pairs.T), (n, n))
    _, label = connected_components(graph, directed=False)
    _, first, which = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which]
