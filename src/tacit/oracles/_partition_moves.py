"""Kernighan-Lin with joins: move nodes between two clusters, join them, or split one off.

For every two clusters that some positive edge connects, nodes move across their border one after
the other, the best one first and each once; the best prefix of that sequence is kept, or the two
are joined where that is better. A sequence against an empty cluster splits. Only clusters that
have changed are looked at again.

References
----------
M. Keuper et al., Efficient decomposition of image and mesh graphs by lifted multicuts, ICCV 2015.
B. W. Kernighan, S. Lin, An efficient heuristic procedure for partitioning graphs, 1970.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.oracles._partition_graph import CutGraph
from tacit.oracles._partition_heap import jit, pop, push

__all__ = ["improve"]

# Sweeps over all pairs of clusters, at most; a handful is usual.
SWEEPS = 100
# A sequence ends so many moves after its best prefix, and that prefix's length more.
PATIENCE = 50


def improve(
    graph: CutGraph, label: npt.NDArray[np.integer], sweeps: int = SWEEPS
) -> npt.NDArray[np.int32]:
    """Return a partition (n,) that no sequence of moves makes better; never a worse one."""
    if graph.n == 0:
        return np.empty(0, np.int32)
    _, start = np.unique(label, return_inverse=True)
    improved = np.asarray(start, np.int32)
    dense, weight = graph.shape.dense, graph.strong
    W = graph.matrix if dense else np.empty((0, 0))
    if dense:
        beside = np.empty(0, np.intp), np.empty(0, np.int32), np.empty(0)
    else:
        around = graph.shape.adjacency
        beside = around.indptr, around.neighbor, weight[around.edge]
    _sweeps(
        dense, W, *beside, graph.shape.edges.astype(np.int32), weight, improved, graph.tiny, sweeps
    )
    return improved


@jit
def _sweeps(dense, W, indptr, neighbor, beside, ends, weight, label, tiny, sweeps):  # type: ignore[no-untyped-def]
    """Sweep over pairs of clusters and splits until nothing changes."""
    n = len(label)
    first, after, before = np.full(n, -1), np.full(n, -1), np.full(n, -1)
    for v in range(n):
        _link(first, after, before, label[v], v)
    fresh = np.ones(n, np.bool_)  # clusters changed since they were last looked at
    own = np.zeros(n)
    D, free = np.empty(n), np.ones(n, np.bool_)
    nodes, moved = np.empty(n, np.int64), np.empty(n, np.int64)
    if dense:
        for v in range(n):
            for u in range(n):
                if label[u] == label[v]:
                    own[v] += W[v, u]
    spare = 0
    for _ in range(sweeps):
        look, fresh = fresh, np.zeros(n, np.bool_)
        pairs = _neighbors(ends, weight, label, look, n)
        for k in range(len(pairs) + n):
            # Pairs of clusters, then every cluster against an empty one.
            if k < len(pairs):
                a, b = pairs[k] // n, pairs[k] % n
                if first[b] < 0:
                    continue
            else:
                a = k - len(pairs)
                if not (look[a] or fresh[a]):
                    continue
                tried = 0
                while tried < n and first[spare] >= 0:
                    spare = (spare + 1) % n
                    tried += 1
                if tried == n:  # nothing but single nodes
                    continue
                b = spare
            if first[a] < 0:
                continue
            if dense:
                gain, joined, kept = _try_matrix(
                    W, label, first, after, own, a, b, D, free, nodes, moved, tiny
                )
            else:
                gain, joined, kept = _try_edges(
                    indptr, neighbor, beside, label, first, after, a, b, D, free, moved, tiny
                )
            if joined > max(gain, tiny):
                for j in range(kept):
                    label[moved[j]] = a if label[moved[j]] == b else b
                kept = 0
                v = first[b]
                while v >= 0:
                    moved[kept] = v
                    label[v] = a
                    kept += 1
                    v = after[v]
            if kept > 0:
                fresh[a] = fresh[b] = True
            for j in range(kept):
                v = moved[j]
                old = b if label[v] == a else a
                _unlink(first, after, before, old, v)
                _link(first, after, before, label[v], v)
                if dense:
                    _recount(W, first, after, own, old, label[v], v)
        if not fresh.any():
            break


@jit
def _link(first, after, before, c, v):  # type: ignore[no-untyped-def]
    after[v], before[v] = first[c], -1
    if first[c] >= 0:
        before[first[c]] = v
    first[c] = v


@jit
def _unlink(first, after, before, c, v):  # type: ignore[no-untyped-def]
    if before[v] >= 0:
        after[before[v]] = after[v]
    else:
        first[c] = after[v]
    if after[v] >= 0:
        before[after[v]] = before[v]


@jit
def _recount(W, first, after, own, old, new, v):  # type: ignore[no-untyped-def]
    """Weights to the own cluster after v has moved."""
    u = first[old]
    while u >= 0:
        own[u] -= W[u, v]
        u = after[u]
    own[v] = 0.0
    u = first[new]
    while u >= 0:
        own[u] += W[u, v]
        if u != v:
            own[v] += W[v, u]
        u = after[u]


@jit
def _neighbors(ends, weight, label, look, n):  # type: ignore[no-untyped-def]
    """Pairs of clusters that a positive edge connects, as a * n + b."""
    found = np.empty(len(ends), np.int64)
    count = 0
    for e in range(len(ends)):
        a, b = label[ends[e, 0]], label[ends[e, 1]]
        if a != b and weight[e] > 0.0 and (look[a] or look[b]):
            found[count] = np.int64(min(a, b)) * n + max(a, b)
            count += 1
    return np.unique(found[:count])


@jit
def _try_matrix(W, label, first, after, own, a, b, D, free, nodes, moved, tiny):  # type: ignore[no-untyped-def]
    """Gain of the best sequence between two clusters, of joining them, and the moves made."""
    count = 0
    for c in (a, b):
        v = first[c]
        while v >= 0:
            nodes[count] = v
            count += 1
            v = after[v]
    size = 0
    while size < count and label[nodes[size]] == a:
        size += 1
    joined = 0.0
    for i in range(count):
        D[nodes[i]] = -own[nodes[i]]
    for i in range(size):
        for j in range(size, count):
            w = W[nodes[i], nodes[j]]
            D[nodes[i]] += w
            D[nodes[j]] += w
            joined += w
    total = best = 0.0
    kept = step = 0
    while step < count and step < 2 * kept + PATIENCE:
        v = -1
        for i in range(count):
            u = nodes[i]
            if free[u] and (v < 0 or D[u] > D[v]):
                v = u
        free[v] = False
        total += D[v]
        label[v] = b if label[v] == a else a
        moved[step] = v
        step += 1
        if total > best + tiny:
            best, kept = total, step
        for i in range(count):
            u = nodes[i]
            if label[u] == label[v]:
                D[u] -= 2.0 * W[v, u]
            else:
                D[u] += 2.0 * W[v, u]
    _undo(label, free, moved, kept, step, a, b)
    return best, joined, kept


@jit
def _undo(label, free, moved, kept, step, a, b):  # type: ignore[no-untyped-def]
    """Take back the moves behind the best prefix."""
    for j in range(step):
        free[moved[j]] = True
        if j >= kept:
            label[moved[j]] = a if label[moved[j]] == b else b


@jit
def _difference(indptr, neighbor, beside, label, v, other):  # type: ignore[no-untyped-def]
    """Weight from v to another cluster less that to its own."""
    total = 0.0
    for k in range(indptr[v], indptr[v + 1]):
        c = label[neighbor[k]]
        if c == label[v]:
            total -= beside[k]
        elif c == other:
            total += beside[k]
    return total


@jit
def _try_edges(indptr, neighbor, beside, label, first, after, a, b, D, free, moved, tiny):  # type: ignore[no-untyped-def]
    """Do the same on a sparse graph: what lies behind the border is looked at only when reached.

    D is NaN for nodes that were not reached.
    """
    u, v = first[a], first[b]  # walk both lists: the shorter is where to begin
    while u >= 0 and v >= 0:
        u, v = after[u], after[v]
    start = a if (u < 0 or first[b] < 0) else b
    v = first[start]
    while v >= 0:
        D[v] = np.nan
        for k in range(indptr[v], indptr[v + 1]):
            D[neighbor[k]] = np.nan
        v = after[v]
    joined = 0.0
    key, item, size = np.empty(64), np.empty(64, np.int64), 0
    v = first[start]
    while v >= 0:
        other = b if start == a else a
        border = first[b] < 0
        for k in range(indptr[v], indptr[v + 1]):
            u = neighbor[k]
            if label[u] == other:
                border = True
                joined += beside[k]
                if np.isnan(D[u]):
                    D[u] = _difference(indptr, neighbor, beside, label, u, start)
                    key, item, size = _offer(key, item, size, D[u], u)
        if border:
            D[v] = _difference(indptr, neighbor, beside, label, v, other)
            key, item, size = _offer(key, item, size, D[v], v)
        v = after[v]
    total = best = 0.0
    kept = step = 0
    while size > 0 and step < 2 * kept + PATIENCE:
        size = pop(key, item, size)
        v = item[size]
        if not free[v] or D[v] != key[size]:
            continue
        free[v] = False
        total += D[v]
        old, new = label[v], b if label[v] == a else a
        label[v] = new
        moved[step] = v
        step += 1
        if total > best + tiny:
            best, kept = total, step
        for k in range(indptr[v], indptr[v + 1]):
            u = neighbor[k]
            if not free[u] or (label[u] != a and label[u] != b):
                continue
            # Always anew: nodes of the larger cluster may not have been reached before.
            D[u] = _difference(indptr, neighbor, beside, label, u, new if label[u] == old else old)
            key, item, size = _offer(key, item, size, D[u], u)
    _undo(label, free, moved, kept, step, a, b)
    return best, joined, kept


@jit
def _offer(key, item, size, k, i):  # type: ignore[no-untyped-def]
    """Push on a heap that grows."""
    if size == len(key):
        key = np.concatenate((key, np.empty(size)))
        item = np.concatenate((item, np.empty(size, np.int64)))
    return key, item, push(key, item, size, k, i)
