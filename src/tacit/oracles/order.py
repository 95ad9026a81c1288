r"""Pairs that are one way round or the other as a linear order of their items has them.

.. math:: \min_y \sum_k c_{k y_k} \quad\text{s.t.}\quad
    \{(a_k, b_k) : y_k = 1\} \cup \{(b_k, a_k) : y_k = 0\} \text{ has no cycle.}

An order is found by insertion moves; packed cycles bound it from below. Where the two do not meet,
cycle rows are added to a linear program, and then branched on. Pairs that are missing cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._structures import ItemPairs
from tacit.oracles._order_bound import WORK, packing_bound
from tacit.oracles._order_exact import close
from tacit.oracles._order_graph import OrderGraph, Pairing
from tacit.oracles._order_moves import insert, kick
from tacit.oracles._pair_oracle import Found, PairOracle
from tacit.oracles._partition_graph import blocks
from tacit.oracles._row_generation import Until

__all__ = ["OrderOracle"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

# As in `partition.py`: no linear program, and no branch and bound, beyond so many edges.
LP_EDGES, WHOLE_EDGES = 12_000, 5_000
# Steps of search per edge for the packed cycles of one quick call.
QUICK_WORK = 20
# Kicks of the local search where an exact answer is asked for: each costs a few sweeps.
KICKS = 20


class OrderOracle(PairOracle[Pairing]):
    """Linear orders of items from costs of their pairs.

    Each call begins at the better of an order by net costs and the last one. Strong components of
    the cheaper directions are solved one by one.

    Notes
    -----
    The linear orders of 001 section 1.
    """

    name = "order"
    summary = "pairs of items before or behind, costs per pair; exact where bounds meet"
    part = "orders"

    def _shape(self, part: ItemPairs, yes: BoolArray, no: BoolArray) -> Pairing:
        return Pairing.of(part.n_items, part.items, yes, no)

    def _find(self, shape: Pairing, gain: FloatArray, last: Any, until: Until) -> tuple[Found, Any]:
        graph = shape.weigh(gain)
        order = graph.start(_net(graph))
        if last is not None and graph.value(last) < graph.value(order):
            order = last
        order = insert(graph, order)
        component = graph.components()
        order = order[np.argsort(component[order], kind="stable")]
        bound = graph.least
        if graph.value(order) > bound:
            if self.exact:
                order, bound = _solve_parts(graph, order, component, until)
            else:
                bound = packing_bound(graph, QUICK_WORK)
        yes = graph.first(order)[shape.edge] == (shape.sign > 0)
        return Found(yes, graph.value(order), bound), order


def _net(graph: OrderGraph) -> FloatArray:
    """By how much its pairs want an item early, (n,)."""
    a, b = graph.pairing.edges.T
    early = np.bincount(a, graph.gain, minlength=graph.n)
    return np.asarray(early - np.bincount(b, graph.gain, minlength=graph.n), np.float64)


def _solve_parts(
    graph: OrderGraph, order: IntArray, component: IntArray, until: Until
) -> tuple[IntArray, float]:
    """Best order of each strong component, small ones first; components are in order already."""
    place = np.empty(graph.n, np.intp)
    place[order] = np.arange(graph.n)
    order = order.copy()
    ends = component[graph.pairing.edges]
    bound = float(np.minimum(graph.gain[ends[:, 0] != ends[:, 1]], 0.0).sum())
    rng = np.random.default_rng(0)
    for items, kept in blocks(component, graph.pairing.edges):
        part = graph.part(items, kept)
        places = np.sort(place[items])  # consecutive
        own = np.searchsorted(items, order[places])
        least = packing_bound(part, WORK)
        if part.value(own) > least:
            own = kick(part, own, rng, KICKS)
        m = len(part.gain)
        if m <= LP_EDGES and part.value(own) > least:
            own, least = close(part, own, m <= WHOLE_EDGES, until, least)
        order[places] = items[own]
        bound += least
    return order, bound
