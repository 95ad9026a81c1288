"""A label program as rows and columns of a (mixed-integer) linear program.

Columns: x[k, c], "component k has label c", then for each edge with soft costs one column per pair
of labels (the local polytope), then those that cliques, flows, partitions and orders need. Rows:
one label each, then counts, linear rows, pairs and the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.hints._contract import Contraction
from tacit.hints._program import LabelProgram, Pairs
from tacit.oracles._relaxed_parts import relaxed_parts

__all__ = ["Columns", "Priced", "Relaxation"]

FloatArray = npt.NDArray[np.float64]
Rows = tuple[sp.csr_array, FloatArray, FloatArray]


@dataclass(frozen=True)
class Columns:
    """What a linear program needs beside its costs; the first `n_labels` columns are labels."""

    A: sp.csr_array
    lower: FloatArray
    upper: FloatArray
    cap: FloatArray
    n_labels: int


@dataclass(frozen=True)
class Priced:
    """Costs of the columns as a solver should see them: least 0 in each choice, largest 1.

    Solvers compare with tolerances that are numbers of their own, not of the user's units.
    """

    cost: FloatArray
    unit: float


@dataclass(frozen=True)
class Relaxation:
    """min <cost, columns> subject to lower <= A columns <= upper, 0 <= columns <= cap."""

    program: LabelProgram
    contraction: Contraction
    n_classes: int
    A: sp.csr_array  # the first K rows say that each component has one label
    lower: FloatArray
    upper: FloatArray
    cap: FloatArray  # 1, or 0 where a label or a pair of labels is forbidden; more for flows
    pair_cost: FloatArray  # costs of the pairs of labels, the columns after the first K * C
    part_cost: FloatArray  # costs of the columns after those
    constant: float  # of S(y), in no column
    edges: npt.NDArray[np.intp]  # (M, 2) components of each edge with soft costs

    @classmethod
    def of(cls, program: LabelProgram) -> Relaxation:
        """Write a program down."""
        joined = program.contraction
        k, n_classes = joined.allowed.shape
        hard = _zero_or_inf(joined.pairs.tables)[joined.pairs.table]
        soft = _take(joined.pairs, ~hard)
        edges, soft_cap, pair_cost = _soft_edges(soft, k, n_classes)
        blocks = [
            _one_label_each(k, n_classes),
            _count_rows(program, joined),
            _linear_rows(program, joined),
            _exclusions(_take(joined.pairs, hard), k, n_classes),
        ]
        parts = relaxed_parts(program, k * n_classes + len(soft_cap))
        blocks += [edges, *((part.A, part.lower, part.upper) for part in parts)]
        own = [joined.allowed.ravel().astype(float), soft_cap]
        cap = np.concatenate([*own, *(part.cap for part in parts)])
        return cls(
            program,
            joined,
            n_classes,
            sp.csr_array(sp.vstack([_widen(b[0], len(cap)) for b in blocks])),
            np.concatenate([b[1] for b in blocks]),
            np.concatenate([b[2] for b in blocks]),
            cap,
            pair_cost,
            np.concatenate([np.empty(0), *(part.cost for part in parts)]),
            sum(part.constant for part in parts),
            soft.edges,
        )

    @cached_property
    def _transposed(self) -> sp.csr_array:
        return sp.csr_array(self.A.T)

    @cached_property
    def _row_sizes(self) -> FloatArray:
        return np.asarray(abs(self.A).sum(axis=1)).ravel()

    @property
    def n_choices(self) -> int:
        """Units that columns may hold: a label each, a pair each, and those of other parts."""
        parts = self.cap[self.n_labels + len(self.pair_cost) :]
        return len(self.contraction.allowed) + len(self.edges) + int(np.ceil(parts.sum()))

    @property
    def n_labels(self) -> int:
        """Columns that are labels; the others are pairs of labels."""
        return self.contraction.allowed.size

    @property
    def columns(self) -> Columns:
        """The whole program."""
        return Columns(self.A, self.lower, self.upper, self.cap, self.n_labels)

    def part(self, free: npt.NDArray[np.intp], values: FloatArray) -> Columns:
        """Return the program in some of the columns, the others fixed at their values."""
        fixed = values.copy()
        fixed[free] = 0.0
        A = sp.csr_array(self.A[:, free])
        rows = np.flatnonzero(np.diff(A.indptr))
        used = (self.A @ fixed)[rows]
        n_labels = int(np.sum(free < self.n_labels))
        return Columns(
            sp.csr_array(A[rows]),
            self.lower[rows] - used,
            self.upper[rows] - used,
            self.cap[free],
            n_labels,
        )

    def priced(self, cost: npt.NDArray[np.floating]) -> Priced:
        """Costs of all columns for the given costs of rows and labels."""
        own = self.contraction.gather(cost) + self.contraction.unary
        square = self.n_classes * self.n_classes
        pairs = slice(own.size, own.size + len(self.pair_cost))
        above = [
            _above_least(own, self.contraction.allowed),
            _above_least(
                self.pair_cost.reshape(-1, square), self.cap[pairs].reshape(-1, square) > 0
            ),
        ]
        columns = np.concatenate([*(part.ravel() for part in above), self.part_cost])
        unit = float(np.abs(columns).max(initial=0.0)) or 1.0
        return Priced(columns / unit, unit)

    def value(self, priced: Priced, labels: npt.NDArray[np.integer]) -> float:
        """Cost of a feasible labeling of the rows, in the units of the columns."""
        here = labels[self.contraction.first_row]
        own = priced.cost[np.arange(len(here)) * self.n_classes + here]
        edge = np.arange(len(self.edges)) * self.n_classes + here[self.edges[:, 0]]
        pairs = priced.cost[self.n_labels + edge * self.n_classes + here[self.edges[:, 1]]]
        parts = -self.constant
        if len(self.contraction.cliques):
            parts += float(self.contraction.cliques.cost(here).sum())
        if self.program.flow is not None:
            parts += self.program.flow.least(labels)
        return float(own.sum() + pairs.sum()) + parts / priced.unit

    @property
    def no_prices(self) -> FloatArray:
        """Prices at which every component takes its cheapest label."""
        return np.zeros(len(self.lower))

    def bound(self, column_cost: FloatArray, prices: FloatArray) -> float:
        """Lower bound at any row prices: relax all rows but "one label each".

        Prices with the wrong sign for an infinite bound are set to zero. What rounding may have
        added to the sums is taken off.
        """
        k = len(self.contraction.allowed)
        p = prices.copy()
        p[:k] = 0.0
        p[(p > 0) & np.isinf(self.lower)] = 0.0
        p[(p < 0) & np.isinf(self.upper)] = 0.0
        side = np.where(p > 0, self.lower, np.where(p < 0, self.upper, 0.0))
        reduced = column_cost - self._transposed @ p
        labels = reduced[: self.n_labels].reshape(k, self.n_classes)
        labels = np.where(self.contraction.allowed, labels, np.inf).min(axis=1, initial=np.inf)
        rest = np.minimum(reduced[self.n_labels :], 0.0) * self.cap[self.n_labels :]
        size = self.n_choices * float(np.abs(column_cost).max(initial=0.0))
        size += float(np.abs(p) @ (self._row_sizes + np.abs(side)))
        rounding = 2.0 * float(np.finfo(np.float64).eps) * (sum(self.A.shape) + 8) * size
        return float(p @ side + labels.sum() + rest.sum()) - rounding

    def labels(self, columns: FloatArray) -> npt.NDArray[np.int32]:
        """Row labels of a solution: the largest column of each component."""
        x = columns[: self.n_labels].reshape(-1, self.n_classes)
        return np.asarray(x.argmax(axis=1).astype(np.int32)[self.contraction.component])


def _above_least(cost: FloatArray, allowed: npt.NDArray[np.bool_]) -> FloatArray:
    """Cost above the least allowed one of each row; 0 where forbidden."""
    least = np.where(allowed, cost, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    return np.where(allowed, cost - np.where(np.isfinite(least), least, 0.0), 0.0)


def _zero_or_inf(tables: FloatArray) -> npt.NDArray[np.bool_]:
    return np.asarray(((tables == 0) | np.isinf(tables)).all(axis=(1, 2)))


def _take(pairs: Pairs, keep: npt.NDArray[np.bool_]) -> Pairs:
    return Pairs(pairs.edges[keep], pairs.weight[keep], pairs.table[keep], pairs.tables)


def _widen(rows: sp.csr_array, width: int) -> sp.csr_array:
    return sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))


def _one_label_each(k: int, n_classes: int) -> Rows:
    A = sp.csr_array(sp.kron(sp.eye_array(k), np.ones((1, n_classes))))
    return A, np.ones(k), np.ones(k)


def _count_rows(program: LabelProgram, joined: Contraction) -> Rows:
    """Rows of the bounds that can bind."""
    counts, n_classes = program.counts, program.n_classes
    binds = (counts.lower > 0) | (counts.upper < counts.sizes[:, None])
    group, cls = np.nonzero(binds)
    member = sp.csr_array(
        (
            np.ones(len(counts.members)),
            joined.component[counts.members],
            counts.indptr,
        ),
        shape=(len(counts), len(joined.allowed)),
    )
    rows = member[group].tocoo()  # rows of one component in a group add up
    column = rows.coords[1] * n_classes + cls[rows.coords[0]]
    A = sp.csr_array((rows.data, (rows.coords[0], column)), shape=(len(group), joined.allowed.size))
    return A, counts.lower[group, cls].astype(float), counts.upper[group, cls].astype(float)


def _linear_rows(program: LabelProgram, joined: Contraction) -> Rows:
    width = joined.allowed.size
    if program.linear is None:
        return sp.csr_array((0, width)), np.empty(0), np.empty(0)
    coo = program.linear.tocoo()
    row, cls = np.divmod(coo.coords[1], program.n_classes)
    column = joined.component[row] * program.n_classes + cls
    A = sp.csr_array((coo.data, (coo.coords[0], column)), shape=(coo.shape[0], width))
    return _scaled(A, program.linear_lower, program.linear_upper)


def _scaled(A: sp.csr_array, lower: FloatArray, upper: FloatArray) -> Rows:
    """Rows with largest coefficient 1, and bounds no further than no labeling can reach."""
    size = abs(A)
    largest = np.asarray(size.max(axis=1).todense()).ravel() if A.nnz else np.zeros(A.shape[0])
    unit = np.where(largest > 0, largest, 1.0)
    scaled = sp.csr_array(sp.diags_array(1.0 / unit) @ A)
    far = np.asarray(abs(scaled).sum(axis=1)).ravel() + 1.0
    low = np.where(np.isinf(lower), lower, np.clip(lower / unit, -far, far))
    high = np.where(np.isinf(upper), upper, np.clip(upper / unit, -far, far))
    return scaled, low, high


def _exclusions(pairs: Pairs, k: int, n_classes: int) -> Rows:
    """x[i, a] + x[j, b] <= 1 for every forbidden pair of labels."""
    m, a, b = np.nonzero(np.isinf(pairs.tables[pairs.table]))
    i, j = pairs.edges[m, 0], pairs.edges[m, 1]
    row = np.repeat(np.arange(len(m)), 2)
    column = np.column_stack([i * n_classes + a, j * n_classes + b]).ravel()
    A = sp.csr_array((np.ones(len(row)), (row, column)), shape=(len(m), k * n_classes))
    return A, np.full(len(m), -np.inf), np.ones(len(m))


def _soft_edges(pairs: Pairs, k: int, n_classes: int) -> tuple[Rows, FloatArray, FloatArray]:
    """Pair columns z with sum_b z[a, b] = x[i, a] and sum_a z[a, b] = x[j, b]."""
    m, square = len(pairs), n_classes * n_classes
    table = pairs.weight[:, None, None] * pairs.tables[pairs.table]
    cap = np.isfinite(table).astype(float).ravel()
    cost = np.where(np.isfinite(table), table, 0.0).ravel()
    edge, a, b = np.unravel_index(np.arange(m * square), (m, n_classes, n_classes))
    z = k * n_classes + np.arange(m * square)
    first, second = edge * 2 * n_classes + a, edge * 2 * n_classes + n_classes + b
    every = np.arange(m * n_classes)
    e, c = np.divmod(every, n_classes)
    row = np.concatenate([first, second, e * 2 * n_classes + c, e * 2 * n_classes + n_classes + c])
    own = [pairs.edges[e, 0] * n_classes + c, pairs.edges[e, 1] * n_classes + c]
    column = np.concatenate([z, z, *own])
    value = np.concatenate([np.ones(2 * len(z)), -np.ones(2 * len(every))])
    shape = (2 * m * n_classes, k * n_classes + m * square)
    zeros = np.zeros(shape[0])
    return (sp.csr_array((value, (row, column)), shape=shape), zeros, zeros), cap, cost
