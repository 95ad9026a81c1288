r"""Pairs of items as a weighted graph: what a partition pays, without what is certain.

A partition pays for the edges it cuts: :math:`\sum_{e\ cut} w_e`, where w is what apart costs more
than joined. Pairs that have to be joined are contracted, pairs of the same two nodes added up.

=========  =========  ==================================================================
symbol     shape      meaning
=========  =========  ==================================================================
edges      (M, 2)     nodes of each edge, the smaller first, no two the same, sorted
weight     (M,)       cost of cutting it; negative where the pair would be apart
hard       (M,) bool  edges that have to be cut; their weight is 0
=========  =========  ==================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from tacit.exceptions import InfeasibleHints

__all__ = ["Adjacency", "CutGraph", "Shape", "adjacency", "blocks", "dear", "rounding"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

# Graphs of at most so many nodes with at least this share of all pairs are matrices: a move then
# reads a row of it (128 MB at the limit).
DENSE_NODES, DENSE_SHARE = 4000, 0.25
# Share of the weights summed that is rounding.
TINY = 1e-13


@dataclass(frozen=True)
class Adjacency:
    """Both directions of every edge, by node."""

    indptr: IntArray  # (n + 1,)
    neighbor: npt.NDArray[np.int32]  # (2 M,)
    edge: npt.NDArray[np.int32]  # (2 M,)


@dataclass(frozen=True)
class Shape:
    """Nodes and edges without their weights; many costs share one.

    Attributes
    ----------
    node : (n_items,) array
        Node of each item.
    n : int
        Number of nodes.
    edges : (M, 2) array
        Sorted pairs of nodes.
    edge : (P,) array
        Edge of each pair of items, -1 for pairs within a node.
    hard : (M,) array
        Edges that have to be cut.
    """

    node: IntArray
    n: int
    edges: IntArray
    edge: IntArray
    hard: BoolArray

    @classmethod
    def of(cls, n_items: int, pairs: IntArray, join: BoolArray, cut: BoolArray) -> Shape:
        """Contract the pairs that have to be joined.

        Parameters
        ----------
        n_items : int
            Number of items.
        pairs : (P, 2) array
            Items of each pair.
        join, cut : (P,) arrays
            Pairs that have to be joined, and apart.

        Raises
        ------
        InfeasibleHints
            If a pair has to be apart whose items are joined by others.
        """
        if np.any(join & cut):
            raise InfeasibleHints("some pair of items can be neither joined nor apart.")
        links = pairs[join]
        graph = sp.coo_array((np.ones(len(links), np.int8), links.T), (n_items, n_items))
        n, node = connected_components(graph, directed=False)
        node = node.astype(np.intp)
        ends = np.sort(node[pairs], axis=1)
        inside = ends[:, 0] == ends[:, 1]
        if np.any(cut & inside):
            a, b = pairs[np.flatnonzero(cut & inside)[0]]
            raise InfeasibleHints(
                f"items {a} and {b} have to be apart, but pairs that have to be joined join them."
            )
        key, found = np.unique(ends[~inside] @ np.array([n, 1]), return_inverse=True)
        edge = np.full(len(pairs), -1, np.intp)
        edge[~inside] = found
        hard = np.zeros(len(key), bool)
        hard[edge[cut]] = True
        return cls(node, int(n), np.column_stack(np.divmod(key, n)).astype(np.intp), edge, hard)

    @cached_property
    def adjacency(self) -> Adjacency:
        """Edges by node."""
        return adjacency(self.n, self.edges)

    @property
    def dense(self) -> bool:
        """Whether a matrix of all nodes is the better form."""
        return self.n <= DENSE_NODES and len(self.edges) >= DENSE_SHARE * self.n * (self.n - 1) / 2

    def weigh(self, gain: FloatArray) -> CutGraph:
        """Graph for pairs of which apart costs `gain` more than joined; 0 where one is certain."""
        inside = self.edge >= 0
        weight = np.bincount(self.edge[inside], gain[inside], minlength=len(self.edges))
        return CutGraph(self, np.where(self.hard, 0.0, weight))


@dataclass(frozen=True)
class CutGraph:
    """A shape with weights."""

    shape: Shape
    weight: FloatArray

    @property
    def n(self) -> int:
        """Return the number of nodes."""
        return self.shape.n

    @cached_property
    def strong(self) -> FloatArray:
        """Weights for local search: joining what must be apart costs more than all the rest."""
        return np.where(self.shape.hard, -dear(self.weight), self.weight)

    @cached_property
    def tiny(self) -> float:
        """Gains of local search below this are rounding of its sums."""
        return rounding(self.shape.edges, self.strong, self.shape.hard)

    @cached_property
    def matrix(self) -> FloatArray:
        """`strong` as a symmetric matrix, 0 between nodes without an edge."""
        W, (a, b) = np.zeros((self.n, self.n)), self.shape.edges.T
        W[a, b] = W[b, a] = self.strong
        return W

    def cut(self, label: npt.NDArray[np.integer]) -> BoolArray:
        """Edges between different clusters."""
        ends = label[self.shape.edges]
        return np.asarray(ends[:, 0] != ends[:, 1])

    def value(self, label: npt.NDArray[np.integer]) -> float:
        """Return what a partition of the nodes pays."""
        return float(self.weight[self.cut(label)].sum())

    def components(self) -> npt.NDArray[np.int32]:
        """Parts that no edge of positive weight joins: some best partition keeps them apart."""
        links = self.shape.edges[self.weight > 0]
        graph = sp.coo_array((np.ones(len(links), np.int8), links.T), (self.n, self.n))
        return np.asarray(connected_components(graph, directed=False)[1], np.int32)


def dear(weight: FloatArray) -> float:
    """Return more than all weights together, in their own units."""
    return 2.0 * float(np.abs(weight).sum()) or 1.0


def rounding(edges: IntArray, strong: FloatArray, hard: npt.NDArray[Any]) -> float:
    """Return a share of all weights; of those that hold for certain a node meets only its own."""
    size, held = np.abs(strong), hard != 0
    most = np.bincount(edges[held].ravel(), minlength=1).max(initial=0)
    return TINY * float(size[~held].sum() + most * size[held].max(initial=0.0))


def adjacency(n: int, edges: IntArray) -> Adjacency:
    """Both directions of every edge, by node and then by neighbour."""
    m = len(edges)
    source = np.concatenate([edges[:, 0], edges[:, 1]])
    target = np.concatenate([edges[:, 1], edges[:, 0]])
    order = np.lexsort((target, source))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n))])
    edge = np.concatenate([np.arange(m), np.arange(m)])[order]
    return Adjacency(indptr.astype(np.intp), target[order].astype(np.int32), edge.astype(np.int32))


def blocks(
    component: npt.NDArray[np.integer], edges: IntArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield nodes and inner edges of each component that has any, those with few edges first."""
    home = component[edges[:, 0]]
    inside = np.flatnonzero(home == component[edges[:, 1]])
    inside = inside[np.argsort(home[inside], kind="stable")]
    nodes = np.argsort(component, kind="stable")
    every = np.arange(int(component.max(initial=-1)) + 2)
    edge_ends = np.searchsorted(home[inside], every)
    node_ends = np.searchsorted(component[nodes], every)
    sizes = np.diff(edge_ends)
    for c in np.argsort(sizes, kind="stable")[np.count_nonzero(sizes == 0) :].tolist():
        own = slice(node_ends[c], node_ends[c + 1]), slice(edge_ends[c], edge_ends[c + 1])
        yield nodes[own[0]], inside[own[1]]
