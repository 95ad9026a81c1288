"""Compiled moves of nodes between labels under bounds on counts, with pairwise terms."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.oracles._graph import add_terms, jit

__all__ = ["Groups", "changes", "fill", "move_single", "repair", "swap_runs"]

GAIN = 1e-12


class Groups(NamedTuple):
    """Which groups each node is in and what it adds to their counts; bounds, (G, C)."""

    start: npt.NDArray[np.int64]  # (K + 1,)
    group: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    lower: npt.NDArray[np.int64]
    upper: npt.NDArray[np.int64]


@jit
def fill(groups, labels, tally):  # type: ignore[no-untyped-def]
    """Count the classes of each group, in place; returns by how much bounds are missed."""
    tally[:] = 0
    for i in range(len(labels)):
        for s in range(groups.start[i], groups.start[i + 1]):
            tally[groups.group[s], labels[i]] += groups.size[s]
    missed = 0
    for g in range(tally.shape[0]):
        for c in range(tally.shape[1]):
            missed += _missed(groups, g, c, tally[g, c])
    return missed


@jit
def _missed(groups, g, c, count):  # type: ignore[no-untyped-def]
    return max(groups.lower[g, c] - count, 0) + max(count - groups.upper[g, c], 0)


@jit
def _missed_change(groups, tally, i, a, b):  # type: ignore[no-untyped-def]
    """Change of what bounds are missed by if node i goes from label a to b."""
    change = 0
    for s in range(groups.start[i], groups.start[i + 1]):
        g, size = groups.group[s], groups.size[s]
        change += _missed(groups, g, a, tally[g, a] - size) - _missed(groups, g, a, tally[g, a])
        change += _missed(groups, g, b, tally[g, b] + size) - _missed(groups, g, b, tally[g, b])
    return change


@jit
def _go(groups, tally, labels, i, b):  # type: ignore[no-untyped-def]
    """Give node i label b."""
    for s in range(groups.start[i], groups.start[i + 1]):
        tally[groups.group[s], labels[i]] -= groups.size[s]
        tally[groups.group[s], b] += groups.size[s]
    labels[i] = b


@jit
def _local(own, graph, labels, i, total):  # type: ignore[no-untyped-def]
    """Cost of each label of node i, its neighbours' labels given; +inf where one is broken."""
    for a in range(len(total)):
        total[a] = own[i, a]
    for s in range(graph.start[i], graph.start[i + 1]):
        e = graph.edge[s]
        up = s >= graph.middle[i]
        j = graph.head[e] if up else graph.tail[e]
        add_terms(graph, e, not up, labels[j], total)


@jit
def _change(total, a, b):  # type: ignore[no-untyped-def]
    """Change of cost from label a to b; what breaks a hard pair costs +inf, to mend one -inf."""
    if total[b] == np.inf:
        return np.inf
    return total[b] - total[a]


@jit
def changes(own, graph, labels, out):  # type: ignore[no-untyped-def]
    """Change of cost for every node and new label, (K, C)."""
    n_nodes, n_classes = own.shape
    total = np.empty(n_classes)
    for i in range(n_nodes):
        _local(own, graph, labels, i, total)
        for b in range(n_classes):
            out[i, b] = 0.0 if b == labels[i] else _change(total, labels[i], b)


@jit
def repair(own, graph, groups, tally, labels):  # type: ignore[no-untyped-def]
    """Move nodes, cheapest first per unit of missed counts, in place; returns what is missed.

    A heap of moves whose keys may be out of date: one that comes up is judged again, and goes back
    if it has become dearer.
    """
    n_nodes, n_classes = own.shape
    total = np.empty(n_classes)
    missed = fill(groups, labels, tally)
    heap = [(0.0, np.int64(0), np.int64(0)) for _ in range(0)]  # empty, of known type
    for i in range(n_nodes):
        _push(own, graph, groups, tally, labels, i, total, heap)
    while missed > 0 and len(heap) > 0:
        key, k, b = heapq.heappop(heap)
        if labels[k] == b:
            continue
        change = _missed_change(groups, tally, k, labels[k], b)
        if change >= 0:
            continue
        _local(own, graph, labels, k, total)
        price = _change(total, labels[k], b) / -change
        if price == np.inf:
            continue
        if price > key + GAIN * (abs(price) + abs(key)):
            heapq.heappush(heap, (price, np.int64(k), np.int64(b)))
            continue
        _go(groups, tally, labels, k, b)
        missed += change
        for s in range(graph.start[k], graph.start[k + 1]):
            e = graph.edge[s]
            j = graph.head[e] if s >= graph.middle[k] else graph.tail[e]
            _push(own, graph, groups, tally, labels, j, total, heap)
    return missed


@jit
def _push(own, graph, groups, tally, labels, i, total, heap):  # type: ignore[no-untyped-def]
    """Put the moves of node i that help on the heap."""
    found = False
    for b in range(len(total)):
        if b == labels[i]:
            continue
        change = _missed_change(groups, tally, i, labels[i], b)
        if change >= 0:
            continue
        if not found:
            _local(own, graph, labels, i, total)
            found = True
        price = _change(total, labels[i], b) / -change
        if price < np.inf:
            heapq.heappush(heap, (price, np.int64(i), np.int64(b)))


@jit
def move_single(own, graph, groups, tally, labels):  # type: ignore[no-untyped-def]
    """Give nodes cheaper labels, in place, while counts stay within bounds; returns the gain."""
    n_nodes, n_classes = own.shape
    queue, waits = np.arange(n_nodes), np.ones(n_nodes, np.bool_)
    first, length, gain = 0, n_nodes, 0.0
    total = np.empty(n_classes)
    while length > 0:
        i = queue[first]
        first, length = (first + 1) % n_nodes, length - 1
        waits[i] = False
        _local(own, graph, labels, i, total)
        a = labels[i]
        best, least = a, -GAIN * abs(total[a])
        for b in range(n_classes):
            change = _change(total, a, b)
            if b != a and change < least and _missed_change(groups, tally, i, a, b) <= 0:
                best, least = b, change
        if best == a:
            continue
        _go(groups, tally, labels, i, best)
        gain -= least
        for s in range(graph.start[i], graph.start[i + 1]):
            e = graph.edge[s]
            j = graph.head[e] if s >= graph.middle[i] else graph.tail[e]
            if not waits[j]:
                queue[(first + length) % n_nodes] = j
                length += 1
                waits[j] = True
    return gain


@jit
def swap_runs(own, graph, groups, tally, labels, node, goal, gain, first, partner):  # type: ignore[no-untyped-def]
    """Exchange labels of two nodes that count for the same groups, in place; returns the gain.

    Moves are sorted by kind (groups, from, to) and then by cost; `first[k]` is where kind k begins,
    `partner[k]` the kind that goes the other way.
    """
    n_classes = own.shape[1]
    total = np.empty(n_classes)
    won = 0.0
    for k in range(len(partner)):
        if partner[k] <= k:  # each two kinds once
            continue
        x, y = first[k], first[partner[k]]
        end_x, end_y = first[k + 1], first[partner[k] + 1]
        while x < end_x and y < end_y and gain[x] + gain[y] < 0.0:
            i, j = node[x], node[y]
            a, b = goal[y], goal[x]
            if labels[i] != a:
                x += 1
                continue
            if labels[j] != b:
                y += 1
                continue
            _local(own, graph, labels, i, total)
            size = abs(total[a])
            one = _change(total, a, b)
            if one == np.inf:
                x += 1
                continue
            _go(groups, tally, labels, i, b)
            _local(own, graph, labels, j, total)
            size += abs(total[b])
            two = _change(total, b, a)
            if one + two < -GAIN * size:
                _go(groups, tally, labels, j, a)
                won -= one + two
                x, y = x + 1, y + 1
                continue
            _go(groups, tally, labels, i, a)
            if one - gain[x] >= two - gain[y]:
                x += 1
            else:
                y += 1
    return won
