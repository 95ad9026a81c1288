"""Candidate lists: which row is cheapest to move from one class to another, within a group.

A row's key for the arc (g, a) -> (g, b) is cost[i, b] - cost[i, a]: prices shift all keys of an arc
alike, so lists stay valid while prices change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.oracles._assignment_kernel import jit_inner

__all__ = [
    "Chains",
    "Lists",
    "build_lists",
    "cheapest_move",
    "empty_lists",
    "link_rows",
    "move_row",
]

FloatArray = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]

# Candidate lists start short, since few rows move after a small change of costs, and get longer
# with each rescan. Last: entries of all lists of one tree together.
SHORTEST_LIST, LONGEST_LIST, LIST_ENTRIES = 4, 64, 4_000_000


class Lists(NamedTuple):
    """For each arc (node, class) the rows that are cheapest to move, dearest first.

    Complete for keys below `cut`; rows that have left are skipped when they come up.
    """

    key: FloatArray  # (V, C, K)
    row: Int32Array  # (V, C, K)
    size: Int64Array  # (V, C)
    cut: FloatArray  # (V, C)
    limit: Int64Array  # (V,) length of the lists, 0 before the first scan


class Chains(NamedTuple):
    """Doubly linked rows of each node, -1 at the ends."""

    head: Int32Array  # (V,)
    after: Int32Array  # (N,)
    before: Int32Array  # (N,)


@jit_inner
def link_rows(forest, root, labels, n_classes, after, before):  # type: ignore[no-untyped-def]
    """Link the rows of each node, in ascending order."""
    head = np.full((forest.end[root] - root) * n_classes, -1, np.int32)
    for k in range(forest.first[forest.end[root]] - 1, forest.first[root] - 1, -1):
        i = forest.rows[k]
        v = (forest.home[i] - root) * n_classes + labels[i]
        after[i], before[i] = head[v], -1
        if head[v] >= 0:
            before[head[v]] = i
        head[v] = i
    return Chains(head, after, before)


@jit_inner
def empty_lists(n_nodes, n_classes, n_rows):  # type: ignore[no-untyped-def]
    """Empty candidate lists for a tree."""
    affordable = max(SHORTEST_LIST, LIST_ENTRIES // (n_nodes * n_classes))
    length = min(LONGEST_LIST, affordable, max(n_rows, SHORTEST_LIST))
    return Lists(
        np.empty((n_nodes, n_classes, length)),
        np.empty((n_nodes, n_classes, length), np.int32),
        np.zeros((n_nodes, n_classes), np.int64),
        np.full((n_nodes, n_classes), np.inf),
        np.zeros(n_nodes, np.int64),
    )


@jit_inner
def _insert(lists, v, b, key, row):  # type: ignore[no-untyped-def]
    """Put a row into the list of arc (v, b); a full list drops its dearest row for it."""
    keys, rows, size = lists.key[v, b], lists.row[v, b], lists.size[v, b]
    if size < lists.limit[v]:
        j = size
        while j > 0 and keys[j - 1] < key:
            keys[j], rows[j] = keys[j - 1], rows[j - 1]
            j -= 1
        lists.size[v, b] = size + 1
    else:
        lists.cut[v, b] = max(keys[0], key)
        if key >= keys[0]:
            return
        j = 0
        while j + 1 < size and keys[j + 1] > key:
            keys[j], rows[j] = keys[j + 1], rows[j + 1]
            j += 1
    keys[j], rows[j] = key, row


@jit_inner
def build_lists(lists, chains, cost, v):  # type: ignore[no-untyped-def]
    """Make the lists of a node from its rows."""
    n_classes, a, i = cost.shape[1], v % cost.shape[1], chains.head[v]
    lists.limit[v] = min(max(2 * lists.limit[v], SHORTEST_LIST), lists.key.shape[2])
    lists.size[v] = 0
    # Plain local arrays: looking fields up inside the loop costs as much as the loop.
    cut, after = lists.cut[v], chains.after
    cut[:] = np.inf
    cut[a] = -np.inf
    while i >= 0:
        own = cost[i, a]
        for b in range(n_classes):
            if cost[i, b] - own < cut[b]:
                _insert(lists, v, b, cost[i, b] - own, i)
        i = after[i]


@jit_inner
def cheapest_move(lists, chains, cost, labels, v, b):  # type: ignore[no-untyped-def]
    """Entry of the list of arc (v, b) that is cheapest to move now; -1 if no row can."""
    a = v % cost.shape[1]
    while True:
        last = lists.size[v, b] - 1
        while last >= 0 and labels[lists.row[v, b, last]] != a:
            last -= 1
        lists.size[v, b] = last + 1
        if last >= 0 or lists.cut[v, b] == np.inf:
            return last
        build_lists(lists, chains, cost, v)


@jit_inner
def move_row(lists, chains, cost, labels, i, v, b):  # type: ignore[no-untyped-def]
    """Move a row from node v to class b of the same group."""
    left, right = chains.before[i], chains.after[i]
    if left >= 0:
        chains.after[left] = right
    else:
        chains.head[v] = right
    if right >= 0:
        chains.before[right] = left
    new = v - v % cost.shape[1] + b
    labels[i] = b
    chains.before[i], chains.after[i] = -1, chains.head[new]
    if chains.head[new] >= 0:
        chains.before[chains.head[new]] = i
    chains.head[new] = i
    if lists.limit[new]:
        for c in range(cost.shape[1]):
            if cost[i, c] - cost[i, b] < lists.cut[new, c]:
                _insert(lists, new, c, cost[i, c] - cost[i, b], i)
