r"""Lower bound of a partition's cost by packing cycles.

Cutting every edge of negative weight would be best, were it possible: :math:`\sum_e \min(w_e, 0)`.
But a cycle with exactly one of them cannot have that one alone cut: it costs at least its smallest
:math:`|w_e|` more. Cycles that share an edge share its weight; any such packing is a bound.

References
----------
J.-H. Lange, A. Karrenbauer, B. Andres, Partial optimality and fast lower bounds for weighted
correlation clustering, ICML 2018.
"""

from __future__ import annotations

import numpy as np

from tacit.oracles._partition_graph import CutGraph
from tacit.oracles._partition_heap import jit

__all__ = ["packing_bound"]

# Steps of search, at most, per edge of the graph: short cycles come first, and what time leaves
# unpacked makes the bound lower, not wrong.
WORK = 200
# Longest cycle looked for.
LONGEST = 64


def packing_bound(graph: CutGraph, work: float = WORK) -> float:
    """Return a proven lower bound on the value of every partition.

    Parameters
    ----------
    graph : CutGraph
        Nodes and weights.
    work : float
        Steps of search per edge.
    """
    m = len(graph.shape.edges)
    if m == 0:
        return 0.0
    hard, weight = graph.shape.hard, graph.weight
    # What is left of every edge; one that is cut for sure has any amount.
    left = np.where(hard, -np.inf, weight)
    budget = int(work * m)
    if graph.shape.dense:
        L = np.zeros((graph.n, graph.n))
        a, b = graph.shape.edges.T
        L[a, b] = L[b, a] = left
        packed = _pack_triangles(L, graph.shape.edges, budget)
    else:
        around = graph.shape.adjacency
        ends = graph.shape.edges.astype(np.int32)
        packed = _pack_cycles(
            around.indptr, around.neighbor, around.edge, ends, left, LONGEST, budget
        )
    total = float(np.minimum(weight, 0.0).sum()) + packed
    # Each edge enters a few sums; none is off by more than its roundings.
    return total - 4.0 * np.finfo(float).eps * np.log2(m + 2.0) * float(np.abs(weight).sum())


@jit
def _pack_triangles(L, edges, budget):  # type: ignore[no-untyped-def]
    """Triangles of one negative edge and two positive ones, largest share first for each edge."""
    n = len(L)
    packed = 0.0
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        if L[a, b] >= 0.0:
            continue
        budget -= n
        if budget < 0:
            break
        for c in range(n):
            t = min(L[a, c], L[c, b])
            if t <= 0.0:
                continue
            t = min(t, -L[a, b])
            packed += t
            L[a, c] -= t
            L[c, a] = L[a, c]
            L[c, b] -= t
            L[b, c] = L[c, b]
            L[a, b] += t
            L[b, a] = L[a, b]
            if L[a, b] >= 0.0:
                break
    return packed


@jit
def _pack_cycles(indptr, neighbor, edge, ends, left, longest, budget):  # type: ignore[no-untyped-def]
    """For growing lengths, search from one end of each negative edge for the other."""
    n, m = len(indptr) - 1, len(ends)
    seen, come = np.full(n, -1), np.empty(n, np.int64)
    queue, depth = np.empty(n, np.int64), np.empty(n, np.int64)
    open_ = np.empty(m, np.int64)  # negative edges that may still close a cycle
    n_open = 0
    for e in range(m):
        if left[e] < 0.0:
            open_[n_open] = e
            n_open += 1
    packed, stamp, length = 0.0, 0, 2
    while n_open > 0 and length < longest and budget > 0:
        kept = 0
        for i in range(n_open):
            e = open_[i]
            again = True
            while again and budget > 0:
                again = False
                source, target = ends[e, 0], ends[e, 1]
                stamp += 1
                head, tail, more = 0, 1, False
                queue[0], depth[0], seen[source] = source, 0, stamp
                while head < tail and seen[target] != stamp:
                    v, d = queue[head], depth[head]
                    head += 1
                    if d == length:  # the way may go on for longer cycles
                        more = True
                        break
                    budget -= indptr[v + 1] - indptr[v]
                    for k in range(indptr[v], indptr[v + 1]):
                        u = neighbor[k]
                        if seen[u] != stamp and left[edge[k]] > 0.0:
                            seen[u], come[u] = stamp, k
                            queue[tail], depth[tail] = u, d + 1
                            tail += 1
                if seen[target] != stamp:
                    if more:
                        open_[kept] = e
                        kept += 1
                    continue
                t, v = -left[e], target
                while v != source:
                    t = min(t, left[edge[come[v]]])
                    v = _other(ends, edge[come[v]], v)
                packed += t
                left[e] += t
                v = target
                while v != source:
                    left[edge[come[v]]] -= t
                    v = _other(ends, edge[come[v]], v)
                again = left[e] < 0.0
        n_open = kept
        length += 1 if length < 8 else length // 4
    return packed


@jit
def _other(ends, e, v):  # type: ignore[no-untyped-def]
    return ends[e, 0] if ends[e, 1] == v else ends[e, 1]
