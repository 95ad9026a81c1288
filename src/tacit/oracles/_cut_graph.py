"""Two ways to store the arcs of a cut graph, read by the same compiled search.

Every edge is two arcs, each the `mate` of the other. In a `Sparse` graph the arcs of node u are
``start[u] .. start[u + 1]``. In a `Banded` one (grids of any dimension, numbered row by row) each
node has one arc per shift: arc ``u K + k`` goes from u to ``u + shift[k]``, so heads and mates need
no memory; the shifts are sorted, hence shift[k] = -shift[K - 1 - k].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from numba.extending import overload

__all__ = ["Banded", "Sparse", "arcs", "banded", "head", "mate", "sparse"]

IntArray = npt.NDArray[np.intp]
Int32Array = npt.NDArray[np.int32]

# A banded graph may have this many slots for each arc that is there, since a slot takes half the
# memory of a sparse arc and no indirection.
MAX_SLOTS_PER_ARC = 1.5


class Sparse(NamedTuple):
    """Arcs by node."""

    start: npt.NDArray[np.int64]  # (n + 1,)
    head: npt.NDArray[np.int32]  # (2 M,)
    mate: npt.NDArray[np.int32]  # (2 M,) the same edge the other way


class Banded(NamedTuple):
    """Arcs by shift; nodes are numbered from the largest shift on, so that none is out of range."""

    shift: npt.NDArray[np.int64]  # (K,)


def _jit(function: Any) -> Any:
    """Compile with numba, keep the machine code on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


def arcs(graph: Any, u: Any) -> Any:
    """First arc of a node, and the one after its last."""
    raise TypeError("this is for compiled code")


def head(graph: Any, u: Any, arc: Any) -> Any:
    """Return the node that an arc of u goes to."""
    raise TypeError("this is for compiled code")


def mate(graph: Any, u: Any, arc: Any) -> Any:
    """Return the same edge the other way."""
    raise TypeError("this is for compiled code")


def _is_banded(graph: Any) -> bool:
    return bool(graph.instance_class is Banded)


@overload(arcs, inline="always")
def _arcs(graph, u):  # type: ignore[no-untyped-def]
    if _is_banded(graph):
        return lambda graph, u: (u * len(graph.shift), (u + 1) * len(graph.shift))
    return lambda graph, u: (graph.start[u], graph.start[u + 1])


@overload(head, inline="always")
def _head(graph, u, arc):  # type: ignore[no-untyped-def]
    if _is_banded(graph):
        return lambda graph, u, arc: u + graph.shift[arc - u * len(graph.shift)]
    return lambda graph, u, arc: np.int64(graph.head[arc])


@overload(mate, inline="always")
def _mate(graph, u, arc):  # type: ignore[no-untyped-def]
    if _is_banded(graph):

        def shifted(graph, u, arc):  # type: ignore[no-untyped-def]
            count = len(graph.shift)
            k = arc - u * count
            return (u + graph.shift[k]) * count + count - 1 - k

        return shifted
    return lambda graph, u, arc: np.int64(graph.mate[arc])


def banded(n: int, edges: IntArray) -> tuple[Banded, Int32Array] | None:
    """Store the graph by shifts if it is nearly full that way, else None; also each edge's arc.

    Parallel edges would share a slot; they make it None too.
    """
    most = MAX_SLOTS_PER_ARC * 2 * len(edges)
    if len(edges) == 0 or 2.0 * n > most:
        return None
    apart = np.zeros(n, np.bool_)
    _distances(edges, apart)
    found = np.flatnonzero(apart)
    if 2.0 * n * len(found) > most:
        return None
    shift = np.concatenate([-found[::-1], found]).astype(np.int64)
    reach = int(found[-1])
    place = np.zeros(2 * reach + 1, np.int32)
    place[shift + reach] = np.arange(len(shift))
    arc = np.empty(len(edges), np.int32)
    slots = np.zeros((n + 2 * reach) * len(shift), np.bool_)
    if len(slots) > np.iinfo(np.int32).max or _collide(edges, reach, shift, place, arc, slots):
        return None
    return Banded(shift), arc


@_jit
def _distances(edges, apart):  # type: ignore[no-untyped-def]
    """Mark how far the ends of edges are from each other."""
    for m in range(len(edges)):
        apart[abs(edges[m, 1] - edges[m, 0])] = True


@_jit
def _collide(edges, reach, shift, place, arc, taken):  # type: ignore[no-untyped-def]
    """Fill in the arc of each edge; whether two edges use the same slot."""
    count = len(shift)
    for m in range(len(edges)):
        u, v = edges[m, 0] + reach, edges[m, 1] + reach
        k = place[v - u + reach]
        here, back = u * count + k, v * count + count - 1 - k
        if taken[here] or taken[back]:
            return True
        taken[here] = taken[back] = True
        arc[m] = here
    return False


def sparse(n: int, edges: IntArray) -> tuple[Sparse, Int32Array]:
    """Store the graph arc by arc; also each edge's arc."""
    start = np.zeros(n + 1, np.int64)
    heads, mates = np.empty(2 * len(edges), np.int32), np.empty(2 * len(edges), np.int32)
    arc = np.empty(len(edges), np.int32)
    _fill(edges, start, heads, mates, arc)
    return Sparse(start, heads, mates), arc


@_jit
def _fill(edges, start, heads, mates, arc):  # type: ignore[no-untyped-def]
    """Sort arcs by tail (counting sort)."""
    n = len(start) - 1
    for m in range(len(edges)):
        start[edges[m, 0] + 1] += 1
        start[edges[m, 1] + 1] += 1
    for u in range(n):
        start[u + 1] += start[u]
    free = start[:-1].copy()
    for m in range(len(edges)):
        u, v = edges[m, 0], edges[m, 1]
        a, b = free[u], free[v]
        free[u] += 1
        free[v] += 1
        heads[a], heads[b] = v, u
        mates[a], mates[b] = b, a
        arc[m] = a
