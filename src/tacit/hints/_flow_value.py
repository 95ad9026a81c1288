"""The cheapest flow in a network: shortest paths from surplus to shortage, a tree at a time.

The reference that values are computed by; a discrete step over all labelings at once belongs to the
oracles.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numba import njit

__all__ = ["cheapest_flow"]


def _jit(function: Any) -> Any:
    """Compile with numba, keep the machine code on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


@_jit
def cheapest_flow(start, incident, arcs, lower, upper, cost, supply, flow):  # type: ignore[no-untyped-def]
    """Fill in a cheapest whole flow; return whether there is one.

    Arcs of negative cost start full and the others empty, so that no arc left to use is cheaper
    than 0; shortest paths keep it so with respect to the prices of the nodes.

    References
    ----------
    R. K. Ahuja, T. L. Magnanti, J. B. Orlin, Network Flows (1993), ch. 9.7.
    """
    n_nodes = len(supply)
    excess = supply.copy()
    for a in range(len(arcs)):
        flow[a] = upper[a] if cost[a] < 0.0 else lower[a]
        excess[arcs[a, 0]] -= flow[a]
        excess[arcs[a, 1]] += flow[a]
    price = np.zeros(n_nodes)
    length, before = np.empty(n_nodes), np.empty(n_nodes, np.int64)
    reached = np.empty(n_nodes, np.int64)
    while excess.max() > 0:
        count = _shortest(start, incident, arcs, lower, upper, cost, flow, excess, price,
                          length, before, reached)  # fmt: skip
        if count == 0:
            return False
        for k in range(count):
            _send(arcs, lower, upper, flow, excess, before, reached[k])
    return True


@_jit
def _send(arcs, lower, upper, flow, excess, before, end):  # type: ignore[no-untyped-def]
    """Send what is missing at a node along the tree of shortest paths, as far as it goes."""
    amount, v = -excess[end], end
    while before[v] >= 0:
        a = before[v]
        ahead = arcs[a, 1] == v
        amount = min(amount, upper[a] - flow[a] if ahead else flow[a] - lower[a])
        v = arcs[a, 0] if ahead else arcs[a, 1]
    amount = min(amount, excess[v])
    if amount <= 0:
        return
    excess[v] -= amount
    excess[end] += amount
    v = end
    while before[v] >= 0:
        a = before[v]
        ahead = arcs[a, 1] == v
        flow[a] += amount if ahead else -amount
        v = arcs[a, 0] if ahead else arcs[a, 1]


@_jit
def _shortest(  # type: ignore[no-untyped-def]
    start, incident, arcs, lower, upper, cost, flow, excess, price, length, before, reached
):
    """Tree of shortest paths from all surplus; how many nodes that lack flow it reached, and which.

    Prices rise by the lengths: arcs of the tree then cost 0, and none that can be used less.
    """
    n_nodes = len(price)
    done = np.zeros(n_nodes, np.bool_)
    heap = [(0.0, -1)]
    for v in range(n_nodes):
        length[v], before[v] = np.inf, -1
        if excess[v] > 0:
            length[v] = 0.0
            heapq.heappush(heap, (0.0, v))
    count, farthest = 0, 0.0
    while len(heap) > 0:
        far, v = heapq.heappop(heap)
        if v < 0 or done[v]:
            continue
        done[v], farthest = True, far
        if excess[v] < 0:
            reached[count] = v
            count += 1
        for k in range(start[v], start[v + 1]):
            a = incident[k]
            ahead = arcs[a, 0] == v
            u = arcs[a, 1] if ahead else arcs[a, 0]
            if done[u] or (flow[a] >= upper[a] if ahead else flow[a] <= lower[a]):
                continue
            step = max((cost[a] if ahead else -cost[a]) + price[v] - price[u], 0.0)
            if far + step < length[u]:
                length[u], before[u] = far + step, a
                heapq.heappush(heap, (length[u], u))
    for v in range(n_nodes):
        price[v] += min(length[v], farthest)
    return count
