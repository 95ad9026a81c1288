r"""Pairs that are joined or apart as a partition of their items: correlation clustering, multicut.

.. math:: \min_y \sum_k c_{k y_k} \quad\text{s.t.}\quad
    \{\text{pairs with } y_k = 1\} \text{ are those within the parts of a partition.}

A partition is found by greedy contraction and by moves; packed cycles bound it from below. Where
the two do not meet, cycle rows are added to a linear program, and then branched on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints, NotConverged
from tacit.hints._program import Counts, LabelProgram
from tacit.hints._structures import ItemPairs
from tacit.oracles._pair_oracle import Found, PairOracle
from tacit.oracles._partition_bound import WORK, packing_bound
from tacit.oracles._partition_contract import contract
from tacit.oracles._partition_exact import close
from tacit.oracles._partition_graph import CutGraph, Shape, blocks
from tacit.oracles._partition_moves import improve
from tacit.oracles._partition_share import Bounds, Priced, search
from tacit.oracles._row_generation import Until
from tacit.oracles.base import OracleResult, Verdict
from tacit.oracles.linear_program import MixedIntegerOracle

__all__ = ["PartitionOracle"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int32]

# Parts with more edges get no linear program; those with more than the second number no branch and
# bound. A complete graph of 150 items (11,175 edges) that is nearly a partition closes in 2 s; one
# without any structure closes with 30 items (435) in 8 s, and not with 40.
LP_EDGES, WHOLE_EDGES = 12_000, 5_000
# Of each term of a bound that a price moves.
ROUNDED = 4.0 * float(np.finfo(float).eps)
# Steps of search per edge for the packed cycles of one quick call.
QUICK_WORK = 20
# Rows up to which branch and bound finds the best partition within bounds on the number of joined
# pairs, or that there is none, where prices and moves do not: .1 to .6 s with 12 items (66 pairs),
# up to .8 s with 15 (105), 10 s with 20 (190).
BRANCHED_PAIRS = 105


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

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if len(program.counts) == 0:
            return super().accepts(program)
        verdict = super().accepts(replace(program, counts=Counts.none(program.n_classes)))
        if not verdict:
            return verdict
        rows = program.partitions[0].rows
        one = len(program.counts) == len(program.partitions) == 1
        if not one or not np.array_equal(program.counts.members, np.sort(rows)):
            return Verdict(False, "counts couple rows, other than one of all pairs")
        return Verdict(True, f"{verdict.reason} but a bound on how many are joined")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        found, few = None, self.program.n <= BRANCHED_PAIRS
        try:
            found = super().solve(cost)
        except NotConverged:  # a price and moves do not find all that there is
            if not few:
                raise
        if found is not None and not (self._bounds and few and self.exact and not found.exact):
            return found
        whole = MixedIntegerOracle(
            self.program,
            gap=0.0 if self.exact else np.inf,  # any that fits will do in a step
            time_limit=self.time_limit,
            max_nodes=self.max_nodes,
            deadline=self.deadline,
            known=None if found is None else found.labels,
        )
        return whole.solve(cost)

    def _shape(self, part: ItemPairs, yes: BoolArray, no: BoolArray) -> Shape:
        return Shape.of(part.n_items, part.items, yes, no)

    @cached_property
    def _bounds(self) -> Bounds | None:
        """How many pairs may be joined."""
        counts = self.program.counts
        if not len(counts):
            return None
        n, (lower, upper) = int(counts.sizes[0]), (counts.lower[0], counts.upper[0])
        bounds = Bounds(int(max(lower[1], n - upper[0])), int(min(upper[1], n - lower[0])))
        if bounds.lower > bounds.upper:
            raise InfeasibleHints("the bounds on joined pairs and those apart contradict.")
        return bounds

    def _find(self, shape: Shape, gain: FloatArray, last: Any, until: Until) -> tuple[Found, Any]:
        graph = shape.weigh(gain)
        if self._bounds is None:
            label, bound = self._at(graph, last, until)
            return self._found(graph, label, bound), label
        return self._bounded(graph, last, until, self._bounds)

    def _at(self, graph: CutGraph, last: Labels | None, until: Until) -> tuple[Labels, float]:
        """Best partition found, and a bound."""
        label = _searched(graph, last)
        bound = float(np.minimum(graph.weight, 0.0).sum())
        if graph.value(label) > bound:
            if self.exact:
                return _solve_parts(graph, label, until)
            bound = packing_bound(graph, QUICK_WORK)
        return label, bound

    def _bounded(
        self, graph: CutGraph, last: Priced | None, until: Until, bounds: Bounds
    ) -> tuple[Found, Priced]:
        """Do the same within bounds on the number of joined pairs."""
        shape = graph.shape
        within = int((shape.edge < 0).sum())  # pairs joined for sure
        size = np.bincount(shape.edge[shape.edge >= 0], minlength=len(shape.edges)).astype(float)
        able = within + int(size[~shape.hard].sum())
        if within > bounds.upper or able < bounds.lower:
            raise InfeasibleHints(
                f"{bounds.lower} to {bounds.upper} pairs are to be joined, but other hints leave "
                f"{within} to {able}."
            )

        def priced(price: float) -> CutGraph:
            return CutGraph(shape, np.where(shape.hard, 0.0, graph.weight - price * size))

        def at(price: float, start: Labels | None) -> Priced:
            label = _searched(priced(price), start)
            count = within + int(size[~graph.cut(label)].sum())
            return Priced(label, price, count, graph.value(label))

        scale = float(np.abs(graph.weight).mean()) if len(graph.weight) else 1.0
        found = search(at, bounds, last, scale or 1.0, graph, size)
        own, bound = self._at(priced(found.price), found.label, until)
        count = within + int(size[~graph.cut(own)].sum())
        if bounds.side(count) == 0 and graph.value(own) < found.value:
            found = Priced(own, found.price, count, graph.value(own))
        # In the price's units every joined pair pays p; the graph pays for cut ones.
        paid, most = found.price * able, bounds.most(found.price)
        bound += paid - most - ROUNDED * (abs(bound) + abs(paid) + abs(most))
        return self._found(graph, found.label, bound), found

    def _found(self, graph: CutGraph, label: Labels, bound: float) -> Found:
        cut = np.append(graph.cut(label), False)  # the last for pairs within a node, at edge -1
        return Found(~cut[graph.shape.edge], graph.value(label), bound)


def _searched(graph: CutGraph, last: Labels | None) -> Labels:
    """Improve a fresh contraction, or the last partition where that is better."""
    label = contract(graph)
    if last is not None and graph.value(last) < graph.value(label):
        label = last
    return improve(graph, label)


def _solve_parts(graph: CutGraph, label: Labels, until: Until) -> tuple[Labels, float]:
    """Best partition of each part that positive edges connect, small ones first."""
    # Every edge between parts is cut, at a cost of 0 or less.
    component = graph.components()
    # Clusters are named by one of their nodes, so that those of different parts differ.
    first = np.unique(component, return_index=True)[1]
    solved = first[component].astype(np.int32)
    ends = component[graph.shape.edges]
    bound = float(np.minimum(graph.weight[ends[:, 0] != ends[:, 1]], 0.0).sum())
    for part, nodes in _parts(graph, component):
        own, least = label[nodes], packing_bound(part, WORK)
        m = len(part.weight)
        if m <= LP_EDGES and part.value(own) > least:
            own, least = close(part, own, m <= WHOLE_EDGES, until, least)
        _, first, which = np.unique(own, return_index=True, return_inverse=True)
        solved[nodes] = nodes[first[which]]
        bound += least
    return solved, bound


def _parts(
    graph: CutGraph, component: npt.NDArray[np.int32]
) -> Iterator[tuple[CutGraph, npt.NDArray[np.intp]]]:
    """Yield each part that is not best joined as a whole, with its nodes."""
    repels = (graph.weight < 0) | graph.shape.hard
    place = np.empty(graph.n, np.intp)
    for nodes, kept in blocks(component, graph.shape.edges):
        if not repels[kept].any():
            continue
        n, m = len(nodes), len(kept)
        place[nodes] = np.arange(n)
        ends = place[graph.shape.edges[kept]]
        shape = Shape(np.arange(n), n, ends, np.arange(m), graph.shape.hard[kept])
        yield CutGraph(shape, graph.weight[kept]), nodes
