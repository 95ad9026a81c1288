"""Must-links taken out of a label program: rows that must agree become one component.

Also edges between the same two components become one, and edges inside a component become costs of
its labels, so that redundant links, or the same edge twice, do not look like a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from tacit.hints._program import LabelProgram, Pairs
from tacit.hints._structures import Cliques

__all__ = ["Contraction"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Contraction:
    """Rows joined by hard must-links, as components.

    A must-link is an edge whose table is +inf off the diagonal. Component labels y give row labels
    ``y[component]``, and the costs of the program's labels, pairs and cliques are those of `unary`,
    `pairs` and `cliques` here. Counts, linear rows, flows, partitions and orders are not looked at:
    they still speak of rows, whose labels are those of their components.
    """

    component: IntArray  # (N,) component of each row, numbered by first row
    first_row: IntArray  # (K,) smallest row of each component
    allowed: BoolArray  # (K, C) labels that no row and no edge inside the component forbids
    unary: FloatArray  # (K, C) summed soft costs, 0 where forbidden
    pairs: Pairs  # between different components, no two the same
    cliques: Cliques  # of at least two components each, which count for all of their rows

    @classmethod
    def of(cls, program: LabelProgram) -> Contraction:
        """Contract a program."""
        pairs, n = program.pairs, program.n
        component, first_row = _components(n, pairs.edges[_must_link(pairs.tables)[pairs.table]])
        k = len(first_row)
        forbidden, unary = np.zeros((k, program.n_classes), bool), np.zeros((k, program.n_classes))
        if program.allowed is not None:
            forbidden |= _sum_rows(~program.allowed, component, k) > 0
        if program.unary is not None:
            unary += _sum_rows(program.unary, component, k)
        left, loops = pairs, pairs.edges[:, 0] == pairs.edges[:, 1]
        if k < n or loops.any():
            left = _pairs_between(pairs, component, forbidden, unary)
        allowed = ~forbidden
        unary[~allowed] = 0.0
        pairs, cliques = _merge_parallel(left, k), program.cliques.renumbered(component)
        return cls(component, first_row, allowed, unary, pairs, cliques)

    @property
    def trivial(self) -> bool:
        """Whether every row is its own component."""
        return len(self.first_row) == len(self.component)

    def gather(self, cost: npt.NDArray[np.floating]) -> FloatArray:
        """Sum of the rows' costs in each component, (K, C), without the program's own costs."""
        if self.trivial:
            return np.asarray(cost, np.float64)
        return _sum_rows(np.asarray(cost, np.float64), self.component, len(self.first_row))


def _pairs_between(
    pairs: Pairs, component: IntArray, forbidden: BoolArray, unary: FloatArray
) -> Pairs:
    """Edges between components; those inside become costs of labels, in place."""
    k = len(unary)
    ends = component[pairs.edges]
    inside = ends[:, 0] == ends[:, 1]
    if inside.any():
        diagonal = np.diagonal(pairs.tables, axis1=1, axis2=2)
        own = pairs.weight[inside, None] * diagonal[pairs.table[inside]]
        own = _sum_rows(own, ends[inside, 0], k)
        forbidden |= np.isposinf(own)
        unary += np.where(np.isposinf(own), 0.0, own)
    return Pairs(ends[~inside], pairs.weight[~inside], pairs.table[~inside], pairs.tables)


def _sum_rows(values: npt.NDArray[np.floating | np.bool_], index: IntArray, k: int) -> FloatArray:
    """Sum the rows of `values` that share an index, (k, ...); in order of rows."""
    m = len(index)
    member = sp.csr_array((np.ones(m), index, np.arange(m + 1)), (m, k))
    return np.asarray(member.T @ np.asarray(values, np.float64))


def _must_link(tables: FloatArray) -> BoolArray:
    """Tables that forbid every pair of different labels, (T,)."""
    off = ~np.eye(tables.shape[1], dtype=bool)
    return np.asarray(np.isposinf(tables[:, off]).all(axis=1))


def _components(n: int, links: IntArray) -> tuple[IntArray, IntArray]:
    """Component of each row and first row of each component."""
    if len(links) == 0:
        return np.arange(n), np.arange(n)
    graph = sp.coo_array((np.ones(len(links), np.int8), links.T), (n, n))
    _, label = connected_components(graph, directed=False)
    _, first, component = np.unique(label, return_index=True, return_inverse=True)
    rank = np.argsort(first)
    place = np.empty_like(rank)
    place[rank] = np.arange(len(rank))
    return place[component].astype(np.intp), first[rank].astype(np.intp)


def _merge_parallel(pairs: Pairs, n_nodes: int) -> Pairs:
    """One edge for each two nodes; only those that had several get a table of their own."""
    u, v = pairs.edges.T
    key = np.minimum(u, v) * n_nodes
    key += np.maximum(u, v)
    in_order = np.sort(key, kind="stable")  # a grid's edges are some runs in order
    if not (in_order[1:] == in_order[:-1]).any():
        return pairs
    order = np.argsort(key, kind="stable")
    fresh = np.diff(key[order], prepend=-1) != 0
    group = np.empty(len(key), np.intp)
    group[order] = np.cumsum(fresh) - 1
    first = order[fresh]
    several = np.bincount(group) > 1
    place = np.cumsum(several) - 1  # among the new tables
    again = np.flatnonzero(several[group])
    # Summed from the side of the first edge; +inf stays hard in a sum.
    tables = pairs.tables[pairs.table[again]]
    turned = pairs.edges[again, 0] != pairs.edges[first[group[again]], 0]
    tables[turned] = tables[turned].swapaxes(1, 2)
    shape = (int(several.sum()), *tables.shape[1:])
    terms = (pairs.weight[again, None, None] * tables).reshape(len(again), -1)
    new = _sum_rows(terms, place[group[again]], shape[0]).reshape(shape)
    return Pairs(
        pairs.edges[first],
        np.where(several, 1.0, pairs.weight[first]),
        np.where(several, len(pairs.tables) + place, pairs.table[first]),
        np.concatenate([pairs.tables, new]),
    )
