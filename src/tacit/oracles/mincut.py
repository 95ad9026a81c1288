r"""Minimum s-t cut on any graph, in floating point, with its certificate.

.. math:: \min_{x \in \{0, 1\}^n} \sum_i c_i x_i
    + \sum_{(u, v)} f_{uv} (1 - x_u) x_v + b_{uv} x_u (1 - x_v)

x = 0 is the source side: node i is joined to the source by c_i if that is positive, to the sink by
-c_i if it is negative. Any flow g with -b <= g <= f gives the lower bound
``sum_i min(0, c_i + flow in - flow out)``; at a maximum flow it is the value of the cut.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from tacit.exceptions import InfeasibleHints
from tacit.oracles._cut_certificate import balance, certify, load
from tacit.oracles._cut_graph import banded, sparse
from tacit.oracles._cut_kernel import INFEASIBLE, SOURCE, max_flow

__all__ = ["Cut", "MinCut"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

# Part of the terms summed that rounding may leave between flow and cut before the flow kept from
# the call before is given up; a hundred times what is usual.
USUAL = 1e-12
# Graphs from so many nodes on are numbered anew if the ends of an edge are further from each other
# than this part of the nodes: a 600 x 600 grid with its nodes shuffled is then cut in .27 s instead
# of .44 s while costs drift, for .11 s once; at 200 x 200 nothing is gained, it fits in the cache.
MANY_NODES, FAR = 100_000, 0.05


class Cut(NamedTuple):
    """A minimum cut.

    Attributes
    ----------
    side : (n,) bool array
        x: False on the source side, True on the sink side.
    value : float
        What the cut costs.
    bound : float
        Lower bound on every cut, from the flow; proven in floating point.
    """

    side: BoolArray
    value: float
    bound: float


class MinCut:
    """One graph, cut for many costs of its nodes; the flow is kept between the calls.

    Parameters
    ----------
    n : int
        Number of nodes.
    edges : (M, 2) int array
        Pairs of nodes. The same pair may occur again: capacities add up.
    forward : (M,) array
        Cost of x = 0 at an edge's first node and x = 1 at its second; 0 or more, +inf forbids.
    backward : (M,) array, optional
        Cost of x = 1 at the first and x = 0 at the second; the same as `forward` if not given.
    reorder : bool, default=True
        Whether nodes may be numbered anew inside, neighbours near each other.

    Attributes
    ----------
    degree : int
        Most edges of one node.
    graph, offset, arc, residual, excess
        What a kernel fills in that makes its own cuts on the same edges, before `flow`: the node of
        place ``offset + i`` is i, ``arc`` is that of each edge.

    Notes
    -----
    Grids of any dimension, numbered row by row, are recognised by the few different distances
    between the ends of their edges and need neither lists of neighbours nor the time to read them.
    Memory: 8 bytes per arc and 28 per node for a grid, 16 more per arc and 4 per edge for others.
    """

    def __init__(
        self,
        n: int,
        edges: IntArray,
        forward: npt.NDArray[np.floating],
        backward: npt.NDArray[np.floating] | None = None,
        *,
        reorder: bool = True,
    ) -> None:
        self.n = n
        edges = _check_edges(n, edges)
        forward = _check_capacity(forward, len(edges), "forward")
        backward = (
            forward if backward is None else _check_capacity(backward, len(edges), "backward")
        )
        self._join: IntArray | None = None
        glued = np.isposinf(forward) & np.isposinf(backward)
        if glued.any():
            self._join, kept = _glue(n, edges, glued)
            edges = self._join[edges[kept]]
            backward = forward[kept] if backward is forward else backward[kept]
            forward = backward if backward is forward else forward[kept]
        size = n if self._join is None else int(self._join.max()) + 1
        found = banded(size, edges)
        if found is None and reorder and _scattered(size, edges):
            place = _places(size, edges)
            edges = place[edges]
            self._join = place if self._join is None else place[self._join]
        self._edges, self._forward, self._backward = edges, forward, backward
        self.graph: Any
        self.graph, self.arc = sparse(size, edges) if found is None else found
        self.offset = 0 if found is None else int(found[0].shift[-1])
        places = size + 2 * self.offset
        n_arcs = 2 * len(edges) if found is None else places * len(found[0].shift)
        if n_arcs > np.iinfo(np.int32).max:
            raise ValueError(f"a graph with {n_arcs} arcs is larger than the 2^31 arcs possible.")
        self._inside = slice(self.offset, self.offset + size)
        self.residual, self.excess = np.zeros(n_arcs), np.zeros(places)
        self._depth, self._link = np.empty(places, np.int32), np.empty(places, np.int32)
        self._lists, self._orphan = np.empty((3, places), np.int32), np.empty(places, np.int32)
        self.degree = int(np.bincount(edges.ravel(), minlength=1).max(initial=0))
        self._cost: FloatArray | None = None  # that the flow kept belongs to

    def solve(self, cost: npt.NDArray[np.floating]) -> Cut:
        """Cut for these node costs (n,): c_i is paid where x_i = 1; +inf fixes 0, -inf fixes 1.

        Raises
        ------
        InfeasibleHints
            If nodes fixed to 0 and to 1 are joined without limit.
        """
        costs = np.asarray(cost, np.float64)
        if costs.shape != (self.n,) or np.isnan(costs).any():
            raise ValueError(f"cost must be ({self.n},) numbers, got shape {costs.shape}.")
        paid = 0.0
        if self._join is not None:
            costs, paid = _sum_costs(costs, self._join)
        warm = self._cost is not None
        side = self.search(costs)
        value, bound, size = self._certify(costs, side)
        if warm and not value - bound <= USUAL * size:
            self._cost = None
            side = self.search(costs)
            value, bound, size = self._certify(costs, side)
        return Cut(side if self._join is None else side[self._join], value + paid, bound + paid)

    def search(self, costs: FloatArray) -> BoolArray:
        """Side of each (joined) node, without the certificate."""
        args = (self.graph, self._edges, self.offset, self.arc, self._forward, self._backward)
        left = self.excess[self._inside]
        if self._cost is None:
            load(*args, self.residual)
            left[:] = costs
        elif np.isfinite(self._cost).all() and np.isfinite(costs).all():
            left += costs - self._cost
        else:
            balance(*args, self.residual, costs, left)
        side = self.flow()
        self._cost = costs.copy()
        return side

    def flow(self) -> BoolArray:
        """Side of each node for what `residual` and `excess` hold now; both are used up."""
        self._cost = None
        closed = max_flow(
            self.graph,
            self.residual,
            self.excess,
            self._depth,
            self._link,
            self._lists,
            self._orphan,
        )
        if closed == INFEASIBLE:
            raise InfeasibleHints(
                "two nodes that must be on different sides must not be cut apart."
            )
        depth = self._depth[self._inside]
        return depth <= 0 if closed == SOURCE else depth < 0

    def _certify(self, costs: FloatArray, side: BoolArray) -> tuple[float, float, float]:
        """Value, bound proven by the flow, and size of the terms."""
        left = np.empty(len(costs))
        args = (self.graph, self._edges, self.offset, self.arc, self._forward, self._backward)
        # A fixed node pays nothing itself.
        finite = costs if np.isfinite(costs).all() else np.where(np.isinf(costs), 0.0, costs)
        flow = balance(*args, self.residual, finite, left)
        value, bound, size = certify(self._edges, self._forward, self._backward, costs, left, side)
        # A node's excess has one rounding per edge, and all flow is counted at both of its ends.
        size += 2.0 * flow
        return value, bound - (1 + self.degree) * np.finfo(float).eps * size, size


def _check_edges(n: int, edges: IntArray) -> IntArray:
    """Refuse self-loops and nodes that are not there."""
    edges = np.asarray(edges, np.intp).reshape(-1, 2)
    if len(edges) and not 0 <= edges.min() <= edges.max() < n:
        raise ValueError(f"edges must join nodes 0..{n - 1}, got {edges.min()}..{edges.max()}.")
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise ValueError(f"edge {loops[0]} joins node {edges[loops[0], 0]} with itself.")
    return edges


def _check_capacity(values: npt.NDArray[np.floating], m: int, what: str) -> FloatArray:
    """Refuse what is no capacity."""
    capacity = np.asarray(values, np.float64)
    if capacity.shape != (m,):
        raise ValueError(f"{what} has shape {capacity.shape}; expected one capacity per edge, {m}.")
    wrong = np.flatnonzero(~(capacity >= 0.0))
    if len(wrong):
        raise ValueError(
            f"{what}: edge {wrong[0]} has capacity {capacity[wrong[0]]}; capacities are 0 or more."
        )
    return capacity


def _glue(n: int, edges: IntArray, glued: BoolArray) -> tuple[IntArray, BoolArray]:
    """Components of nodes that are never cut apart, (n,), and the edges between different ones."""
    ends = edges[glued].T
    graph = sp.coo_array((np.ones(ends.shape[1], np.int8), ends), (n, n))
    joined = connected_components(graph, directed=False)[1].astype(np.intp)
    return joined, joined[edges[:, 0]] != joined[edges[:, 1]]


def _scattered(n: int, edges: IntArray) -> bool:
    """Whether neighbours are far from each other in memory, and memory is too large for a cache."""
    if n < MANY_NODES or len(edges) == 0:
        return False
    some = edges[:: max(len(edges) // 1000, 1)]
    return float(np.abs(some[:, 0] - some[:, 1]).mean()) > FAR * n


def _places(n: int, edges: IntArray) -> IntArray:
    """Place of each node when neighbours are near each other, (n,)."""
    graph = sp.coo_array((np.ones(len(edges), np.int8), edges.T), (n, n))
    order = reverse_cuthill_mckee(sp.csr_array(graph + graph.T), True)
    place = np.empty(n, np.intp)
    place[order] = np.arange(n)
    return place


def _sum_costs(costs: FloatArray, joined: IntArray) -> tuple[FloatArray, float]:
    """Costs of joined nodes, and what those fixed to 1 pay; +inf with -inf cannot be met."""
    up, down = np.isposinf(costs), np.isneginf(costs)
    total = np.bincount(joined, np.where(up | down, 0.0, costs))
    up, down = np.bincount(joined, up) > 0, np.bincount(joined, down) > 0
    if (up & down).any():
        raise InfeasibleHints("two nodes that must be on different sides must not be cut apart.")
    paid = float(total[down].sum())
    total[up], total[down] = np.inf, -np.inf
    return np.asarray(total), paid
