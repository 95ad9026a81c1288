r"""Pairs of items as a weighted directed graph: what a linear order pays, piece by piece.

An order pays :math:`\sum_{e = (a, b):\ b\ first} g_e`, where g is what "b before a" costs more than
"a before b". Pairs of the same two items are added up. The direction that costs less is the
preferred one; items that no cycle of preferred directions connects are put in order for nothing, so
that every strong component is a problem of its own.

=========  =========  ==================================================================
symbol     shape      meaning
=========  =========  ==================================================================
edges      (M, 2)     items of each pair, the smaller first, no two the same, sorted
gain       (M,)       cost of the second first, above that of the first first
hard       (M,)       1: the first has to be first, -1: the second, 0: free; gain is 0
order      (n,)       items from first to last
=========  =========  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from tacit.exceptions import InfeasibleHints
from tacit.oracles._partition_graph import (
    DENSE_NODES,
    DENSE_SHARE,
    Adjacency,
    adjacency,
    dear,
    rounding,
)
from tacit.oracles._partition_heap import jit, pop, push

__all__ = ["OrderGraph", "Pairing", "rank"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Pairing:
    """Items and pairs without their costs; many costs share one.

    Attributes
    ----------
    n : int
        Number of items.
    edges : (M, 2) array
        Sorted pairs of items.
    edge : (P,) array
        Edge of each pair that was given.
    sign : (P,) array
        1 where that pair is given as its edge is, -1 where the other way round.
    hard : (M,) array
        Which of the two has to be first.
    """

    n: int
    edges: IntArray
    edge: IntArray
    sign: npt.NDArray[np.int8]
    hard: npt.NDArray[np.int8]

    @classmethod
    def of(cls, n: int, pairs: IntArray, first: BoolArray, second: BoolArray) -> Pairing:
        """Sort the pairs.

        Parameters
        ----------
        n : int
            Number of items.
        pairs : (P, 2) array
            Items of each pair.
        first, second : (P,) arrays
            Pairs whose first item has to be first, and whose second one.

        Raises
        ------
        InfeasibleHints
            If some items have to be before each other in a circle.
        """
        if np.any(first & second):
            raise InfeasibleHints("some pair of items can be in neither order.")
        sign = np.where(pairs[:, 0] < pairs[:, 1], 1, -1).astype(np.int8)
        key, edge = np.unique(np.sort(pairs, axis=1) @ np.array([n, 1]), return_inverse=True)
        wanted = np.where(first, sign, np.where(second, -sign, 0))
        hard = np.zeros(len(key), np.int8)
        hard[edge[wanted != 0]] = wanted[wanted != 0]
        edges = np.column_stack(np.divmod(key, n)).astype(np.intp)
        if np.any(hard[edge][wanted != 0] != wanted[wanted != 0]):
            a, b = edges[edge[(wanted != 0) & (hard[edge] != wanted)][0]]
            raise InfeasibleHints(f"items {a} and {b} both have to be before the other.")
        found = cls(n, edges, edge.astype(np.intp), sign, hard)
        component = _strong(n, _directed(edges[hard != 0], hard[hard != 0]))
        circle = np.flatnonzero(np.bincount(component, minlength=1) > 1)
        if len(circle):
            some = np.flatnonzero(component == circle[0])
            raise InfeasibleHints(
                f"{len(some)} items, among them {some[0]} and {some[1]}, have to be before each "
                "other in a circle."
            )
        return found

    @cached_property
    def adjacency(self) -> Adjacency:
        """Edges by item."""
        return adjacency(self.n, self.edges)

    @cached_property
    def away(self) -> npt.NDArray[np.int8]:
        """For the entries of `adjacency`: 1 where the edge is given from that item, else -1."""
        around = self.adjacency
        source = np.repeat(np.arange(self.n), np.diff(around.indptr))
        return np.where(self.edges[around.edge, 0] == source, 1, -1).astype(np.int8)

    @property
    def dense(self) -> bool:
        """Whether a matrix of all items is the better form."""
        return self.n <= DENSE_NODES and len(self.edges) >= DENSE_SHARE * self.n * (self.n - 1) / 2

    @property
    def complete(self) -> bool:
        """Whether every two items are a pair."""
        return len(self.edges) == self.n * (self.n - 1) // 2

    def weigh(self, gain: FloatArray) -> OrderGraph:
        """Graph for pairs of which second first costs `gain` more; 0 where one is certain."""
        total = np.bincount(self.edge, gain * self.sign, minlength=len(self.edges))
        return OrderGraph(self, np.where(self.hard != 0, 0.0, total))


@dataclass(frozen=True)
class OrderGraph:
    """A pairing with costs."""

    pairing: Pairing
    gain: FloatArray

    @property
    def n(self) -> int:
        """Return the number of items."""
        return self.pairing.n

    @cached_property
    def strong(self) -> FloatArray:
        """Gains for local search: breaking what is certain costs more than all the rest."""
        return self.gain + self.pairing.hard * dear(self.gain)

    @cached_property
    def tiny(self) -> float:
        """Gains of local search below this are rounding of its sums."""
        return rounding(self.pairing.edges, self.strong, self.pairing.hard)

    @cached_property
    def matrix(self) -> FloatArray:
        """What "row after column" costs more than before, from `strong`; antisymmetric."""
        G, (a, b) = np.zeros((self.n, self.n)), self.pairing.edges.T
        G[a, b], G[b, a] = self.strong, -self.strong
        return G

    @cached_property
    def least(self) -> float:
        """Cost if every pair were in its preferred order: a bound."""
        return float(np.minimum(self.gain, 0.0).sum())

    def first(self, order: IntArray) -> BoolArray:
        """Edges whose first item comes first."""
        place = np.empty(self.n, np.intp)
        place[order] = np.arange(self.n)
        ends = place[self.pairing.edges]
        return np.asarray(ends[:, 0] < ends[:, 1])

    def value(self, order: IntArray) -> float:
        """Return what an order pays."""
        return float(self.gain[~self.first(order)].sum())

    def feasible(self, order: IntArray) -> bool:
        """Whether everything certain holds."""
        hard = self.pairing.hard
        return bool(((hard == 0) | (self.first(order) == (hard > 0))).all())

    def components(self) -> IntArray:
        """Strong components of the preferred directions, numbered in their order."""
        wanted = np.sign(self.gain).astype(np.int8) + self.pairing.hard
        arcs = _directed(self.pairing.edges[wanted != 0], wanted[wanted != 0])
        component = _strong(self.n, arcs)
        ends = component[arcs]
        apart = ends[:, 0] != ends[:, 1]
        k = int(component.max(initial=-1)) + 1
        place = np.empty(k, np.intp)
        place[rank(k, ends[apart], np.zeros(k))] = np.arange(k)
        return place[component]

    def start(self, score: FloatArray) -> IntArray:
        """Order by components, then by falling score as far as what is certain allows."""
        hard = self.pairing.hard
        arcs = _directed(self.pairing.edges[hard != 0], hard[hard != 0])
        component = self.components()
        # Components first: any score that is larger for earlier ones by more than all scores.
        spread = (2.0 * float(np.ptp(score)) if len(score) else 0.0) or 1.0
        return rank(self.n, arcs, score - spread * component)

    def part(self, items: IntArray, kept: IntArray) -> OrderGraph:
        """Return the graph of some of the items, sorted, with the edges `kept` between them."""
        ends = np.searchsorted(items, self.pairing.edges[kept])
        pairing = Pairing(
            len(items),
            ends,
            np.arange(len(kept)),
            np.ones(len(kept), np.int8),
            self.pairing.hard[kept],
        )
        return OrderGraph(pairing, self.gain[kept])


def _directed(edges: IntArray, sign: npt.NDArray[np.int8]) -> IntArray:
    return np.where(sign[:, None] > 0, edges, edges[:, ::-1])


def _strong(n: int, arcs: IntArray) -> IntArray:
    web = sp.coo_array((np.ones(len(arcs), np.int8), arcs.T), (n, n))
    return connected_components(web, connection="strong")[1].astype(np.intp)


def rank(n: int, arcs: IntArray, score: FloatArray) -> IntArray:
    """Order along the arcs, of several items the one with the largest score first.

    Shorter than n if the arcs have a cycle.
    """
    order = np.argsort(arcs[:, 0], kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(arcs[:, 0], minlength=n))])
    return _rank(indptr, arcs[order, 1], np.bincount(arcs[:, 1], minlength=n), score)


@jit
def _rank(indptr, target, waits, score):  # type: ignore[no-untyped-def]
    n = len(score)
    order, count = np.empty(n, np.int64), 0
    key, item, size = np.empty(n), np.empty(n, np.int64), 0
    for v in range(n):
        if waits[v] == 0:
            size = push(key, item, size, score[v], v)
    while size > 0:
        size = pop(key, item, size)
        v = item[size]
        order[count] = v
        count += 1
        for k in range(indptr[v], indptr[v + 1]):
            u = target[k]
            waits[u] -= 1
            if waits[u] == 0:
                size = push(key, item, size, score[u], u)
    return order[:count]
