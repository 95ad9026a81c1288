"""The count-bounded assignment against HiGHS, and its prices against complementary slackness."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from scipy.optimize import linprog

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import Counts, LabelProgram, Pairs
from tacit.oracles._assignment_kernel import best_price, certify, label_rows, sweep, tally_up
from tacit.oracles.assignment import AssignmentOracle


def make_counts(groups, lower, upper):
    indptr = np.cumsum([0] + [len(g) for g in groups])
    members = np.concatenate([np.sort(g) for g in groups]).astype(np.intp)
    return Counts(indptr.astype(np.intp), members, np.array(lower), np.array(upper))


def one_group(n, n_classes, lower, upper, **kw):
    counts = make_counts(
        [np.arange(n)], [np.broadcast_to(lower, n_classes)], [np.broadcast_to(upper, n_classes)]
    )
    return LabelProgram(n, n_classes, counts=counts, **kw)


def highs(program, cost):
    """Optimal value by linear programming (the matrix is totally unimodular); None: infeasible."""
    n, n_classes = program.n, program.n_classes
    total = program.full_cost(cost)
    rows = sp.kron(sp.eye_array(n), np.ones((1, n_classes)))
    select = sp.csr_array((len(program.counts), n)).tolil()
    for g in range(len(program.counts)):
        select[g, program.counts.rows(g)] = 1.0
    tally = sp.kron(select.tocsr(), sp.eye_array(n_classes))
    lower, upper = program.counts.lower.ravel(), program.counts.upper.ravel()
    answer = linprog(
        np.where(np.isfinite(total), total, 0.0).ravel(),
        A_eq=rows,
        b_eq=np.ones(n),
        A_ub=sp.vstack([tally, -tally]),
        b_ub=np.concatenate([upper, -lower]),
        bounds=np.stack([np.zeros(n * n_classes), np.isfinite(total).ravel()], axis=1),
        method="highs",
    )
    assert answer.status in (0, 2)
    return answer.fun if answer.status == 0 else None


def random_groups(rng, n, depth):
    """Disjoint groups of some rows, and inside each of them again, down to `depth` levels."""
    groups, pieces = [], [rng.permutation(n)]
    for _ in range(depth):
        next_pieces = []
        for piece in pieces:
            k = int(rng.integers(1, 4))
            for part in np.array_split(rng.permutation(piece), k + 1)[: k + int(rng.integers(2))]:
                groups.append(part)
                next_pieces.append(part)
        pieces = next_pieces
    return [groups[k] for k in rng.permutation(len(groups))]


def random_program(rng, n, n_classes, depth, *, tight, forbid):
    """Bounds around a hidden labeling, so that it is feasible."""
    hidden = rng.choice(n_classes, n, p=rng.dirichlet(np.ones(n_classes)))
    allowed = rng.random((n, n_classes)) >= forbid
    allowed[np.arange(n), hidden] = True
    groups = random_groups(rng, n, depth)
    truth = np.array([np.bincount(hidden[g], minlength=n_classes) for g in groups])
    size = np.array([len(g) for g in groups])[:, None]
    slack_low, slack_high = rng.integers(0, tight + 1, (2, *truth.shape))
    lower, upper = truth - slack_low, truth + slack_high
    free = rng.random(truth.shape) < 0.2
    lower, upper = np.where(free, 0, lower), np.where(free, size, upper)
    counts = make_counts(groups, np.clip(lower, 0, size), np.clip(upper, 0, size))
    unary = np.where(allowed, rng.normal(size=(n, n_classes)), 0.0)
    return LabelProgram(n, n_classes, allowed=allowed, unary=unary, counts=counts)


def check(program, cost, result, prices):
    """The answer proves itself: feasible, recomputed, bounded from below by its prices."""
    rows = np.arange(program.n)
    assert program.violation(result.labels) == 0
    recomputed = cost[rows, result.labels].sum() + program.value(result.labels)
    assert result.value == pytest.approx(recomputed, rel=1e-12, abs=1e-10)
    assert result.bound <= result.value
    assert result.exact
    assert result.value - result.bound <= 1e-9 * (1 + abs(result.value))
    # Weak duality from the public prices alone.
    total, counts = program.full_cost(cost), program.counts
    for g in range(len(counts)):
        total[counts.rows(g)] += prices[g]
    paid = np.maximum(prices * counts.lower, prices * counts.upper).sum()
    scale = 1 + np.abs(cost).sum() + np.abs(prices * counts.upper).sum()
    assert abs(total.min(axis=1).sum() - paid - result.value) <= 1e-12 * scale
    # Complementary slackness.
    tally = counts.tally(result.labels)
    eps = 1e-12 * (1 + np.abs(cost).max())
    assert np.all(prices[tally < counts.upper] <= eps)
    assert np.all(prices[tally > counts.lower] >= -eps)
    assert np.all(total[rows, result.labels] <= total.min(axis=1) + 10 * eps)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_random_nested_instances_match_highs(seed, depth):
    rng = np.random.default_rng([seed, depth])
    n, n_classes = int(rng.integers(3, 60)), int(rng.integers(1, 6))
    program = random_program(
        rng, n, n_classes, depth, tight=int(rng.integers(0, 4)), forbid=rng.choice([0.0, 0.3, 0.6])
    )
    cost = rng.normal(size=(n, n_classes)) * 10.0 ** rng.integers(-2, 3)
    if seed % 3 == 0:
        cost = np.round(cost)  # ties
    oracle = AssignmentOracle(program)
    result = oracle.solve(cost)
    check(program, cost, result, oracle.prices)
    assert result.value == pytest.approx(highs(program, cost), rel=1e-8, abs=1e-8)


def shifted_program(seed):
    """A program whose lower bounds may ask for too much."""
    rng = np.random.default_rng([7, seed])
    n, n_classes = int(rng.integers(3, 25)), int(rng.integers(2, 5))
    program = random_program(rng, n, n_classes, 2, tight=1, forbid=0.5)
    counts = program.counts
    lower = np.minimum(counts.lower + rng.integers(0, 2, counts.lower.shape), counts.upper)
    counts = Counts(counts.indptr, counts.members, lower, counts.upper)
    cost = rng.normal(size=(n, n_classes))
    return LabelProgram(n, n_classes, allowed=program.allowed, counts=counts), cost


@pytest.mark.parametrize("seed", range(40))
def test_infeasible_exactly_when_highs_says_so(seed):
    program, cost = shifted_program(seed)
    best = highs(program, cost)
    oracle = AssignmentOracle(program)
    if best is None:
        with pytest.raises(InfeasibleHints, match="cannot all hold"):
            oracle.solve(cost)
    else:
        assert oracle.solve(cost).value == pytest.approx(best, rel=1e-8, abs=1e-8)


def test_both_outcomes_occur_above():
    outcomes = [highs(*shifted_program(seed)) is None for seed in range(40)]
    assert 5 <= sum(outcomes) <= 35


@pytest.mark.parametrize("seed", range(6))
def test_skewed_instance_large_enough_for_price_sweeps(seed):
    """All rows want one class at first, so that the sweeps run; checked against HiGHS."""
    rng = np.random.default_rng([3, seed])
    n, n_classes = 1500, [2, 3, 7][seed % 3]
    groups = [np.arange(n), np.arange(0, n // 2), np.arange(n // 2, n - 100)]
    share = n / n_classes
    lower = np.stack([np.full(n_classes, int(k * share)) for k in (0.9, 0.4, 0.2)])
    upper = np.stack([np.full(n_classes, int(k * share) + 1) for k in (1.1, 0.6, 0.9)])
    program = LabelProgram(n, n_classes, counts=make_counts(groups, lower, upper))
    cost = rng.normal(size=(n, n_classes)) + np.linspace(0, 5, n_classes)
    oracle = AssignmentOracle(program)
    result = oracle.solve(cost)
    check(program, cost, result, oracle.prices)
    assert result.value == pytest.approx(highs(program, cost), rel=1e-9)


@njit
def run_sweep(cost, forest, price, labels, tally):
    sweep(cost, forest, price, labels, tally, 0)


@njit
def run_best_price(margin, lower, upper):
    return best_price(margin, lower, upper)


@pytest.mark.parametrize(
    ("lower", "upper", "price"),
    [
        (0, 1, 2.0),  # -3 stays, -1 goes: between 1 and 3
        (3, 4, -3.5),  # 2 comes, 5 does not: between -5 and -2
        (0, 0, 3.0),  # -3 goes as well
        (4, 4, -5.0),  # 5 comes as well
        (2, 2, 0.0),
        (0, 4, 0.0),
    ],
)
def test_best_price_by_hand(lower, upper, price):
    for seed in range(5):
        margin = np.random.default_rng(seed).permutation([-3.0, -1.0, 2.0, 5.0])
        assert run_best_price(margin, lower, upper) == price


def test_best_price_when_no_price_will_do():
    forced = np.array([-np.inf, np.inf, -np.inf, 2.0])  # two rows must, one must not
    assert np.isnan(run_best_price(forced.copy(), 0, 1))
    assert np.isnan(run_best_price(forced.copy(), 4, 4))
    assert run_best_price(forced.copy(), 3, 3) == -2.0


@pytest.mark.parametrize("n_groups", [1, 3])
def test_price_sweeps_do_most_of_the_work(n_groups):
    """Sweeps only prepare, so a wrong one would merely be slow: watch the dual bound and counts."""
    rng = np.random.default_rng(5)
    n, n_classes = 3000, 5
    groups = [np.arange(n), np.arange(1000), np.arange(1500, 2500)][:n_groups]
    lower = np.full((n_groups, n_classes), [[580], [150], [150]][:n_groups])
    upper = np.full((n_groups, n_classes), [[620], [250], [250]][:n_groups])
    program = LabelProgram(n, n_classes, counts=make_counts(groups, lower, upper))
    oracle = AssignmentOracle(program)
    forest, price, cost = oracle._forest, oracle._price, rng.normal(size=(n, n_classes))
    cost += np.linspace(0, 4, n_classes)
    labels, tally = np.empty(n, np.int32), np.empty(len(price), np.int64)

    def violations():
        count = program.counts.tally(labels)
        return np.maximum(lower - count, 0).sum() + np.maximum(count - upper, 0).sum()

    label_rows(cost, forest.home, price, labels, tally)
    tally_up(forest.parent, n_classes, tally)
    value, gap, _ = certify(cost, forest, price, labels, tally)
    before, bound = violations(), value - gap
    run_sweep(cost, forest, price, labels, tally)
    value, gap, _ = certify(cost, forest, price, labels, tally)
    assert violations() <= 0.1 * before
    assert value - gap > bound
    assert value - gap <= oracle.solve(cost).value
    # What the sweep left behind fits together.
    again, counted = labels.copy(), tally.copy()
    label_rows(cost, forest.home, price, again, counted)
    tally_up(forest.parent, n_classes, counted)
    np.testing.assert_array_equal(labels, again)
    np.testing.assert_array_equal(tally[:-n_classes], counted[:-n_classes])


@pytest.mark.parametrize("nested", [False, True])
def test_warm_sequence_equals_cold(nested):
    rng = np.random.default_rng(11)
    n, n_classes = 600, 6
    groups = [np.arange(n)]
    lower, upper = [np.full(n_classes, 90)], [np.full(n_classes, 110)]
    if nested:
        groups += [np.arange(k, k + 60) for k in range(0, 540, 60)]
        lower += [np.full(n_classes, 7)] * 9
        upper += [np.full(n_classes, 14)] * 9
    program = LabelProgram(n, n_classes, counts=make_counts(groups, lower, upper))
    warm = AssignmentOracle(program)
    cost = rng.normal(size=(n, n_classes)) + np.linspace(0, 2, n_classes)
    for step in range(20):
        # Small drifts, and now and then costs that have nothing to do with the last ones.
        jump = step % 7 == 6
        cost = (
            rng.normal(size=cost.shape) * 50 if jump else cost + 0.05 * rng.normal(size=cost.shape)
        )
        result, cold = warm.solve(cost), AssignmentOracle(program).solve(cost)
        check(program, cost, result, warm.prices)
        assert result.value == pytest.approx(cold.value, rel=1e-12)
        np.testing.assert_array_equal(result.labels, cold.labels)


def test_prices_are_what_one_more_row_saves():
    """Values by hand: rows cost 0 in class 0 and 1, 2, 3, 4 in class 1; at most two in class 0."""
    cost = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0]])
    oracle = AssignmentOracle(one_group(4, 2, 0, [2, 4]))
    result = oracle.solve(cost)
    assert result.value == 3.0
    np.testing.assert_array_equal(result.labels, [1, 1, 0, 0])
    assert 2.0 <= oracle.prices[0, 0] <= 3.0  # the second row's 2 saved, the third row's 3 lost
    assert oracle.prices[0, 1] == 0.0
    oracle = AssignmentOracle(one_group(4, 2, [0, 2], 4))
    assert oracle.solve(cost).value == 3.0
    assert -3.0 <= oracle.prices[0, 1] <= -2.0


def test_without_groups_it_is_argmin_and_forbidden_everywhere_is_infeasible():
    cost = np.array([[1.0, 0.0], [0.0, 1.0]])
    result = AssignmentOracle(LabelProgram(2, 2)).solve(cost)
    np.testing.assert_array_equal(result.labels, [1, 0])
    allowed = np.array([[True, True], [False, False]])
    with pytest.raises(InfeasibleHints, match="no allowed label"):
        AssignmentOracle(LabelProgram(2, 2, allowed=allowed)).solve(cost)


def test_single_class_empty_group_and_rows_outside_all_groups():
    rng = np.random.default_rng(0)
    one = AssignmentOracle(one_group(3, 1, 3, 3))
    assert one.solve(np.ones((3, 1))).value == 3.0
    groups = [np.array([], int), np.array([1, 3])]
    counts = make_counts(groups, [[0, 0, 0], [0, 0, 2]], [[0, 0, 0], [0, 2, 2]])
    program = LabelProgram(5, 3, counts=counts)
    cost = rng.normal(size=(5, 3))
    oracle = AssignmentOracle(program)
    result = oracle.solve(cost)
    check(program, cost, result, oracle.prices)
    np.testing.assert_array_equal(result.labels[[1, 3]], [2, 2])
    np.testing.assert_array_equal(result.labels[[0, 2, 4]], cost.argmin(axis=1)[[0, 2, 4]])


@pytest.mark.parametrize("size", [1e9, 1e17, 1e40])
def test_prices_of_far_larger_costs_do_no_harm(size):
    """Such prices swallow the digits of the next costs; the gap shows it, a second try helps."""
    rng = np.random.default_rng(1)
    program = one_group(40, 4, 8, 12)
    oracle, cost = AssignmentOracle(program), rng.normal(size=(40, 4))
    first = oracle.solve(cost)
    oracle.solve(size * rng.normal(size=(40, 4)))
    again = oracle.solve(cost)
    check(program, cost, again, oracle.prices)
    assert again.value == pytest.approx(first.value, rel=1e-12)


def test_costs_are_not_changed_and_float32_or_fortran_order_is_welcome():
    rng = np.random.default_rng(2)
    cost = rng.normal(size=(50, 3)).astype(np.float32)
    oracle = AssignmentOracle(one_group(50, 3, 10, 20))
    kept = cost.copy()
    value = oracle.solve(cost).value
    np.testing.assert_array_equal(cost, kept)
    assert oracle.solve(np.asfortranarray(cost)).value == pytest.approx(value, rel=1e-12)
    with pytest.raises(ValueError, match=r"shape \(50, 2\); expected \(50, 3\)"):
        oracle.solve(cost[:, :2])


def test_refusals_say_why():
    pairs = Pairs(np.array([[0, 1]]), np.ones(1), np.zeros(1, np.intp), np.zeros((1, 2, 2)))
    assert "pairs" in AssignmentOracle.accepts(LabelProgram(3, 2, pairs=pairs)).reason
    linear = LabelProgram(
        3,
        2,
        linear=sp.csr_array(np.ones((1, 6))),
        linear_lower=np.zeros(1),
        linear_upper=np.ones(1),
    )
    assert "linear" in AssignmentOracle.accepts(linear).reason
    crossing = make_counts([np.array([0, 1]), np.array([1, 2])], [[0, 0]] * 2, [[2, 2]] * 2)
    verdict = AssignmentOracle.accepts(LabelProgram(3, 2, counts=crossing))
    assert not verdict
    assert "overlap" in verdict.reason
    with pytest.raises(ValueError, match="overlap"):
        AssignmentOracle(LabelProgram(3, 2, counts=crossing))
