"""Flow oracle against exhaustive search, SciPy's assignment and HiGHS, and by hand."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from checks.oracles import check_against_exhaustive, check_result
from tacit import HintClassifier, hints, oracles
from tacit.exceptions import InfeasibleHints
from tacit.hints import Count, Flow, Matching, MustLink, Network, Not
from tacit.hints._classes import ClassCodes
from tacit.oracles import FlowOracle, LinearProgramOracle, select_oracle
from tacit.oracles._families import Bounded, two_families


def compiled(hint, n, n_classes=2):
    return hint.compile(n, ClassCodes(list(range(n_classes))))


def links(cost):
    """Costs of rows that are pairs: nothing if not linked."""
    return np.stack([np.zeros(cost.size), cost.ravel()], axis=1)


# Two families of groups -----------------------------------------------------------------------


def brute_force_families(sets):
    """Whether the groups split into two families without clashes, by trying all splits."""

    def nested(family):
        return all(not (a & b) or a <= b or b <= a for a, b in itertools.combinations(family, 2))

    return any(
        all(nested([s for s, k in zip(sets, split, strict=True) if k == j]) for j in (0, 1))
        for split in itertools.product((0, 1), repeat=len(sets))
    )


@settings(max_examples=200, deadline=None, derandomize=True)
@given(sets=st.lists(st.sets(st.integers(0, 5), max_size=5), max_size=6))
def test_families_are_found_if_there_are_any(sets):
    member = np.array([[i in s for i in range(6)] for s in sets], np.int64).reshape(-1, 6)
    none = np.zeros(len(sets), np.int64)
    found = two_families(Bounded(1, sp.csr_array(member), none, none))
    assert (found is not None) == brute_force_families(sets)
    if found is not None:
        assert sum(len(f.parent) for f in found) == len(sets)
        for f in found:  # groups around a row, from the inside out
            inside = np.zeros((len(f.parent), 6), int)
            for i in range(6):
                g = f.home[i]
                while g >= 0:
                    inside[g, i] = 1
                    g = f.parent[g]
            assert all(row.tolist() in member.tolist() for row in inside)


def random_family(rng, n, truth, n_classes, cls):
    """Disjoint groups of most rows, some of them split again, with bounds around the truth."""
    groups = [g for g in np.array_split(rng.permutation(n), int(rng.integers(1, 4))) if len(g)]
    groups += [g[: len(g) // 2] for g in groups if len(g) > 1 and rng.random() < 0.5]
    groups = [g for g in groups if rng.random() < 0.8]
    tally = np.array([(truth[g] == cls).sum() for g in groups])
    slack = rng.integers(0, 2, (2, len(groups)))
    return Count(groups, {cls: tally - slack[0]}, {cls: tally + slack[1]}) if groups else None


def random_crossing(rng, n, n_classes):
    """Counts of one class in two random families, some labels forbidden."""
    truth, cls = rng.integers(0, n_classes, n), int(rng.integers(n_classes))
    parts = [random_family(rng, n, truth, n_classes, cls) for _ in range(2)]
    hint = hints.Hints([part for part in parts if part is not None])
    rows = np.flatnonzero(rng.random(n) < 0.2)
    if n_classes > 1 and len(rows):
        hint = hint + Not(rows, (truth[rows] + 1) % n_classes)
    return hint, truth


@pytest.mark.parametrize("n_classes", [2, 3])
def test_random_crossing_families_against_all_labelings(n_classes):
    for seed in range(40):
        rng = np.random.default_rng([n_classes, seed])
        n = int(rng.integers(1, 11 if n_classes == 2 else 7))
        program = compiled(random_crossing(rng, n, n_classes)[0], n, n_classes)
        cost = (
            rng.integers(-2, 3, (n, n_classes)) / 2 if seed % 2 else rng.normal(size=(n, n_classes))
        )
        result = check_against_exhaustive(FlowOracle, program, cost)
        assert result.exact


def test_infeasible_crossing_families_against_all_labelings():
    infeasible = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        low, high = np.sort(rng.integers(0, 4, (2, 6)), axis=0)
        family = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8]]
        known = Count(family, {1: low}, {1: high}) + Not([0, 4], [1, 0])
        result = check_against_exhaustive(FlowOracle, compiled(known, 9), rng.normal(size=(9, 2)))
        infeasible += result is None
    assert 10 <= infeasible <= 50


def test_bounds_on_either_of_two_classes_add_up():
    """At most one of class 0 in a pair is at least one of class 1."""
    known = Count([[0, 1], [1, 2]], upper={0: 1}) + Count([[0, 1], [0, 2]], upper={1: 1})
    program = compiled(known, 3)
    assert not FlowOracle.accepts(program), "three sets of two out of three rows"
    known = Count([[0, 1], [1, 2]], upper={0: 1}) + Count([[1, 2]], upper={1: 1})
    result = check_against_exhaustive(
        FlowOracle, compiled(known, 3), np.array([[0.0, 2.0], [0.0, 1.0], [0.0, 3.0]])
    )
    assert result.labels.tolist() == [0, 1, 0]


def test_must_links_are_merged_where_no_group_counts_them_twice():
    crossing = Count([[0, 1], [2, 3], [0, 2], [1, 3]], {1: 1}, {1: 1})
    cost = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 2.0], [0.0, -3.0], [0.0, 7.0]])
    # Row 4 is in no group: with row 3 it is one component.
    result = check_against_exhaustive(FlowOracle, compiled(crossing + MustLink([[3, 4]]), 5), cost)
    assert result.labels.tolist() == [0, 1, 1, 0, 0]
    # Rows 0 and 3 share no group: their component is in all four, of which two remain.
    known = crossing + MustLink([[0, 3]])
    result = check_against_exhaustive(FlowOracle, compiled(known, 5), cost)
    assert result.labels.tolist() == [1, 0, 0, 1, 0]
    verdict = FlowOracle.accepts(compiled(crossing + MustLink([[0, 1]]), 5))
    assert verdict.reason == "rows that must have the same label are counted in the same group"


@pytest.mark.parametrize(
    ("known", "n_classes", "reason"),
    [
        (Count([[0, 1], [1, 2], [0, 2]], {0: 1}), 2, "the groups are not two families"),
        (Count([[0, 1], [1, 2]], {0: 1, 1: 1}), 3, "counts of 2 classes of 3 are bounded"),
        (Count([[0, 1]], {0: 1}) + hints.Potts([[0, 1]]), 2, "costs or links between pairs"),
        (hints.CannotLink([[0, 1]]), 2, "costs or links between pairs"),
        (hints.Same([[0, 1, 2]], 1.0), 2, "cliques"),
        (hints.Linear(np.ones((1, 6)), 1, 2), 2, "linear rows"),
    ],
)
def test_refusals_of_counts(known, n_classes, reason):
    program = compiled(known, 3, n_classes)
    assert reason in FlowOracle.accepts(program).reason
    with pytest.raises(ValueError, match="FlowOracle cannot solve this program"):
        FlowOracle(program)


def test_crossing_batches_against_lp():
    """Days and places of 300 rows, costs drifting; row order does not matter."""
    rng = np.random.default_rng(0)
    truth, day, place = rng.integers(0, 2, 300), rng.integers(0, 12, 300), rng.integers(0, 8, 300)
    known = hints.Hints(
        [
            Count(b, {1: (t := np.bincount(b, truth)) - 1}, {1: t + 1})
            for b in (day, place)
        ]
    )  # fmt: skip
    program = compiled(known, 300)
    assert select_oracle(program).oracle is FlowOracle
    order = rng.permutation(300)
    warm, lp, moved = (
        FlowOracle(program),
        LinearProgramOracle(program),
        FlowOracle(program.take(order)),
    )
    cost = rng.normal(size=(300, 2)) - 0.3 * np.eye(2)[truth]
    for _ in range(8):
        result = warm.solve(cost)
        check_result(program, cost, result)
        assert result.exact
        assert abs(result.value - lp.solve(cost).value) <= 1e-8
        assert abs(result.value - FlowOracle(program).solve(cost).value) <= 1e-10
        assert abs(result.value - moved.solve(cost[order]).value) <= 1e-10
        cost = cost + 0.05 * rng.normal(size=cost.shape)


# Matching -------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [(0, 1), (1, 1)])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (12, 12), (40, 40)])
def test_matchings_against_scipy(shape, degree):
    rng = np.random.default_rng(shape)
    program = compiled(Matching(*shape, degree, degree), shape[0] * shape[1])
    warm, cost = FlowOracle(program), rng.normal(size=shape)
    for _ in range(4):
        result = warm.solve(links(cost))
        check_result(program, links(cost), result)
        worth = np.minimum(cost, 0.0) if degree == (0, 1) else cost
        assert abs(result.value - worth[linear_sum_assignment(worth)].sum()) <= 1e-10
        assert result.exact
        cost = cost + 0.05 * rng.normal(size=shape)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data(), seed=st.integers(0, 10_000))
def test_degrees_at_random_against_all_labelings(data, seed):
    rng = np.random.default_rng(seed)
    n = data.draw(st.integers(1, 9))
    left, right = rng.integers(0, 3, (2, n))  # parallel pairs, nodes without any
    bounds = [np.sort(rng.integers(0, 3, (2, 3)), axis=0) for _ in range(2)]
    low = data.draw(st.sampled_from([0, 1]))
    known = Matching(left, right, *[(low * a[0], a[1]) for a in bounds])
    if data.draw(st.booleans()):
        known = known + Not(rng.integers(0, n, 1), rng.integers(0, 2, 1))
    cost = rng.integers(-2, 3, (n, 2)) / 2 if seed % 2 else rng.normal(size=(n, 2))
    result = check_against_exhaustive(FlowOracle, compiled(known, n), cost)
    assert result is None or result.exact


def test_ranges_of_costs_keep_the_small_ones():
    """A link that costs 10^12 is not used; the others still count, to the last digit."""
    cost = np.array([[1e12, 3.0, 2.5], [1.0, 1e12, 1e-9], [0.0, 2e-9, 1e12]])
    result = FlowOracle(compiled(Matching(3, 3, (1, 1), (1, 1)), 9)).solve(links(cost))
    # By hand: column 0 to row 2 (0) leaves 3 + 1e-9; to row 1 (1) leaves 2.5 + 2e-9.
    assert result.value == 3.0 + 1e-9
    assert result.exact
    assert result.value - result.bound < 1e-12


def test_bounds_hold_in_exact_arithmetic():
    """The bound is below the best matching in fractions, at costs of all sizes."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        cost = rng.normal(size=(9, 2)) * 10.0 ** rng.integers(-8, 9, (9, 2))
        program = compiled(Matching(3, 3, (0, 1), (1, 1)), 9)
        result = FlowOracle(program).solve(cost)
        exact = [[Fraction(v) for v in row] for row in cost]
        best = min(
            sum(exact[3 * i + j][int(chosen[j] == i)] for i in range(3) for j in range(3))
            for chosen in itertools.permutations(range(3))
        )
        assert Fraction(result.bound) <= best
        assert abs(Fraction(result.value) - best) <= 1e-13 * np.abs(cost).sum()


def test_infeasible_matchings_say_so():
    program = compiled(Matching(3, 2, (1, 1), (0, 1)), 6)
    for _ in range(2):
        with pytest.raises(InfeasibleHints, match="two families of groups cannot all hold"):
            FlowOracle(program).solve(np.zeros((6, 2)))
    with pytest.raises(InfeasibleHints) as caught:
        oracles.solve(np.zeros((6, 2)), Matching(3, 2, (1, 1), (0, 1)))
    assert caught.value.conflict


# Networks -------------------------------------------------------------------------------------


def random_tied_network(rng, n_rows, n_classes):
    """Rows whose arcs leave one node, or enter one, or are one; other arcs at random."""
    n_nodes, arcs, ties = int(rng.integers(2, 6)), [], []
    for i in range(n_rows):
        classes = rng.permutation(n_classes)[: int(rng.integers(1, n_classes + 1))]
        pivot, leaves = int(rng.integers(n_nodes)), rng.random() < 0.5
        for c in classes:
            far = int((pivot + rng.integers(1, n_nodes)) % n_nodes)
            ties.append((len(arcs), i, int(c)))
            arcs.append((pivot, far) if leaves else (far, pivot))
    for _ in range(int(rng.integers(1, 8))):
        v = int(rng.integers(n_nodes))
        arcs.append((v, int((v + rng.integers(1, n_nodes)) % n_nodes)))
    m, tied = len(arcs), len(ties)
    lower, upper = np.zeros(m, int), np.ones(m, int)
    upper[tied:] = rng.integers(0, 3, m - tied)
    lower[tied:] = rng.integers(0, 2, m - tied) * (upper[tied:] > 1)
    hidden = np.where(np.arange(m) < tied, 0, rng.integers(lower, upper + 1))
    chosen = rng.random(n_rows) < 0.5
    for i in np.flatnonzero(chosen):
        hidden[next(a for a, row, _ in ties if row == i)] = 1
    supply = np.zeros(n_nodes, int)
    for (a, b), x in zip(arcs, hidden, strict=True):
        supply[a] += x
        supply[b] -= x
    if rng.random() < 0.2:
        supply[:2] += [1, -1]
    arc, row, cls = (list(t) for t in zip(*ties, strict=True))
    cost = np.round(rng.normal(size=m), 1)
    return Network(n_nodes, arcs, lower, upper, cost, supply, (arc, row, cls))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_random_networks_against_all_labelings(n_classes):
    infeasible = 0
    for seed in range(60):
        rng = np.random.default_rng([7, n_classes, seed])
        n = int(rng.integers(1, 8 if n_classes == 2 else 5))
        known = Flow(random_tied_network(rng, n, n_classes))
        if seed % 3 == 0:
            known = known + Not([int(rng.integers(n))], [int(rng.integers(n_classes))])
        result = check_against_exhaustive(
            FlowOracle, compiled(known, n, n_classes), rng.normal(size=(n, n_classes))
        )
        infeasible += result is None
        assert result is None or result.exact
    assert 3 <= infeasible <= 45


def two_paths(ties):
    """Arcs 0 -> 1, 0 -> 2, 1 -> 3, 2 -> 3, 3 -> 0."""
    arcs = [[0, 1], [0, 2], [1, 3], [2, 3], [3, 0]]
    return Flow(Network(4, arcs, upper=[1, 1, 1, 1, 2], ties=ties))


def test_refusals_of_networks():
    """Arcs of one row that are apart, and labels that two arcs stand for, are for HiGHS."""
    apart = compiled(two_paths(([0, 3], [0, 0], [0, 1])), 1)
    assert "arcs of row 0 neither leave nor enter one node" in FlowOracle.accepts(apart).reason
    twice = compiled(two_paths(([0, 3], [0, 1], [1, 1])) + MustLink([[0, 1]]), 2)
    assert "same label" in FlowOracle.accepts(twice).reason
    counted = compiled(two_paths(([0], [0], [1])) + Count([[0, 1]], {1: 1}), 2)
    assert "counts couple rows beside the flow" in FlowOracle.accepts(counted).reason
    for program in (apart, twice, counted):
        assert select_oracle(program).oracle is LinearProgramOracle


def test_a_row_that_must_take_one_of_its_arcs():
    """Both classes are arcs out of node 0: one of them is used, though not using any is cheaper."""
    program = compiled(two_paths(([0, 1], [0, 0], [0, 1])), 1)
    result = check_against_exhaustive(FlowOracle, program, np.array([[5.0, 4.0]]))
    assert result.labels.tolist() == [1]
    assert result.value == 4.0


def test_an_infeasible_network_says_what_is_short():
    """Two units are to leave node 0 by one arc."""
    known = Flow(Network(2, [[0, 1]], supply=[2, -2], ties=([0], [0], 1)))
    with pytest.raises(InfeasibleHints, match=r"no flow meets .* cannot get rid of"):
        FlowOracle(compiled(known, 1)).solve(np.zeros((1, 2)))


# Tracking -------------------------------------------------------------------------------------


def tracker(frame, place, price=None, drift=1.0):
    """Detections as rows: class 1 lies on a track from frame to frame, at a price per distance.

    Detection i is an arc from node 2 + 2 i to 3 + 2 i. Tracks begin anywhere and end anywhere at a
    price; or, without one, two of them run from the first frame to the last.
    """
    n = len(frame)
    into, out = 2 + 2 * np.arange(n), 3 + 2 * np.arange(n)
    i, j = np.nonzero(frame[None, :] == frame[:, None] + 1)
    first, last = np.arange(n), np.arange(n)
    if price is None:
        first, last = np.flatnonzero(frame == 0), np.flatnonzero(frame == frame.max())
    begin, end = 0, 0 if price is not None else 1
    ends = [into, np.full(len(first), begin), out[last], out[i]]
    arcs = [out, into[first], np.full(len(last), end), into[j]]
    move = drift * np.abs(place[i] - place[j])
    cost = np.concatenate([np.zeros(n), np.full(len(first) + len(last), price or 0.0), move])
    supply = np.zeros(2 + 2 * n, int)
    supply[:2] = (0, 0) if price is not None else (2, -2)
    ends = np.stack([np.concatenate(ends), np.concatenate(arcs)], 1)
    tied = np.arange(n)
    return Flow(Network(2 + 2 * n, ends, cost=cost, supply=supply, ties=(tied, tied, 1)))


def test_tracks_by_hand():
    """Three frames: a (0), b (5); c (0.2), d (9); e (0.1). A track costs 2 at either end.

    a - c - e gains 9 and costs 2 + 0.2 + 0.1 + 2; b alone gains 1 or 5 and costs 4.
    """
    known = tracker(np.array([0, 0, 1, 1, 2]), np.array([0.0, 5.0, 0.2, 9.0, 0.1]), 2.0)
    score = np.array([3.0, 1.0, 3.0, 1.0, 3.0])
    cost = np.stack([np.zeros(5), -score], 1)
    result = oracles.solve(cost, known)
    assert result.labels.tolist() == [1, 0, 1, 0, 1]
    assert result.value == pytest.approx(-4.7, abs=1e-12)
    assert result.exact
    oracle = FlowOracle(compiled(known, 5))
    oracle.solve(cost)
    cost[1, 1] = -5.0
    again = oracle.solve(cost)
    assert again.labels.tolist() == [1, 1, 1, 0, 1]
    assert again.value == pytest.approx(-5.7, abs=1e-12)
    # Without e, a - c is not worth its ends with a score of 1.5 each.
    alone = np.stack([np.zeros(5), [-1.5, -1.0, -1.5, -1.0, 4.0]], 1)
    assert oracle.solve(alone).labels.tolist() == [0, 0, 0, 0, 0]


def test_tracks_teach_a_classifier():
    """Two objects and clutter in ten frames; no label is known, only that objects move slowly."""
    rng = np.random.default_rng(0)
    frame = np.repeat(np.arange(10), 4)
    truth = np.tile([1, 1, 0, 0], 10)
    place = np.where(truth, np.tile([-4.0, 4.0, 0.0, 0.0], 10), rng.uniform(-8, 8, 40))
    place += 0.2 * rng.normal(size=40)
    X = 3.0 * (truth[:, None] - 0.5) * [1.0, -1.0] + rng.normal(size=(40, 2))
    order = rng.permutation(40)
    known = tracker(frame[order], place[order])
    clf = HintClassifier([0, 1], C=10.0, n_init=2, random_state=0).fit(X[order], hints=known)
    assert "uses flow" in str(clf.explain_oracle())
    assert np.mean(clf.transduction_ == truth[order]) >= 0.95


def test_matching_teaches_a_classifier():
    """Pairs of 7 and 7 things; which features tell that two belong together is not known."""
    rng = np.random.default_rng(1)
    partner = rng.permutation(7)
    truth = (partner[:, None] == np.arange(7)).ravel().astype(int)
    X = np.stack([2.0 * truth, np.zeros(49)], 1) + 0.5 * rng.normal(size=(49, 2))
    known = Matching(7, 7, (1, 1), (1, 1))
    clf = HintClassifier([0, 1], C=10.0, n_init=2, random_state=0).fit(X, hints=known)
    assert "uses flow" in str(clf.explain_oracle())
    assert np.array_equal(clf.transduction_, truth)
