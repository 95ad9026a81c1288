"""Insertion moves: take an item out of the order and put it back where it costs least.

A sweep tries every item once, with all its places in one pass over its row: n^2 steps on complete
graphs, M log M on sparse ones. Seeded kicks move some items at random and sweep again.

References
----------
T. Schiavinotto, T. Stuetzle, The linear ordering problem: instances, search space analysis and
algorithms, 2004.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.oracles._order_graph import OrderGraph
from tacit.oracles._partition_heap import jit

__all__ = ["insert", "kick"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# Sweeps, at most; ten are usual.
SWEEPS = 1000
# Share of the items that a kick moves, but at least so many.
KICKED, KICKED_LEAST = 0.02, 3


def insert(graph: OrderGraph, order: IntArray, sweeps: int = SWEEPS) -> IntArray:
    """Return an order that no insertion makes better; never a worse one."""
    order = np.array(order, np.int64)
    if graph.pairing.dense:
        _insert_matrix(graph.matrix, order, graph.tiny, sweeps)
    else:
        around = graph.pairing.adjacency
        gain = graph.strong[around.edge] * graph.pairing.away
        _insert_edges(around.indptr, around.neighbor, gain, order, graph.tiny, sweeps)
    return order


def kick(graph: OrderGraph, order: IntArray, rng: np.random.Generator, times: int) -> IntArray:
    """Return the best order after so many kicks, each from the best before."""
    n = graph.n
    if n < 3:
        return order
    best, value = order, graph.value(order)
    for _ in range(times):
        moved = rng.choice(n, min(max(KICKED_LEAST, int(KICKED * n)), n), replace=False)
        kept = np.delete(best, np.flatnonzero(np.isin(best, moved)))
        other = insert(graph, np.insert(kept, rng.integers(0, len(kept) + 1, len(moved)), moved))
        new = graph.value(other)
        if new <= value and graph.feasible(other):
            best, value = other, new
    return best


@jit
def _insert_matrix(G, order, tiny, sweeps):  # type: ignore[no-untyped-def]
    n = len(order)
    items = order.copy()
    place = np.empty(n, np.int64)
    for k in range(n):
        place[order[k]] = k
    for _ in range(sweeps):
        moved = False
        for v in items:
            at = place[v]
            best, least, change = at, -tiny, 0.0
            for k in range(at + 1, n):
                change += G[v, order[k]]
                if change < least:
                    best, least = k, change
            change = 0.0
            for k in range(at - 1, -1, -1):
                change -= G[v, order[k]]
                if change < least:
                    best, least = k, change
            if best != at:
                _shift(order, place, at, best)
                moved = True
        if not moved:
            break


@jit
def _insert_edges(indptr, neighbor, gain, order, tiny, sweeps):  # type: ignore[no-untyped-def]
    n = len(order)
    items = order.copy()
    place = np.empty(n, np.int64)
    for k in range(n):
        place[order[k]] = k
    for _ in range(sweeps):
        moved = False
        for v in items:
            begin, end = indptr[v], indptr[v + 1]
            if begin == end:
                continue
            at, own = place[v], place[neighbor[begin:end]]
            sorted_ = np.argsort(own)
            best, least, change = at, -tiny, 0.0
            for j in sorted_:
                if own[j] > at:
                    change += gain[begin + j]
                    if change < least:
                        best, least = own[j], change
            change = 0.0
            for j in sorted_[::-1]:
                if own[j] < at:
                    change -= gain[begin + j]
                    if change < least:
                        best, least = own[j], change
            if best != at:
                _shift(order, place, at, best)
                moved = True
        if not moved:
            break


@jit
def _shift(order, place, at, to):  # type: ignore[no-untyped-def]
    """Move the item at one place to another; those between move up."""
    v = order[at]
    step = 1 if to > at else -1
    for k in range(at, to, step):
        order[k] = order[k + step]
        place[order[k]] = k
    order[to], place[v] = v, to
