r"""Bounds and exact linear orders by linear programs with violated directed cycles.

.. math:: \min_x \sum_e g_e (1 - x_e) \quad\text{s.t.}\quad
    \sum_{(a, b) \in C} y_{ab} \le |C| - 1 \quad\text{for directed cycles } C, \; 0 \le x \le 1,

:math:`y_{ab} = x_e` along the edge and :math:`1 - x_e` against it. Where every two items are a
pair, cycles of three imply all others; else a broken row is a short path in the lengths
:math:`1 - y`.

References
----------
M. Groetschel, M. Juenger, G. Reinelt, A cutting plane algorithm for the linear ordering problem,
Operations Research 32 (1984).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.oracles._order_graph import OrderGraph, rank
from tacit.oracles._order_moves import insert
from tacit.oracles._partition_heap import jit
from tacit.oracles._row_generation import GrowingModel, Rows, Until, grow
from tacit.oracles._short_paths import short_paths

__all__ = ["close"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

BROKEN = 1e-5
# Rows added at a time, the most broken first.
ADDED, ADDED_SHARE = 1000, 0.5
# What is called closed, in units of the largest cost.
CLOSED = 1e-8


def close(
    graph: OrderGraph, order: IntArray, whole: bool, until: Until, bound: float = -np.inf
) -> tuple[IntArray, float]:
    """Best order of a graph, or the best found, and a proven bound.

    Parameters
    ----------
    graph : OrderGraph
        One strong component, or the bound is no better than for its parts.
    order : (n,) array
        An order with everything that is certain.
    whole : bool
        Branch where the relaxation is fractional.
    until : Until
        Limits of time and nodes.
    bound : float
        A bound that is known.
    """
    unit = float(np.abs(graph.gain).max(initial=0.0))
    if unit == 0.0:
        return order, 0.0
    if graph.value(order) - bound <= CLOSED * unit:
        return order, bound
    search = _Search(graph, order, unit)
    hard, base = graph.pairing.hard, float(graph.gain.sum())
    model = GrowingModel(-graph.gain / unit, (hard > 0).astype(float), (hard >= 0).astype(float))
    x, found = grow(model, search.broken, until, search.gap)
    bound = max(bound, _above(found * unit, base))
    if x is None or not whole or search.closed(bound):
        return search.order, bound
    for whole_x, below in model.branches(until, search.start):
        bound = max(bound, _above(below * unit, base))
        if whole_x is None or search.closed(bound):
            break
        rows = search.broken_whole(whole_x)
        search.try_columns(whole_x, whole=not len(rows))
        if not len(rows):
            break
        model.add(rows)
    return search.order, bound


def _above(bound: float, base: float) -> float:
    """Put the constant back; rounding goes down."""
    return bound + base - 4.0 * np.finfo(float).eps * (abs(bound) + abs(base))


class _Search:
    """The best order so far, and rows that columns break."""

    def __init__(self, graph: OrderGraph, order: IntArray, unit: float) -> None:
        self.graph, self.unit = graph, unit
        self.order, self.value = order, graph.value(order)
        self._complete = graph.pairing.complete
        self._added = max(ADDED, int(ADDED_SHARE * len(graph.gain)))
        # One number for each arc, so that the same cycle found twice has the same sum.
        salt = np.random.default_rng(0).integers(1, 2**62, 2 * len(graph.gain), dtype=np.int64)
        self._salt = salt.astype(np.uint64)
        if self._complete:
            a, b = graph.pairing.edges.T
            self._edge = np.zeros((graph.n, graph.n), np.intp)
            self._edge[a, b] = self._edge[b, a] = np.arange(len(a))

    def start(self) -> FloatArray:
        """Columns of the best order."""
        return self.graph.first(self.order).astype(float)

    def try_columns(self, x: FloatArray, whole: bool = False) -> None:
        """Make an order of columns, those of an order if `whole`; keep it if it is the best."""
        a, b = self.graph.pairing.edges.T
        if whole:
            arcs = np.where(x[:, None] > 0.5, self.graph.pairing.edges, np.column_stack([b, a]))
            self._try(rank(self.graph.n, arcs, np.zeros(self.graph.n)))
            return
        score = np.bincount(a, x - 0.5, minlength=self.graph.n)
        score -= np.bincount(b, x - 0.5, minlength=self.graph.n)
        self._try(self.graph.start(np.asarray(score, np.float64)))

    def _try(self, order: IntArray) -> None:
        order = insert(self.graph, order)
        value = self.graph.value(order)
        if value < self.value and self.graph.feasible(order):
            self.order, self.value = order, value

    def closed(self, bound: float) -> bool:
        """Whether the best order meets a bound."""
        return self.value - bound <= CLOSED * self.unit

    def gap(self, x: FloatArray, bound: float) -> float:
        """Round the columns on the way; what is left above the bound, 0 where closed."""
        self.try_columns(x)
        bound = _above(bound * self.unit, float(self.graph.gain.sum()))
        return 0.0 if self.closed(bound) else self.value - bound

    def broken(self, x: FloatArray) -> Rows:
        """Cycles that fractional columns break."""
        return self._triangles(x) if self._complete else self._cycles(x, BROKEN)

    def broken_whole(self, x: FloatArray) -> Rows:
        """Cycles that whole columns break."""
        return self._triangles(x) if self._complete else self._cycles(x, 0.5)

    def _triangles(self, x: FloatArray) -> Rows:
        """0 <= x_ij + x_jk - x_ik <= 1 for i < j < k, where broken."""
        n, e = self.graph.n, self._edge
        X = np.zeros((n, n))
        a, b = self.graph.pairing.edges.T
        X[a, b] = x
        found, side, amount = _find_triangles(X, BROKEN)
        chosen = np.argsort(-amount, kind="stable")[: self._added]
        (i, j, k), s = found[chosen].T, side[chosen]
        data = (np.array([[1.0, 1.0, -1.0]]) * s[:, None]).ravel()
        columns = np.column_stack([e[i, j], e[j, k], e[i, k]]).ravel()
        indptr = np.arange(0, 3 * len(s) + 1, 3)
        A = sp.csr_array((data, columns, indptr), shape=(len(s), len(x)))
        return Rows(A, np.where(s > 0, 1.0, 0.0))

    def _cycles(self, x: FloatArray, broken: float) -> Rows:
        """Shortest cycle through each arc, where its length is below 1."""
        pairing = self.graph.pairing
        around, away = pairing.adjacency, pairing.away
        y = np.clip(np.where(away > 0, x[around.edge], 1.0 - x[around.edge]), 0.0, 1.0)
        step = 1e-3 * broken / self.graph.n  # of equally long cycles the one with the fewest
        web = around.indptr, around.neighbor, 1.0 - y + step
        # An arc (a, b) asks for a path from b to a; these are sorted by b already, as (b, a).
        source = np.repeat(np.arange(self.graph.n), np.diff(around.indptr))
        back = np.clip(np.where(away > 0, 1.0 - x[around.edge], x[around.edge]), 0.0, 1.0)
        asked = np.flatnonzero(back > broken)
        pairs = np.column_stack([source, around.neighbor])[asked].astype(np.intp)
        found, indptr, arcs, amount = short_paths(web, pairs, back[asked] - broken)
        return self._rows(asked[found], indptr, arcs, amount, len(x))

    def _rows(
        self, own: IntArray, indptr: IntArray, arcs: IntArray, amount: FloatArray, width: int
    ) -> Rows:
        """Sum of y <= |C| - 1 for paths and the arcs that close them, each cycle once."""
        around, away = self.graph.pairing.adjacency, self.graph.pairing.away
        shape = (len(own), width)
        steps = sp.csr_array((away[arcs].astype(float), around.edge[arcs], indptr), shape=shape)
        # The closing arc runs against the entry that asked for it.
        closing = sp.csr_array(
            (-away[own].astype(float), around.edge[own], np.arange(len(own) + 1)), shape=shape
        )
        against = np.add.reduceat(away[arcs] < 0, indptr[:-1]) if len(own) else np.empty(0, int)
        against = against + (away[own] > 0)
        name = 2 * around.edge.astype(np.intp) + (away > 0)
        sums = np.add.reduceat(self._salt[name[arcs]], indptr[:-1]) if len(own) else own
        sums = sums + self._salt[name[own] ^ 1] if len(own) else sums
        _, once = np.unique(sums, return_index=True)
        chosen = once[np.argsort(-amount[once], kind="stable")][: self._added]
        upper = np.diff(indptr) - against  # |C| - 1 is the length of the path
        A = sp.csr_array(steps + closing)[chosen]
        return Rows(sp.csr_array(A), upper[chosen].astype(float))


@jit
def _find_triangles(X, broken):  # type: ignore[no-untyped-def]
    """For each pair i < k the j between them that breaks 0 <= x_ij + x_jk - x_ik <= 1 most."""
    n = len(X)
    found = np.empty((n * (n - 1), 3), np.int64)
    side, amount = np.empty(len(found)), np.empty(len(found))
    count = 0
    for i in range(n):
        for k in range(i + 2, n):
            high, low, most, least = -1, -1, 1.0 + broken, -broken
            for j in range(i + 1, k):
                total = X[i, j] + X[j, k] - X[i, k]
                if total > most:
                    high, most = j, total
                if total < least:
                    low, least = j, total
            if high >= 0:
                found[count, 0], found[count, 1], found[count, 2] = i, high, k
                side[count], amount[count] = 1.0, most - 1.0
                count += 1
            if low >= 0:
                found[count, 0], found[count, 1], found[count, 2] = i, low, k
                side[count], amount[count] = -1.0, -least
                count += 1
    return found[:count], side[:count], amount[:count]
