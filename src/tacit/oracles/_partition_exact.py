r"""Bounds and exact partitions by linear programs with violated cycle rows.

.. math:: \min_x \sum_e w_e x_e \quad\text{s.t.}\quad
    x_e \le \sum_{f \in C \setminus e} x_f \quad\text{for cycles } C \ni e, \; 0 \le x \le 1,

x the edges that are cut. On complete graphs the triangles imply all cycles; where they all hold,
rows of one item against a set of others are added. Otherwise a broken row is a path between the
ends of e that is shorter than :math:`x_e`.

References
----------
S. Chopra, M. R. Rao, The partition problem, Mathematical Programming 59 (1993).
M. Groetschel, Y. Wakabayashi, A cutting plane algorithm for a clustering problem, Mathematical
Programming 45 (1989): the rows of an item and a set of others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from tacit.oracles._partition_contract import contract
from tacit.oracles._partition_graph import CutGraph
from tacit.oracles._partition_moves import improve
from tacit.oracles._partition_rows import find_stars, find_triangles
from tacit.oracles._row_generation import GrowingModel, Rows, Until, grow
from tacit.oracles._short_paths import short_paths

__all__ = ["close"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Labels = npt.NDArray[np.int32]

# Broken by more than HiGHS's own tolerance times a few.
BROKEN, BROKEN_STAR = 1e-5, 1e-3
# Rows added at a time, the most broken first; one in ten of the edges where these are many.
ADDED, ADDED_SHARE = 1000, 0.5
# What is called closed, in units of the largest weight.
CLOSED = 1e-8


def close(
    graph: CutGraph, label: Labels, whole: bool, until: Until, bound: float = -np.inf
) -> tuple[Labels, float]:
    """Best partition of a graph, or the best found, and a proven bound.

    Parameters
    ----------
    graph : CutGraph
        Connected by its positive edges, or the bound is no better than for its parts.
    label : (n,) array
        A partition that cuts what has to be cut.
    whole : bool
        Branch where the relaxation is fractional.
    until : Until
        Limits of time and nodes.
    bound : float
        A bound that is known.
    """
    unit = float(np.abs(graph.weight).max(initial=0.0))
    if unit == 0.0:
        return label, 0.0
    if graph.value(label) - bound <= CLOSED * unit:
        return label, bound
    search = _Search(graph, label, unit)
    cost = graph.weight / unit
    lower, upper = graph.shape.hard.astype(float), np.ones(len(cost))
    model = GrowingModel(cost, lower, upper)
    x, found = grow(model, search.broken, until, search.gap)
    bound = max(bound, found * unit)
    if x is None or not whole or search.closed(bound):
        return search.label, bound
    for whole_x, below in model.branches(until, search.start):
        bound = max(bound, below * unit)
        if whole_x is None or search.closed(bound):
            break
        rows = search.broken_whole(whole_x)
        search.keep(_clusters(graph, whole_x))
        if not len(rows):
            break
        model.add(rows)
    return search.label, bound


class _Search:
    """The best partition so far, and rows that columns break."""

    def __init__(self, graph: CutGraph, label: Labels, unit: float) -> None:
        self.graph, self.unit = graph, unit
        self.label, self.value = label, graph.value(label)
        n = graph.n
        self._complete = len(graph.shape.edges) == n * (n - 1) // 2
        self._added = max(ADDED, int(ADDED_SHARE * len(graph.weight)))
        a, b = graph.shape.edges.T
        if self._complete:
            self._edge = np.zeros((n, n), np.intp)
            self._edge[a, b] = self._edge[b, a] = np.arange(len(a))
            # One number for each node, so that the same set found twice has the same sum.
            self._salt = np.random.default_rng(0).integers(1, 2**62, n).astype(np.uint64)

    def keep(self, label: Labels) -> None:
        """Take a partition if it is feasible and better, after moves have made it better still."""
        label = improve(self.graph, label)
        value = self.graph.value(label)
        if value < self.value and self.graph.cut(label)[self.graph.shape.hard].all():
            self.label, self.value = label, value

    def start(self) -> FloatArray:
        """Columns of the best partition."""
        return self.graph.cut(self.label).astype(float)

    def closed(self, bound: float) -> bool:
        """Whether the best partition meets a bound."""
        return self.value - bound <= CLOSED * self.unit

    def gap(self, x: FloatArray, bound: float) -> float:
        """Round the columns on the way; what is left above the bound, 0 where closed."""
        self.keep(contract(CutGraph(self.graph.shape, 0.5 - x)))
        return 0.0 if self.closed(bound * self.unit) else self.value - bound * self.unit

    def broken(self, x: FloatArray) -> Rows:
        """Rows that fractional columns break."""
        if self._complete:
            X = np.zeros((self.graph.n, self.graph.n))
            a, b = self.graph.shape.edges.T
            X[a, b] = X[b, a] = x
            rows = self._triangle_rows(X)
            return rows if len(rows) else self._star_rows(X)
        return self._paths(x, np.flatnonzero(x > BROKEN), BROKEN)

    def _triangle_rows(self, X: FloatArray) -> Rows:
        """x_ij - x_ik - x_kj <= 0."""
        found, amount = find_triangles(X, BROKEN)
        chosen = np.argsort(-amount, kind="stable")[: self._added]
        (i, j, k), e, m = found[chosen].T, self._edge, len(chosen)
        columns = np.column_stack([e[i, j], e[i, k], e[k, j]]).ravel()
        indptr, data = np.arange(0, 3 * m + 1, 3), np.tile([1.0, -1.0, -1.0], m)
        A = sp.csr_array((data, columns, indptr), shape=(m, len(self.graph.weight)))
        return Rows(A, np.zeros(m))

    def _star_rows(self, X: FloatArray) -> Rows:
        """Sum over pairs in T of x_jk - sum over T of x_ij <= |T| (|T| - 1) / 2 - |T| + 1."""
        stars, indptr, amount, name = find_stars(1.0 - X, BROKEN_STAR, self._salt)
        _, once = np.unique(name, return_index=True)
        chosen = once[np.argsort(-amount[once], kind="stable")][: self._added]
        parts, upper = [], np.empty(len(chosen))
        for row, star in enumerate(chosen.tolist()):  # few: one for each item and first leaf
            i, leaves = stars[indptr[star]], np.sort(stars[indptr[star] + 1 : indptr[star + 1]])
            t = len(leaves)
            j, k = leaves[np.column_stack(np.triu_indices(t, 1))].T
            parts.append((self._edge[i, leaves], self._edge[j, k]))
            upper[row] = t * (t - 1) / 2 - t + 1
        near = [len(part[0]) for part in parts]
        sizes = [len(part[0]) + len(part[1]) for part in parts]
        columns = [column for part in parts for column in part]
        signs = [np.repeat([-1.0, 1.0], [u, v - u]) for u, v in zip(near, sizes, strict=True)]
        A = sp.csr_array(
            (
                np.concatenate([np.empty(0), *signs]),
                np.concatenate([np.empty(0, np.intp), *columns]),
                np.concatenate([[0], np.cumsum(sizes, dtype=np.intp)]),
            ),
            shape=(len(chosen), len(self.graph.weight)),
        )
        return Rows(A, upper)

    def broken_whole(self, x: FloatArray) -> Rows:
        """Rows that whole columns break: cut edges within a component of those not cut."""
        inside = _clusters(self.graph, x)[self.graph.shape.edges]
        wrong = np.flatnonzero((inside[:, 0] == inside[:, 1]) & (x > 0.5))
        return self._paths(x, wrong, 0.5)

    def _paths(self, x: FloatArray, edges: IntArray, broken: float) -> Rows:
        """Row of the shortest path beside each edge where it is shorter than the edge's x."""
        around, ends = self.graph.shape.adjacency, self.graph.shape.edges[edges]
        # A little for every step: of equally long paths the one with the fewest.
        step = 1e-3 * broken / self.graph.n
        web = around.indptr, around.neighbor, np.maximum(x, 0.0)[around.edge] + step
        found, indptr, arcs, amount = short_paths(web, ends, x[edges] - broken)
        path = around.edge[arcs]
        chosen = np.argsort(-amount, kind="stable")[: self._added]
        steps = sp.csr_array((np.ones(len(path)), path, indptr), shape=(len(found), len(x)))
        own = sp.csr_array(
            (np.ones(len(found)), edges[found], np.arange(len(found) + 1)), shape=steps.shape
        )
        return Rows(sp.csr_array((own - steps)[chosen]), np.zeros(len(chosen)))


def _clusters(graph: CutGraph, x: FloatArray) -> Labels:
    """Components of the edges that are not cut."""
    links = graph.shape.edges[x < 0.5]
    web = sp.coo_array((np.ones(len(links), np.int8), links.T), (graph.n, graph.n))
    return np.asarray(connected_components(web, directed=False)[1], np.int32)
