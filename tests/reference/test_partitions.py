"""Partitions of items: against every partition there is, planted ones, bounds that must hold."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.oracles import check_result
from tacit import hints, oracles
from tacit.exceptions import InfeasibleHints
from tacit.hints._classes import ClassCodes
from tacit.oracles import PartitionOracle
from tacit.oracles._partition_bound import packing_bound
from tacit.oracles._partition_contract import contract
from tacit.oracles._partition_exact import close
from tacit.oracles._partition_graph import Shape
from tacit.oracles._partition_moves import improve
from tacit.oracles._row_generation import Until

# Sums of some ten costs of order one; HiGHS answers to 1e-7 of the largest.
ROUNDING, SOLVED = 1e-9, 1e-6
APART_YES = ClassCodes(["apart", "joined"])
some = settings(max_examples=60, deadline=None, derandomize=True)


def grow(prefix, n):
    """Group numbers of n items, each new group the next number."""
    if len(prefix) == n:
        yield prefix
        return
    for group in range(max(prefix, default=-1) + 2):
        yield from grow([*prefix, group], n)


EVERY = {n: np.array(list(grow([], n))) for n in range(1, 8)}


def test_partitions_are_counted_by_bell():
    assert [len(EVERY[n]) for n in range(1, 8)] == [1, 2, 5, 15, 52, 203, 877]


@st.composite
def problems(draw):
    """Pairs of up to 7 items, some missing or repeated, costs with ties, some labels known."""
    n = draw(st.integers(2, 7))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(n, 1))
    if draw(st.booleans()):
        pairs = pairs[rng.integers(0, len(pairs), rng.integers(1, 2 * len(pairs)))]
        flip = rng.random(len(pairs)) < 0.5
        pairs[flip] = pairs[flip, ::-1]
    size = (len(pairs), 2)
    cost = rng.integers(-3, 4, size) / 2.0 if draw(st.booleans()) else rng.normal(size=size)
    known = rng.integers(0, 2, len(pairs))
    known[rng.random(len(pairs)) > draw(st.sampled_from([0.0, 0.2, 0.5]))] = -1
    return n, pairs, cost, known


def all_pairs(n):
    return np.column_stack(np.triu_indices(n, 1))


def enumerate_best(n, pairs, cost, known, lower=0, upper=np.inf):
    """Least cost of all partitions, +inf where none agrees with what is known."""
    joined = (EVERY[n][:, pairs[:, 0]] == EVERY[n][:, pairs[:, 1]]).astype(int)
    agrees = ((known < 0) | (joined == known)).all(axis=1)
    agrees &= (joined.sum(axis=1) >= lower) & (joined.sum(axis=1) <= upper)
    value = np.where(joined == 1, cost[:, 1], cost[:, 0]).sum(axis=1)
    return float(np.where(agrees, value, np.inf).min())


def program_of(pairs, known, extra=None):
    rows = np.flatnonzero(known >= 0)
    said = hints.Partition(pairs) + hints.Labels(rows, [APART_YES[int(k)] for k in known[rows]])
    return (said if extra is None else said + extra).compile(len(pairs), APART_YES)


@some
@given(problems())
def test_exact_is_the_best_of_all_partitions(problem):
    n, pairs, cost, known = problem
    best, program = enumerate_best(n, pairs, cost, known), program_of(pairs, known)
    if best == np.inf:
        with pytest.raises(InfeasibleHints):
            PartitionOracle(program).solve(cost)
        return
    result = PartitionOracle(program).solve(cost)
    check_result(program, cost, result)
    assert result.exact
    assert abs(result.value - best) <= SOLVED
    quick = PartitionOracle(program, exact=False).solve(cost)
    check_result(program, cost, quick)
    assert quick.bound <= best + ROUNDING
    assert quick.value >= best - ROUNDING
    assert not quick.exact or quick.value <= best + SOLVED


@some
@given(problems())
def test_each_step_alone(problem):
    """Contraction cuts what it must, moves never worsen, bounds never exceed the optimum."""
    n, pairs, cost, _ = problem
    gain = cost[:, 0] - cost[:, 1]
    no = np.zeros(len(pairs), bool)
    graph = Shape.of(n, pairs, no, no).weigh(gain)
    best = enumerate_best(n, pairs, cost, np.full(len(pairs), -1)) - cost[:, 1].sum()
    first = contract(graph)
    second = improve(graph, first)
    assert best - ROUNDING <= graph.value(second) <= graph.value(first) + ROUNDING
    alone = improve(graph, np.arange(n))
    assert best - ROUNDING <= graph.value(alone) <= graph.value(np.arange(n)) + ROUNDING
    assert packing_bound(graph) <= best + ROUNDING
    label, bound = close(graph, np.arange(n, dtype=np.int32), False, Until())
    assert bound <= best + ROUNDING <= graph.value(label) + 2 * ROUNDING


@some
@given(problems(), st.integers(0, 10), st.integers(0, 10))
def test_bounds_on_joined_pairs(problem, low, width):
    """One price: feasible where it answers, and its bound holds."""
    n, pairs, cost, known = problem
    lower, upper = min(low, len(pairs)), min(low + width, len(pairs))
    share = hints.Count([np.arange(len(pairs))], {"joined": lower}, {"joined": upper})
    best = enumerate_best(n, pairs, cost, known, lower, upper)
    program = program_of(pairs, known, share)
    assert PartitionOracle.accepts(program)
    if np.isinf(best):
        with pytest.raises(InfeasibleHints):
            PartitionOracle(program).solve(cost)
        return
    result = PartitionOracle(program).solve(cost)
    check_result(program, cost, result)
    assert result.bound <= best + SOLVED <= result.value + 2 * SOLVED
    step = PartitionOracle(program, exact=False).solve(cost)
    check_result(program, cost, step)
    assert step.bound <= best + SOLVED <= step.value + 2 * SOLVED


def test_joined_pairs_that_no_partition_has():
    """Two of three pairs are never joined alone; what is certain may leave too few or too many."""
    three = hints.Partition(3)
    with pytest.raises(InfeasibleHints, match="group 0 has at least 2 of class 1"):
        oracles.solve(np.zeros((3, 2)), three + hints.Count([range(3)], {1: 2}, {1: 2}))
    for known, lower, upper in (([0, 0, -1], 2, 3), ([1, -1, -1], 0, 0), ([1, 1, -1], 0, 2)):
        share = hints.Count([range(3)], {"joined": lower}, {"joined": upper})
        program = program_of(three.items, np.array(known), share)
        with pytest.raises(InfeasibleHints, match="joined"):
            PartitionOracle(program).solve(np.zeros((3, 2)))


def test_single_items_meet_a_count_that_clusters_jump_over():
    """Zero costs but for those of one group of 20: of 190 pairs exactly 47 are joined."""
    cost = np.column_stack([np.full(190, 1.0), np.zeros(190)])
    result = oracles.solve(cost, hints.Partition(20) + hints.Count([range(190)], {1: 47}, {1: 47}))
    assert result.value == 143.0
    assert result.labels.sum() == 47


def test_bounds_on_joined_pairs_beside_what_is_certain():
    """Three of six pairs joined is one item left out; the pair held apart says which may be."""
    share = hints.Count([np.arange(6)], {"joined": 3}, {"joined": 3})
    known = np.array([0, -1, -1, -1, -1, -1])  # items 0 and 1 apart
    cost = np.zeros((6, 2))
    cost[:, 1] = [-9.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    result = PartitionOracle(program_of(all_pairs(4), known, share)).solve(cost)
    assert result.labels.tolist() in ([0, 1, 1, 0, 0, 1], [0, 0, 0, 1, 1, 1])
    assert result.bound <= 3.0 == result.value
    joined = np.array([1, -1, -1, 1, -1, -1])  # three items joined: two pairs are too few
    few = hints.Count([np.arange(6)], {"joined": 0}, {"joined": 2})
    with pytest.raises(InfeasibleHints):
        PartitionOracle(program_of(all_pairs(4), joined, few)).solve(cost)


def planted(n, groups, noise, seed, share=1.0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    pairs = np.column_stack(np.triu_indices(n, 1))
    pairs = pairs[rng.random(len(pairs)) < share]
    joined = (group[pairs[:, 0]] == group[pairs[:, 1]]).astype(np.int32)
    cost = noise * rng.normal(size=(len(pairs), 2))
    cost[np.arange(len(pairs)), 1 - joined] += 1.0
    return pairs, joined, cost


@pytest.mark.parametrize(("share", "noise"), [(1.0, 0.8), (0.2, 0.3)])
def test_a_planted_partition_of_200_items_is_found(share, noise):
    pairs, joined, cost = planted(200, 8, noise, seed=1, share=share)
    oracle = PartitionOracle(program_of(pairs, np.full(len(pairs), -1)), exact=False)
    assert np.array_equal(oracle.solve(cost).labels, joined)
    assert np.array_equal(oracle.solve(0.9 * cost).labels, joined), "warm, from the same partition"


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_units_change_nothing(share):
    """Powers of two change no digit; a tenth of the pairs is known."""
    pairs, joined, cost = planted(60, 4, 1.5, seed=3, share=share)
    known = np.where(np.arange(len(pairs)) % 10 == 0, joined, -1)
    program = program_of(pairs, known)
    labels = PartitionOracle(program, exact=False).solve(cost).labels
    for unit in (2.0**-60, 2.0**60):
        assert np.array_equal(
            PartitionOracle(program, exact=False).solve(cost * unit).labels, labels
        )


def test_a_planted_partition_is_proven():
    pairs, joined, cost = planted(60, 5, 0.6, seed=2)
    result = PartitionOracle(program_of(pairs, np.full(len(pairs), -1))).solve(cost)
    assert result.exact
    assert np.array_equal(result.labels, joined)


def test_worked_by_hand():
    """Two joins of 3 and 2 against one parting of 1: cut the cheaper of what conflicts."""
    cost = np.array([[3.0, 0.0], [0.0, 1.0], [2.0, 0.0]])  # pairs (0, 1), (0, 2), (1, 2)
    result = oracles.solve(cost, hints.Partition(3))
    assert (result.labels.tolist(), result.value, result.exact) == ([1, 1, 1], 1.0, True)
    cost[1, 1] = 4.0
    result = oracles.solve(cost, hints.Partition(3))
    assert (result.labels.tolist(), result.value, result.exact) == ([1, 0, 0], 2.0, True)


def test_parts_that_are_solved_alone_stay_apart():
    """Items 0, 1, 2 are a part of their own, item 3 another, in whatever order they are named."""
    gain = {(0, 1): 3.6, (0, 2): 1.0, (0, 3): -0.3, (1, 2): -1.4, (1, 3): -1.2, (2, 3): -1.4}
    for name in itertools.permutations(range(4)):
        cost, best = np.zeros((6, 2)), np.zeros(6, int)
        for row, pair in enumerate(all_pairs(4).tolist()):
            ends = tuple(sorted(name.index(item) for item in pair))
            cost[row, 0], best[row] = gain[ends], ends == (0, 1)
        result = oracles.solve(cost, hints.Partition(4))
        assert result.exact
        assert result.labels.tolist() == best.tolist()


@pytest.mark.parametrize("exact", [True, False])
def test_an_offset_of_the_costs_closes_no_gap(exact):
    """A wheel: its packed triangles do not reach the best partition, whatever both classes cost."""
    pairs = np.array(
        [[0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [1, 2], [2, 3], [3, 4], [4, 5], [1, 5]]
    )
    cost = np.zeros((10, 2))
    cost[:5, 0], cost[5:, 1] = 1.0, 1.0
    program = program_of(pairs, np.full(10, -1))
    best = enumerate_best(6, pairs, cost, np.full(10, -1))
    for offset in (0.0, 1e9):
        result = PartitionOracle(program, exact=exact).solve(cost + offset)
        assert result.exact == (exact or abs(result.bound - 10 * offset - best) < 1e-5)
        assert abs(result.value - 10 * offset - best) < 1e-5


def test_many_items_and_few_pairs():
    """A grid of 40,000 items: sparse all the way, the gap small, all in a second or two."""
    side = 200
    item = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.column_stack([item[:, :-1].ravel(), item[:, 1:].ravel()]),
            np.column_stack([item[:-1].ravel(), item[1:].ravel()]),
        ]
    )
    cost = np.zeros((len(pairs), 2))
    cost[:, 0] = np.random.default_rng(0).normal(0.2, 1.0, len(pairs))
    program = hints.Partition(pairs).compile(len(pairs), APART_YES)
    result = PartitionOracle(program, exact=False).solve(cost)
    check_result(program, cost, result)
    assert result.value - result.bound <= 0.04 * abs(result.value)


def test_what_must_and_cannot_be():
    known = hints.Partition(4) + hints.Labels([0, 3], 1) + hints.Labels([1], 0)
    with pytest.raises(InfeasibleHints):  # 0-1 and 1-2 joined, 0-2 apart
        oracles.solve(np.zeros((6, 2)), known)
    held = hints.Partition(3) + hints.Labels([1], 0)
    cost = np.array([[5.0, 0.0], [9.0, 0.0], [4.0, 0.0]])
    assert oracles.solve(cost, held).labels.tolist() == [1, 0, 0]


def test_refusals_say_why():
    both = hints.Partition(3) + hints.CannotLink([[0, 1]])
    verdict = PartitionOracle.accepts(both.compile(3, APART_YES))
    assert not verdict
    assert verdict.reason == "costs or links between pairs couple rows"
    with pytest.raises(ValueError, match="cannot solve this program"):
        PartitionOracle(both.compile(3, APART_YES))
    with pytest.raises(ValueError, match="expected"):
        PartitionOracle(hints.Partition(3).compile(3, APART_YES)).solve(np.zeros((2, 2)))


class Unjoined(PartitionOracle):
    """Wrong on purpose: forgets that joined is transitive."""

    def _find(self, shape, gain, last, until):
        found, label = super()._find(shape, gain, last, until)
        return type(found)(gain[: len(found.yes)] > 0, found.value, found.bound), label


class Hopeful(PartitionOracle):
    """Wrong on purpose: calls the first partition the best."""

    def _find(self, shape, gain, last, until):
        alone = np.arange(shape.n, dtype=np.int32)
        graph = shape.weigh(gain)
        return self._found(graph, alone, graph.value(alone)), alone


def test_wrong_oracles_are_caught():
    rng = np.random.default_rng(0)
    caught = {"unjoined": 0, "hopeful": 0}
    for _ in range(20):
        cost, pairs = rng.normal(size=(15, 2)), np.column_stack(np.triu_indices(6, 1))
        program = program_of(pairs, np.full(15, -1))
        best = enumerate_best(6, pairs, cost, np.full(15, -1))
        try:
            check_result(program, cost, Unjoined(program).solve(cost))
        except (AssertionError, RuntimeError):
            caught["unjoined"] += 1
        result = Hopeful(program, exact=False).solve(cost - 10.0)
        caught["hopeful"] += result.bound > best - 150.0 + ROUNDING
    assert min(caught.values()) > 0
