"""Minimum cuts against enumeration and SciPy's integer maximum flow, cold and warm."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import maximum_flow

from tacit.exceptions import InfeasibleHints
from tacit.oracles import _cut_certificate, _cut_graph, _cut_kernel, mincut
from tacit.oracles.mincut import MinCut

# Sums of some hundred terms, in another order.
RTOL = 1e-11
some = settings(max_examples=60, deadline=None, derandomize=True)


def energy(cost, edges, forward, backward, x):
    with np.errstate(invalid="ignore"):
        total = np.where(x, cost, 0.0).sum()
    for (u, v), f, b in zip(edges, forward, backward, strict=True):
        total += (f if not x[u] and x[v] else 0.0) + (b if x[u] and not x[v] else 0.0)
    return total


def enumerate_cuts(cost, edges, forward, backward):
    """Least energy over all x; nodes of cost -inf have to be 1 and then cost nothing."""
    finite = np.where(np.isneginf(cost), 0.0, cost)
    best = np.inf
    for x in itertools.product((False, True), repeat=len(cost)):
        x = np.array(x)
        if x[np.isneginf(cost)].all():
            best = min(best, energy(finite, edges, forward, backward, x))
    return best


def random_graph(rng, n, m, infinite=0.0, lattice=False):
    edges = rng.integers(0, n, (4 * m, 2))
    edges = edges[edges[:, 0] != edges[:, 1]][:m]
    draw = (
        (lambda k: rng.integers(0, 4, k) / 2.0) if lattice else (lambda k: rng.exponential(size=k))
    )
    forward, backward = draw(len(edges)), draw(len(edges))
    forward[rng.random(len(edges)) < infinite] = np.inf
    backward[rng.random(len(edges)) < infinite] = np.inf
    return edges, forward, backward


def node_costs(rng, n, infinite=0.0, lattice=False):
    cost = rng.integers(-3, 4, n) / 2.0 if lattice else 2 * rng.normal(size=n)
    hard = rng.random(n) < infinite
    cost[hard] = np.where(rng.random(hard.sum()) < 0.5, np.inf, -np.inf)
    return cost


@some
@given(seed=st.integers(0, 10_000), infinite=st.sampled_from([0.0, 0.15, 0.4]))
def test_every_small_cut_is_minimal_cold_and_warm(seed, infinite):
    rng = np.random.default_rng(seed)
    n, lattice = int(rng.integers(1, 9)), bool(seed % 2)
    m = int(rng.integers(0, 3 * n)) if n > 1 else 0
    edges, forward, backward = random_graph(rng, n, m, infinite, lattice)
    cut = MinCut(n, edges, forward, backward)
    for _ in range(4):
        cost = node_costs(rng, n, infinite / 2, lattice)
        best = enumerate_cuts(cost, edges, forward, backward)
        if best == np.inf:
            with pytest.raises(InfeasibleHints):
                cut.solve(cost)
            continue
        found = cut.solve(cost)
        finite = np.where(np.isneginf(cost), 0.0, cost)
        assert found.side[np.isneginf(cost)].all()
        size = RTOL * (1.0 + np.abs(finite[np.isfinite(finite)]).sum() + abs(best))
        assert abs(energy(finite, edges, forward, backward, found.side) - best) <= size
        assert abs(found.value - best) <= size
        assert best - 100 * size <= found.bound <= best + size


def grid_edges(shape, diagonals):
    ids = np.arange(np.prod(shape)).reshape(shape)
    parts = [(ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:])]
    if diagonals:
        parts += [(ids[:-1, :-1], ids[1:, 1:]), (ids[:-1, 1:], ids[1:, :-1])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in parts])


def scipy_flow(n, cost, edges, forward, backward):
    """Value of the minimum cut of integers by SciPy."""
    rows = np.concatenate([edges[:, 0], edges[:, 1], np.full(n, n), np.arange(n)])
    cols = np.concatenate([edges[:, 1], edges[:, 0], np.arange(n), np.full(n, n + 1)])
    caps = np.concatenate([forward, backward, np.maximum(cost, 0), np.maximum(-cost, 0)])
    graph = sp.coo_array((caps.astype(np.int32), (rows, cols)), (n + 2, n + 2)).tocsr()
    return maximum_flow(graph, n, n + 1).flow_value + int(np.minimum(cost, 0).sum())


@pytest.mark.parametrize("diagonals", [False, True])
@pytest.mark.parametrize("kind", ["banded", "shuffled"])
def test_grids_against_scipy_while_costs_drift(kind, diagonals):
    rng = np.random.default_rng(0)
    edges = grid_edges((30, 41), diagonals)
    n = 30 * 41
    if kind == "shuffled":
        edges = rng.permutation(n)[edges]
    forward, backward = rng.integers(0, 40, (2, len(edges))).astype(float)
    cut = MinCut(n, edges, forward, backward)
    assert isinstance(cut.graph, _cut_graph.Banded) == (kind == "banded")
    cost = rng.integers(-100, 101, n).astype(float)
    for _ in range(5):
        found = cut.solve(cost)
        best = scipy_flow(n, cost, edges, forward, backward)
        assert found.value == best
        assert best - 1e-8 <= found.bound <= best
        cost = cost + rng.integers(-20, 21, n)


def test_many_scattered_nodes_are_numbered_anew(monkeypatch):
    """The same cut, for hard edges and fixed nodes too."""
    rng = np.random.default_rng(4)
    edges = rng.permutation(400)[grid_edges((20, 20), False)]
    forward, backward = rng.exponential(size=(2, len(edges)))
    forward[:9] = backward[3:12] = np.inf
    cost = 2 * rng.normal(size=400)
    cost[rng.integers(0, 400, 5)] = -np.inf
    plain = MinCut(400, edges, forward, backward).solve(cost)
    monkeypatch.setattr(mincut, "MANY_NODES", 100)
    cut = MinCut(400, edges, forward, backward)
    assert len(set(cut._join.tolist())) < 400
    assert np.abs(np.diff(cut._edges)).mean() < 40 < np.abs(np.diff(edges)).mean()
    for _ in range(2):
        found = cut.solve(cost)
        assert found.value == pytest.approx(plain.value, rel=1e-12)
        assert found.bound == pytest.approx(plain.value, rel=1e-9)
        np.testing.assert_array_equal(found.side, plain.side)


def test_long_thin_graphs_need_no_recursion():
    n = 200_000
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
    cost = np.zeros(n)
    cost[0], cost[-1] = 5.0, -3.0
    forward = np.full(n - 1, 2.0)
    forward[n // 2] = 1.0
    found = MinCut(n, edges, forward).solve(cost)
    assert found.value == -2.0  # the sink's 3 less what one edge of 1 lets through
    assert found.bound == pytest.approx(-2.0, abs=1e-9)
    assert found.side.sum() == n - 1 - n // 2


def test_amounts_of_very_different_size_end_and_stay_bounded():
    rng = np.random.default_rng(1)
    edges = grid_edges((20, 20), False)
    for _ in range(5):
        forward, backward = 10.0 ** rng.uniform(-12, 12, (2, len(edges)))
        cost = 10.0 ** rng.uniform(-12, 12, 400) * rng.choice([-1, 1], 400)
        cut = MinCut(400, edges, forward, backward)
        for _ in range(3):
            found = cut.solve(cost)
            assert found.bound <= found.value
            assert found.value - found.bound <= 1e-12 * np.abs(cost).sum()
            cost = cost * rng.uniform(0.5, 2, 400)


def test_strict_searches_reach_the_same_cut(monkeypatch):
    """What is done when repairs do not end, from the first search on."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        edges, forward, backward = random_graph(rng, 8, 16)
        cost = node_costs(rng, 8)
        cut = MinCut(8, edges, forward, backward)
        value = cut.solve(cost).value
        args = (cut.graph, cut.residual, cut.excess, cut._depth, cut._link, cut._lists, cut._orphan)
        _cut_certificate.load(
            cut.graph, cut._edges, cut.offset, cut.arc, cut._forward, cut._backward, cut.residual
        )
        cut.excess[cut._inside] = cost
        book, closed = np.zeros((4, 3), np.int64), _cut_kernel.NEXT
        while closed == _cut_kernel.NEXT:
            paths, closed = _cut_kernel._search(*args, book, True)
            assert paths <= 1 or closed == _cut_kernel.NEXT
        depth = cut._depth[cut._inside]
        side = depth <= 0 if closed == _cut_kernel.SOURCE else depth < 0
        assert energy(cost, edges, forward, backward, side) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("edges", "forward", "message"),
    [
        ([[0, 0]], [1.0], "edge 0 joins node 0 with itself"),
        ([[0, 3]], [1.0], r"nodes 0\.\.2"),
        ([[0, 1]], [-1.0], "edge 0 has capacity -1.0"),
        ([[0, 1]], [np.nan], "edge 0 has capacity nan"),
        ([[0, 1]], [1.0, 2.0], "one capacity per edge"),
    ],
)
def test_what_is_no_graph_is_refused(edges, forward, message):
    with pytest.raises(ValueError, match=message):
        MinCut(3, np.array(edges), np.array(forward))


def test_costs_that_are_no_numbers_are_refused():
    cut = MinCut(2, np.array([[0, 1]]), np.ones(1))
    with pytest.raises(ValueError, match="cost must be"):
        cut.solve([np.nan, 0.0])
    with pytest.raises(ValueError, match="cost must be"):
        cut.solve([0.0])


def test_parallel_edges_add_up_on_a_grid_too():
    edges = grid_edges((3, 4), False)
    twice = np.concatenate([edges, edges[:, ::-1]])
    rng = np.random.default_rng(3)
    weight, cost = rng.random((2, len(edges))), rng.normal(size=12)
    one = MinCut(12, edges, weight[0] + weight[1]).solve(cost)
    two = MinCut(12, twice, np.concatenate(weight), np.concatenate(weight)).solve(cost)
    assert one.value == pytest.approx(two.value, rel=1e-12)
