"""Parts of a label program that couple many rows at once: cliques, flows, partitions, orders."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

__all__ = ["Cliques", "FlowNetwork", "ItemPairs", "PairOrder", "PairPartition"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Int64Array = npt.NDArray[np.int64]
Labels = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Cliques:
    r"""Higher-order terms; those of clique k are stored back to back.

    .. math:: \min\Bigl(w_k, \; \min_l \frac{w_k}{t_k} \sum_{i \in k} n_i [y_i \ne l]\Bigr)

    Rows of the program count once, :math:`n_i = 1`; a component of its contraction counts for all
    of its rows.
    """

    indptr: IntArray  # (K + 1,)
    members: IntArray  # rows of clique k: members[indptr[k]:indptr[k + 1]], sorted
    times: Int64Array  # how many rows each member stands for
    weight: FloatArray  # (K,) cost at most, finite, 0 or more
    truncate: FloatArray  # (K,) rows without the most frequent label that cost all of it, >= 1

    @classmethod
    def none(cls) -> Cliques:
        """Return no cliques at all."""
        empty = np.empty(0, np.intp)
        return cls(np.zeros(1, np.intp), empty, np.empty(0, np.int64), np.empty(0), np.empty(0))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def sizes(self) -> IntArray:
        """Members per clique, (K,)."""
        return np.diff(self.indptr)

    @property
    def owner(self) -> IntArray:
        """Clique of each member."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def rows(self, clique: int) -> IntArray:
        """Members of one clique, sorted."""
        return self.members[self.indptr[clique] : self.indptr[clique + 1]]

    def tally(self, labels: Labels) -> Int64Array:
        """Rows of each clique with each label that occurs, (K, largest label + 1)."""
        width = int(labels.max(initial=0)) + 1
        place = self.owner * width + labels[self.members]
        flat = np.bincount(place, self.times, len(self) * width)
        return flat.reshape(len(self), width).astype(np.int64)

    def cost(self, labels: Labels) -> FloatArray:
        """Cost of each clique under a labeling, (K,)."""
        tally = self.tally(labels)
        others = tally.sum(axis=1) - tally.max(axis=1, initial=0)
        return np.asarray(self.weight * np.minimum(others / self.truncate, 1.0))

    def renumbered(self, new: IntArray) -> Cliques:
        """Return the same cliques where row i is called ``new[i]``; members of one name merge.

        Cliques that are left with a single member always cost nothing, and go.
        """
        size = int(new.max(initial=-1)) + 1
        key, place = np.unique(self.owner * size + new[self.members], return_inverse=True)
        times = np.bincount(place, self.times, len(key)).astype(np.int64)
        owner, members = np.divmod(key, max(size, 1))
        sizes = np.bincount(owner, minlength=len(self))
        stay = sizes > 1
        kept = stay[owner]
        indptr = np.concatenate([[0], np.cumsum(sizes[stay])]).astype(np.intp)
        return Cliques(indptr, members[kept], times[kept], self.weight[stay], self.truncate[stay])

    @staticmethod
    def joined(parts: list[Cliques]) -> Cliques:
        """All cliques of several programs over the same rows."""
        if not parts:
            return Cliques.none()
        sizes = np.concatenate([p.sizes for p in parts])
        return Cliques(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
            np.concatenate([p.members for p in parts]),
            np.concatenate([p.times for p in parts]),
            np.concatenate([p.weight for p in parts]),
            np.concatenate([p.truncate for p in parts]),
        )


@dataclass(frozen=True)
class FlowNetwork:
    r"""A directed network; S(y) is the least cost of a whole flow that agrees with the labels.

    .. math:: \min_x \sum_a cost_a x_a, \quad \sum_{a \text{ leaves } v} x_a
        - \sum_{a \text{ enters } v} x_a = supply_v, \quad lower_a \le x_a \le upper_a

    and the flow on a tied arc is 1 where its row has its class, else 0.

    Notes
    -----
    The flow supervisor of 000.
    """

    n_nodes: int
    arcs: IntArray  # (M, 2) from, to; no loops
    lower: Int64Array  # (M,) 0 or more
    upper: Int64Array  # (M,) at most 1 on tied arcs
    cost: FloatArray  # (M,) finite
    supply: Int64Array  # (n_nodes,) adds up to 0
    tie_arc: IntArray  # (T,) no arc twice
    tie_row: IntArray  # (T,)
    tie_class: IntArray  # (T,) codes

    @cached_property
    def incident(self) -> tuple[IntArray, IntArray]:
        """Arcs at each node, (n_nodes + 1,) places and (2 M,) arcs."""
        order = np.argsort(self.arcs.ravel(), kind="stable")
        sizes = np.bincount(self.arcs.ravel(), minlength=self.n_nodes)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp), order // 2

    def agree(self, labels: Labels) -> tuple[Int64Array, Int64Array] | None:
        """Bounds of all arcs under a labeling; None where a tied arc cannot agree."""
        lower, upper = self.lower.copy(), self.upper.copy()
        used = (labels[self.tie_row] == self.tie_class).astype(np.int64)
        if np.any((used < lower[self.tie_arc]) | (used > upper[self.tie_arc])):
            return None
        lower[self.tie_arc] = upper[self.tie_arc] = used
        return lower, upper

    def flow(self, labels: Labels) -> Int64Array | None:
        """Return a cheapest flow that agrees with a labeling, (M,), or None if there is none."""
        from tacit.hints._flow_value import cheapest_flow

        bounds = self.agree(labels)
        if bounds is None:
            return None
        flow = np.empty(len(self.arcs), np.int64)
        start, incident = self.incident
        found = cheapest_flow(start, incident, self.arcs, *bounds, self.cost, self.supply, flow)
        return flow if found else None

    def least(self, labels: Labels) -> float:
        """S(y), +inf where no flow agrees."""
        flow = self.flow(labels)
        return np.inf if flow is None else float(self.cost @ flow)

    def renumbered(self, new: IntArray) -> FlowNetwork:
        """Return the same network where row i is called ``new[i]``."""
        return replace(self, tie_row=new[self.tie_row])

    @staticmethod
    def joined(parts: list[FlowNetwork]) -> FlowNetwork | None:
        """Put several networks side by side: their least costs add up."""
        if len(parts) < 2:
            return parts[0] if parts else None
        nodes = np.cumsum([0, *(p.n_nodes for p in parts)])
        arcs = np.cumsum([0, *(len(p.arcs) for p in parts)])
        return FlowNetwork(
            int(nodes[-1]),
            np.concatenate([p.arcs + v for p, v in zip(parts, nodes[:-1], strict=True)]),
            np.concatenate([p.lower for p in parts]),
            np.concatenate([p.upper for p in parts]),
            np.concatenate([p.cost for p in parts]),
            np.concatenate([p.supply for p in parts]),
            np.concatenate([p.tie_arc + a for p, a in zip(parts, arcs[:-1], strict=True)]),
            np.concatenate([p.tie_row for p in parts]),
            np.concatenate([p.tie_class for p in parts]),
        )


@dataclass(frozen=True)
class ItemPairs:
    """Rows that are pairs of items; of the two classes, the second says yes.

    Several rows may be the same pair, and pairs may be missing.
    """

    n_items: int
    items: IntArray  # (P, 2) codes 0..n_items-1 of the items, which differ
    rows: IntArray  # (P,) row of each pair, no row twice

    @property
    def complete(self) -> bool:
        """Whether every two items are a pair exactly once."""
        n = self.n_items
        key = self.items.min(axis=1) * n + self.items.max(axis=1)
        return len(key) == n * (n - 1) // 2 and len(np.unique(key)) == len(key)

    @abstractmethod
    def broken(self, labels: Labels) -> int:
        """How many pairs contradict the others under a labeling; 0 means feasible."""

    def _yes(self, labels: Labels) -> npt.NDArray[np.bool_]:
        return np.asarray(labels[self.rows] == 1)

    def _graph(self, ends: IntArray) -> sp.coo_array:
        return sp.coo_array((np.ones(len(ends), np.int8), ends.T), (self.n_items, self.n_items))


@dataclass(frozen=True)
class PairPartition(ItemPairs):
    """The second class joins two items, the first keeps them apart; joined is an equivalence."""

    def groups(self, labels: Labels) -> IntArray:
        """Return the number of each item's group when joined pairs are connected, (n_items,)."""
        joined = self._graph(self.items[self._yes(labels)])
        return np.asarray(connected_components(joined, directed=False)[1], np.intp)

    def broken(self, labels: Labels) -> int:
        group = self.groups(labels)
        together = group[self.items[:, 0]] == group[self.items[:, 1]]
        return int(np.sum(together & ~self._yes(labels)))


@dataclass(frozen=True)
class PairOrder(ItemPairs):
    """The second class puts the first item before the second, the first class behind it."""

    def directed(self, labels: Labels) -> IntArray:
        """Pairs as (before, after), (P, 2)."""
        return np.where(self._yes(labels)[:, None], self.items, self.items[:, ::-1])

    def broken(self, labels: Labels) -> int:
        ends = self.directed(labels)
        _, knot = connected_components(self._graph(ends), directed=True, connection="strong")
        return int(np.sum(knot[ends[:, 0]] == knot[ends[:, 1]]))
