"""Pairwise terms as a graph of flat arrays, nodes in an order along which chains are long."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit
from scipy.sparse.csgraph import reverse_cuthill_mckee

from tacit.hints._program import Pairs

__all__ = ["Graph", "add_terms", "arrange", "energy", "jit", "prune"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


def jit(function: Any) -> Any:
    """Compile with numba, keep the machine code on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


class Graph(NamedTuple):
    """Nodes 0..K-1 in an order of our own, edges from lower to higher nodes.

    Edges of node i are ``edge[start[i]:start[i + 1]]``, those to lower nodes before `middle[i]`.
    """

    start: npt.NDArray[np.int64]  # (K + 1,)
    middle: npt.NDArray[np.int64]  # (K,)
    edge: npt.NDArray[np.int32]  # (2 M,)
    tail: npt.NDArray[np.int32]  # (M,) lower end
    head: npt.NDArray[np.int32]  # (M,) higher end
    flip: npt.NDArray[np.bool_]  # (M,) whether tables are [label of head, label of tail]
    table: npt.NDArray[np.int32]  # (M,) index into tables
    weight: FloatArray  # (M,)
    tables: FloatArray  # (T, C, C)
    potts: npt.NDArray[np.bool_]  # (T,) whether all pairs of different labels cost the same
    largest: FloatArray  # (T,) size of the largest finite entry


def arrange(pairs: Pairs, n_nodes: int) -> tuple[Graph, IntArray]:
    """Return the graph and which node stands at each place.

    Breadth first from a node of few neighbours (reverse Cuthill-McKee): on a grid, diagonals from a
    corner, so that rows and columns are chains that never turn back.
    """
    u, v = pairs.edges.T
    links = sp.coo_array((np.ones(len(u), np.int8), (u, v)), (n_nodes, n_nodes))
    node = np.arange(n_nodes)
    if len(u):
        node = np.asarray(reverse_cuthill_mckee(sp.csr_array(links + links.T), True), np.intp)
    place = np.empty(n_nodes, np.int32)
    place[node] = np.arange(n_nodes, dtype=np.int32)
    tail, head = np.minimum(place[u], place[v]), np.maximum(place[u], place[v])
    m = len(tail)
    ends = np.concatenate([head, tail])  # seen from the head, an edge goes to a lower node
    degree = np.bincount(ends, minlength=n_nodes)
    start = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    # Neighbours in order of their places: the sweeps' arithmetic then does not depend on the edges'
    # order.
    slot = np.lexsort((np.concatenate([tail, head]), ends))
    edge = (slot % max(m, 1)).astype(np.int32)
    middle = start[:-1] + np.bincount(head, minlength=n_nodes)
    tables = np.ascontiguousarray(pairs.tables)
    off = tables[:, ~np.eye(tables.shape[1], dtype=bool)]
    potts = (off == off[:, :1]).all(axis=1)
    graph = Graph(
        start,
        middle,
        edge,
        tail,
        head,
        place[u] > place[v],
        pairs.table.astype(np.int32),
        np.ascontiguousarray(pairs.weight, np.float64),
        tables,
        potts,
        np.where(np.isfinite(tables), np.abs(tables), 0.0).max(axis=(1, 2), initial=0.0),
    )
    return graph, node


@jit
def add_terms(graph, e, at_head, label, out):  # type: ignore[no-untyped-def]
    """Add what edge e costs each label of one end, given the label of the other."""
    t, w = graph.table[e], graph.weight[e]
    if at_head != graph.flip[e]:
        for a in range(len(out)):
            out[a] += w * graph.tables[t, label, a]
    else:
        for a in range(len(out)):
            out[a] += w * graph.tables[t, a, label]


@jit
def energy(own, graph, labels):  # type: ignore[no-untyped-def]
    """Sum of all terms at a labeling; carries rounding along (TwoSum)."""
    n, m = len(own), len(graph.tail)
    total = lost = 0.0
    for k in range(n + m):
        if k < n:
            term = own[k, labels[k]]
        else:
            e = k - n
            a, b = labels[graph.tail[e]], labels[graph.head[e]]
            if graph.flip[e]:
                a, b = b, a
            term = graph.weight[e] * graph.tables[graph.table[e], a, b]
        if term == np.inf:
            return np.inf
        new = total + term
        part = new - total
        lost += (total - (new - part)) + (term - part)
        total = new
    return total + lost


@jit
def prune(graph, allowed):  # type: ignore[no-untyped-def]
    """Forbid, in place, labels that some edge forbids with every label of its other end.

    Returns a node that has no label left, or -1. Afterwards each label of a node goes with some
    label of every neighbour.
    """
    n_nodes, n_classes = allowed.shape
    queue, waits = np.arange(n_nodes), np.ones(n_nodes, np.bool_)
    first, length = 0, n_nodes
    while length > 0:
        i = queue[first]
        first, length = (first + 1) % n_nodes, length - 1
        waits[i] = False
        for s in range(graph.start[i], graph.start[i + 1]):
            e = graph.edge[s]
            at_head = s >= graph.middle[i]
            j = graph.head[e] if at_head else graph.tail[e]
            T = graph.tables[graph.table[e]]
            changed, left = False, False
            for b in range(n_classes):
                if not allowed[j, b]:
                    continue
                goes = False
                for a in range(n_classes):
                    t = T[a, b] if at_head != graph.flip[e] else T[b, a]
                    if allowed[i, a] and t < np.inf:
                        goes = True
                        break
                if goes:
                    left = True
                else:
                    allowed[j, b] = False
                    changed = True
            if not left:
                return j
            if changed and not waits[j]:
                queue[(first + length) % n_nodes] = j
                length += 1
                waits[j] = True
    return -1
