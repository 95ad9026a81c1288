r"""Pairs that are joined or apart as a partition of their items: correlation clustering, multicut.

.. math:: \min_y \sum_k c_{k y_k} \quad\text{s.t.}\quad
    \{\text{pairs with } y_k = 1\} \text{ are those within the parts of a partition.}

A partition is found by greedy contraction and by moves; packed cycles bound it from below. Where
the two do not meet, cycle rows are added to a linear program, and then branched on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._structures import ItemPairs
from tacit.oracles._pair_oracle import Found, PairOracle
from tacit.oracles._partition_bound import WORK, packing_bound
from tacit.oracles._partition_contract import contract
from tacit.oracles._partition_exact import close
from tacit.oracles._partition_graph import CutGraph, Shape, blocks
from tacit.oracles._partition_moves import improve
from tacit.oracles._row_generation import Until

__all__ = ["PartitionOracle"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int32]

# Parts with more edges get no linear program; those with more than the second number no branch and
# bound. A complete graph of 100 items (4950 edges) closes in .2 s where it is nearly a partition;
# without any structure 30 items (435) are beyond branch and bound, at whatever size it is tried.
LP_EDGES, WHOLE_EDGES = 12_000, 5_000
# Steps of search per edge for the packed cycles of one quick call.
QUICK_WORK = 20


class PartitionOracle(PairOracle[Shape]):
    """Partitions of items from costs of their pairs.

    Each call begins at the better of a fresh contraction and the last partition. Parts that no
    cheap-to-join pair connects are solved one by one. Pairs that have to be joined are contracted;
    a pair that has to be apart within them is infeasible.

    Notes
    -----
    The equivalence relations of 001 section 1.
    """

    name = "partition"
    summary = "pairs of items joined or apart, costs per pair; exact where bounds meet"
    part = "partitions"

    def _shape(self, part: ItemPairs, yes: BoolArray, no: BoolArray) -> Shape:
        return Shape.of(part.n_items, part.items, yes, no)

    def _find(self, shape: Shape, gain: FloatArray, last: Any, until: Until) -> tuple[Found, Any]:
        graph = shape.weigh(gain)
        label = contract(graph)
        if last is not None and graph.value(last) < graph.value(label):
            label = last
        label = improve(graph, label)
        bound = float(np.minimum(graph.weight, 0.0).sum())
        if graph.value(label) > bound:
            if self.exact:
                label, bound = _solve_parts(graph, label, until)
            else:
                bound = packing_bound(graph, QUICK_WORK)
        cut = np.append(graph.cut(label), False)  # the last for pairs within a node, at edge -1
        return Found(~cut[shape.edge], graph.value(label), bound), label


def _solve_parts(graph: CutGraph, label: Labels, until: Until) -> tuple[Labels, float]:
    """Best partition of each part that positive edges connect, small ones first."""
    label = label.copy()
    # Every edge between parts is cut, at a cost of 0 or less.
    component = graph.components()
    ends = component[graph.shape.edges]
    bound = float(np.minimum(graph.weight[ends[:, 0] != ends[:, 1]], 0.0).sum())
    for part, nodes in _parts(graph, component):
        own, least = label[nodes], packing_bound(part, WORK)
        m = len(part.weight)
        if m <= LP_EDGES and part.value(own) > least:
            own, least = close(part, own, m <= WHOLE_EDGES, until, least)
        # Clusters are named by one of their nodes: those of different parts differ.
        _, first, which = np.unique(own, return_index=True, return_inverse=True)
        label[nodes] = nodes[first[which]]
        bound += least
    return label, bound


def _parts(
    graph: CutGraph, component: npt.NDArray[np.int32]
) -> Iterator[tuple[CutGraph, npt.NDArray[np.intp]]]:
    """Yield each part that is not joined for free, with its nodes."""
    repels = (graph.weight < 0) | graph.shape.hard
    place = np.empty(graph.n, np.intp)
    for nodes, kept in blocks(component, graph.shape.edges):
        if not repels[kept].any():  # the moves have left it whole
            continue
        n, m = len(nodes), len(kept)
        place[nodes] = np.arange(n)
        ends = place[graph.shape.edges[kept]]
        shape = Shape(np.arange(n), n, ends, np.arange(m), graph.shape.hard[kept])
        yield CutGraph(shape, graph.weight[kept]), nodes
