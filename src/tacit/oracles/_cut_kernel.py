"""Compiled search of the minimum cut: two breadth-first forests that meet, IBFS with excesses.

=========  ===========  ====================================================================
symbol     shape        meaning
=========  ===========  ====================================================================
res        (arcs,)      residual capacity of each arc, 0 or more; +inf stays +inf
excess     (n,)         > 0: flow that still has to leave, < 0: flow that can still arrive
depth      (n,)         +d: in the source forest at level d; -d: in the sink forest; 0: free
link       (n,)         arc to the parent; ROOT at a root, ORPHAN while one is looked for
lists      (3, n)       active nodes of either forest, and those of the next level
=========  ===========  ====================================================================

Roots are the nodes with excess or deficit, so unary costs need no arcs, and any residual graph is a
valid start. A forest grows level by level, the one with less work behind it first; where the two
meet, flow is sent from root to root. Nodes cut off from their root look for a parent one level up,
else for the shallowest there is, else become free. A parent is always one level above its children,
so there are no cycles whatever rounding does, and a bottleneck minus itself is exactly zero, so
each path saturates something. Levels may be larger than distances, so that a node may miss its
turn; when a forest cannot grow, all its arcs are read once more, and it is done only if none leads
out, which proves the cut. Nothing recurses.

A. V. Goldberg, S. Hed, H. Kaplan, R. E. Tarjan, R. F. Werneck, Maximum flows by incremental
breadth-first search (2011); the excesses follow their Faster and more dynamic maximum flow (2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tacit.oracles._cut_graph import arcs, head, mate

__all__ = ["INFEASIBLE", "SINK", "SOURCE", "max_flow"]

ROOT, ORPHAN, NONE = -1, -2, -3
SOURCE, SINK, NEXT = 0, 1, 2
# Returned when two nodes that are fixed to different sides are joined without limit.
INFEASIBLE = -1
# Searches, and repairs of one search, before giving up on doing without proven distances: from
# then on each path is a shortest one, which ends after at most n M of them whatever rounding does.
# At most five repairs were seen, on grids up to 600 x 600 and in 900 searches of random graphs.
PATIENCE = 1000


def _jit(function: Any) -> Any:
    """Compile with numba, keep the machine code on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


# The arrays that the search is lent are not counted: a count for each array at each call would
# double its time. Nothing below may set aside memory where these are used.
LENT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}


def _bare(function: Any) -> Any:
    """Compile for arrays that are lent."""
    return njit(**LENT)(function)


def _inline(function: Any) -> Any:
    """Put into the code of the caller, which passes many arrays."""
    return njit(inline="always", **LENT)(function)


@_jit
def max_flow(graph, res, excess, depth, link, lists, orphan):  # type: ignore[no-untyped-def]
    """Send all flow that can be sent; returns SOURCE or SINK, or INFEASIBLE.

    Afterwards the forest that was returned is complete: its nodes are one side of a minimum cut.
    """
    _meet_at_once(graph, res, excess)
    book, rounds = np.zeros((4, 3), np.int64), 0
    while True:
        strict = rounds >= PATIENCE
        paths, closed = _search(graph, res, excess, depth, link, lists, orphan, book, strict)
        rounds += 1
        if paths == INFEASIBLE or closed != NEXT:
            return INFEASIBLE if paths == INFEASIBLE else closed


@_jit
def _meet_at_once(graph, res, excess):  # type: ignore[no-untyped-def]
    """Send flow along single arcs, from excess to deficit; most of what a first search would do."""
    for u in range(len(excess)):
        if not 0.0 < excess[u] < np.inf:
            continue
        a, end = arcs(graph, u)
        while a < end and excess[u] > 0.0:
            if res[a] > 0.0:
                v = head(graph, u, a)
                if excess[v] < 0.0:
                    flow = min(excess[u], res[a], -excess[v])
                    res[a] -= flow
                    res[mate(graph, u, a)] += flow
                    excess[u] -= flow
                    excess[v] += flow
            a += 1


@_bare
def _search(  # type: ignore[no-untyped-def]
    graph, res, excess, depth, link, lists, orphan, book, strict
):
    """Grow both forests from all roots until one is closed; returns paths used, and which it is.

    A strict search ends after the first level with a path; repairs that do not end, after a while.
    """
    row, size, level, work = book[0], book[1], book[2], book[3]
    for k in range(3):
        row[k], size[k], level[k], work[k] = k, 0, 1, 0
    _plant(excess, depth, link, lists, size)
    paths, repairs = 0, 0
    while repairs < PATIENCE:
        while size[SOURCE] > 0 and size[SINK] > 0:
            less = work[SOURCE] + size[SOURCE] <= work[SINK] + size[SINK]
            side = SOURCE if less else SINK
            work[side] += size[side]
            i = 0
            while i < size[side]:
                u = np.int64(lists[row[side], i])
                i += 1
                found = _scan(
                    graph, res, excess, depth, link, lists, orphan, row, size, level, side, u
                )
                if found == INFEASIBLE:
                    return INFEASIBLE, side
                paths += found
                if strict and paths > 0:
                    return paths, NEXT
            row[side], row[NEXT] = row[NEXT], row[side]
            size[side], size[NEXT] = size[NEXT], 0
            level[side] += 1
        closed = SOURCE if size[SOURCE] == 0 else SINK
        repairs += 1
        if not _reopen(graph, res, depth, lists, row, size, closed):
            return paths, closed
    return paths, NEXT


@_inline
def _plant(excess, depth, link, lists, size):  # type: ignore[no-untyped-def]
    """Nothing but roots."""
    for u in range(len(excess)):
        depth[u], link[u] = 0, NONE
        if excess[u] != 0.0:
            side = SOURCE if excess[u] > 0.0 else SINK
            depth[u], link[u] = 1 - 2 * side, ROOT
            lists[side, size[side]] = u
            size[side] += 1


@_inline
def _reopen(graph, res, depth, lists, row, size, side):  # type: ignore[no-untyped-def]
    """Make active again what still has an arc out of a forest that should have none; if any."""
    sign, found = 1 - 2 * side, False
    for u in range(len(depth)):
        if sign * depth[u] > 0:
            a, end = arcs(graph, u)
            while a < end:
                v = head(graph, u, a)
                if (
                    sign * depth[v] <= 0
                    and (res[a] if side == SOURCE else res[mate(graph, u, a)]) > 0.0
                ):
                    found = True
                    _enlist(lists, row, size, side, u)
                    break
                a += 1
    return found


@_inline
def _scan(  # type: ignore[no-untyped-def]
    graph, res, excess, depth, link, lists, orphan, row, size, level, side, u
):
    """Take free neighbours of u as children, send flow where the other forest is met."""
    sign, top, paths = 1 - 2 * side, level[side], 0
    here = sign * depth[u]
    a, end = arcs(graph, u)
    while a < end and 0 < here <= top:
        v = head(graph, u, a)
        back = mate(graph, u, a)
        there = sign * depth[v]
        if there > 0 or (res[a] if side == SOURCE else res[back]) <= 0.0:
            a += 1
        elif there == 0:
            depth[v], link[v] = sign * (here + 1), back
            _enlist(lists, row, size, NEXT if here == top else side, v)
            a += 1
        else:
            if side == SOURCE:
                waiting = _augment(graph, res, excess, link, u, a, v, back, orphan)
            else:
                waiting = _augment(graph, res, excess, link, v, back, u, a, orphan)
            if waiting == INFEASIBLE:
                return INFEASIBLE
            paths += 1
            _adopt(graph, res, depth, link, lists, orphan, row, size, level, side, waiting)
            here = sign * depth[u]
    return paths


@_inline
def _enlist(lists, row, size, k, u):  # type: ignore[no-untyped-def]
    """Add a node to a list; a list that is full, of nodes listed twice, leaves it to a repair."""
    if size[k] < lists.shape[1]:
        lists[row[k], size[k]] = u
        size[k] += 1


@_inline
def _augment(graph, res, excess, link, u, a, v, back, orphan):  # type: ignore[no-untyped-def]
    """Send flow from the root above u over arc a to the root above v; returns the orphans made."""
    flow, x = res[a], u
    while link[x] != ROOT:
        flow = min(flow, res[mate(graph, x, link[x])])
        x = head(graph, x, link[x])
    flow, y = min(flow, excess[x]), v
    while link[y] != ROOT:
        flow = min(flow, res[link[y]])
        y = head(graph, y, link[y])
    flow = min(flow, -excess[y])
    if flow == np.inf:
        return INFEASIBLE
    res[a] -= flow
    res[back] += flow
    count, x = 0, u
    while link[x] != ROOT:
        up = np.int64(link[x])
        parent, down = head(graph, x, up), mate(graph, x, up)
        res[down] -= flow
        res[up] += flow
        if res[down] <= 0.0:
            count = _orphaned(link, orphan, count, x)
        x = parent
    excess[x] -= flow
    if excess[x] <= 0.0:
        count = _orphaned(link, orphan, count, x)
    first, y = count, v
    _reverse(orphan, 0, count)
    while link[y] != ROOT:
        up = np.int64(link[y])
        parent, down = head(graph, y, up), mate(graph, y, up)
        res[up] -= flow
        res[down] += flow
        if res[up] <= 0.0:
            count = _orphaned(link, orphan, count, y)
        y = parent
    excess[y] += flow
    if excess[y] >= 0.0:
        count = _orphaned(link, orphan, count, y)
    _reverse(orphan, first, count)
    return count


@_inline
def _orphaned(link, orphan, count, x):  # type: ignore[no-untyped-def]
    link[x] = ORPHAN
    orphan[count] = x
    return count + 1


@_inline
def _reverse(values, low, high):  # type: ignore[no-untyped-def]
    """Turn part of a list round: those nearest to the root are adopted first."""
    high -= 1
    while low < high:
        values[low], values[high] = values[high], values[low]
        low += 1
        high -= 1


@_inline
def _adopt(  # type: ignore[no-untyped-def]
    graph, res, depth, link, lists, orphan, row, size, level, growing, waiting
):
    """Find a parent for each orphan, or free it and make its children orphans.

    `orphan` is a ring: a node waits in it at most once.
    """
    n, k, last = len(orphan), 0, waiting
    while waiting > 0:
        x = np.int64(orphan[k])
        k = k + 1 if k + 1 < n else 0
        waiting -= 1
        side = SOURCE if depth[x] > 0 else SINK
        sign = 1 - 2 * side
        old = sign * depth[x]
        limit = level[side] + (1 if side == growing else 0)
        best, up = _nearest_parent(graph, res, depth, link, side, x, limit, old - 1)
        if up != NONE and best == old - 1:
            link[x] = up
            continue
        # Its children are no parents for it.
        depth[x], link[x] = 0, NONE
        a, end = arcs(graph, x)
        while a < end:
            w = head(graph, x, a)
            if link[w] >= 0 and link[w] == mate(graph, x, a):
                link[w] = ORPHAN
                last = last if last < n else 0
                orphan[last] = w
                last += 1
                waiting += 1
            a += 1
        if up == NONE:
            continue
        if link[head(graph, x, up)] == ORPHAN:
            best, up = _nearest_parent(graph, res, depth, link, side, x, limit, old)
            if up == NONE:
                continue
        depth[x], link[x] = sign * (best + 1), up
        if best + 1 > level[side]:
            _enlist(lists, row, size, NEXT, x)
        elif best + 1 == level[side] or best + 1 < old:
            _enlist(lists, row, size, side, x)


@_inline
def _nearest_parent(graph, res, depth, link, side, x, limit, enough):  # type: ignore[no-untyped-def]
    """Shallowest node above `limit` in the forest with an arc that leads on, and the arc to it."""
    sign, best, up = 1 - 2 * side, limit, NONE
    a, end = arcs(graph, x)
    while a < end:
        w = head(graph, x, a)
        there = sign * depth[w]
        if (
            0 < there < best
            and link[w] != ORPHAN
            and (res[mate(graph, x, a)] if side == SOURCE else res[a]) > 0.0
        ):
            best, up = there, a
            if there == enough:
                break
        a += 1
    return best, up
