"""Shortest paths between given pairs of nodes, as far as they are short enough, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.oracles._partition_heap import jit, pop, push

__all__ = ["short_paths"]

IntArray = npt.NDArray[np.intp]
FloatArray = npt.NDArray[np.float64]


def short_paths(
    web: tuple[IntArray, npt.NDArray[np.int32], FloatArray],
    pairs: IntArray,
    limit: FloatArray,
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return the shortest path of each pair whose length is below its limit.

    Parameters
    ----------
    web : indptr (n + 1,), neighbor (m,), length (m,) >= 0
        Arcs by the node they leave.
    pairs : (P, 2) array
        From where to where, sorted by the first.
    limit : (P,) array
        Below which length a path counts.

    Returns
    -------
    found : (F,) array
        Pairs that have one.
    indptr, arcs : arrays
        Positions in `neighbor` of the arcs of each path, from its end to its start.
    amount : (F,) array
        How far below the limit.
    """
    return _short_paths(*web, pairs, limit)


@jit
def _short_paths(indptr, neighbor, length, pairs, limit):  # type: ignore[no-untyped-def]
    n = len(indptr) - 1
    far, come, seen = np.empty(n), np.empty(n, np.int64), np.full(n, -1)
    key, item = np.empty(max(len(neighbor), 1)), np.empty(max(len(neighbor), 1), np.int64)
    found, amount = np.empty(len(pairs), np.int64), np.empty(len(pairs))
    ends, count = np.zeros(len(pairs) + 1, np.int64), 0
    arcs, used = np.empty(max(4 * len(pairs), 16), np.int64), 0
    k = 0
    while k < len(pairs):
        source, stop, most = pairs[k, 0], k, 0.0
        while stop < len(pairs) and pairs[stop, 0] == source:
            most = max(most, limit[stop])
            stop += 1
        seen[source], far[source], come[source] = source, 0.0, -1
        size = push(key, item, 0, 0.0, source)
        while size > 0:
            size = pop(key, item, size)
            d, v = -key[size], item[size]
            if d > far[v]:
                continue
            for arc in range(indptr[v], indptr[v + 1]):
                u, new = neighbor[arc], d + length[arc]
                if new < most and (seen[u] != source or new < far[u]):
                    seen[u], far[u], come[u] = source, new, arc
                    size = push(key, item, size, -new, u)
        for p in range(k, stop):
            target = pairs[p, 1]
            if seen[target] != source or far[target] >= limit[p]:
                continue
            v = target
            while v != source:
                if used == len(arcs):
                    arcs = np.concatenate((arcs, np.empty(used, np.int64)))
                arcs[used] = come[v]
                used += 1
                v = _tail(indptr, come[v])
            found[count], amount[count] = p, limit[p] - far[target]
            count += 1
            ends[count] = used
        k = stop
    return found[:count], ends[: count + 1], arcs[:used], amount[:count]


@jit
def _tail(indptr: Any, arc: Any) -> Any:
    """Node that an arc leaves."""
    low, high = 0, len(indptr) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if indptr[middle] <= arc:
            low = middle
        else:
            high = middle
    return low
