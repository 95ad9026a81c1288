"""Roof duality against all labelings: its bound, its labels, and what it leaves open."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.oracles import check_against_exhaustive
from checks.pair_programs import program_of, random_edges
from tacit import hints, oracles
from tacit.hints._classes import ClassCodes
from tacit.hints._program import LabelProgram, Pairs
from tacit.oracles import QPBOOracle

some = settings(max_examples=80, deadline=None, derandomize=True)


def any_tables(rng, m, infinite):
    t = rng.integers(-3, 4, (m, 2, 2)) / 2.0
    t[rng.random(t.shape) < infinite] = np.inf
    return t


@some
@given(seed=st.integers(0, 10_000), infinite=st.sampled_from([0.0, 0.1, 0.25]))
def test_against_all_labelings(seed, infinite):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    edges = random_edges(rng, n, int(rng.integers(1, 2 * n)))
    program = program_of(rng, n, 2, edges, any_tables(rng, len(edges), infinite), 0.1)
    cost = rng.integers(-3, 4, (n, 2)) / 2.0 if seed % 2 else rng.normal(size=(n, 2))
    check_against_exhaustive(QPBOOracle, program, cost)


def open_instance(seed, n=8, m=18):
    rng = np.random.default_rng(seed)
    edges = np.unique(np.sort(random_edges(rng, n, m), axis=1), axis=0)
    tables = rng.normal(size=(len(edges), 1, 1)) * (1.0 - np.eye(2))
    pairs = Pairs(edges, np.ones(len(edges)), np.arange(len(edges)), tables)
    return LabelProgram(n, 2, pairs=pairs), rng.normal(size=(n, 2))


def test_decided_rows_agree_with_an_optimal_labeling():
    decided = 0
    for seed in range(60):
        program, cost = open_instance(seed)
        oracle = QPBOOracle(program)
        result = oracle.solve(cost)
        labels = np.array(list(itertools.product((0, 1), repeat=8)), np.int32)
        values = np.array([cost[np.arange(8), y].sum() + program.value(y) for y in labels])
        best = labels[values <= values.min() + 1e-9]
        sure = ~oracle.unlabelled
        assert (best[:, sure] == result.labels[sure]).all(axis=1).any()
        if sure.all():
            assert result.exact
            assert result.value == pytest.approx(values.min())
        decided += sure.sum()
    assert 60 < decided < 480 - 60, "all or nothing was decided: too little was tested"


def test_the_bound_is_that_of_the_local_polytope():
    """Roof duality is that linear program (Boros, Hammer 2002)."""
    for seed in range(8):
        program, cost = open_instance(seed)
        pairs, n = program.pairs, 8
        m, columns = len(pairs), 2 * n + 4 * len(pairs)
        objective = np.concatenate([cost.ravel(), pairs.tables.ravel()])
        rows, right = [], []
        for i in range(n):
            row = np.zeros(columns)
            row[2 * i : 2 * i + 2] = 1.0
            rows.append(row)
            right.append(1.0)
        for e in range(m):
            at = 2 * n + 4 * e
            for end, picks in ((0, [(0, 1), (2, 3)]), (1, [(0, 2), (1, 3)])):
                for label in (0, 1):
                    row = np.zeros(columns)
                    row[[at + k for k in picks[label]]] = 1.0
                    row[2 * pairs.edges[e, end] + label] = -1.0
                    rows.append(row)
                    right.append(0.0)
        answer = scipy.optimize.linprog(objective, A_eq=np.array(rows), b_eq=right, bounds=(0, 1))
        assert QPBOOracle(program).solve(cost).bound == pytest.approx(answer.fun, abs=1e-7)


def test_rows_turned_round_are_exact_and_warm():
    """Submodular after half of the rows change sides: everything is decided, for all costs."""
    rng = np.random.default_rng(0)
    edges = random_edges(rng, 60, 150)
    turned = rng.random(60) < 0.5
    unlike = turned[edges[:, 0]] != turned[edges[:, 1]]
    known = hints.Potts(edges[~unlike], 0.7) + hints.CannotLink(edges[unlike], 0.7)
    program = known.compile(60, ClassCodes([0, 1]))
    oracle, cost = QPBOOracle(program), rng.normal(size=(60, 2))
    for _ in range(4):
        result = oracle.solve(cost)
        assert result.exact
        straight = cost.copy()
        straight[turned] = straight[turned][:, ::-1]
        potts = hints.Potts(edges, 0.7)
        best = oracles.solve(straight, potts, oracle="graph_cut")
        assert result.value == pytest.approx(best.value, rel=1e-12)
        cost = cost + 0.2 * rng.normal(size=cost.shape)


def test_hard_odd_cycles_stay_open_and_even_ones_do_not():
    odd = hints.CannotLink([[0, 1], [1, 2]]) + hints.CannotLink([[2, 0]], 1.0)
    program = odd.compile(3, ClassCodes([0, 1]))
    oracle = QPBOOracle(program)
    result = oracle.solve(np.zeros((3, 2)))
    assert result.value == 1.0
    result = oracle.solve(np.array([[0.0, 9.0], [0.0, 0.0], [0.0, 0.0]]))
    assert result.labels.tolist() == [0, 1, 0]
    assert not oracle.unlabelled.any()
    assert result.exact


def test_refuses_with_a_reason():
    program = hints.Potts([[0, 1]]).compile(2, ClassCodes([0, 1, 2]))
    assert QPBOOracle.accepts(program).reason == "row 0 has more than two allowed labels"
    with pytest.raises(ValueError, match="QPBOOracle cannot solve this program"):
        QPBOOracle(program)
