"""The label program: all that the hints say, in one form that oracles read.

=============  ==============  ==================================================================
part           shape           meaning
=============  ==============  ==================================================================
allowed        (N, C) bool     labels that no hint forbids outright
unary          (N, C)          soft cost of each label, finite, 0 where forbidden
pairs          M edges         cost of each pair of labels on an edge, +inf for forbidden pairs
counts         G groups        lower <= number of rows of class c in group g <= upper
linear         (R, N*C)        lower <= A vec(Y) <= upper on the row-major one-hot labels
cliques        K cliques       cost of rows without their clique's most frequent label, up to a most
flow           M arcs          least cost of a flow whose tied arcs are labels
partitions     P pairs each    rows that are pairs of items: those joined are an equivalence
orders         P pairs each    rows that are pairs of items: those before are a linear order
=============  ==============  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.hints._structures import Cliques, FlowNetwork, PairOrder, PairPartition

if TYPE_CHECKING:
    from tacit.hints._contract import Contraction

__all__ = ["Counts", "LabelProgram", "Pairs"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Pairs:
    """Pairwise terms: edge m costs ``weight[m] * tables[table[m]][a, b]`` for labels a, b.

    Edges that share a table (Potts, links) share its memory; +inf entries of a table are hard
    whatever the weight, which is positive.
    """

    edges: IntArray  # (M, 2)
    weight: FloatArray  # (M,)
    table: IntArray  # (M,) index into tables
    tables: FloatArray  # (T, C, C)

    @classmethod
    def none(cls, n_classes: int) -> Pairs:
        """Return no edges at all."""
        return cls(
            np.empty((0, 2), np.intp),
            np.empty(0),
            np.empty(0, np.intp),
            np.empty((0, n_classes, n_classes)),
        )

    def __len__(self) -> int:
        return len(self.edges)

    def cost(self, labels: npt.NDArray[np.integer]) -> FloatArray:
        """Cost of each edge under a labeling, (M,)."""
        a, b = labels[self.edges[:, 0]], labels[self.edges[:, 1]]
        return np.asarray(self.weight * self.tables[self.table, a, b])


@dataclass(frozen=True)
class Counts:
    """Bounds on class counts in groups of rows; groups are stored back to back."""

    indptr: IntArray  # (G + 1,)
    members: IntArray  # rows of group g: members[indptr[g]:indptr[g + 1]], sorted
    lower: npt.NDArray[np.int64]  # (G, C), 0..group size, or above where nothing can meet it
    upper: npt.NDArray[np.int64]  # (G, C), 0..group size, or -1 where nothing can meet it

    @classmethod
    def none(cls, n_classes: int) -> Counts:
        """Return no groups at all."""
        empty = np.empty((0, n_classes), np.int64)
        return cls(np.zeros(1, np.intp), np.empty(0, np.intp), empty, empty)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def sizes(self) -> IntArray:
        """Rows per group, (G,)."""
        return np.diff(self.indptr)

    def rows(self, group: int) -> IntArray:
        """Rows of one group, sorted."""
        return self.members[self.indptr[group] : self.indptr[group + 1]]

    def tally(self, labels: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Class counts of each group under a labeling, (G, C)."""
        n_classes = self.lower.shape[1]
        group = np.repeat(np.arange(len(self)), self.sizes)
        flat = np.bincount(
            group * n_classes + labels[self.members], minlength=len(self) * n_classes
        )
        return flat.reshape(len(self), n_classes).astype(np.int64)


@dataclass(frozen=True)
class LabelProgram:
    """Everything that is known about N labels out of C classes, as arrays; read-only.

    Structure (`separable`, `laminar`, ...) is read on first use and kept.
    """

    n: int
    n_classes: int
    allowed: BoolArray | None = None
    unary: FloatArray | None = None
    pairs: Pairs = field(default=None)  # type: ignore[assignment]
    counts: Counts = field(default=None)  # type: ignore[assignment]
    linear: sp.csr_array | None = None
    linear_lower: FloatArray = field(default_factory=lambda: np.empty(0))
    linear_upper: FloatArray = field(default_factory=lambda: np.empty(0))
    cliques: Cliques = field(default_factory=Cliques.none)
    flow: FlowNetwork | None = None
    partitions: tuple[PairPartition, ...] = ()
    orders: tuple[PairOrder, ...] = ()

    def __post_init__(self) -> None:
        if self.__dict__["pairs"] is None:
            object.__setattr__(self, "pairs", Pairs.none(self.n_classes))
        if self.__dict__["counts"] is None:
            object.__setattr__(self, "counts", Counts.none(self.n_classes))

    @cached_property
    def separable(self) -> bool:
        """Whether the rows do not interact."""
        return not self.couplings

    @cached_property
    def couplings(self) -> tuple[str, ...]:
        """Names of the parts that couple rows and are not empty."""
        present = {
            "pairs": len(self.pairs) > 0,
            "counts": len(self.counts) > 0,
            "linear": self.n_linear > 0,
            "cliques": len(self.cliques) > 0,
            "flow": self.flow is not None,
            "partitions": len(self.partitions) > 0,
            "orders": len(self.orders) > 0,
        }
        return tuple(name for name, there in present.items() if there)

    @property
    def soft(self) -> bool:
        """Whether labelings that satisfy all hints may differ in cost."""
        flow = self.flow is not None and bool(self.flow.cost.any())
        return self.unary is not None or bool(len(self.pairs) or len(self.cliques)) or flow

    @property
    def n_linear(self) -> int:
        """Return the number of general linear rows."""
        return 0 if self.linear is None else int(self.linear.shape[0])

    @cached_property
    def mask(self) -> BoolArray:
        """Allowed labels, (N, C), also when nothing is forbidden."""
        if self.allowed is None:
            return np.ones((self.n, self.n_classes), bool)
        return self.allowed

    @cached_property
    def home(self) -> IntArray | None:
        """Innermost group of each row, (N,), -1 for none; None unless nested or disjoint.

        Groups are visited from large to small, so the innermost one so far is the parent.
        """
        nesting = self._nesting
        return None if nesting is None else nesting[0]

    @cached_property
    def parent(self) -> IntArray | None:
        """Smallest group that contains each group, (G,), -1 for none; None unless nested."""
        nesting = self._nesting
        return None if nesting is None else nesting[1]

    @cached_property
    def contraction(self) -> Contraction:
        """The program with hard must-links taken out: rows that must agree are one component."""
        from tacit.hints._contract import Contraction

        return Contraction.of(self)

    @cached_property
    def _nesting(self) -> tuple[IntArray, IntArray] | None:
        home = np.full(self.n, -1, np.intp)
        parent = np.full(len(self.counts), -1, np.intp)
        for g in np.argsort(-self.counts.sizes, kind="stable"):
            rows = self.counts.rows(g)
            if len(rows) == 0:
                continue
            parent[g] = home[rows[0]]
            if np.any(home[rows] != parent[g]):
                return None
            home[rows] = g
        return home, parent

    def take(self, order: IntArray) -> LabelProgram:
        """Return the same program with its rows in another order (a permutation)."""
        new = np.empty(self.n, np.intp)
        new[order] = np.arange(self.n)
        counts, pairs, linear = self.counts, self.pairs, self.linear
        if len(counts):
            group = np.repeat(np.arange(len(counts)), counts.sizes)
            moved = new[counts.members]
            members = moved[np.lexsort((moved, group))]
            counts = Counts(counts.indptr, members, counts.lower, counts.upper)
        if len(pairs):
            pairs = Pairs(new[pairs.edges], pairs.weight, pairs.table, pairs.tables)
        if linear is not None:
            columns = (order[:, None] * self.n_classes + np.arange(self.n_classes)).ravel()
            linear = sp.csr_array(linear[:, columns])
        return LabelProgram(
            self.n,
            self.n_classes,
            allowed=None if self.allowed is None else self.allowed[order],
            unary=None if self.unary is None else self.unary[order],
            pairs=pairs,
            counts=counts,
            linear=linear,
            linear_lower=self.linear_lower,
            linear_upper=self.linear_upper,
            cliques=self.cliques.renumbered(new),
            flow=None if self.flow is None else self.flow.renumbered(new),
            partitions=tuple(replace(p, rows=new[p.rows]) for p in self.partitions),
            orders=tuple(replace(p, rows=new[p.rows]) for p in self.orders),
        )

    def full_cost(self, cost: npt.NDArray[np.floating] | None = None) -> FloatArray:
        """`cost` plus the program's own unary costs, +inf where a label is forbidden, (N, C)."""
        total = np.zeros((self.n, self.n_classes)) if cost is None else np.array(cost, np.float64)
        if self.unary is not None:
            total += self.unary
        if self.allowed is not None:
            total[~self.allowed] = np.inf
        return total

    def value(self, labels: npt.NDArray[np.integer]) -> float:
        """Return S(y): the soft costs of a labeling, +inf if it breaks a hard hint."""
        if self._broken(labels):
            return np.inf
        total = 0.0
        if self.unary is not None:
            total += float(self.unary[np.arange(self.n), labels].sum())
        if len(self.cliques):
            total += float(self.cliques.cost(labels).sum())
        if self.flow is not None:
            total += self.flow.least(labels)
        return total + float(self.pairs.cost(labels).sum())

    def violation(self, labels: npt.NDArray[np.integer]) -> int:
        """Return how many hard statements a labeling breaks; 0 means feasible."""
        return self._broken(labels) + int(self.flow is not None and self.flow.flow(labels) is None)

    def _broken(self, labels: npt.NDArray[np.integer]) -> int:
        """Return how many hard statements a labeling breaks, without those of the flow."""
        broken = 0
        if self.allowed is not None:
            broken += int(np.sum(~self.allowed[np.arange(self.n), labels]))
        if len(self.pairs):
            broken += int(np.sum(np.isinf(self.pairs.cost(labels))))
        if len(self.counts):
            tally = self.counts.tally(labels)
            broken += int(np.sum((tally < self.counts.lower) | (tally > self.counts.upper)))
        if self.linear is not None:
            broken += self._broken_rows(self.linear, labels)
        return broken + sum(part.broken(labels) for part in (*self.partitions, *self.orders))

    def _broken_rows(self, A: sp.csr_array, labels: npt.NDArray[np.integer]) -> int:
        onehot = np.zeros(self.n * self.n_classes)
        onehot[np.arange(self.n) * self.n_classes + labels] = 1.0
        level = A @ onehot
        # Rounding of the row's own terms; whole coefficients are exact.
        size = abs(A)
        largest = size.max(axis=1).toarray().ravel() if size.nnz else 0.0
        slack = 1e-9 * (largest + size @ onehot)
        low, high = self.linear_lower - slack, self.linear_upper + slack
        return int(np.sum((level < low) | (level > high)))
