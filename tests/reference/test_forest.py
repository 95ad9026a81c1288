"""Max-product on forests against all labelings, and on long paths against a min-plus product."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from checks.oracles import check_against_exhaustive, check_result
from tacit import hints
from tacit.exceptions import InfeasibleHints
from tacit.hints._classes import ClassCodes
from tacit.hints._contract import Contraction
from tacit.hints._program import Counts, LabelProgram, Pairs
from tacit.oracles.exhaustive import ExhaustiveOracle
from tacit.oracles.forest import ForestOracle


def must_link(n_classes):
    return np.where(np.eye(n_classes, dtype=bool), 0.0, np.inf)


def cannot_link(n_classes):
    return np.where(np.eye(n_classes, dtype=bool), np.inf, 0.0)


def random_forest(rng, n):
    """Each row hangs on an earlier one, or on none; row numbers shuffled."""
    name = rng.permutation(n)
    edges = [
        (name[k], name[rng.integers(k)])[:: rng.choice([-1, 1])]
        for k in range(1, n)
        if rng.random() < 0.8
    ]
    return np.array(edges, np.intp).reshape(-1, 2)


def random_program(rng, *, forbid, hard):
    """A forest with soft, hard and must-link tables, some edges twice, must-link cliques."""
    n, n_classes = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    edges = random_forest(rng, n)
    tables = [must_link(n_classes), cannot_link(n_classes), 1.0 - np.eye(n_classes)]
    tables[0] = tables[0] + np.diag(rng.normal(size=n_classes))  # a must-link with costs of its own
    for _ in range(3):
        soft = rng.normal(size=(n_classes, n_classes))
        tables.append(np.where(rng.random(soft.shape) < hard, np.inf, soft))
    table = rng.integers(len(tables), size=len(edges))
    # Every edge of the clique that the must-links span, in either direction, and copies of others.
    linked = Contraction.of(
        LabelProgram(n, n_classes, pairs=make_pairs(edges, table, tables, np.ones(len(edges))))
    ).component
    again = [
        (i, j) for i in range(n) for j in range(n) if linked[i] == linked[j] and rng.random() < 0.4
    ]
    copies = rng.integers(len(edges), size=len(edges) // 2) if len(edges) else []
    edges = [*edges.tolist(), *again, *(edges[k][:: rng.choice([-1, 1])].tolist() for k in copies)]
    kinds = [0, 2, 3] if hard else [0, 2]
    table = [*table, *rng.choice(kinds, len(again)), *rng.integers(1, len(tables), len(copies))]
    allowed = rng.random((n, n_classes)) >= forbid if forbid else None
    unary = rng.normal(size=(n, n_classes)) if rng.random() < 0.5 else None
    if unary is not None and allowed is not None:
        unary = np.where(allowed, unary, 0.0)
    pairs = make_pairs(edges, table, tables, rng.uniform(0.1, 3.0, len(edges)))
    return LabelProgram(n, n_classes, allowed=allowed, unary=unary, pairs=pairs)


def make_pairs(edges, table, tables, weight):
    return Pairs(
        np.array(edges, np.intp).reshape(-1, 2), weight, np.array(table, np.intp), np.array(tables)
    )


@pytest.mark.parametrize("seed", range(120))
def test_random_forests_match_all_labelings(seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, forbid=[0.0, 0.2, 0.5][seed % 3], hard=[0.0, 0.3][seed % 2])
    cost = rng.normal(size=(program.n, program.n_classes))
    result = check_against_exhaustive(ForestOracle, program, cost)
    if result is not None:
        assert result.exact
        assert result.bound == result.value


def test_both_outcomes_and_contractions_occur_above():
    infeasible = contracted = merged = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        program = random_program(rng, forbid=[0.0, 0.2, 0.5][seed % 3], hard=[0.0, 0.3][seed % 2])
        oracle = ForestOracle(program)
        contracted += not oracle._contraction.trivial
        merged += len(oracle._contraction.pairs.tables) > 6
        try:
            oracle.solve(np.zeros((program.n, program.n_classes)))
        except InfeasibleHints:
            infeasible += 1
    assert 10 <= infeasible <= 110
    assert contracted >= 20
    assert merged >= 20


@pytest.mark.parametrize("seed", range(30))
def test_contraction_keeps_the_value_of_every_labeling(seed):
    """Component labelings cost the same as their row labelings; all others break a must-link."""
    rng = np.random.default_rng([5, seed])
    program = random_program(rng, forbid=0.2, hard=0.3)
    contraction = Contraction.of(program)
    k = len(contraction.first_row)
    np.testing.assert_array_equal(contraction.component[contraction.first_row], np.arange(k))
    small = LabelProgram(
        k,
        program.n_classes,
        allowed=contraction.allowed,
        unary=contraction.unary,
        pairs=contraction.pairs,
    )
    for _ in range(50):
        y = rng.integers(program.n_classes, size=k)
        whole = program.value(y[contraction.component])
        assert small.value(y) == pytest.approx(whole, rel=1e-12, abs=1e-12)
    cost = rng.normal(size=(program.n, program.n_classes))
    assert contraction.gather(cost).sum(axis=0) == pytest.approx(cost.sum(axis=0))
    try:
        best = ExhaustiveOracle(program).solve(cost).value
    except InfeasibleHints:
        return
    assert ExhaustiveOracle(small).solve(contraction.gather(cost)).value == pytest.approx(best)


def min_plus_path(cost, step):
    """Least total cost of a path, (N, C, C) matrices multiplied pairwise in min-plus arithmetic."""
    parts = np.broadcast_to(step, (len(cost) - 1, *step.shape)) + cost[1:, None, :]
    while len(parts) > 1:
        even = len(parts) // 2 * 2
        left, right = parts[0:even:2], parts[1:even:2]
        joined = np.min(left[:, :, :, None] + right[:, None, :, :], axis=2)
        parts = np.concatenate([joined, parts[even:]])
    return float(np.min(cost[0][:, None] + parts[0]))


@pytest.mark.parametrize("shuffled", [False, True])
def test_long_path(shuffled):
    rng = np.random.default_rng(3)
    n, n_classes = 200_000, 3
    cost = rng.normal(size=(n, n_classes))
    step = rng.random((n_classes, n_classes))
    step[0, 2] = np.inf
    name = rng.permutation(n) if shuffled else np.arange(n)
    edges = np.stack([name[:-1], name[1:]], axis=1)
    program = LabelProgram(
        n, n_classes, pairs=make_pairs(edges, np.zeros(n - 1), [step], np.ones(n - 1))
    )
    result = ForestOracle(program).solve(cost)
    check_result(program, cost, result)
    assert result.value == pytest.approx(min_plus_path(cost[name], step), rel=1e-12)


def test_star():
    """Given the centre's label the leaves are free: C times a row-wise minimum."""
    rng = np.random.default_rng(4)
    n, n_classes = 50_000, 4
    cost = rng.normal(size=(n, n_classes))
    table, weight = rng.normal(size=(n_classes, n_classes)), rng.uniform(0.1, 2.0, n - 1)
    leaves = np.arange(n - 1)
    edges = np.stack([leaves, np.full(n - 1, n - 1)], axis=1)
    program = LabelProgram(n, n_classes, pairs=make_pairs(edges, np.zeros(n - 1), [table], weight))
    result = ForestOracle(program).solve(cost)
    by_centre = [
        cost[-1, a] + (cost[:-1] + weight[:, None] * table[:, a]).min(axis=1).sum()
        for a in range(n_classes)
    ]
    check_result(program, cost, result)
    assert result.value == pytest.approx(min(by_centre), rel=1e-12)


def test_must_link_clique_is_no_cycle_and_a_real_cycle_is_named():
    clique = np.array([(i, j) for i in range(4) for j in range(i)])
    link = make_pairs(clique, np.zeros(6), [must_link(2)], np.ones(6))
    assert ForestOracle.accepts(LabelProgram(5, 2, pairs=link))
    ring = np.array([(2, 5), (5, 7), (7, 2), (0, 1)])
    soft = make_pairs(ring, np.zeros(4), [1.0 - np.eye(2)], np.ones(4))
    program = LabelProgram(8, 2, pairs=soft)
    verdict = ForestOracle.accepts(program)
    assert not verdict
    prefix, rows = verdict.reason.split("rows ")
    assert prefix == "the pairs form a cycle through "
    assert sorted(rows.split(", ")) == ["2", "5", "7"]
    with pytest.raises(ValueError, match="form a cycle"):
        ForestOracle(program)
    n = 100
    ring = np.stack([np.arange(n), np.roll(np.arange(n), -1)], axis=1)
    soft = make_pairs(ring, np.zeros(n), [1.0 - np.eye(2)], np.ones(n))
    assert ForestOracle.accepts(LabelProgram(n, 2, pairs=soft)).reason.endswith("(100 in all)")


def test_a_named_cycle_is_a_cycle():
    """Hang trees on a ring: only the ring's rows are named."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        ring = rng.permutation(30)[:5]
        edges = np.stack([ring, np.roll(ring, 1)], axis=1).tolist()
        inside = list(ring)
        for row in rng.permutation(np.setdiff1d(np.arange(30), ring)):
            edges.append((row, inside[rng.integers(len(inside))]))
            inside.append(row)
        soft = make_pairs(edges, np.zeros(30), [1.0 - np.eye(2)], np.ones(30))
        reason = ForestOracle.accepts(LabelProgram(30, 2, pairs=soft)).reason
        named = [int(r) for r in reason.split("rows ")[1].split(", ")]
        assert sorted(named) == sorted(ring)


def test_refusals_of_other_hints():
    counts = Counts(np.array([0, 2]), np.arange(2), np.zeros((1, 2), int), np.full((1, 2), 2))
    program = LabelProgram(2, 2, counts=counts)
    assert ForestOracle.accepts(program).reason == "counts couple rows"
    with pytest.raises(ValueError, match="counts couple rows"):
        ForestOracle(program)
    linear = LabelProgram(
        1,
        2,
        linear=sp.csr_array(np.ones((1, 2))),
        linear_lower=np.zeros(1),
        linear_upper=np.ones(1),
    )
    assert "linear" in ForestOracle.accepts(linear).reason


def test_contradicting_links_are_infeasible():
    edges = np.array([(0, 1), (1, 0), (1, 2)])
    tables = [must_link(2), cannot_link(2)]
    program = LabelProgram(3, 2, pairs=make_pairs(edges, [0, 1, 0], tables, np.ones(3)))
    with pytest.raises(InfeasibleHints, match=r"no labeling .*\.$"):
        ForestOracle(program).solve(np.zeros((3, 2)))


def test_values_by_hand():
    """Three rows in a row, Potts .6 and 1: row 1 gives in to its neighbour, row 2 does not."""
    cost = np.array([[0.0, 1.0], [0.5, 0.0], [2.0, 0.0]])
    pairs = make_pairs([(0, 1), (2, 1)], [0, 0], [1.0 - np.eye(2)], np.array([0.6, 1.0]))
    result = ForestOracle(LabelProgram(3, 2, pairs=pairs)).solve(cost)
    np.testing.assert_array_equal(result.labels, [0, 1, 1])
    assert result.value == pytest.approx(0.6)
    with pytest.raises(ValueError, match=r"shape \(2, 2\); expected \(3, 2\)"):
        ForestOracle(LabelProgram(3, 2, pairs=pairs)).solve(cost[:2])


def test_more_pairs_than_rows_are_refused_by_a_cycle_among_the_first():
    grid = np.arange(16).reshape(4, 4)
    across = np.column_stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()])
    down = np.column_stack([grid[:-1].ravel(), grid[1:].ravel()])
    edges = np.concatenate([across, down])
    program = hints.Potts(edges).compile(16, ClassCodes([0, 1]))
    found = ForestOracle.accepts(program).reason
    assert found.startswith("the pairs form a cycle through rows ")
    rows = [int(r) for r in found.removeprefix("the pairs form a cycle through rows ").split(", ")]
    linked = {frozenset(edge) for edge in edges.tolist()}
    assert all(frozenset(p) in linked for p in zip(rows, [*rows[1:], rows[0]], strict=True))
