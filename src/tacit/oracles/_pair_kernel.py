"""Compiled cost of a labeling under costs per row and pairs."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["labels_value"]


def _jit(function: Any) -> Any:
    """Compile with numba, keep the machine code on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


@_jit
def labels_value(cost, own, edges, weight, table, tables, labels):  # type: ignore[no-untyped-def]
    """Sum of what a labeling pays, and of the sizes of the terms; carries rounding along (TwoSum).

    `own` is a second table of costs, or empty.
    """
    total = lost = size = 0.0
    n, m = len(labels), len(edges)
    for k in range(n + m):
        if k < n:
            term = cost[k, labels[k]]
            if len(own):
                term += own[k, labels[k]]
        else:
            e = k - n
            term = weight[e] * tables[table[e], labels[edges[e, 0]], labels[edges[e, 1]]]
        new = total + term
        part = new - total
        lost += (total - (new - part)) + (term - part)
        total = new
        size += abs(term)
    return total + lost, size
