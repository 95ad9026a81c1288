"""Compiled max-product on a forest whose nodes are stored parents first."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["decode", "pass_up", "tree_value"]


def _jit(function: Any) -> Any:
    """Compile with numba, keep the machine code on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


@_jit
def pass_up(cost, own, node, above, table, weight, tables, belief):  # type: ignore[no-untyped-def]
    """Least cost of each subtree for each label of its top, (K, C), leaves first.

    belief[k, a] = cost + own + sum over children j of min_b (weight * tables[a, b] + belief[j, b])
    """
    n_nodes, n_classes = belief.shape
    for k in range(n_nodes):
        for a in range(n_classes):
            belief[k, a] = cost[node[k], a]
    if len(own):
        for k in range(n_nodes):
            for a in range(n_classes):
                belief[k, a] += own[node[k], a]
    for k in range(n_nodes - 1, -1, -1):
        up, t, w = above[k], table[k], weight[k]
        if up < 0:
            continue
        for a in range(n_classes):
            least = w * tables[t, a, 0] + belief[k, 0]
            for b in range(1, n_classes):
                least = min(w * tables[t, a, b] + belief[k, b], least)
            belief[up, a] += least


@_jit
def decode(belief, above, table, weight, tables, label):  # type: ignore[no-untyped-def]
    """Best labels, parents first; returns the least total, +inf if some tree has no labeling."""
    n_nodes, n_classes = belief.shape
    total = 0.0
    for k in range(n_nodes):
        best, least = 0, belief[k, 0]
        if above[k] < 0:
            for b in range(1, n_classes):
                if belief[k, b] < least:
                    best, least = b, belief[k, b]
            total += least
        else:
            t, a, w = table[k], label[above[k]], weight[k]
            least += w * tables[t, a, 0]
            for b in range(1, n_classes):
                value = w * tables[t, a, b] + belief[k, b]
                if value < least:
                    best, least = b, value
        label[k] = best
    return total


@_jit
def tree_value(cost, own, node, above, table, weight, tables, label):  # type: ignore[no-untyped-def]
    """Sum the costs that a labeling pays, without messages; carries rounding along (TwoSum)."""
    total = lost = 0.0
    for k in range(len(node)):
        term = cost[node[k], label[k]]
        if len(own):
            term += own[node[k], label[k]]
        if above[k] >= 0:
            term += weight[k] * tables[table[k], label[above[k]], label[k]]
        new = total + term
        part = new - total
        lost += (total - (new - part)) + (term - part)
        total = new
    return total + lost
