"""Compiled parts of the count-bounded assignment: labels, dual bound, price sweeps.

The groups form a forest, stored in preorder, so that the subtree of group g is g .. end[g] - 1 and
its rows lie side by side in ``rows``. A *node* is a (group, class); the node of a tree's sink comes
last. One unit of flow per row runs from its home node up the tree to the sink
(`_assignment_paths` moves single rows along these arcs):

===========================  ==========================  ==========================================
arc                          there when                  reduced length
===========================  ==========================  ==========================================
(g, a) -> (g, b)             a row of home g is in a     least cost[i, b] - cost[i, a] + P_b - P_a
(g, c) -> (parent of g, c)   count < upper               -(P[g, c] - P[parent, c])
(parent of g, c) -> (g, c)   count > lower               P[g, c] - P[parent, c]
===========================  ==========================  ==========================================

Symbols: P, price of a node (sum of the prices of the count bounds above and at it); p = P - P of
the parent, price of one count bound: p > 0 only at the upper bound, p < 0 only at the lower one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = [
    "Forest",
    "best_price",
    "certify",
    "imbalance",
    "jit",
    "jit_inner",
    "label_rows",
    "sweep",
    "tally_up",
]

FloatArray = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]

# Rows times classes that one sweep reads in the time of one augmentation.
SWEEP_PER_AUGMENTATION = 400
MAX_SWEEPS = 40


class Forest(NamedTuple):
    """Groups in preorder, flat over (group, class) where both occur."""

    parent: Int64Array  # (G,), -1 at a root
    end: Int64Array  # (G,), one past the subtree
    lower: Int64Array  # (G * C,)
    upper: Int64Array  # (G * C,)
    home: Int64Array  # (N,), G for rows in no group
    first: Int64Array  # (G + 1,), rows of home g: rows[first[g]:first[g + 1]]
    rows: Int64Array


def jit(function: Any) -> Any:
    """Compile with numba for calls from Python, and keep the machine code on disk.

    Numba looks only at the file of the function itself to see whether that code is stale: after an
    edit of this file or of `_assignment_lists`, remove the caches beside `_assignment_paths`.
    """
    return njit(cache=True, nogil=True, error_model="numpy")(function)


def jit_inner(function: Any) -> Any:
    """Compile for calls from compiled code only, which takes a quarter less time."""
    # Through a dictionary, as numba's own annotations do not know these two.
    wrappers: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(cache=True, nogil=True, error_model="numpy", **wrappers)(function)


@jit
def label_rows(cost, home, price, labels, tally):  # type: ignore[no-untyped-def]
    """Label each row by argmin(cost + price of its home); count labels by home; least row cost."""
    n_classes = cost.shape[1]
    tally[:] = 0
    worst = -np.inf
    for i in range(cost.shape[0]):
        base = home[i] * n_classes
        label, least = 0, cost[i, 0] + price[base]
        for c in range(1, n_classes):
            value = cost[i, c] + price[base + c]
            label = c if value < least else label
            least = min(value, least)
        labels[i] = label
        tally[base + label] += 1
        worst = max(worst, least)
    return worst


@jit
def tally_up(parent, n_classes, tally):  # type: ignore[no-untyped-def]
    """Turn counts by home into counts by group, in place."""
    for g in range(len(parent) - 1, -1, -1):
        if parent[g] >= 0:
            for c in range(n_classes):
                tally[parent[g] * n_classes + c] += tally[g * n_classes + c]


@jit
def certify(cost, forest, price, labels, tally):  # type: ignore[no-untyped-def]
    """Return value, gap and size of the terms: value - gap bounds every labeling from below.

    Every term of the gap is a difference that is zero at the optimum, so that nothing cancels. Sums
    carry their rounding error along (TwoSum).
    """
    n_classes = cost.shape[1]
    value = gap = size = lost = 0.0
    for i in range(cost.shape[0]):
        base = forest.home[i] * n_classes
        own = cost[i, labels[i]] + price[base + labels[i]]
        least = own
        for c in range(n_classes):
            least = min(cost[i, c] + price[base + c], least)
        gap += own - least
        term = cost[i, labels[i]]
        size += abs(own) + abs(term)
        total = value + term
        part = total - value
        lost += (value - (total - part)) + (term - part)
        value = total
    for g in range(len(forest.parent)):
        for c in range(n_classes):
            e = g * n_classes + c
            above = price[forest.parent[g] * n_classes + c] if forest.parent[g] >= 0 else 0.0
            p = price[e] - above
            room = forest.upper[e] - tally[e] if p > 0 else forest.lower[e] - tally[e]
            if room != 0:
                gap += p * room
    return value + lost, gap, size


# --- Dual coordinate ascent: one price at a time, set by selection --------------------------------


@jit_inner
def _two_least(cost, i, price, base):  # type: ignore[no-untyped-def]
    """Two cheapest classes of a row and their reduced costs."""
    b1, b2, v1, v2 = -1, -1, np.inf, np.inf
    for c in range(cost.shape[1]):
        value = cost[i, c] + price[base + c]
        if value < v1:
            b2, v2, b1, v1 = b1, v1, c, value
        elif value < v2:
            b2, v2 = c, value
    return b1, b2, v1, v2


@jit_inner
def _select(x, k):  # type: ignore[no-untyped-def]
    """Reorder so that x[k] is where sorting would put it, none larger before it (Hoare's find).

    Own code because np.partition takes numba six seconds to compile.
    """
    low, high = 0, len(x) - 1
    while low < high:
        first, middle, last = x[low], x[(low + high) >> 1], x[high]
        pivot = max(min(first, middle), min(max(first, middle), last))
        i, j = low, high
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break


@jit_inner
def best_price(margin, lower, upper):  # type: ignore[no-untyped-def]
    """Price of a bound that brings #(margin + price < 0) into lower .. upper; nan if none does.

    Reorders `margin`.
    """
    count = 0
    for m in margin:
        count += m < 0
    if lower <= count <= upper:
        return 0.0
    bound = upper if count > upper else lower
    # Any price between those of the last row inside and the first row outside will do.
    _select(margin, min(bound, len(margin) - 1))
    outside = -margin[bound] if bound < len(margin) else -np.inf
    inside = np.inf
    for k in range(bound):
        inside = min(-margin[k], inside)
    if not np.isfinite(inside) and not np.isfinite(outside):
        return np.nan
    if not np.isfinite(inside):
        return outside
    if not np.isfinite(outside):
        return inside
    return 0.5 * (inside + outside)


@jit_inner
def _sweep_bound(cost, forest, price, g, c, begin, lead, value, margin):  # type: ignore[no-untyped-def]
    """Set the price of one count bound to its best, given the others; keep two least classes."""
    n_classes = cost.shape[1]
    start, stop = forest.first[g], forest.first[forest.end[g]]
    above = price[forest.parent[g] * n_classes + c] if forest.parent[g] >= 0 else 0.0
    old = price[g * n_classes + c] - above
    for r in range(start, stop):
        i, k = forest.rows[r], r - begin
        other = value[k, 1] if lead[k, 0] == c else value[k, 0]
        margin[r - start] = cost[i, c] + price[forest.home[i] * n_classes + c] - old - other
    e = g * n_classes + c
    new = best_price(margin[: stop - start], forest.lower[e], forest.upper[e])
    if np.isnan(new) or new == old:
        return
    for sub in range(g, forest.end[g]):
        price[sub * n_classes + c] += new - old
    for r in range(start, stop):
        i, k = forest.rows[r], r - begin
        base = forest.home[i] * n_classes
        mine = cost[i, c] + price[base + c]
        if lead[k, 0] == c or lead[k, 1] == c:
            lead[k, 0], lead[k, 1], value[k, 0], value[k, 1] = _two_least(cost, i, price, base)
        elif mine < value[k, 0]:
            lead[k, 1], value[k, 1] = lead[k, 0], value[k, 0]
            lead[k, 0], value[k, 0] = c, mine
        elif mine < value[k, 1]:
            lead[k, 1], value[k, 1] = c, mine


@jit_inner
def imbalance(forest, price, tally, tree, n_classes):  # type: ignore[no-untyped-def]
    """How many rows too many or too few, over the count bounds of a tree, given their prices."""
    total = 0
    for g in range(tree, forest.end[tree]):
        for c in range(n_classes):
            e = g * n_classes + c
            above = price[forest.parent[g] * n_classes + c] if forest.parent[g] >= 0 else 0.0
            p = price[e] - above
            low = forest.upper[e] if p > 0 else forest.lower[e]
            high = forest.lower[e] if p < 0 else forest.upper[e]
            total += max(0, low - tally[e]) + max(0, tally[e] - high)
    return total


@jit_inner
def sweep(cost, forest, price, labels, tally, tree):  # type: ignore[no-untyped-def]
    """Sweep over the bounds of a tree while that pays; leaves labels and counts up to date."""
    n_classes = cost.shape[1]
    stop = forest.end[tree]
    begin, n_rows = forest.first[tree], forest.first[stop] - forest.first[tree]
    worth = n_rows * n_classes // SWEEP_PER_AUGMENTATION + 16
    left = imbalance(forest, price, tally, tree, n_classes)
    if left <= worth:
        return
    # The two least classes of each row of the tree, and what they cost.
    lead, value = np.empty((n_rows, 2), np.int32), np.empty((n_rows, 2))
    margin = np.empty(n_rows)
    for k in range(n_rows):
        i = forest.rows[begin + k]
        lead[k, 0], lead[k, 1], value[k, 0], value[k, 1] = _two_least(
            cost, i, price, forest.home[i] * n_classes
        )
    for _ in range(MAX_SWEEPS):
        for g in range(tree, stop):
            for c in range(n_classes):
                _sweep_bound(cost, forest, price, g, c, begin, lead, value, margin)
        tally[tree * n_classes : stop * n_classes] = 0
        for k in range(n_rows):
            i = forest.rows[begin + k]
            labels[i] = lead[k, 0]
            tally[forest.home[i] * n_classes + lead[k, 0]] += 1
        for g in range(stop - 1, tree, -1):
            for c in range(n_classes):
                tally[forest.parent[g] * n_classes + c] += tally[g * n_classes + c]
        before, left = left, imbalance(forest, price, tally, tree, n_classes)
        if left <= worth or left > 0.8 * before:
            break
