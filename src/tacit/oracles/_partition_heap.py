"""A heap and a table of pairs of nodes, compiled: what edge contraction is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["jit", "pop", "push", "table_add", "table_drop", "table_find"]


def jit(function: Any) -> Any:
    """Compile with numba, keep the machine code on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


@jit
def push(key, item, size, k, i):  # type: ignore[no-untyped-def]
    """Put (k, i) on a heap of the largest key, at equal keys the smallest item; new size."""
    at = size
    while at > 0:
        up = (at - 1) // 2
        if key[up] > k or (key[up] == k and item[up] <= i):
            break
        key[at], item[at] = key[up], item[up]
        at = up
    key[at], item[at] = k, i
    return size + 1


@jit
def pop(key, item, size):  # type: ignore[no-untyped-def]
    """Take the first of a heap away; it stands at the new size."""
    size -= 1
    first_key, first_item = key[0], item[0]
    k, i = key[size], item[size]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        right = down + 1
        if right < size and (
            key[right] > key[down] or (key[right] == key[down] and item[right] < item[down])
        ):
            down = right
        if k > key[down] or (k == key[down] and i <= item[down]):
            break
        key[at], item[at] = key[down], item[down]
        at = down
    key[at], item[at] = k, i
    key[size], item[size] = first_key, first_item
    return size


@jit
def _slot(a, b, n, size):  # type: ignore[no-untyped-def]
    """Where a pair of nodes is looked for first, and its key."""
    low, high = min(a, b), max(a, b)
    name = np.int64(low) * n + high
    mixed = np.uint64(name) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(20)) & (size - 1), name


@jit
def table_find(names, edges, n, a, b):  # type: ignore[no-untyped-def]
    """Edge between two nodes, -1 if there is none."""
    at, name = _slot(a, b, n, len(names))
    while names[at] >= 0:
        if names[at] == name:
            return edges[at]
        at = (at + 1) & (len(names) - 1)
    return np.int32(-1)


@jit
def table_add(names, edges, n, a, b, e):  # type: ignore[no-untyped-def]
    """Remember the edge between two nodes that had none."""
    at, name = _slot(a, b, n, len(names))
    while names[at] >= 0:
        at = (at + 1) & (len(names) - 1)
    names[at], edges[at] = name, e


@jit
def table_drop(names, edges, n, a, b):  # type: ignore[no-untyped-def]
    """Forget the edge between two nodes; what stood behind it moves up."""
    last = len(names) - 1
    at, name = _slot(a, b, n, len(names))
    while names[at] != name:
        at = (at + 1) & last
    behind = at
    while True:
        behind = (behind + 1) & last
        if names[behind] < 0:
            break
        home, _ = _slot(names[behind] // n, names[behind] % n, n, len(names))
        # An entry may move to `at` unless its home lies behind it.
        if ((behind - home) & last) >= ((behind - at) & last):
            names[at], edges[at] = names[behind], edges[behind]
            at = behind
    names[at] = -1
