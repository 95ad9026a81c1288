"""Linear orders of items: against every permutation, planted ones, and bounds that must hold."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.oracles import check_result
from tacit import hints, oracles
from tacit.exceptions import InfeasibleHints
from tacit.hints._classes import ClassCodes
from tacit.oracles import OrderOracle
from tacit.oracles._order_bound import packing_bound
from tacit.oracles._order_exact import close
from tacit.oracles._order_graph import Pairing
from tacit.oracles._order_moves import insert, kick
from tacit.oracles._row_generation import Until

# Sums of some ten costs of order one; HiGHS answers to 1e-7 of the largest.
ROUNDING, SOLVED = 1e-9, 1e-6
BEHIND_BEFORE = ClassCodes(["behind", "before"])
some = settings(max_examples=60, deadline=None, derandomize=True)
# Place of each item in every order.
EVERY = {n: np.array(list(permutations(range(n)))) for n in range(2, 8)}


@st.composite
def problems(draw):
    """Pairs of up to 7 items, some missing or repeated, costs with ties, some labels known."""
    n = draw(st.integers(2, 7))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    pairs = np.column_stack(np.triu_indices(n, 1))
    if draw(st.booleans()):
        pairs = pairs[rng.integers(0, len(pairs), rng.integers(1, 2 * len(pairs)))]
    flip = rng.random(len(pairs)) < 0.5
    pairs[flip] = pairs[flip, ::-1]
    size = (len(pairs), 2)
    cost = rng.integers(-3, 4, size) / 2.0 if draw(st.booleans()) else rng.normal(size=size)
    known = rng.integers(0, 2, len(pairs))
    known[rng.random(len(pairs)) > draw(st.sampled_from([0.0, 0.15, 0.4]))] = -1
    return n, pairs, cost, known


def enumerate_best(n, pairs, cost, known):
    """Least cost of all orders, +inf where none agrees with what is known."""
    place = EVERY[n]
    before = (place[:, pairs[:, 0]] < place[:, pairs[:, 1]]).astype(int)
    agrees = ((known < 0) | (before == known)).all(axis=1)
    value = np.where(before == 1, cost[:, 1], cost[:, 0]).sum(axis=1)
    return float(np.where(agrees, value, np.inf).min())


def program_of(pairs, known):
    rows = np.flatnonzero(known >= 0)
    said = hints.Order(pairs) + hints.Labels(rows, [BEHIND_BEFORE[int(k)] for k in known[rows]])
    return said.compile(len(pairs), BEHIND_BEFORE)


@some
@given(problems())
def test_exact_is_the_best_of_all_orders(problem):
    n, pairs, cost, known = problem
    best, program = enumerate_best(n, pairs, cost, known), program_of(pairs, known)
    if best == np.inf:
        with pytest.raises(InfeasibleHints):
            OrderOracle(program).solve(cost)
        return
    result = OrderOracle(program).solve(cost)
    check_result(program, cost, result)
    assert result.exact
    assert abs(result.value - best) <= SOLVED
    quick = OrderOracle(program, exact=False).solve(cost)
    check_result(program, cost, quick)
    assert quick.bound <= best + ROUNDING
    assert quick.value >= best - ROUNDING
    assert not quick.exact or quick.value <= best + SOLVED


@some
@given(problems())
def test_each_step_alone(problem):
    """Insertions and kicks never worsen an order, bounds never exceed the optimum."""
    n, pairs, cost, _ = problem
    no = np.zeros(len(pairs), bool)
    gain = cost[:, 0] - cost[:, 1]
    graph = Pairing.of(n, pairs, no, no).weigh(gain)
    # The graph pays nothing for smaller items first, the pairs for their first item first.
    shift = cost[:, 1].sum() + gain[pairs[:, 0] > pairs[:, 1]].sum()
    best = enumerate_best(n, pairs, cost, np.full(len(pairs), -1)) - shift
    first = np.arange(n)
    second = insert(graph, first)
    third = kick(graph, second, np.random.default_rng(0), 5)
    assert sorted(third) == list(range(n))
    assert (
        best - ROUNDING <= graph.value(third) <= graph.value(second) <= graph.value(first) + 1e-12
    )
    assert packing_bound(graph) <= best + ROUNDING
    order, bound = close(graph, first, False, Until())
    assert bound <= best + ROUNDING <= graph.value(order) + 2 * ROUNDING


def planted(n, noise, seed, share=1.0):
    rng = np.random.default_rng(seed)
    place = rng.permutation(n)
    pairs = np.column_stack(np.triu_indices(n, 1))
    pairs = pairs[rng.random(len(pairs)) < share]
    before = (place[pairs[:, 0]] < place[pairs[:, 1]]).astype(np.int32)
    cost = noise * rng.normal(size=(len(pairs), 2))
    cost[np.arange(len(pairs)), 1 - before] += 1.0
    return pairs, before, cost


def test_a_planted_order_of_200_items_is_found():
    pairs, before, cost = planted(200, 0.2, seed=1)
    oracle = OrderOracle(program_of(pairs, np.full(len(pairs), -1)), exact=False)
    assert np.array_equal(oracle.solve(cost).labels, before)
    assert np.array_equal(oracle.solve(0.9 * cost).labels, before), "warm, from the same order"


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_units_change_nothing(share):
    """Powers of two change no digit; a tenth of the pairs is known."""
    pairs, before, cost = planted(60, 1.5, seed=3, share=share)
    known = np.where(np.arange(len(pairs)) % 10 == 0, before, -1)
    program = program_of(pairs, known)
    labels = OrderOracle(program, exact=False).solve(cost).labels
    for unit in (2.0**-60, 2.0**60):
        assert np.array_equal(OrderOracle(program, exact=False).solve(cost * unit).labels, labels)


@pytest.mark.parametrize("share", [1.0, 0.2])
def test_a_noisy_order_is_solved_to_its_bound(share):
    pairs, before, cost = planted(40, 0.7, seed=3, share=share)
    program = program_of(pairs, np.full(len(pairs), -1))
    result = OrderOracle(program).solve(cost)
    check_result(program, cost, result)
    assert result.exact
    rows = np.arange(len(pairs))
    assert result.value <= cost[rows, before].sum() + ROUNDING, "no worse than the planted one"


def test_worked_by_hand():
    """A circle 0 < 1 < 2 < 0: turn the cheapest of the three."""
    cost = np.array([[3.0, 0.0], [0.0, 1.0], [2.0, 0.0]])  # pairs (0, 1), (0, 2), (1, 2)
    result = oracles.solve(cost, hints.Order(3))
    assert (result.labels.tolist(), result.value, result.exact) == ([1, 1, 1], 1.0, True)
    cost[1, 1] = 4.0
    result = oracles.solve(cost, hints.Order(3))
    assert (result.labels.tolist(), result.value, result.exact) == ([1, 0, 0], 2.0, True)


def test_missing_pairs_cost_nothing():
    """Without the pair (0, 2) there is no circle."""
    cost = np.array([[3.0, 0.0], [2.0, 0.0]])
    result = oracles.solve(cost, hints.Order([(0, 1), (1, 2)]))
    assert (result.labels.tolist(), result.value) == ([1, 1], 0.0)


def test_what_is_certain():
    circle = hints.Order(3) + hints.Labels([0, 2], 1) + hints.Labels([1], 0)
    with pytest.raises(InfeasibleHints):
        oracles.solve(np.zeros((3, 2)), circle)
    held = hints.Order(3) + hints.Labels([0], 0)  # 1 before 0
    cost = np.array([[5.0, 0.0], [9.0, 0.0], [4.0, 0.0]])
    assert oracles.solve(cost, held).labels.tolist() == [0, 1, 1]


def test_refusals_say_why():
    both = hints.Order(3) + hints.Count([[0, 1]], {"before": 1})
    assert OrderOracle.accepts(both.compile(3, BEHIND_BEFORE)).reason == "counts couple rows"
    twice = hints.Order([(0, 1)], [0]) + hints.Order([(2, 3)], [0])
    verdict = OrderOracle.accepts(twice.compile(1, BEHIND_BEFORE))
    assert verdict.reason == "some rows are pairs of items twice, in two hints"


class Circular(OrderOracle):
    """Wrong on purpose: every pair for itself."""

    def _find(self, shape, gain, last, until):
        found, order = super()._find(shape, gain, last, until)
        return type(found)(gain > 0, found.value, found.bound), order


class Hopeful(OrderOracle):
    """Wrong on purpose: calls the first order the best."""

    def _find(self, shape, gain, last, until):
        graph, order = shape.weigh(gain), np.arange(shape.n)
        yes = graph.first(order)[shape.edge] == (shape.sign > 0)
        return oracles.order.Found(yes, graph.value(order), graph.value(order)), order


def test_wrong_oracles_are_caught():
    rng = np.random.default_rng(0)
    caught = {"circular": 0, "hopeful": 0}
    for _ in range(20):
        cost, pairs = rng.normal(size=(15, 2)), np.column_stack(np.triu_indices(6, 1))
        program = program_of(pairs, np.full(15, -1))
        best = enumerate_best(6, pairs, cost, np.full(15, -1))
        try:
            check_result(program, cost, Circular(program).solve(cost))
        except (AssertionError, RuntimeError):
            caught["circular"] += 1
        caught["hopeful"] += Hopeful(program).solve(cost).bound > best + ROUNDING
    assert min(caught.values()) > 0
