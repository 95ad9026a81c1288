"""The cheapest flow in a small network: shortest paths from surplus to shortage, one at a time.

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
    while excess.max() > 0:
        end = _shortest(start, incident, arcs, lower, upper, cost, flow, excess, price,
                        length, before)  # fmt: skip
        if end < 0:
            return False
        amount, v = -excess[end], end
        while before[v] >= 0:
            a = before[v]
            ahead = arcs[a, 1] == v
            amount = min(amount, upper[a] - flow[a] if ahead else flow[a] - lower[a])
            v = arcs[a, 0] if ahead else arcs[a, 1]
        amount = min(amount, excess[v])
        excess[v] -= amount
        excess[end] += amount
        v = end
        while before[v] >= 0:
            a = before[v]
            ahead = arcs[a, 1] == v
            flow[a] += amount if ahead else -amount
            v = arcs[a, 0] if ahead else arcs[a, 1]
    return True


@_jit
def _shortest(start, incident, arcs, lower, upper, cost, flow, excess, price, length, before):  # type: ignore[no-untyped-def]
    """Nearest node that lacks flow, -1 if none can be reached; prices and ways are updated."""
    n_nodes = len(price)
    done = np.zeros(n_nodes, np.bool_)
    heap = [(0.0, -1)]
    for v in range(n_nodes):
        length[v], before[v] = np.inf, -1
        if excess[v] > 0:
            length[v] = 0.0
            heapq.heappush(heap, (0.0, v))
    end = -1
    while len(heap) > 0:
        far, v = heapq.heappop(heap)
        if v < 0 or done[v]:
            continue
        done[v] = True
        if excess[v] < 0:
            end = v
            break
        for k in range(start[v], start[v + 1]):
            a = incident[k]
            ahead = arcs[a, 0] == v
            u = arcs[a, 1] if ahead else arcs[a, 0]
            if done[u] or (flow[a] >= upper[a] if ahead else flow[a] <= lower[a]):
                continue
            step = (cost[a] if ahead else -cost[a]) + price[v] - price[u]
            if far + max(step, 0.0) < length[u]:
                length[u] = far + max(step, 0.0)
                before[u] = a
                heapq.heappush(heap, (length[u], u))
    if end >= 0:
        for v in range(n_nodes):
            price[v] += min(length[v], length[end])
    return end
