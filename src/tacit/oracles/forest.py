r"""Pairs without a cycle: exact max-product, leaves to roots and back.

.. math:: \min_y \sum_i c_{i y_i} + \sum_{(i, j)} w_{ij} T_{ij}(y_i, y_j),
    \qquad m_j(a) = \min_b \; w_{ij} T_{ij}(a, b) + c_{jb} + \sum_{k \text{ below } j} m_k(b)

Must-links are contracted first, so rows joined by many links are one node, and the same edge twice
is one edge.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from tacit.exceptions import InfeasibleHints
from tacit.hints._contract import Contraction
from tacit.hints._program import LabelProgram, Pairs
from tacit.oracles._forest_kernel import decode, pass_up, tree_value
from tacit.oracles.base import Oracle, OracleResult, Verdict, untreated

__all__ = ["ForestOracle"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# Rows of a cycle that a refusal names.
NAMED_ROWS = 6


class _Layout(NamedTuple):
    """Nodes in breadth-first order, each with the edge to its parent."""

    node: IntArray  # (K,) component at each place
    above: IntArray  # (K,) place of the parent, -1 at a root
    table: IntArray  # (K,) index into tables
    weight: FloatArray  # (K,)
    tables: FloatArray  # (2 T, C, C), [label of parent, label of child]


class ForestOracle(Oracle):
    """Exact labels for hard and soft pairs that form a forest once must-links are contracted.

    Two passes over the nodes in an order fixed once, without recursion; time and memory are
    proportional to the number of rows. The answer is its own bound. Of equally cheap labels of a
    node the first is taken.

    Notes
    -----
    The label step of 004 (14) when its graph has no cycle.

    References
    ----------
    J. Pearl, Probabilistic Reasoning in Intelligent Systems (1988), ch. 5: belief revision.
    """

    name = "forest"
    summary = "pairs without a cycle (after must-links are contracted), costs per row"

    def __init__(self, program: LabelProgram) -> None:
        super().__init__(program)
        if refusal := untreated(program, "pairs"):
            raise ValueError(f"ForestOracle cannot solve this program: {refusal}.")
        self._contraction = contraction = program.contraction
        order, parent = _breadth_first(contraction)
        if len(rows := _cycle(contraction, parent)):
            raise ValueError(f"ForestOracle cannot solve this program: {_name_cycle(rows)}.")
        self._layout = _lay_out(contraction, order, parent)
        free = bool(contraction.allowed.all()) and not contraction.unary.any()
        own = np.where(contraction.allowed, contraction.unary, np.inf)
        self._own: FloatArray = np.empty((0, program.n_classes)) if free else own
        self._belief = np.empty(contraction.unary.shape)

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if refusal := untreated(program, "pairs"):
            return Verdict(False, refusal)
        contraction = _enough(program.contraction)
        rows = _cycle(contraction, _breadth_first(contraction)[1])
        if len(rows):
            return Verdict(False, _name_cycle(rows))
        return Verdict(True, "the pairs form no cycle once must-links are contracted")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        shape = (self.program.n, self.program.n_classes)
        if cost.shape != shape:
            raise ValueError(f"cost has shape {cost.shape}; expected {shape}.")
        layout, edge = self._layout, self._layout[1:]
        total = np.ascontiguousarray(self._contraction.gather(cost))
        label = np.empty(len(layout.node), np.int32)
        pass_up(total, self._own, *layout, self._belief)
        if decode(self._belief, *edge, label) == np.inf:
            raise InfeasibleHints(
                "no labeling satisfies the allowed labels and the hard pairs together."
            )
        value = tree_value(total, self._own, *layout, label)
        labels = np.empty_like(label)
        labels[layout.node] = label
        if not self._contraction.trivial:
            labels = labels[self._contraction.component]
        return OracleResult(labels, value, value, True)


def _breadth_first(contraction: Contraction) -> tuple[IntArray, IntArray]:
    """Components in breadth-first order and the parent of each, -1 at a root."""
    k, edges = len(contraction.first_row), contraction.pairs.edges
    graph = sp.coo_array((np.ones(len(edges), np.int8), edges.T), (k, k)).tocsr()
    # A node above everything, joined to one node of each tree, makes it a single search.
    _, tree = sp.csgraph.connected_components(graph, directed=False)
    _, roots = np.unique(tree, return_index=True)
    ends = np.concatenate([edges, np.stack([np.full(len(roots), k), roots], axis=1)])
    both = np.concatenate([ends, ends[:, ::-1]])
    graph = sp.coo_array((np.ones(len(both), np.int8), both.T), (k + 1, k + 1)).tocsr()
    order, parent = breadth_first_order(graph, k, directed=True)
    above = np.where(parent[:k] == k, -1, parent[:k]).astype(np.intp)
    return np.asarray(order[1:], np.intp), above


def _enough(contraction: Contraction) -> Contraction:
    """As many edges as nodes, where there are more: these make a cycle, at half a grid's memory."""
    pairs, k = contraction.pairs, len(contraction.first_row)
    if len(pairs) <= k:
        return contraction
    few = Pairs(pairs.edges[:k], pairs.weight[:k], pairs.table[:k], pairs.tables)
    return replace(contraction, pairs=few)


def _cycle(contraction: Contraction, parent: IntArray) -> IntArray:
    """Rows, one of each component, along some cycle; empty if there is none."""
    u, v = contraction.pairs.edges.T
    extra = np.flatnonzero((parent[u] != v) & (parent[v] != u))
    if len(extra) == 0:
        return np.empty(0, np.intp)
    # The extra edge closes the two ways up to the nearest node above both of its ends.
    a, b = int(u[extra[0]]), int(v[extra[0]])
    up = [a]
    while parent[up[-1]] >= 0:
        up.append(int(parent[up[-1]]))
    place = {node: k for k, node in enumerate(up)}
    down = [b]
    while down[-1] not in place:
        down.append(int(parent[down[-1]]))
    cycle = up[: place[down[-1]]] + down[::-1]
    return contraction.first_row[cycle]


def _name_cycle(rows: IntArray) -> str:
    """Say which rows are on a cycle."""
    named = ", ".join(str(r) for r in rows[:NAMED_ROWS])
    if len(rows) > NAMED_ROWS:
        named += f", ... ({len(rows)} in all)"
    return f"the pairs form a cycle through rows {named}"


def _lay_out(contraction: Contraction, order: IntArray, parent: IntArray) -> _Layout:
    """Arrange nodes and edges for the kernel."""
    pairs, k = contraction.pairs, len(order)
    place = np.empty(k + 1, np.intp)
    place[order] = np.arange(k)
    place[-1] = -1  # the parent of roots
    u, v = pairs.edges.T
    downward = parent[v] == u
    child = np.where(downward, v, u)
    table, weight = np.zeros(k, np.intp), np.zeros(k)
    table[place[child]] = np.where(downward, pairs.table, len(pairs.tables) + pairs.table)
    weight[place[child]] = pairs.weight
    tables = np.concatenate([pairs.tables, pairs.tables.swapaxes(1, 2)])
    return _Layout(order, place[parent[order]], table, weight, np.ascontiguousarray(tables))
