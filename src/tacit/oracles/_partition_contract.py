"""Greedy additive edge contraction: join the two clusters with the largest weight between them.

References
----------
M. Keuper et al., Efficient decomposition of image and mesh graphs by lifted multicuts, ICCV 2015.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.oracles._partition_graph import CutGraph
from tacit.oracles._partition_heap import jit, pop, push, table_add, table_drop, table_find

__all__ = ["contract"]


def contract(graph: CutGraph) -> npt.NDArray[np.int32]:
    """Clusters by contraction from single nodes, (n,); stops where no weight is positive."""
    if graph.n == 0:
        return np.empty(0, np.int32)
    if graph.shape.dense:
        return np.asarray(_contract_matrix(graph.matrix.copy()))
    m = len(graph.shape.edges)
    size = 1 << int(np.ceil(np.log2(max(2 * m, 2))))
    ends = graph.shape.edges.astype(np.int32)
    table = np.full(size, -1, np.int64), np.empty(size, np.int32)
    return np.asarray(_contract_edges(graph.n, ends, graph.strong.copy(), *table))


@jit
def _contract_matrix(W):  # type: ignore[no-untyped-def]
    """Keep the best neighbour of every node; about n^2 work, n^3 at worst."""
    n = len(W)
    label = np.arange(n).astype(np.int32)
    nodes = np.arange(n)  # those left
    best = np.empty(n, np.int64)
    for v in range(n):
        best[v] = _best(W, nodes, n, v)
    left = n
    while left > 1:
        a = -1
        for k in range(left):
            v = nodes[k]
            if best[v] >= 0 and (a < 0 or W[v, best[v]] > W[a, best[a]]):
                a = v
        if a < 0 or W[a, best[a]] <= 0.0:
            break
        b = best[a]
        a, b = min(a, b), max(a, b)
        label[b] = a
        k = 0
        while nodes[k] != b:
            k += 1
        for j in range(k, left - 1):  # in order: ties go to the first
            nodes[j] = nodes[j + 1]
        left -= 1
        for k in range(left):
            c = nodes[k]
            if c != a:
                W[a, c] += W[b, c]
        best[a] = _best(W, nodes, left, a)
        for k in range(left):
            c = nodes[k]
            if c == a:
                continue
            W[c, a] = W[a, c]
            if best[c] == a or best[c] == b:
                best[c] = _best(W, nodes, left, c)
            elif W[c, a] > W[c, best[c]] or (W[c, a] == W[c, best[c]] and a < best[c]):
                best[c] = a
    _settle(label)
    return label


@jit
def _best(W, nodes, left, v):  # type: ignore[no-untyped-def]
    """Node with the largest weight to v, -1 if v is alone."""
    best = -1
    for k in range(left):
        u = nodes[k]
        if u != v and (best < 0 or W[v, u] > W[v, best]):
            best = u
    return best


@jit
def _settle(label):  # type: ignore[no-untyped-def]
    """Follow every node to the one it was joined with last."""
    for v in range(len(label)):
        top = v
        while label[top] != top:
            top = label[top]
        while label[v] != top:  # shorten the way for others
            label[v], v = top, label[v]


@jit
def _contract_edges(n, ends, weight, names, slots):  # type: ignore[no-untyped-def]
    """Move the smaller list of edges to the larger: M log n moves, each with a heap step."""
    m = len(ends)
    label = np.arange(n).astype(np.int32)
    # Half edge 2 e + s stands in the list of node ends[e, s].
    first, last, degree = np.full(n, -1), np.full(n, -1), np.zeros(n, np.int64)
    after = np.full(2 * m, -1)
    key, item, size = np.empty(max(2 * m, 16)), np.empty(max(2 * m, 16), np.int32), 0
    for e in range(m):
        for s in range(2):
            _append(first, last, after, degree, ends[e, s], 2 * e + s)
        table_add(names, slots, n, ends[e, 0], ends[e, 1], np.int32(e))
        if weight[e] > 0.0:
            size = push(key, item, size, weight[e], np.int32(e))
    alive = np.ones(m, np.bool_)
    while size > 0:
        size = pop(key, item, size)
        k, e = key[size], item[size]
        if not alive[e] or weight[e] != k:
            continue  # an old entry
        a, b = ends[e, 0], ends[e, 1]
        if degree[a] < degree[b]:
            a, b = b, a
        alive[e] = False
        label[b] = a
        table_drop(names, slots, n, a, b)
        half = first[b]
        while half >= 0:
            following = after[half]
            f = half // 2
            if alive[f]:
                c = ends[f, 1 - half % 2]
                table_drop(names, slots, n, b, c)
                g = table_find(names, slots, n, a, c)
                if g >= 0:
                    alive[f] = False
                    weight[g] += weight[f]
                else:
                    g = np.int32(f)
                    ends[f, half % 2] = a
                    table_add(names, slots, n, a, c, g)
                    _append(first, last, after, degree, a, half)
                if weight[g] > 0.0 and g != f:
                    if size == len(key):
                        key = np.concatenate((key, np.empty(size)))
                        item = np.concatenate((item, np.empty(size, np.int32)))
                    size = push(key, item, size, weight[g], g)
            half = following
    _settle(label)
    return label


@jit
def _append(first, last, after, degree, node, half):  # type: ignore[no-untyped-def]
    after[half] = -1
    if first[node] < 0:
        first[node] = half
    else:
        after[last[node]] = half
    last[node] = half
    degree[node] += 1
