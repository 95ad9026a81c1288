"""Message passing and its polish against all labelings, forests and hand-made values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.oracles import check_against_exhaustive, check_result
from checks.pair_programs import allowed_labels, random_edges
from tacit import hints, oracles
from tacit.exceptions import InfeasibleHints
from tacit.hints._classes import ClassCodes
from tacit.hints._program import LabelProgram, Pairs
from tacit.oracles import ForestOracle, SmallProgramOracle, TRWSOracle
from tacit.oracles._graph import arrange, energy, prune
from tacit.oracles._icm import Polish, improve_single
from tacit.oracles._trws_kernel import decode, lower_bound, sweep

# Sums of some hundred terms, in another order.
TOL = 1e-10
some = settings(max_examples=60, deadline=None, derandomize=True)


def random_program(rng, n, n_classes, edges, hard=0.2):
    """Potts, attractive or repulsive, dense and hard tables, shared by the edges."""
    same = np.eye(n_classes)
    tables = [1.0 - same, same, -same, np.diag(rng.normal(size=n_classes)) + 1.0 - same]
    tables += [np.where(same > 0, 0.0, np.inf), np.where(same > 0, np.inf, 0.0)]
    for share in (0.0, 0.2):
        dense = rng.normal(size=same.shape)
        tables.append(np.where(rng.random(dense.shape) < share, np.inf, dense))
    m = len(edges)
    table = np.where(rng.random(m) < hard, rng.choice([4, 5, 7], m), rng.choice([0, 1, 2, 3, 6], m))
    pairs = Pairs(
        np.asarray(edges, np.intp).reshape(-1, 2),
        rng.uniform(0.1, 3.0, m),
        table.astype(np.intp),
        np.array(tables),
    )
    allowed = allowed_labels(rng, n, n_classes, 0.15) if rng.random() < 0.5 else None
    return LabelProgram(n, n_classes, allowed=allowed, pairs=pairs)


def grid_edges(height, width):
    at = np.arange(height * width).reshape(height, width)
    beside = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
    below = np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1)
    return np.concatenate([beside, below])


def potts_grid(side, n_classes, weight):
    edges = grid_edges(side, side)
    tables = (1.0 - np.eye(n_classes))[None]
    pairs = Pairs(edges, np.full(len(edges), weight), np.zeros(len(edges), np.intp), tables)
    return LabelProgram(side * side, n_classes, pairs=pairs)


@some
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), n_classes=st.integers(1, 4))
def test_bounds_and_values_enclose_the_optimum(seed, n, n_classes):
    n = min(n, {1: 12, 2: 12, 3: 7, 4: 6}[n_classes])
    rng = np.random.default_rng(seed)
    edges = random_edges(rng, n, int(rng.integers(0, 2 * n)))
    program = random_program(rng, n, n_classes, edges, hard=rng.choice([0.0, 0.3]))
    scale = 10.0 ** rng.integers(-6, 7)
    cost = scale * rng.normal(size=(n, n_classes))
    check_against_exhaustive(TRWSOracle, program, cost)


@pytest.mark.parametrize("seed", range(40))
def test_trees_are_exact(seed):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(2, 13)), int(rng.integers(2, 4))
    name = rng.permutation(n)
    edges = [(name[k], name[rng.integers(k)])[:: rng.choice([-1, 1])] for k in range(1, n)]
    program = random_program(rng, n, n_classes, edges)
    cost = rng.normal(size=(n, n_classes))
    try:
        best = ForestOracle(program).solve(cost).value
    except InfeasibleHints:
        with pytest.raises(InfeasibleHints):
            TRWSOracle(program).solve(cost)
        return
    result = TRWSOracle(program).solve(cost)
    check_result(program, cost, result)
    assert result.exact
    assert result.value == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_no_sweep_lowers_the_bound(n_classes):
    """In either direction; and what a sweep returns is the bound of its messages."""
    rng = np.random.default_rng(n_classes)
    edges = grid_edges(9, 9)
    program = random_program(rng, 81, n_classes, edges, hard=0.0)
    graph, node = arrange(program.contraction.pairs, len(program.contraction.first_row))
    own = rng.normal(size=(len(node), n_classes))
    message = np.zeros((len(graph.tail), 2, n_classes))
    last = -np.inf
    for k in range(30):
        bound = sweep(own, graph, message, k % 2 == 0)
        assert bound >= last - 1e-12 * abs(bound)
        last = bound
        if k % 2:
            proven = lower_bound(own, graph, message)
            assert bound - 1e-9 <= proven <= bound + 1e-12 * abs(bound)


@some
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-6, 1.0, 1e9]))
def test_any_messages_give_a_bound(seed, size):
    """Not only those that sweeps make: large ones lose digits, which the bound takes off."""
    rng = np.random.default_rng(seed)
    n, n_classes = 6, 3
    program = random_program(rng, n, n_classes, random_edges(rng, n, 9), hard=0.0)
    joined = program.contraction
    graph, node = arrange(joined.pairs, len(joined.first_row))
    cost = rng.normal(size=(n, n_classes))
    own = np.where(joined.allowed, joined.gather(cost) + joined.unary, np.inf)[node]
    message = size * rng.normal(size=(len(graph.tail), 2, n_classes))
    best = oracles.ExhaustiveOracle(program).solve(cost).value
    assert lower_bound(own, graph, message) <= best


@pytest.mark.parametrize("seed", range(10))
def test_labels_are_chosen_and_polished_without_loss(seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, 30, 3, random_edges(rng, 30, 70), hard=0.0)
    joined = program.contraction
    graph, node = arrange(joined.pairs, len(joined.first_row))
    own = np.where(joined.allowed, rng.normal(size=joined.unary.shape), np.inf)[node]
    labels = np.empty(len(node), np.int32)
    for forward in (True, False):
        decode(own, graph, np.zeros((len(graph.tail), 2, 3)), forward, labels)
        start = energy(own, graph, labels)
        assert np.isfinite(start)
        alone = labels.copy()
        improve_single(own, graph, alone)
        single = energy(own, graph, alone)
        polished, value = Polish(graph)(own, labels)
        assert value <= single <= start
        assert value == pytest.approx(energy(own, graph, polished), rel=1e-12)
        for i in range(len(node)):  # no single change is any better
            for c in range(3):
                trial = polished.copy()
                trial[i] = c
                assert energy(own, graph, trial) >= value - 1e-9


def test_a_block_moves_what_single_rows_cannot():
    """Three rows held together: each alone would pay its links, all at once gain."""
    cost = np.array([[0.4, 0.0], [0.4, 0.0], [0.4, 0.0]])
    pairs = Pairs(
        np.array([[0, 1], [1, 2]]), np.ones(2), np.zeros(2, np.intp), 1.0 - np.eye(2)[None]
    )
    graph, _ = arrange(pairs, 3)
    labels = np.zeros(3, np.int32)
    assert improve_single(cost, graph, labels) == 0
    better, value = Polish(graph)(cost, labels)
    assert better.tolist() == [1, 1, 1]
    assert value == 0.0


def test_arc_consistency_by_hand():
    """Row 1 may not be 2 if row 0 is 0, and row 0 is: label 2 goes; then row 2, linked to it."""
    ban = np.zeros((3, 3))
    ban[0, 2] = np.inf
    must = np.where(np.eye(3, dtype=bool), 0.0, np.inf)
    pairs = Pairs(np.array([[0, 1], [1, 2]]), np.ones(2), np.arange(2), np.stack([ban, must]))
    graph, node = arrange(pairs, 3)
    allowed = np.ones((3, 3), bool)
    allowed[0] = [True, False, False]
    place = np.argsort(node)
    mask = allowed[node]
    assert prune(graph, mask) == -1
    assert mask[place].tolist() == [[True, False, False], [True, True, False], [True, True, False]]
    allowed[2] = [False, False, True]
    assert prune(graph, allowed[node]) >= 0


def test_warm_messages_keep_bounds_valid():
    rng = np.random.default_rng(0)
    program = random_program(rng, 7, 3, random_edges(rng, 7, 14), hard=0.0)
    warm, cost = TRWSOracle(program), rng.normal(size=(7, 3))
    for size in (1.0, 1.0, 1e8, 1.0, 1e-8, 1.0):
        cost = cost + 0.1 * rng.normal(size=cost.shape)
        result = warm.solve(size * cost)
        best = oracles.ExhaustiveOracle(program).solve(size * cost).value
        check_result(program, size * cost, result)
        assert result.bound <= best + TOL * size * np.abs(cost).sum()


def test_a_grid_and_its_gap():
    """The gap is small on easy costs; `gap` and `max_iter` stop earlier, with a valid bound."""
    cost = np.random.default_rng(0).normal(size=(900, 3))
    program = potts_grid(30, 3, 0.2)
    full = TRWSOracle(program).solve(cost)
    check_result(program, cost, full)
    assert (full.value - full.bound) / abs(full.value) < 1e-3
    early = TRWSOracle(program, gap=0.05).solve(cost)
    short = TRWSOracle(program, max_iter=1).solve(cost)
    for result in (early, short):
        check_result(program, cost, result)
        assert result.bound <= full.bound + TOL
        assert result.value >= full.bound - TOL


def test_hard_pairs_that_greedy_labels_miss():
    """Colouring with three colours: where decoding fails, labels come from branch and bound."""
    rng = np.random.default_rng(1)
    found = missed = 0
    for _ in range(15):
        n = 9
        truth = rng.integers(0, 3, n)
        edges = [(i, j) for i in range(n) for j in range(i) if truth[i] != truth[j]]
        keep = rng.random(len(edges)) < 0.8
        known = hints.CannotLink(np.array(edges)[keep])
        program = known.compile(n, ClassCodes([0, 1, 2]))
        cost = rng.normal(size=(n, 3))
        oracle = TRWSOracle(program)
        result = oracle.solve(cost)
        check_result(program, cost, result)
        best = SmallProgramOracle(program).solve(cost).value
        assert result.bound <= best + TOL <= result.value + 2 * TOL
        found += 1
        missed += oracle._known is not None
    assert found == 15
    clique = hints.CannotLink([(i, j) for i in range(4) for j in range(i)])
    with pytest.raises(InfeasibleHints, match=r"\.$"):
        TRWSOracle(clique.compile(4, ClassCodes([0, 1, 2]))).solve(np.zeros((4, 3)))


def test_refusals():
    program = (hints.Count([[0, 1]], {0: 1}) + hints.Potts([[0, 1]])).compile(2, ClassCodes([0, 1]))
    assert TRWSOracle.accepts(program).reason == "counts couple rows"
    with pytest.raises(ValueError, match="TRWSOracle cannot solve this program: counts"):
        TRWSOracle(program)
    with pytest.raises(ValueError, match=r"shape \(2, 2\); expected \(4, 2\)"):
        TRWSOracle(potts_grid(2, 2, 1.0)).solve(np.zeros((2, 2)))
    large = potts_grid(40, 3, 1.0)
    reason = SmallProgramOracle.accepts(large).reason
    assert reason == "32,880 columns are more than the 2,000 that are quick"
