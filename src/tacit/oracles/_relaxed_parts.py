r"""Cliques, flows, partitions and orders as rows and columns of a linear program.

Given whole labels, the columns added here need not be whole numbers: the rows make them so, or no
fraction costs less. With x the label columns of components:

- a clique has a column u_l for each label that its rows might have, and u_0 for none, which costs
  all of the weight; :math:`z_{il} \ge u_l - x_{il}` is what row i adds if it has another label;
- a flow has a column per arc above its lower bound; tied arcs equal label columns;
- a partition or order has a free column for each pair that makes its graph chordal, and the
  triangles of that graph: :math:`p_{ab} + p_{bc} - p_{ac} \le 1` for each corner, or
  :math:`0 \le p_{ab} + p_{bc} - p_{ac} \le 1`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.hints._program import LabelProgram
from tacit.hints._structures import Cliques, FlowNetwork, ItemPairs, PairOrder
from tacit.oracles._triangles import Triangles

__all__ = ["MAX_TRIANGLES", "RelaxedPart", "relaxed_parts"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# Triangles of items in one program.
MAX_TRIANGLES = 20_000


@dataclass(frozen=True)
class RelaxedPart:
    """Rows on all columns so far, and columns of their own that come after those."""

    A: sp.csr_array
    lower: FloatArray
    upper: FloatArray
    cap: FloatArray
    cost: FloatArray
    constant: float = 0.0


def relaxed_parts(program: LabelProgram, first: int) -> list[RelaxedPart]:
    """Return the parts of a program that need columns of their own, from number `first` on."""
    joined, n_classes = program.contraction, program.n_classes
    parts: list[RelaxedPart] = []
    if len(joined.cliques):
        parts.append(_cliques(joined.cliques, n_classes, first))
        first += len(parts[-1].cap)
    if program.flow is not None:
        parts.append(_flow(program.flow, joined.component, n_classes, first))
        first += len(parts[-1].cap)
    for items in (*program.partitions, *program.orders):
        parts.append(_items(items, joined.component, first))
        first += len(parts[-1].cap)
    return parts


def _rows(entries: list[tuple[IntArray, IntArray, float]], n_rows: int, width: int) -> sp.csr_array:
    """Matrix of (rows, columns, coefficient); what meets in one place adds up."""
    row = np.concatenate([np.empty(0, np.intp), *(e[0] for e in entries)])
    column = np.concatenate([np.empty(0, np.intp), *(e[1] for e in entries)])
    value = np.concatenate([np.empty(0), *(np.full(len(e[0]), e[2]) for e in entries)])
    return sp.csr_array(sp.coo_array((value, (row, column)), (n_rows, width)))


def _cliques(cliques: Cliques, n_classes: int, first: int) -> RelaxedPart:
    """Columns u (K, C + 1), none last, then z (members, C)."""
    k, m = len(cliques), len(cliques.members)
    u = first + np.arange(k * (n_classes + 1)).reshape(k, n_classes + 1)
    z = first + u.size + np.arange(m * n_classes).reshape(m, n_classes)
    x = cliques.members[:, None] * n_classes + np.arange(n_classes)
    each = np.arange(m * n_classes)
    entries = [
        (np.repeat(np.arange(k), n_classes + 1), u.ravel(), 1.0),
        (k + each, z.ravel(), 1.0),
        (k + each, x.ravel(), 1.0),
        (k + each, u[cliques.owner, :n_classes].ravel(), -1.0),
    ]
    slope = (cliques.weight / cliques.truncate)[cliques.owner] * cliques.times
    none = np.zeros((k, n_classes + 1))
    none[:, -1] = cliques.weight
    size = u.size + z.size
    return RelaxedPart(
        _rows(entries, k + len(each), first + size),
        np.concatenate([np.ones(k), np.zeros(len(each))]),
        np.concatenate([np.ones(k), np.full(len(each), np.inf)]),
        np.ones(size),
        np.concatenate([none.ravel(), np.repeat(slope, n_classes)]),
    )


def _flow(net: FlowNetwork, component: IntArray, n_classes: int, first: int) -> RelaxedPart:
    """Columns: flow on each arc above its lower bound. Rows: nodes, then ties."""
    m, t = len(net.arcs), len(net.tie_arc)
    arc, tie = first + np.arange(m), net.n_nodes + np.arange(t)
    entries = [
        (net.arcs[:, 0], arc, 1.0),
        (net.arcs[:, 1], arc, -1.0),
        (tie, arc[net.tie_arc], 1.0),
        (tie, component[net.tie_row] * n_classes + net.tie_class, -1.0),
    ]
    at_least = np.bincount(net.arcs[:, 0], net.lower, net.n_nodes)
    at_least -= np.bincount(net.arcs[:, 1], net.lower, net.n_nodes)
    side = np.concatenate([net.supply - at_least, -net.lower[net.tie_arc].astype(float)])
    return RelaxedPart(
        _rows(entries, net.n_nodes + t, first + m),
        side,
        side,
        (net.upper - net.lower).astype(float),
        net.cost,
        float(net.cost @ net.lower),
    )


def _items(part: ItemPairs, component: IntArray, first: int) -> RelaxedPart:
    """Columns: pairs that make the graph chordal. Rows: triangles, then rows of the same pair."""
    found = Triangles.of(part, MAX_TRIANGLES)
    assert found is not None
    n, order = part.n_items, isinstance(part, PairOrder)
    # The column that says yes of (smaller item, larger item): of an order, no to the pair turned.
    turned = (part.items[:, 0] > part.items[:, 1]) & order
    own = component[part.rows] * 2 + ~turned
    name = part.items.min(axis=1) * n + part.items.max(axis=1)
    names = found.pairs[:, 0] * n + found.pairs[:, 1]
    column = np.full(len(names), -1)
    column[np.searchsorted(names, name[::-1])] = own[::-1]  # of several rows, the first
    free = np.flatnonzero(column < 0)
    column[free] = first + np.arange(len(free))
    a, b, c = found.corners.T
    ab, bc, ac = (column[np.searchsorted(names, u * n + v)] for u, v in ((a, b), (b, c), (a, c)))
    t = len(found.corners)
    sides = [(ab, bc, ac)] if order else [(ab, bc, ac), (bc, ac, ab), (ac, ab, bc)]
    row = np.arange(t)
    entries = []
    for k, (p, q, r) in enumerate(sides):
        entries += [(k * t + row, p, 1.0), (k * t + row, q, 1.0), (k * t + row, r, -1.0)]
    again = np.flatnonzero(own != column[np.searchsorted(names, name)])
    last = len(sides) * t + np.arange(len(again))
    entries += [(last, own[again], 1.0)]
    entries += [(last, column[np.searchsorted(names, name[again])], -1.0)]
    n_rows, zeros = len(sides) * t + len(again), np.zeros(len(again))
    below = np.zeros(t) if order else np.full(3 * t, -np.inf)
    return RelaxedPart(
        _rows(entries, n_rows, first + len(free)),
        np.concatenate([below, zeros]),
        np.concatenate([np.ones(len(sides) * t), zeros]),
        np.ones(len(free)),
        np.zeros(len(free)),
    )
