"""A label program as a network: which arcs are labels, and what the others cost.

Rows that must agree are one component. An arc of a component is a class: flow 1 on it says that the
component has the class; on none of its arcs, that it has the cheapest of its other classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.hints._program import LabelProgram
from tacit.hints._structures import FlowNetwork
from tacit.oracles._families import Family, bounded_class, two_families
from tacit.oracles.base import untreated

__all__ = ["Wiring", "wire"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Wiring:
    """Network of a program; the arcs in `arc` are labels."""

    n_nodes: int
    tail: IntArray  # (M,)
    head: IntArray  # (M,)
    lower: Int64Array  # (M,)
    upper: Int64Array  # (M,)
    cost: FloatArray  # (M,) beside the cost of labels
    supply: Int64Array  # (n_nodes,)
    arc: IntArray  # (T,)
    component: IntArray  # (T,)
    cls: IntArray  # (T,)
    own: int  # the first arcs are those of the program's own network


def wire(program: LabelProgram) -> Wiring | str:
    """Write a program as a network, or say why it is none."""
    if refusal := untreated(program, "pairs", "counts", "flow"):
        return refusal
    if len(program.pairs) and len(program.contraction.pairs):
        return "costs or links between pairs couple rows"
    if program.flow is None:
        return _wire_counts(program)
    if len(program.counts):
        return "counts couple rows beside the flow"
    return _wire_flow(program, program.flow)


def _wire_counts(program: LabelProgram) -> Wiring | str:
    """One arc for each component, from its home in one family to its home in the other.

    Flow runs from node 0 down the nested groups of the first family, along the components that have
    the class, and up those of the second: what passes a group is its count.
    """
    groups = bounded_class(program)
    if isinstance(groups, str):
        return groups
    families = two_families(groups)
    if families is None:
        return "the groups are not two families, each of disjoint or nested groups"
    first, second = families
    inside = np.flatnonzero((first.home >= 0) | (second.home >= 0))
    n_first = len(first.parent)
    out, back = _nodes(first, 1), _nodes(second, 1 + n_first)
    n_groups = n_first + len(second.parent)
    arc = n_groups + np.arange(len(inside))
    cls = np.full(len(inside), groups.cls)
    least, most = _one_of(program, inside, cls)
    return Wiring(
        n_nodes=1 + n_groups,
        tail=np.concatenate([out[first.parent], back[:-1], out[first.home[inside]]]),
        head=np.concatenate([out[:-1], back[second.parent], back[second.home[inside]]]),
        lower=np.concatenate([first.lower, second.lower, least]),
        upper=np.concatenate([first.upper, second.upper, most]),
        cost=np.zeros(n_groups + len(inside)),
        supply=np.zeros(1 + n_groups, np.int64),
        arc=arc,
        component=inside,
        cls=cls,
        own=0,
    )


def _nodes(family: Family, start: int) -> IntArray:
    """Node of each group of a family, then that of no group."""
    return np.append(start + np.arange(len(family.parent)), 0)


def _one_of(
    program: LabelProgram, component: IntArray, cls: IntArray
) -> tuple[Int64Array, Int64Array]:
    """Bounds on arcs that are the only one of their component."""
    allowed = program.contraction.allowed
    here = allowed[component, cls]
    others = allowed[component].sum(axis=1) - here
    # Without any label left, nothing fits: at least 1, at most 0.
    return (others == 0).astype(np.int64), here.astype(np.int64)


def _wire_flow(program: LabelProgram, net: FlowNetwork) -> Wiring | str:
    """Return the network itself; components with several arcs get a node that lets one unit by."""
    joined = program.contraction
    n_classes = program.n_classes
    component, cls, arc = joined.component[net.tie_row], net.tie_class, net.tie_arc
    label = component * n_classes + cls
    if len(np.unique(label)) < len(label):
        return "several arcs of the network are the same label"
    tail, head = net.arcs[:, 0].copy(), net.arcs[:, 1].copy()
    lower, upper = net.lower.copy(), net.upper.copy()
    upper[arc[~joined.allowed[component, cls]]] = 0
    allowed = joined.allowed.copy()
    allowed[component, cls] = False
    must = np.logical_not(allowed.any(axis=1))  # no class but those of arcs
    times = np.bincount(component, minlength=len(must))
    alone = must[component] & (times[component] == 1)
    lower[arc[alone]] = 1
    # Where several arcs leave one node, or enter one, they get a node of their own.
    several = np.flatnonzero(times > 1)
    place = np.full(len(must), -1)
    place[several] = np.arange(len(several))
    k = place[component]
    source, sink = (_common(end[arc], k, len(several)) for end in (tail, head))
    leaves = source >= 0
    wrong = np.flatnonzero(~leaves & (sink < 0))
    if len(wrong):
        row = joined.first_row[several[wrong[0]]]
        return f"the arcs of row {row} neither leave nor enter one node"
    turn = np.append(leaves, False)[k]  # k = -1, of a single arc, is neither
    gone, come = (k >= 0) & turn, (k >= 0) & ~turn
    tail[arc[gone]] = net.n_nodes + k[gone]
    head[arc[come]] = net.n_nodes + k[come]
    gate = net.n_nodes + np.arange(len(several))
    return Wiring(
        n_nodes=net.n_nodes + len(several),
        tail=np.concatenate([tail, np.where(leaves, source, gate)]),
        head=np.concatenate([head, np.where(leaves, gate, sink)]),
        lower=np.concatenate([lower, must[several].astype(np.int64)]),
        upper=np.concatenate([upper, np.ones(len(several), np.int64)]),
        cost=np.concatenate([net.cost, np.zeros(len(several))]),
        supply=np.concatenate([net.supply, np.zeros(len(several), np.int64)]),
        arc=arc,
        component=component,
        cls=cls,
        own=len(net.arcs),
    )


def _common(node: IntArray, k: IntArray, n: int) -> IntArray:
    """Node that all arcs with the same k share, -1 if they do not; k = -1 is left out."""
    node, k = node[k >= 0], k[k >= 0]
    low, high = np.full(n, np.iinfo(np.intp).max), np.full(n, -1)
    np.minimum.at(low, k, node)
    np.maximum.at(high, k, node)
    return np.where(low == high, low, -1)
