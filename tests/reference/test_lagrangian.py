"""Pairs together with counts: feasible always, bounds valid, against all labelings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.oracles import check_against_exhaustive, check_result
from checks.pair_programs import random_edges
from tacit import hints, oracles
from tacit.exceptions import InfeasibleHints
from tacit.hints._classes import ClassCodes
from tacit.hints._program import Counts, LabelProgram, Pairs
from tacit.oracles import LagrangianOracle, MixedIntegerOracle, select_oracle
from tacit.oracles._dual import Bounds, Piece, search_many, search_one

TOL = 1e-9
some = settings(max_examples=40, deadline=None, derandomize=True)


def random_program(rng, n, n_classes, kind, n_groups, truthful=True):
    """Pairs of one kind; bounds near the counts of some labeling, or of none."""
    edges = random_edges(rng, n, int(rng.integers(1, 2 * n)))
    same = np.eye(n_classes)
    dense = rng.normal(size=same.shape)
    tables = {
        "potts": [1.0 - same],
        "repulsive": [1.0 - same, same],
        "dense": [1.0 - same, dense],
        "hard": [1.0 - same, np.where(same > 0, 0.0, np.inf), np.where(same > 0, np.inf, 0.0)],
    }[kind]
    m = len(edges)
    pairs = Pairs(
        edges, rng.uniform(0.1, 2.0, m), rng.integers(len(tables), size=m), np.array(tables)
    )
    groups = [
        np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False)) for _ in range(n_groups)
    ]
    truth = rng.integers(0, n_classes, n)
    count = np.array([np.bincount(truth[g], minlength=n_classes) for g in groups])
    if not truthful:
        count = rng.permuted(count, axis=1)
    sizes = np.array([len(g) for g in groups])
    lower = np.maximum(count - rng.integers(0, 2, count.shape), 0)
    upper = np.minimum(count + rng.integers(0, 2, count.shape), sizes[:, None])
    indptr, members = np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(groups)
    counts = Counts(indptr, members, lower, upper)
    allowed = None if rng.random() < 0.5 else rng.random((n, n_classes)) > 0.1
    return LabelProgram(n, n_classes, allowed=allowed, pairs=pairs, counts=counts)


@pytest.mark.parametrize("kind", ["potts", "repulsive", "dense", "hard"])
@some
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 3), n_groups=st.integers(1, 3))
def test_random_programs_against_all_labelings(kind, seed, n_classes, n_groups):
    """Feasible or infeasible like the enumeration; the bound below the optimum."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9 if n_classes == 2 else 7))
    program = random_program(rng, n, n_classes, kind, n_groups, truthful=seed % 3 > 0)
    check_against_exhaustive(LagrangianOracle, program, rng.normal(size=(n, n_classes)))


def grid_with_share(side, weight, low, high):
    at = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [
            np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1),
            np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1),
        ]
    )
    known = hints.Potts(edges, weight) + hints.Share([0.0, low], [1.0, high])
    return known.compile(side * side, ClassCodes([0, 1]))


def test_one_price_closes_the_gap_of_a_grid():
    """Two classes, one group: what is left is the duality gap, here a small one."""
    program = grid_with_share(30, 0.3, 0.6, 0.65)
    assert select_oracle(program).oracle is LagrangianOracle
    oracle = LagrangianOracle(program)
    cost = np.random.default_rng(0).normal(size=(900, 2))
    for _ in range(3):
        result = oracle.solve(cost)
        check_result(program, cost, result)
        assert (result.value - result.bound) / abs(result.value) < 2e-3
        # More of class 1 is asked for than would have it: its price is negative.
        assert oracle.prices[0, 0] == 0.0
        assert oracle.prices[0, 1] < 0.0
        cost = cost + 0.02 * np.random.default_rng(1).normal(size=cost.shape)


def test_bounds_that_do_not_bind_cost_nothing():
    program = grid_with_share(20, 0.3, 0.1, 0.9)
    oracle = LagrangianOracle(program)
    cost = np.random.default_rng(0).normal(size=(400, 2))
    result = oracle.solve(cost)
    check_result(program, cost, result)
    assert result.exact
    assert not oracle.prices.any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_against_branch_and_bound(n_classes):
    """Three groups of a ring of 24 rows: between the bound and a few percent of the optimum."""
    rng = np.random.default_rng(n_classes)
    n = 24
    ring = np.stack([np.arange(n), np.roll(np.arange(n), -1)], axis=1)
    groups = np.array_split(rng.permutation(n), 3)
    known = hints.Potts(ring, 0.4) + hints.Count(groups, 8 // n_classes, 8 // n_classes + 1)
    program = known.compile(n, ClassCodes(list(range(n_classes))))
    oracle = LagrangianOracle(program)
    for _ in range(3):
        cost = rng.normal(size=(n, n_classes))
        best = MixedIntegerOracle(program).solve(cost).value
        result = oracle.solve(cost)
        check_result(program, cost, result)
        assert result.bound <= best + 1e-6 <= result.value + 2e-6
        assert result.value - best <= 0.1 * abs(best)
        assert best - result.bound <= 0.1 * abs(best)


def test_linked_rows_count_as_many():
    """Rows 0 to 2 are one; two of five may have class 1, so it is the other two."""
    known = hints.MustLink([[0, 1], [1, 2]]) + hints.Potts([[2, 3], [3, 4], [4, 0]], 0.1)
    known += hints.Count([range(5)], {1: 2}, {1: 2})
    result = oracles.solve(np.tile([1.0, 0.0], (5, 1)), known, oracle="lagrangian")
    assert result.labels.tolist() == [0, 0, 0, 1, 1]
    assert result.value == pytest.approx(3.2)
    impossible = known + hints.Count([[3, 4]], {1: 1}, {1: 1})
    with pytest.raises(InfeasibleHints):
        LagrangianOracle(impossible.compile(5, ClassCodes([0, 1]))).solve(np.zeros((5, 2)))


def test_values_by_hand():
    """A ring of four, Potts 1; two of each class: side by side pays 2, opposite 4."""
    known = hints.Potts([[0, 1], [1, 2], [2, 3], [3, 0]], 1.0) + hints.Count([range(4)], 2, 2)
    cost = np.array([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3], [0.0, 0.3]])
    result = oracles.solve(cost, known, oracle="lagrangian")
    assert result.labels.tolist() == [1, 1, 0, 0]
    assert result.value == pytest.approx(2.3)
    # All alike at any price: the bound is that of no cut at all, with half of the costs.
    assert result.bound <= 0.45 + TOL
    assert not result.exact


# The dual alone ------------------------------------------------------------------------------


def pieces_of(slopes, heights):
    """Minimum of lines, as an oracle would find it."""

    def evaluate(price):
        k = int(np.argmin(heights + slopes @ price))
        bound = heights[k] + slopes[k] @ price - np.maximum(price * low, price * high).sum()
        return Piece(price, np.array([k], np.int32), float(heights[k]), slopes[k], float(bound))

    low, high = np.full(slopes.shape[1], 2.0), np.full(slopes.shape[1], 3.0)
    return evaluate, Bounds(low, high, 1e6)


@pytest.mark.parametrize("seed", range(20))
def test_one_price_is_found_exactly(seed):
    rng = np.random.default_rng(seed)
    slopes = rng.permutation(8)[:, None].astype(float)
    evaluate, bounds = pieces_of(slopes, 3.0 * rng.normal(size=8))
    start = float(rng.normal())
    pieces = search_one(evaluate, lambda _: False, bounds, start, 0.3, 60)
    best = max(piece.bound for piece in pieces)
    dense = [evaluate(np.array([p])).bound for p in np.linspace(-20, 20, 8001)]
    assert best >= max(dense) - 1e-9
    assert len(pieces) < 30


@pytest.mark.parametrize("seed", range(8))
def test_several_prices(seed):
    """Within the stopping rule's part of what a linear program over all lines gives."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    slopes, heights = rng.integers(0, 7, (60, 3)).astype(float), 3.0 * rng.normal(size=60)
    evaluate, bounds = pieces_of(slopes, heights)
    # Dual: weights of the lines whose mean slope is within the bounds.
    A = np.vstack([slopes.T, -slopes.T])
    b = np.concatenate([bounds.upper, -bounds.lower])
    best = linprog(heights, A_ub=A, b_ub=b, A_eq=np.ones((1, 60)), b_eq=[1.0]).fun
    pieces, _ = search_many(evaluate, lambda _: False, bounds, np.zeros(3), 0.5, [], 200)
    found = max(piece.bound for piece in pieces)
    assert found <= best + 1e-9
    assert found >= best - 0.05 * (best - pieces[0].bound) - 1e-9
