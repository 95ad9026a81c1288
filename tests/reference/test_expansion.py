"""Expansion and swaps: no move that is tried by hand gains, and what theory promises holds."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.oracles import check_against_exhaustive
from checks.pair_programs import program_of, random_edges
from tacit import hints, oracles
from tacit.exceptions import InfeasibleHints
from tacit.hints._classes import ClassCodes
from tacit.hints._program import LabelProgram, Pairs
from tacit.hints._structures import Cliques
from tacit.oracles import ExpansionOracle, SwapOracle, select_oracle

# Sums of some dozen terms, in another order.
TOL = 1e-9
some = settings(max_examples=50, deadline=None, derandomize=True)


def metric_tables(rng, m, n_classes):
    """Distances of random points, cut off; one table per edge."""
    points = rng.random((m, n_classes, 2))
    apart = np.abs(points[:, :, None] - points[:, None]).sum(axis=-1)
    return np.minimum(apart, rng.uniform(0.3, 2.0, (m, 1, 1))) * rng.uniform(0.2, 2.0, (m, 1, 1))


def semimetric_tables(rng, m, n_classes):
    """Symmetric, 0 on the diagonal, no triangle inequality."""
    t = rng.exponential(size=(m, n_classes, n_classes))
    return (t + t.swapaxes(1, 2)) * (1.0 - np.eye(n_classes))


def random_cliques(rng, n, late=False):
    """Cliques that overlap; cut off by half of their rows at the latest unless `late`."""
    rows = [np.sort(rng.choice(n, rng.integers(2, n + 1), replace=False)) for _ in range(3)]
    sizes = np.array([len(r) for r in rows])
    most = sizes if late else np.maximum(sizes / 2, 1)
    truncate = rng.uniform(1.0, most)
    members, indptr = np.concatenate(rows), np.concatenate([[0], np.cumsum(sizes)])
    weight = 2 * rng.exponential(size=3)
    return Cliques(indptr, members, np.ones(len(members), np.int64), weight, truncate)


def value(program, cost, labels):
    return cost[np.arange(len(cost)), labels].sum() + program.value(labels)


def check_no_expansion_gains(program, cost, labels):
    """All 2^n changes to one label, for each label."""
    reached = value(program, cost, labels)
    for alpha in range(program.n_classes):
        for change in itertools.product((False, True), repeat=len(labels)):
            trial = np.where(change, alpha, labels)
            assert value(program, cost, trial) >= reached - TOL, f"an expansion of {alpha} gains"


def check_no_swap_gains(program, cost, labels):
    reached = value(program, cost, labels)
    for a, b in itertools.combinations(range(program.n_classes), 2):
        asked = np.flatnonzero((labels == a) | (labels == b))
        for new in itertools.product((a, b), repeat=len(asked)):
            trial = labels.copy()
            trial[asked] = new
            assert value(program, cost, trial) >= reached - TOL, f"a swap of {a} and {b} gains"


@some
@given(seed=st.integers(0, 10_000), cliques=st.booleans(), forbidden=st.sampled_from([0.0, 0.2]))
def test_no_expansion_move_gains(seed, cliques, forbidden):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(2, 7)), int(rng.integers(2, 5))
    edges = random_edges(rng, n, int(rng.integers(1, 2 * n)))
    tables = metric_tables(rng, len(edges), n_classes)
    program = program_of(rng, n, n_classes, edges, tables, forbidden)
    if cliques:
        program = replace(program, cliques=random_cliques(rng, n))
    cost = rng.normal(size=(n, n_classes))
    oracle = ExpansionOracle(program, bound_iterations=int(rng.choice([0, 20])))
    for _ in range(2):
        check_no_expansion_gains(program, cost, oracle.solve(cost).labels)
        cost = cost + 0.3 * rng.normal(size=cost.shape)


@some
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["metric", "cliques", "late cliques"]))
def test_expansion_against_all_labelings(seed, kind):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(2, 8)), int(rng.integers(2, 4))
    edges = random_edges(rng, n, int(rng.integers(1, 2 * n)))
    program = program_of(rng, n, n_classes, edges, metric_tables(rng, len(edges), n_classes), 0.1)
    if kind != "metric":
        program = replace(program, cliques=random_cliques(rng, n, late=kind == "late cliques"))
    cost = (
        rng.integers(-3, 4, (n, n_classes)) / 2.0 if seed % 2 else rng.normal(size=(n, n_classes))
    )
    check_against_exhaustive(ExpansionOracle, program, cost)


def test_expansion_keeps_its_factor():
    """2 max T / min T of the optimum, for costs of 0 or more."""
    rng, worst = np.random.default_rng(0), 1.0
    for _ in range(25):
        edges = random_edges(rng, 7, 12)
        tables = rng.uniform(1.0, 2.0, (len(edges), 3, 3))  # between 1 and 2: always a metric
        tables = np.maximum(tables, tables.swapaxes(1, 2)) * (1.0 - np.eye(3))
        program = LabelProgram(
            7, 3, pairs=Pairs(edges, np.ones(len(edges)), np.arange(len(edges)), tables)
        )
        cost = rng.exponential(size=(7, 3)) * 2
        labels = np.array(list(itertools.product(range(3), repeat=7)))
        best = min(value(program, cost, y) for y in labels)
        result = ExpansionOracle(program, bound_iterations=0).solve(cost)
        assert best - TOL <= result.value <= 4.0 * best + TOL
        assert result.bound <= best + TOL
        worst = max(worst, result.value / best)
    assert worst > 1.0, "always optimal: nothing was tested"


@some
@given(seed=st.integers(0, 10_000))
def test_no_swap_gains_and_bounds_hold(seed):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(2, 7)), int(rng.integers(2, 4))
    edges = random_edges(rng, n, int(rng.integers(1, 2 * n)))
    tables = semimetric_tables(rng, len(edges), n_classes)
    program = program_of(rng, n, n_classes, edges, tables, 0.1)
    cost = rng.normal(size=(n, n_classes))
    check_against_exhaustive(SwapOracle, program, cost)
    check_no_swap_gains(program, cost, SwapOracle(program, bound_iterations=0).solve(cost).labels)


def test_a_clique_by_hand():
    """Five rows, one of which prefers another label by 1; the clique decides."""
    cost = np.zeros((5, 3))
    cost[:4, 1:] = 10.0
    cost[4] = [1.0, 0.0, 5.0]
    for weight, truncate, labels, best in (
        (2.0, None, [0, 0, 0, 0, 0], 1.0),  # P^n Potts: any other label costs 2
        (0.5, None, [0, 0, 0, 0, 1], 0.5),
        (2.0, 2, [0, 0, 0, 0, 0], 1.0),  # robust: one other row costs 2 / 2
        (1.6, 2, [0, 0, 0, 0, 1], 0.8),
    ):
        known = hints.Same([range(5)], weight, truncate)
        result = oracles.solve(cost, known, oracle="expansion")
        assert result.value == pytest.approx(best)
        if best != 1.0:
            assert result.labels.tolist() == labels


def test_linked_rows_count_as_often_as_they_are():
    """A must-link makes one node of two rows; the clique still counts both."""
    cost = np.zeros((4, 2))
    cost[:2, 0] = 0.3  # both would rather have 1
    cost[2:, 1] = 5.0
    known = hints.Same([range(4)], 1.0, 2.0) + hints.MustLink([[0, 1]])
    result = oracles.solve(cost, known, oracle="expansion")
    assert result.value == pytest.approx(0.6)
    assert result.labels.tolist() == [0, 0, 0, 0]


def grid(side, n_classes, rng):
    ids = np.arange(side * side).reshape(side, side)
    ends = [(ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in ends])
    return hints.Potts(edges, rng.random(len(edges))).compile(
        side * side, ClassCodes(range(n_classes))
    )


def test_a_grid_is_close_to_its_bound_and_repeats():
    rng = np.random.default_rng(0)
    program = grid(16, 5, rng)
    assert select_oracle(program).oracle is ExpansionOracle
    cost = rng.normal(size=(256, 5))
    one, two = ExpansionOracle(program).solve(cost), ExpansionOracle(program).solve(cost)
    np.testing.assert_array_equal(one.labels, two.labels)
    assert one.bound == two.bound
    assert one.value - one.bound <= 0.02 * abs(one.value)
    cheap = ExpansionOracle(program, bound_iterations=0).solve(cost)
    assert cheap.bound < one.bound <= one.value <= cheap.value


def test_row_order_changes_little():
    """Only ties could."""
    rng = np.random.default_rng(1)
    program, order = grid(12, 4, rng), rng.permutation(144)
    cost = rng.normal(size=(144, 4))
    one = ExpansionOracle(program, bound_iterations=0).solve(cost)
    two = ExpansionOracle(program.take(order), bound_iterations=0).solve(cost[order])
    np.testing.assert_array_equal(one.labels[order], two.labels)


def tables_of(table, n=3):
    edges = np.array([[0, 1], [1, 2]])
    pairs = Pairs(edges, np.ones(2), np.array([0, 1]), np.stack([1.0 - np.eye(3), table]))
    return LabelProgram(n, 3, pairs=pairs)


def test_what_is_not_metric_is_refused_by_name():
    squares = np.subtract.outer(np.arange(3.0), np.arange(3.0)) ** 2
    program = tables_of(squares)
    verdict = ExpansionOracle.accepts(program)
    assert not verdict
    assert "pair (1, 2) are not metric: T(1, 1) + T(0, 2) > T(0, 1) + T(1, 2)" in verdict.reason
    with pytest.raises(ValueError, match=r"ExpansionOracle cannot solve this program: the costs"):
        ExpansionOracle(program)
    assert SwapOracle.accepts(program)
    verdict = SwapOracle.accepts(tables_of(np.eye(3)))
    assert (
        "pair (1, 2) are not semi-metric: T(0, 0) + T(1, 1) > T(0, 1) + T(1, 0)" in verdict.reason
    )
    hard = np.where(np.eye(3) > 0, np.inf, 0.0)
    for oracle in (ExpansionOracle, SwapOracle):
        for wrong in (hard, np.full((3, 3), np.nan)):
            verdict = oracle.accepts(tables_of(wrong))
            assert verdict.reason == "pair (1, 2) has costs that are not finite"
    with pytest.raises(ValueError, match="not metric"):
        oracles.solve(np.zeros((3, 3)), hints.Pairwise([[0, 1]], squares), oracle="expansion")


def test_weights_below_zero_turn_a_table_round():
    program = hints.Potts([[0, 1], [1, 2]], [1.0, -1.0]).compile(3, ClassCodes([0, 1, 2]))
    assert "pair (1, 2) are not metric" in ExpansionOracle.accepts(program).reason


def test_options_and_rows_without_labels():
    program = hints.Potts([[0, 1]]).compile(2, ClassCodes([0, 1, 2]))
    with pytest.raises(ValueError, match="bound_iterations=-1 must be 0 or more"):
        ExpansionOracle(program, bound_iterations=-1)
    with pytest.raises(ValueError, match=r"cost has shape \(1, 3\)"):
        ExpansionOracle(program).solve(np.zeros((1, 3)))
    nothing = replace(program, allowed=np.array([[True] * 3, [False] * 3]))
    with pytest.raises(InfeasibleHints):
        ExpansionOracle(nothing, bound_iterations=0).solve(np.zeros((2, 3)))
