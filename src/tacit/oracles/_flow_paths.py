"""Compiled successive shortest paths on a network, from any flow that fits its prices.

Each path starts at a node with too much and a Dijkstra of its own, which ends where it reaches a
node with too little: near the optimum only few arcs are looked at. Rounding may turn a reduced cost
of zero slightly negative; such a step has length zero. The excess falls with every path, whatever
the costs, so the search ends.
"""

from __future__ import annotations

import numpy as np

from tacit.oracles._assignment_kernel import jit, jit_inner

__all__ = ["clear"]

NEW, DONE = -1, -2  # places outside the heap


@jit
def clear(net, cost, pi, flow, excess, first, arcs, met):  # type: ignore[no-untyped-def]
    """Send all excess where it lacks; return the number of paths, -1 if there is none for some.

    `met` then marks the nodes that can be reached from there: their excess cannot leave them.
    """
    n = len(excess)
    dist, via, seen = np.full(n, np.inf), np.full(n, -1, np.int32), np.empty(n, np.int32)
    heap, place = np.empty(n, np.int32), np.full(n, NEW, np.int32)
    graph, work = (net, cost, pi, flow, excess, first, arcs), (dist, via, seen, heap, place)
    n_paths = 0
    for source in range(n):
        while excess[source] > 0:
            n_seen, target = _search(graph, work, source)
            if target < 0:
                for k in range(n_seen):
                    met[seen[k]] = True
                return -1
            reach = dist[target]
            for k in range(n_seen):
                v = seen[k]
                if dist[v] < reach:
                    pi[v] += dist[v] - reach
                dist[v], place[v] = np.inf, NEW
            _send(net, flow, excess, via, source, target)
            n_paths += 1
    return n_paths


@jit_inner
def _search(graph, work, source):  # type: ignore[no-untyped-def]
    """Dijkstra up to the nearest node that lacks flow; how many nodes it met, and that node."""
    net, cost, pi, flow, excess, first, arcs = graph
    tail, head, cap = net
    dist, via, seen, heap, place = work
    heap[0], place[source], dist[source], seen[0] = source, 0, 0.0, source
    size, n_seen = 1, 1
    reach = np.inf  # least distance so far of a node that lacks flow: none further matters
    while size:
        v = heap[0]
        size -= 1
        if size:
            _sift_down(heap, place, dist, heap[size], size)
        place[v] = DONE
        if excess[v] < 0:
            return n_seen, v
        base = dist[v] + pi[v]
        for k in range(first[v], first[v + 1]):
            e = arcs[k]
            if e >= 0:
                if flow[e] >= cap[e]:
                    continue
                w = head[e]
                length = base + cost[e] - pi[w]
            else:
                if flow[-1 - e] <= 0:
                    continue
                w = tail[-1 - e]
                length = base - cost[-1 - e] - pi[w]
            if place[w] == DONE:
                continue
            length = max(length, dist[v])
            if length < dist[w] and length < reach:
                if excess[w] < 0:
                    reach = length
                if place[w] == NEW:
                    seen[n_seen], place[w] = w, size
                    n_seen += 1
                    size += 1
                dist[w], via[w] = length, e
                _sift_up(heap, place, dist, w)
    return n_seen, -1


@jit_inner
def _sift_up(heap, place, dist, v):  # type: ignore[no-untyped-def]
    """Move a node up the heap to where its distance belongs."""
    k = place[v]
    while k > 0:
        above = (k - 1) >> 1
        w = heap[above]
        if dist[w] <= dist[v]:
            break
        heap[k], place[w] = w, k
        k = above
    heap[k], place[v] = v, k


@jit_inner
def _sift_down(heap, place, dist, v, size):  # type: ignore[no-untyped-def]
    """Put a node at the top of the heap and move it down to where its distance belongs."""
    k = 0
    while 2 * k + 1 < size:
        below = 2 * k + 1
        if below + 1 < size and dist[heap[below + 1]] < dist[heap[below]]:
            below += 1
        w = heap[below]
        if dist[w] >= dist[v]:
            break
        heap[k], place[w] = w, k
        k = below
    heap[k], place[v] = v, k


@jit_inner
def _send(net, flow, excess, via, source, target):  # type: ignore[no-untyped-def]
    """Send as much as fits along the path found."""
    tail, head, cap = net
    room, v = min(excess[source], -excess[target]), target
    while v != source:
        e = via[v]
        if e >= 0:
            room, v = min(room, cap[e] - flow[e]), tail[e]
        else:
            room, v = min(room, flow[-1 - e]), head[-1 - e]
    v = target
    while v != source:
        e = via[v]
        if e >= 0:
            flow[e] += room
            v = tail[e]
        else:
            flow[-1 - e] -= room
            v = head[-1 - e]
    excess[source] -= room
    excess[target] += room
