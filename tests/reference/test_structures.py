"""Cliques, flows, matchings, partitions, orders: HiGHS and enumeration agree, rows may move."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.hints import mixed_cases
from checks.oracles import check_against_exhaustive
from checks.structures import STRUCTURES
from checks.terms import all_labelings
from tacit import hints, oracles
from tacit.exceptions import InfeasibleHints
from tacit.hints._classes import ClassCodes
from tacit.hints._structures import ItemPairs, PairPartition
from tacit.oracles import (
    ORACLES,
    AssignmentOracle,
    ForestOracle,
    LinearProgramOracle,
    MixedIntegerOracle,
    SeparableOracle,
    select_oracle,
)
from tacit.oracles._triangles import Triangles
from tacit.problem import Problem
from tacit.solvers import solve
from tacit.solvers._order import canonical_order
from tacit.solvers._seeds import tells_apart

some = settings(max_examples=30, deadline=None, derandomize=True)
# Sums of a dozen costs in another order, and HiGHS's own tolerance on the costs it sees.
HIGHS = 1e-7


def compiled(hint, n, n_classes=2):
    return hint.compile(n, ClassCodes(list(range(n_classes))))


def distinct_pairs(rng, n, m):
    return [rng.choice(n, 2, replace=False) for _ in range(m)]


def cliques(rng):
    n, C, k = rng.integers(2, 7), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    members = [rng.choice(n, rng.integers(1, n + 1), replace=False) for _ in range(k)]
    hint = hints.Same(members, 3.0 * rng.random(k), 1.0 + 2.0 * rng.random(k))
    if rng.random() < 0.5:
        hint = hint + hints.MustLink(distinct_pairs(rng, n, 1))
    if rng.random() < 0.3:
        hint = hint + hints.Count([np.arange(n)], {0: int(rng.integers(0, n))})
    return hint, int(n), C


def item_pairs(kind):
    def build(rng):
        items, n = rng.integers(2, 9), int(rng.integers(2, 11))
        hint = kind(distinct_pairs(rng, items, n))
        if rng.random() < 0.3:
            hint = hint + hints.MustLink(distinct_pairs(rng, n, 1))
        if rng.random() < 0.3:
            hint = hint + hints.Labels([0], 1)
        return hint, n, 2

    return build


def matching(rng):
    n = int(rng.integers(1, 11))
    low = rng.integers(0, 2)
    degrees = (low, low + rng.integers(0, 2)), (0, 1)
    return hints.Matching(rng.integers(0, 4, n), rng.integers(0, 4, n), *degrees), n, 2


def flow(rng):
    """A network of up to 8 nodes in which some flow exists; which labels it fits is open."""
    n, C, v = int(rng.integers(1, 6)), int(rng.integers(2, 4)), int(rng.integers(2, 9))
    m = int(rng.integers(v, 16))
    arcs = np.array(distinct_pairs(rng, v, m))
    lower = rng.integers(0, 2, m) * (rng.random(m) < 0.2)
    upper = lower + rng.integers(0, 3, m)
    tied = rng.choice(m, min(m, n, int(rng.integers(1, 5))), replace=False)
    lower[tied], upper[tied] = 0, 1
    x = rng.integers(lower, upper + 1)
    supply = np.bincount(arcs[:, 0], x, v) - np.bincount(arcs[:, 1], x, v)
    ties = (tied, rng.integers(0, n, len(tied)), rng.integers(0, C, len(tied)))
    cost = rng.normal(size=m)
    return hints.Flow(hints.Network(v, arcs, lower, upper, cost, supply, ties)), n, C


KINDS = {
    "cliques": cliques,
    "partition": item_pairs(hints.Partition),
    "order": item_pairs(hints.Order),
    "matching": matching,
    "flow": flow,
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_integer_program_agrees_with_all_labelings(kind):
    feasible = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        hint, n, C = KINDS[kind](rng)
        program = compiled(hint, n, C)
        result = check_against_exhaustive(MixedIntegerOracle, program, rng.normal(size=(n, C)))
        assert result is None or result.exact
        feasible += result is not None
    assert feasible >= 20, "too few programs have an answer"


@pytest.mark.parametrize("kind", list(KINDS))
def test_drifting_costs_are_solved_from_the_last_basis(kind):
    rng = np.random.default_rng(5)
    hint, n, C = KINDS[kind](rng)
    program = compiled(hint, n, C)
    warm, cost = MixedIntegerOracle(program), rng.normal(size=(n, C))
    for _ in range(4):
        cost = cost + 0.5 * rng.normal(size=cost.shape)
        try:
            fresh = MixedIntegerOracle(program).solve(cost).value
        except InfeasibleHints:
            with pytest.raises(InfeasibleHints):
                warm.solve(cost)
            continue
        assert abs(warm.solve(cost).value - fresh) <= HIGHS * (1.0 + abs(fresh))


def test_flows_cost_what_linear_programming_says():
    """SciPy's own model of the same network with the tied arcs fixed."""
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(1000 + seed)
        hint, n, C = flow(rng)
        program, net = compiled(hint, n, C), hint.network
        ends = np.zeros((net.n_nodes, len(net.arcs)))
        np.add.at(ends, (net.arcs[:, 0], np.arange(len(net.arcs))), 1.0)
        np.add.at(ends, (net.arcs[:, 1], np.arange(len(net.arcs))), -1.0)
        labels = rng.integers(0, C, n)
        fixed = labels[net.tie_row] == net.classes
        bounds = np.column_stack([net.lower, net.upper]).astype(float)
        bounds[net.tie_arc] = fixed[:, None]
        answer = scipy.optimize.linprog(net.cost, A_eq=ends, b_eq=net.supply, bounds=bounds)
        expected = answer.fun if answer.success else np.inf
        assert program.value(labels) == pytest.approx(expected, abs=1e-9)
        assert (program.violation(labels) == 0) == answer.success
        found += answer.success
    assert found >= 20


# Triangles -----------------------------------------------------------------------------------


@some
@given(data=st.data())
def test_triangles_of_the_completed_graph_say_everything(data):
    """Pairs of the chordal graph that satisfy all triangles extend to a partition."""
    pair = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda p: p[0] < p[1])
    edges = data.draw(st.lists(pair, min_size=1, max_size=8, unique=True))
    part = PairPartition(6, np.array(edges), np.arange(len(edges)))
    found = Triangles.of(part, 1000)
    place = {tuple(p): k for k, p in enumerate(found.pairs.tolist())}
    assert set(edges) <= set(place)
    corners = [
        [place[tuple(sorted(p))] for p in itertools.combinations(c, 2)]
        for c in found.corners.tolist()
    ]
    whole = PairPartition(6, found.pairs, np.arange(len(place)))
    for y in itertools.islice(itertools.product((0, 1), repeat=len(place)), 2000):
        by_triangle = all(sum(y[e] for e in c) != 2 for c in corners)
        assert (whole.broken(np.array(y)) == 0) == by_triangle


def test_triangles_are_counted_and_limited():
    square = ItemPairs(4, np.array([[0, 1], [1, 2], [2, 3], [0, 3]]), np.arange(4))
    found = Triangles.of(square, 2)
    assert (len(found.pairs), len(found.corners)) == (5, 2)
    assert Triangles.of(square, 1) is None
    tree = ItemPairs(2000, np.column_stack([np.arange(1999), np.arange(1, 2000)]), np.arange(1999))
    assert len(Triangles.of(tree, 0).corners) == 0
    pairs = hints.Partition(100)
    verdict = MixedIntegerOracle.accepts(compiled(pairs, len(pairs.items)))
    assert not verdict
    assert "4950 pairs of 100 items make more than" in verdict.reason


# Contraction and order of rows ---------------------------------------------------------------


@some
@given(data=st.data())
def test_contraction_keeps_the_costs(data):
    """Labels of components cost in the contraction what the same labels of rows cost."""
    case = data.draw(mixed_cases(["same", "must_link", "potts", "cost"], (4, ["a", "b", "c"])))
    program = case.program()
    joined = program.contraction
    for y in all_labelings(len(joined.first_row), 3):
        labels = y[joined.component]
        ok = joined.allowed[np.arange(len(y)), y].all()
        total = joined.unary[np.arange(len(y)), y].sum() + joined.pairs.cost(y).sum()
        total += joined.cliques.cost(y).sum()
        assert program.value(labels) == pytest.approx(total if ok else np.inf, abs=1e-12)


@pytest.mark.parametrize("kind", list(STRUCTURES))
@some
@given(data=st.data(), seed=st.integers(0, 1000))
def test_rows_are_put_in_one_order_wherever_they_stand(kind, data, seed):
    """Rows that differ in nothing else: the reordered program is the same to the last labeling."""
    shape = (data.draw(st.integers(2, 5)), ["a", "b"])
    case = data.draw(mixed_cases([kind, kind, "potts"], shape))
    n, weights = case.n, np.ones(case.n)
    moved = np.array(data.draw(st.permutations(range(n))))
    Y = case.labelings()
    found = []
    for program in (case.program(), case.hint.restrict(moved, n).compile(n, case.codes)):
        order = canonical_order(np.ones((n, 1)), program, weights, seed, False)
        found.append([program.take(order).value(y) for y in Y])
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)


def test_a_network_may_be_numbered_otherwise():
    """Nodes and arcs renumbered, and the rows with them: the same order."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        hint, n, C = flow(rng)
        net, rows = hint.network, rng.permutation(n)
        node, arc = rng.permutation(net.n_nodes), rng.permutation(len(net.arcs))
        place, old = np.argsort(arc), np.argsort(node)
        again = hints.Network(
            net.n_nodes, node[net.arcs[arc]], net.lower[arc], net.upper[arc], net.cost[arc],
            net.supply[old], (place[net.tie_arc], np.argsort(rows)[net.tie_row], net.classes),
        )  # fmt: skip
        X = np.ones((n, 1))
        found = []
        for known in (hint, hints.Flow(again)):
            program = compiled(known, n, C)
            program = program.take(canonical_order(X, program, np.ones(n), seed, False))
            found.append([program.value(y) for y in all_labelings(n, C)])
        np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)


# Who treats what -----------------------------------------------------------------------------

EXAMPLES = {
    "cliques": (hints.Same([[0, 1, 2]], 1.0), "costs of whole cliques couple rows"),
    "flow": (
        hints.Flow(hints.Network(2, [[0, 1], [1, 0]], ties=([0], [0], 1))),
        "the flow in a network couples rows",
    ),
    "partitions": (hints.Partition(3), "pairs of a partition couple rows"),
    "orders": (hints.Order(3), "pairs of an order couple rows"),
}


@pytest.mark.parametrize("part", list(EXAMPLES))
def test_oracles_refuse_what_they_do_not_treat(part):
    hint, reason = EXAMPLES[part]
    program = compiled(hint, 3)
    assert program.couplings == (part,)
    assert not program.separable
    assert not SeparableOracle.accepts(program)
    for oracle in (AssignmentOracle, ForestOracle):
        assert oracle.accepts(program).reason == reason
        with pytest.raises(ValueError, match=reason):
            oracle(program)
    assert LinearProgramOracle.accepts(program).ok == (part == "flow")
    assert MixedIntegerOracle.accepts(program).ok
    assert ORACLES["exhaustive"].accepts(program).ok
    assert select_oracle(program).oracle.accepts(program)


def test_structures_that_name_classes_tell_them_apart():
    both = np.array([0, 1])
    said = {part: tells_apart(compiled(hint, 3), both) for part, (hint, _) in EXAMPLES.items()}
    assert said == {"cliques": False, "flow": True, "partitions": True, "orders": True}


def test_pairs_are_learned_under_a_partition():
    """Items in two groups; rows are pairs with noisy similarities, a few of them known."""
    rng = np.random.default_rng(0)
    pairs = hints.Partition(8)
    group = np.arange(8) % 2
    same = group[pairs.items[:, 0]] == group[pairs.items[:, 1]]
    X = np.where(same, 1.0, -1.0)[:, None] + 0.7 * rng.normal(size=(len(same), 3))
    known = pairs + hints.Labels([0, 1], same[:2].astype(int))
    problem = Problem(X, known, classes=[0, 1], loss="hinge", kernel="linear")
    answer = solve(problem, random_state=0, n_init=1)
    assert problem.violation(answer.labels) == 0
    assert np.array_equal(answer.labels, same.astype(int))


LEARNED = {
    "partition": hints.Partition(6) + hints.Labels([0, 1], [0, 1]),
    "order": hints.Order(6) + hints.Labels([0, 1], [0, 1]),
    "cliques": hints.Same([[0, 1, 2, 3], [3, 4, 5], [10, 14]], [1.0, 2.0, np.inf])
    + hints.Labels([0, 5], [0, 1]),
    "matching": hints.Matching(np.arange(15) // 5, np.arange(15) % 5, (1, 1)),
    "flow": hints.Flow(
        hints.Network(
            n_nodes=3,
            arcs=[[0, 1]] * 15 + [[1, 2], [2, 0]],
            upper=[1] * 15 + [6, 6],
            cost=[0.0] * 15 + [1.0, -1.5],
            ties=(np.arange(15), np.arange(15), 1),
        )
    ),
}


@pytest.mark.parametrize("kind", list(LEARNED))
def test_a_fit_keeps_the_structure_wherever_the_rows_stand(kind):
    X = np.random.default_rng(1).normal(size=(15, 2))
    problem = Problem(X, LEARNED[kind], classes=[0, 1], loss="hinge", kernel="rbf")
    answer = solve(problem, random_state=0, n_init=1)
    assert problem.violation(answer.labels) == 0
    moved = np.random.default_rng(2).permutation(15)
    other = Problem(
        X[moved], LEARNED[kind].restrict(moved, 15), classes=[0, 1], loss="hinge", kernel="rbf"
    )
    again = solve(other, random_state=0, n_init=1)
    assert np.array_equal(again.labels, answer.labels[moved])


def test_small_programs_of_cliques_are_solved_exactly():
    """Two overlapping cliques and a ring of six rows, against all labelings."""
    rows, cliques = 6, [[0, 1, 2, 3], [2, 3, 4, 5]]
    ring = np.column_stack([np.arange(rows), np.roll(np.arange(rows), -1)])
    every = np.array(list(itertools.product(range(3), repeat=rows)))
    known = hints.Same(cliques, [2.0, 1.5], [1.0, 2.5]) + hints.Potts(ring, 0.2)
    for seed in range(10):
        cost = 2.0 * np.random.default_rng(seed).random((rows, 3))
        total = cost[np.arange(rows), every].sum(axis=1)
        for clique, most, cut in zip(cliques, (2.0, 1.5), (1.0, 2.5), strict=True):
            other = np.min([(every[:, clique] != c).sum(axis=1) for c in range(3)], axis=0)
            total += most * np.minimum(other / cut, 1.0)
        total += 0.2 * (every != np.roll(every, -1, axis=1)).sum(axis=1)
        result = oracles.solve(cost, known)
        assert result.exact
        assert abs(result.value - total.min()) < 1e-9
    assert select_oracle(known.compile(rows, ClassCodes(range(3)))).oracle.name == "small"
