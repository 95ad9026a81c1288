"""Compiled start of a search, and proof of its end: the flow that the residuals stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tacit.oracles._cut_graph import mate

__all__ = ["balance", "certify", "load"]


def _jit(function: Any) -> Any:
    """Compile with numba, keep the machine code on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


@_jit
def load(graph, edges, offset, arc, forward, backward, res):  # type: ignore[no-untyped-def]
    """Residuals without any flow."""
    res[:] = 0.0
    for m in range(len(arc)):
        u, a = edges[m, 0] + offset, np.int64(arc[m])
        res[a] = forward[m]
        res[mate(graph, u, a)] = backward[m]


@_jit
def balance(graph, edges, offset, arc, forward, backward, res, cost, left):  # type: ignore[no-untyped-def]
    """Excess that the flow of the residuals leaves at each node, into `left`; sum of all |flow|.

    left = cost + flow in - flow out, for a flow that keeps every capacity exactly.
    """
    total = 0.0
    left[:] = cost
    for m in range(len(arc)):
        u, a = edges[m, 0] + offset, np.int64(arc[m])
        there, back = res[a], res[mate(graph, u, a)]
        if there == np.inf:
            flow = back - backward[m]
        elif back == np.inf:
            flow = forward[m] - there
        else:
            flow = 0.5 * ((forward[m] - there) - (backward[m] - back))
        flow = max(min(flow, forward[m]), -backward[m])
        left[edges[m, 0]] -= flow
        left[edges[m, 1]] += flow
        total += abs(flow)
    return total


@_jit
def certify(edges, forward, backward, cost, left, side):  # type: ignore[no-untyped-def]
    """Value of a cut, the bound that the excess left proves, and the size of the terms summed.

    The bound is sum_i min(0, left_i), since sending flow over an edge changes no cut's value and
    leaves no edge a negative cost. Sums carry their rounding along (TwoSum).
    """
    value = lost = bound = short = size = 0.0
    for i in range(len(cost)):
        term = 0.0
        if np.isfinite(cost[i]):
            term = cost[i] if side[i] else 0.0
            size += abs(cost[i])
        elif side[i] != (cost[i] < 0.0):
            return np.inf, -np.inf, np.inf
        value, lost = _add(value, lost, term)
        if np.isfinite(cost[i]):
            bound, short = _add(bound, short, min(left[i], 0.0))
        elif cost[i] < 0.0:
            bound, short = _add(bound, short, left[i])
    for m in range(len(edges)):
        u, v = side[edges[m, 0]], side[edges[m, 1]]
        if u != v:
            term = forward[m] if v else backward[m]
            value, lost = _add(value, lost, term)
            size += term
    return value + lost, bound + short, size


@_jit
def _add(total, lost, term):  # type: ignore[no-untyped-def]
    """Add a term; what rounding takes from the total goes to `lost`."""
    new = total + term
    part = new - total
    return new, lost + ((total - (new - part)) + (term - part))
