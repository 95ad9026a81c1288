r"""Partitions with bounds on how many pairs are joined, by one price.

.. math:: \min_y \langle c, y \rangle \;\text{s.t.}\; l \le n_1(y) \le u \quad\ge\quad
    \min_y \bigl(\langle c, y \rangle + p\, n_1(y)\bigr) - \max(p l, p u)

for any price p of a joined pair. The price is found by bisection; where the number of joined pairs
jumps over the bounds, clusters are joined, then single items moved, until it is within.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.exceptions import NotConverged
from tacit.oracles._partition_graph import CutGraph

__all__ = ["Bounds", "Priced", "search"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Labels = npt.NDArray[np.int32]

# Steps that look for an end of the bracket (doubling), and of bisection.
DOUBLINGS, HALVINGS = 60, 12
# Bisection also ends where the bracket is this share of its price.
NARROW = 0.02


@dataclass(frozen=True)
class Bounds:
    """How many pairs may be joined."""

    lower: int
    upper: int

    def side(self, count: int) -> int:
        """-1 where too few are joined, 1 where too many, else 0."""
        return int(count > self.upper) - int(count < self.lower)

    def most(self, price: float) -> float:
        """max(p l, p u): what a bound loses by its price."""
        return max(price * self.lower, price * self.upper)


@dataclass(frozen=True)
class Priced:
    """A partition found at a price."""

    label: Labels
    price: float
    count: int
    value: float


def search(
    at: Callable[[float, Labels | None], Priced],
    bounds: Bounds,
    last: Priced | None,
    scale: float,
    graph: CutGraph,
    size: FloatArray,
) -> Priced:
    """Cheapest partition found within the bounds, and a price near the best.

    Parameters
    ----------
    at : function of a price and a partition to begin with
        Best partition found at that price.
    bounds : Bounds
        On the number of joined pairs.
    last : Priced, optional
        Where the last call ended.
    scale : float
        Typical cost of a pair: the first price tried.
    graph : CutGraph
        With the costs at no price.
    size : (M,) array
        How many pairs each edge stands for.
    """
    free = at(0.0, None if last is None else last.label)
    side = bounds.side(free.count)
    if side == 0:
        return free
    inner, found = free, []  # the end of the bracket next to 0
    price = side * scale
    if last is not None and last.price * side > 0:
        price = last.price
    outer = at(price, inner.label)
    for _ in range(DOUBLINGS):
        if bounds.side(outer.count) != side:
            break
        inner, price = outer, 2.0 * price
        outer = at(price, inner.label)
    for step in range(HALVINGS):
        if bounds.side(outer.count) == 0:
            found.append(outer)
            if abs(outer.price - inner.price) <= NARROW * abs(outer.price) or step >= HALVINGS // 2:
                break
        middle = at((inner.price + outer.price) / 2.0, outer.label)
        if bounds.side(middle.count) == side:
            inner = middle
        else:
            outer = middle
    if found:
        return min(found, key=lambda one: one.value)
    few = inner if side < 0 else outer
    return _joined(few, bounds, graph, size)


def _joined(few: Priced, bounds: Bounds, graph: CutGraph, size: FloatArray) -> Priced:
    """Join clusters, the best per pair first, until enough pairs are joined."""
    label, count = few.label.copy(), few.count
    ends = graph.shape.edges
    while count < bounds.lower:
        _, own = np.unique(label, return_inverse=True)
        k = int(own.max(initial=-1)) + 1
        low, high = np.sort(own[ends], axis=1).T
        apart = low != high
        key, both = np.unique((low * k + high)[apart], return_inverse=True)
        weight, pairs = np.bincount(both, graph.weight[apart]), np.bincount(both, size[apart])
        never = np.bincount(both, graph.shape.hard[apart]) > 0
        fits = (pairs > 0) & (pairs <= bounds.upper - count) & ~never
        if not fits.any():
            break
        best = int(np.where(fits, weight / np.maximum(pairs, 1.0), -np.inf).argmax())
        one, other = divmod(int(key[best]), k)
        label = np.where(own == one, other, own).astype(np.int32)
        count += int(pairs[best])
    label, count = _moved(label, count, bounds, graph, size)
    return Priced(label, few.price, count, graph.value(label))


def _moved(
    label: Labels, count: int, bounds: Bounds, graph: CutGraph, size: FloatArray
) -> tuple[Labels, int]:
    """Move single items, whichever comes nearest to the bounds (the cheapest of them)."""
    short = max(bounds.lower - count, count - bounds.upper)
    ends, item, hard = graph.shape.edges, np.arange(graph.n), graph.shape.hard
    while short > 0:
        _, own = np.unique(label, return_inverse=True)
        inside = np.zeros((graph.n, int(own.max(initial=-1)) + 2))  # the last cluster is a new one
        inside[item, own] = 1.0
        pairs, gain, never = (_beside(ends, v, inside) for v in (size, graph.strong, hard))
        more = pairs - pairs[item, own][:, None] + count
        left = np.maximum(bounds.lower - more, more - bounds.upper)
        left[never > 0] = np.inf
        left = np.maximum(left, 0.0)
        if left.min() >= short:
            raise NotConverged(
                f"no partition was found with {bounds.lower} to {bounds.upper} joined pairs; "
                "bounds further apart are easier to meet."
            )
        gain -= gain[item, own][:, None]
        i, c = divmod(int(np.where(left == left.min(), gain, -np.inf).argmax()), inside.shape[1])
        label = own.astype(np.int32)
        label[i], count, short = c, int(more[i, c]), int(left[i, c])
    return label, count


def _beside(ends: IntArray, values: npt.NDArray[Any], inside: FloatArray) -> FloatArray:
    """Sum of an item's edges into each cluster, (n, k)."""
    n = len(inside)
    graph = sp.coo_array((values.astype(np.float64), ends.T), (n, n)).tocsr()
    return np.asarray((graph + graph.T) @ inside)
