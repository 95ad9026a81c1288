r"""Pairs of two labels each as a cut problem: one cost per node, two capacities per edge.

With x = 0 for a node's lower label and 1 for its higher one, a table ((a, b), (c, d)) with
s = b + c - a - d >= 0 is

.. math:: a + \tfrac{(c - a) + (d - b)}{2} x_u + \tfrac{(d - c) + (b - a)}{2} x_v
    + \tfrac{s}{2} \bigl( (1 - x_u) x_v + x_u (1 - x_v) \bigr)

and one with s < 0 is the same in x_u and 1 - x_v. Infinite entries are exact: b = inf is an
infinite capacity, c = inf one the other way, a row or column of them forbids a label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.hints._contract import Contraction
from tacit.hints._program import Pairs

__all__ = ["Binary", "Terms", "decompose", "too_many_labels"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Int32Array = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

# Part of a table's largest entry below which s counts as rounding of a modular table.
MODULAR = 1e-14


class Terms(NamedTuple):
    """Tables of two labels, decomposed."""

    flip: BoolArray  # (T,) whether the second node enters as 1 - x
    forward: FloatArray  # (T,) capacities, after the flip
    backward: FloatArray  # (T,)
    first: FloatArray  # (T,) cost of x_u = 1
    second: FloatArray  # (T,) cost of x_v = 1
    const: FloatArray  # (T,)
    forbid: BoolArray  # (T, end, label) labels that cannot be
    size: FloatArray  # (T,) sum of the finite entries' sizes


def decompose(tables: FloatArray) -> Terms:
    """Decompose tables (T, 2, 2), which may hold +inf."""
    t = tables.astype(np.float64, copy=True)
    forbid = np.zeros((len(t), 2, 2), bool)
    for end, view in ((0, t), (1, t.swapaxes(1, 2))):
        for label in (0, 1):
            dead = np.isposinf(view[:, label]).all(axis=1)
            forbid[dead, end, label] = True
            # What a label that cannot be would cost does not matter.
            other = view[dead, 1 - label]
            view[dead, label] = np.where(np.all(other == np.inf, axis=1, keepdims=True), 0.0, other)
    inf = np.isposinf(t)
    finite = np.where(inf, 0.0, t)
    size = np.abs(finite).sum(axis=(1, 2))
    s = finite[:, 0, 1] + finite[:, 1, 0] - finite[:, 0, 0] - finite[:, 1, 1]
    hard, cannot = inf[:, 0, 1] | inf[:, 1, 0], inf[:, 0, 0] | inf[:, 1, 1]
    flip = ~hard & (cannot | (s < -MODULAR * size))
    t[flip] = t[flip][:, :, ::-1]
    inf = np.isposinf(t)
    a, b, c, d = np.where(inf, 0.0, t).reshape(-1, 4).T
    up, down = inf[:, 0, 1], inf[:, 1, 0]
    half = np.maximum((b - a) - (d - c), 0.0) / 2.0
    forward = np.where(up, np.inf, np.where(down, 0.0, half))
    backward = np.where(down, np.inf, np.where(up, 0.0, half))
    first = np.select([up & down, up, down], [d - a, c - a, d - b], ((c - a) + (d - b)) / 2.0)
    second = np.select([up & down, up, down], [0.0 * a, d - c, b - a], ((d - c) + (b - a)) / 2.0)
    const = np.where(flip, a + second, a)
    return Terms(
        flip, forward, backward, first, np.where(flip, -second, second), const, forbid, size
    )


def too_many_labels(contraction: Contraction) -> str:
    """Say which row has more than two allowed labels; empty if none has."""
    if contraction.allowed.shape[1] <= 2:
        return ""
    many = np.flatnonzero(contraction.allowed.sum(axis=1) > 2)
    if not len(many):
        return ""
    return f"row {contraction.first_row[many[0]]} has more than two allowed labels"


@dataclass(frozen=True)
class Binary:
    """A contracted program of pairs whose nodes have at most two allowed labels each.

    ``const + sum_i cost_i x_i`` plus the capacities of edges between nodes that have a choice;
    edges to nodes without one are costs of their other end.
    """

    low: Int32Array  # (K,) label for x = 0
    high: Int32Array  # (K,) label for x = 1, the same as low without a choice
    cost: FloatArray  # (K,) cost of x = 1, +inf or -inf where one of the two cannot be
    const: float
    edges: IntArray  # (M, 2)
    forward: FloatArray  # (M,)
    backward: FloatArray  # (M,), the same array if all are equal
    flip: BoolArray  # (M,) or empty if no edge is flipped
    size: float  # sum of the sizes of all terms
    infeasible: bool  # some node has no label left

    @classmethod
    def of(cls, contraction: Contraction) -> Binary:
        """Read a contraction that `too_many_labels` does not refuse."""
        allowed, pairs = contraction.allowed, contraction.pairs
        n_classes = allowed.shape[1]
        low, high = _two(allowed)
        infeasible = False
        if n_classes == 2 and bool(low.max(initial=0) == 0 and high.min(initial=1) == 1):
            unary = contraction.unary.copy()
        else:
            rows = np.arange(len(low))
            infeasible = not bool(allowed[rows, low].all())
            unary = np.stack([contraction.unary[rows, low], contraction.unary[rows, high]], axis=1)
        size = float(np.abs(unary).sum())
        free = low != high
        keep = free[pairs.edges].all(axis=1) if not free.all() else None
        if keep is not None and not keep.all():
            _settle(pairs, ~keep, low, high, unary)
            size += float(np.abs(unary[np.isfinite(unary)]).sum())
            pairs = Pairs(pairs.edges[keep], pairs.weight[keep], pairs.table[keep], pairs.tables)
        weight, table, terms = _two_labels(pairs, low, high)
        edges = pairs.edges
        for end in (0, 1):
            part = terms.first if end == 0 else terms.second
            if part.any():
                unary[:, 1] += np.bincount(edges[:, end], weight * part[table], len(low))
            for label in (0, 1):
                if terms.forbid[:, end, label].any():
                    unary[edges[terms.forbid[table, end, label], end], label] = np.inf
        if np.isfinite(unary).all():
            cost, const = unary[:, 1] - unary[:, 0], float(unary[:, 0].sum())
        else:
            one, zero = np.isposinf(unary).T[::-1]
            infeasible |= bool((one & zero).any())
            lowest = np.where(zero, 0.0, unary[:, 0])
            cost = np.where(one, np.inf, np.where(zero, -np.inf, unary[:, 1] - lowest))
            # A node that has to be 1 pays for it here; one without a choice is 0.
            const = float(np.where(zero, unary[:, 1], lowest)[~(one & zero)].sum())
        times = np.bincount(table, weight, len(terms.const))
        const += float(times @ terms.const)
        cost[~free] = 0.0
        forward = weight * terms.forward[table]
        same = np.array_equal(terms.forward, terms.backward)
        backward = forward if same else weight * terms.backward[table]
        flip = terms.flip[table] if terms.flip.any() else np.empty(0, bool)
        size += float(times @ terms.size)
        return cls(low, high, cost, const, edges, forward, backward, flip, size, infeasible)

    def pick(self, total: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Costs of the lower and of the higher label of each node, of costs (K, C)."""
        if total.shape[1] == 2 and not self.low.any() and self.high.all():
            return total[:, 0], total[:, 1]
        rows = np.arange(len(total))
        return total[rows, self.low], total[rows, self.high]

    def base(self, least: FloatArray, most: FloatArray) -> tuple[float, float]:
        """Return what nodes pay where x = 0, or have to be 1; and the sizes of all their costs."""
        base = float(least.sum())
        must = np.flatnonzero(np.isneginf(self.cost))
        if len(must):
            base += float((most[must] - least[must]).sum())
        return base, float(np.abs(least).sum()) + float(np.abs(most).sum())

    def slopes(self, change: FloatArray) -> float:
        """Sum of the sizes of all that depends on the labels, if x = 1 costs so much more."""
        cost = np.abs(self.cost + change)
        edges = self.forward[np.isfinite(self.forward)].sum()
        return float(cost[np.isfinite(cost)].sum() + edges)

    def labels(self, side: BoolArray) -> Int32Array:
        """Labels of the nodes for x, (K,)."""
        return np.where(side, self.high, self.low).astype(np.int32)


def _two(allowed: BoolArray) -> tuple[Int32Array, Int32Array]:
    """First and last allowed label of each node, 0 for one without any."""
    low = allowed.argmax(axis=1).astype(np.int32)
    high = (allowed.shape[1] - 1 - allowed[:, ::-1].argmax(axis=1)).astype(np.int32)
    none = ~allowed[np.arange(len(low)), low]
    high[none] = 0
    return low, high


def _settle(
    pairs: Pairs, chosen: BoolArray, low: Int32Array, high: Int32Array, unary: FloatArray
) -> None:
    """Add edges with an end that has no choice to the costs of the other end, or of the first."""
    (u, v), table = pairs.edges[chosen].T, pairs.table[chosen]
    weight, one_way = (
        pairs.weight[chosen],
        low[pairs.edges[chosen, 1]] == high[pairs.edges[chosen, 1]],
    )
    for x, labels in enumerate((low, high)):
        costs = weight * np.where(
            one_way, pairs.tables[table, labels[u], low[v]], pairs.tables[table, low[u], labels[v]]
        )
        np.add.at(unary[:, x], np.where(one_way, u, v), costs)


def _two_labels(
    pairs: Pairs, low: Int32Array, high: Int32Array
) -> tuple[FloatArray, IntArray, Terms]:
    """Weights, 0 or more, and decomposed tables of the two labels of each end."""
    free = np.flatnonzero(low != high)
    lows, highs = low[free], high[free]
    weight, table, tables = pairs.weight, pairs.table, pairs.tables
    if len(free) == 0 or len(pairs) == 0:
        return weight, np.zeros(len(weight), np.intp), decompose(np.zeros((1, 2, 2)))
    if lows.min() == lows.max() and highs.min() == highs.max():
        both = np.array([lows[0], highs[0]])
        tables = tables[:, both[:, None], both[None, :]]
    else:
        u, v = pairs.edges.T
        ends = np.stack([low[u], high[u]], 1), np.stack([low[v], high[v]], 1)
        tables = tables[table[:, None, None], ends[0][:, :, None], ends[1][:, None, :]]
        table = np.arange(len(pairs))
    negative = weight < 0
    if negative.any():
        turned = np.where(np.isposinf(tables), np.inf, -tables)
        table, tables = table + len(tables) * negative, np.concatenate([tables, turned])
        weight = np.abs(weight)
    return weight, table, decompose(tables)
