r"""Lower bound of an order's cost by packing directed cycles.

Every pair in its preferred direction would be best: :math:`\sum_e \min(g_e, 0)`. But of a cycle of
preferred directions at least one has to be turned, which costs the smallest :math:`|g_e|` on it or
more. Cycles that share an edge share its cost; any such packing is a bound.
"""

from __future__ import annotations

import numpy as np

from tacit.oracles._order_graph import OrderGraph
from tacit.oracles._partition_heap import jit

__all__ = ["packing_bound"]

# Steps of search per edge, and the longest cycle looked for.
WORK, LONGEST = 200, 64


def packing_bound(graph: OrderGraph, work: float = WORK) -> float:
    """Return a proven lower bound on the value of every order."""
    m = len(graph.gain)
    if m == 0:
        return 0.0
    around, hard = graph.pairing.adjacency, graph.pairing.hard
    # Positive where the arc leaves its item; a certain one costs any amount to turn.
    left = np.where(hard != 0, np.inf, np.abs(graph.gain))
    sign = np.where(hard != 0, hard, np.sign(graph.gain)).astype(np.int8)
    ends = np.where(sign[:, None] >= 0, graph.pairing.edges, graph.pairing.edges[:, ::-1])
    leaves = sign[around.edge] == graph.pairing.away
    packed = _pack(
        around.indptr, around.neighbor, around.edge, leaves, ends, left, LONGEST, int(work * m)
    )
    eps = 4.0 * np.finfo(float).eps * np.log2(m + 2.0)
    return graph.least + packed - eps * float(np.abs(graph.gain).sum())


@jit
def _pack(indptr, neighbor, edge, leaves, ends, left, longest, budget):  # type: ignore[no-untyped-def]
    """For growing lengths, search from each arc's end back to its start."""
    n, m = len(indptr) - 1, len(ends)
    seen, come = np.full(n, -1), np.empty(n, np.int64)
    queue, depth = np.empty(n, np.int64), np.empty(n, np.int64)
    open_, n_open = np.arange(m), m
    packed, stamp, length = 0.0, 0, 2
    while n_open > 0 and length < longest and budget > 0:
        kept = 0
        for i in range(n_open):
            e = open_[i]
            more = False
            while left[e] > 0.0 and budget > 0:
                source, target = ends[e, 1], ends[e, 0]
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
                        if leaves[k] and seen[u] != stamp and left[edge[k]] > 0.0:
                            seen[u], come[u] = stamp, k
                            queue[tail], depth[tail] = u, d + 1
                            tail += 1
                if seen[target] != stamp:
                    break
                t, v = left[e], target
                while v != source:
                    t = min(t, left[edge[come[v]]])
                    v = ends[edge[come[v]], 0]
                if t == np.inf:  # nothing but certain arcs: refused before
                    break
                packed += t
                left[e] -= t
                v = target
                while v != source:
                    f = edge[come[v]]
                    left[f] -= t
                    v = ends[f, 0]
            if more and left[e] > 0.0:
                open_[kept] = e
                kept += 1
        n_open = kept
        length += 1 if length < 8 else length // 4
    return packed
