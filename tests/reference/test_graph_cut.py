"""The graph-cut oracle against all labelings and HiGHS."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.oracles import check_against_exhaustive, check_result
from checks.pair_programs import program_of, random_edges, submodular_tables
from tacit import hints, oracles
from tacit.hints._classes import ClassCodes
from tacit.hints._program import LabelProgram, Pairs
from tacit.oracles import GraphCutOracle, MixedIntegerOracle, select_oracle

some = settings(max_examples=80, deadline=None, derandomize=True)


@some
@given(seed=st.integers(0, 10_000), forbidden=st.sampled_from([0.0, 0.1, 0.3]))
def test_agrees_with_all_labelings(seed, forbidden):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    edges = random_edges(rng, n, int(rng.integers(1, 2 * n)))
    program = program_of(rng, n, 2, edges, submodular_tables(rng, len(edges)), forbidden)
    cost = rng.integers(-3, 4, (n, 2)) / 2.0 if seed % 2 else rng.normal(size=(n, 2))
    result = check_against_exhaustive(GraphCutOracle, program, cost)
    assert result is None or result.exact


def test_rows_of_more_classes_with_two_labels_each():
    """Each row allows two of four classes, its own two."""
    rng, solved = np.random.default_rng(0), 0
    absolute = np.abs(np.subtract.outer(np.arange(4), np.arange(4))).astype(float)
    for _ in range(30):
        n = 5
        edges = random_edges(rng, n, 8)
        program = program_of(rng, n, 4, edges, np.tile(absolute, (len(edges), 1, 1)), 0.0)
        mask = np.zeros((n, 4), bool)
        for row in mask:
            row[rng.choice(4, 2, replace=False)] = True
        program = LabelProgram(n, 4, allowed=mask, pairs=program.pairs)
        # A convex function of the difference is submodular in the order of the classes.
        assert GraphCutOracle.accepts(program)
        solved += check_against_exhaustive(GraphCutOracle, program, rng.normal(size=(n, 4))).exact
    assert solved == 30


def test_by_hand():
    """Three rows in a chain; the middle one prefers 1 by less than its two neighbours cost."""
    cost = np.array([[0.0, 5.0], [1.0, 0.0], [0.0, 5.0]])
    known = hints.Potts([[0, 1], [1, 2]], 0.6) + hints.Potts([[0, 2]], 0.1)
    result = oracles.solve(cost, known, oracle="graph_cut")
    assert result.labels.tolist() == [0, 0, 0]
    assert result.value == 1.0
    assert result.exact
    weaker = hints.Potts([[0, 1], [1, 2]], 0.4) + hints.Potts([[0, 2]], 0.1)
    result = oracles.solve(cost, weaker, oracle="graph_cut")
    assert result.labels.tolist() == [0, 1, 0]
    assert result.value == pytest.approx(0.8)


def grid_potts(h, w, weight, rng):
    ids = np.arange(h * w).reshape(h, w)
    edges = np.concatenate(
        [
            np.stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()], 1),
            np.stack([ids[:-1].ravel(), ids[1:].ravel()], 1),
        ]
    )
    return hints.Potts(edges, weight * rng.random(len(edges)))


def test_larger_grids_agree_with_highs_and_warm_starts_change_nothing():
    rng = np.random.default_rng(1)
    known = grid_potts(9, 11, 1.5, rng) + hints.MustLink([[0, 50], [3, 4]]) + hints.Labels([7], 1)
    program = known.compile(99, ClassCodes([0, 1]))
    assert select_oracle(program).oracle is GraphCutOracle
    warm, cost = GraphCutOracle(program), rng.normal(size=(99, 2))
    for _ in range(6):
        result, cold = warm.solve(cost), GraphCutOracle(program).solve(cost)
        best = MixedIntegerOracle(program).solve(cost)
        check_result(program, cost, result)
        assert result.exact
        assert result.value == pytest.approx(best.value, rel=1e-7)
        assert result.value == pytest.approx(cold.value, rel=1e-12)
        cost = cost + 0.3 * rng.normal(size=cost.shape)


def test_row_order_changes_nothing():
    """A grid whose rows are shuffled is no grid to the kernel, and has the same optimum."""
    rng = np.random.default_rng(2)
    program = grid_potts(20, 20, 1.0, rng).compile(400, ClassCodes([0, 1]))
    cost, order = rng.normal(size=(400, 2)), rng.permutation(400)
    one = GraphCutOracle(program).solve(cost)
    two = GraphCutOracle(program.take(order)).solve(cost[order])
    np.testing.assert_array_equal(one.labels[order], two.labels)
    assert one.value == pytest.approx(two.value, rel=1e-12)


def test_bound_holds_for_costs_of_very_different_size():
    rng = np.random.default_rng(3)
    for seed in range(20):
        edges = random_edges(rng, 8, 14)
        tables = 10.0 ** rng.uniform(-8, 8, (len(edges), 1, 1)) * (1.0 - np.eye(2))
        program = LabelProgram(
            8, 2, pairs=Pairs(edges, np.ones(len(edges)), np.arange(len(edges)), tables)
        )
        cost = 10.0 ** rng.uniform(-8, 8, (8, 2)) * rng.choice([-1, 1], (8, 2))
        result = GraphCutOracle(program).solve(cost)
        labels = (np.arange(256)[:, None] >> np.arange(8)) & 1
        values = [cost[np.arange(8), y].sum() + program.value(y) for y in labels]
        assert result.bound <= min(values), seed
        assert result.value == pytest.approx(min(values), rel=1e-12)


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (hints.CannotLink([[0, 1], [1, 2]], cost=1.0), r"pairs \(0, 1\), \(1, 2\) are not submod"),
        (hints.Potts([[0, 1]], -1.0), r"pairs \(0, 1\) are not submodular"),
        (hints.Potts([[0, 1]]) + hints.Count([[0, 1]], {0: 1}), "counts couple rows"),
    ],
)
def test_refuses_with_a_reason(known, reason):
    program = known.compile(3, ClassCodes([0, 1]))
    verdict = GraphCutOracle.accepts(program)
    assert not verdict
    with pytest.raises(ValueError, match=reason):
        GraphCutOracle(program)


def test_refuses_three_labels_by_row():
    known = hints.Potts([[0, 1]]) + hints.Not([0], 2)
    verdict = GraphCutOracle.accepts(known.compile(2, ClassCodes([0, 1, 2])))
    assert verdict.reason == "row 1 has more than two allowed labels"


def test_unlike_links_of_settled_rows_are_no_obstacle():
    """What is not submodular between rows whose labels are known is a cost of one row."""
    known = (
        hints.CannotLink([[0, 1]]) + hints.Labels([0], 1) + hints.Potts([[1, 2], [2, 3], [3, 1]])
    )
    program = known.compile(4, ClassCodes([0, 1]))
    assert select_oracle(program).oracle is GraphCutOracle
    result = check_against_exhaustive(GraphCutOracle, program, np.zeros((4, 2)))
    assert result.labels.tolist() == [1, 0, 0, 0]


def test_costs_that_are_no_numbers_are_refused():
    """Hints refuse them too; a program may be made without."""
    pairs = Pairs(np.array([[0, 1]]), np.ones(1), np.zeros(1, np.intp), np.full((1, 2, 2), np.nan))
    with pytest.raises(ValueError, match="edge 0 has capacity nan"):
        GraphCutOracle(LabelProgram(2, 2, pairs=pairs))
    with pytest.raises(ValueError, match=r"table entries must be numbers or \+inf, got"):
        hints.Pairwise([[0, 1]], np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="joins row 1 with itself"):
        hints.Potts([[1, 1]])


def test_costs_of_another_shape_are_refused():
    program = hints.Potts([[0, 1]]).compile(2, ClassCodes([0, 1]))
    with pytest.raises(ValueError, match=r"cost has shape \(3, 2\); expected \(2, 2\)"):
        GraphCutOracle(program).solve(np.zeros((3, 2)))
