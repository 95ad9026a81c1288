"""Costs and coefficients in any units: as exact at 1e-9 as at 1e9, and with an offset."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import hints, oracles
from tacit.hints.combine import Hints
from tacit.oracles import ORACLES

N, CLASSES = 7, 3
UNITS = (1e-12, 1e-9, 1e-3, 1.0, 1e6, 1e12, 1e25)


def overlapping(rng):
    """Counts of overlapping groups, true of some labeling."""
    y = rng.integers(0, CLASSES, N)
    groups = [rng.choice(N, 4, replace=False) for _ in range(3)]
    counts = np.array([[np.sum(y[g] == c) for c in range(CLASSES)] for g in groups])
    return hints.Count(groups, counts - 1, counts)


def crossing(rng):
    """Counts of one class in rows and columns of 2 x 3, the last row in neither."""
    y = rng.integers(0, CLASSES, N)
    groups = [[0, 1, 2], [3, 4, 5], [0, 3], [1, 4], [2, 5]]
    counts = np.array([np.sum(y[g] == 1) for g in groups])
    return hints.Count(groups, {1: counts}, {1: counts})


STRICT = {
    "separable": lambda rng: hints.Not(np.arange(N), rng.integers(0, CLASSES, N)),
    "assignment": lambda rng: hints.Count([range(3), range(3, N)], 1, 2 + rng.integers(0, 2)),
    "forest": lambda rng: hints.CannotLink([(i, i + 1) for i in range(N - 1)]),
    "graph_cut": lambda rng: hints.Not(np.arange(N), 2) + hints.MustLink([(0, 1), (2, 3)]),
    "flow": crossing,
    "lp": overlapping,
    "small": lambda rng: hints.CannotLink([(0, 1), (1, 2), (0, 2)]),
    "milp": lambda rng: hints.Count([range(N)], 1, 4) + hints.CannotLink([(0, 1), (1, 2)]),
}


def scaled(potts, unit):
    """The same pairs at costs in another unit."""
    return hints.Potts(potts[0], unit * potts[1])


def chords(rng):
    edges = np.array([(i, (i + k) % N) for k in (1, 2) for i in range(N)])
    return edges, rng.uniform(0.1, 1.0, len(edges))


# Costs of pairs are in the same unit as those of rows.
BOUNDED = {
    "graph_cut": lambda rng, unit: hints.Not(np.arange(N), 2) + scaled(chords(rng), unit),
    "expansion": lambda rng, unit: scaled(chords(rng), unit),
    "swap": lambda rng, unit: scaled(chords(rng), unit),
    "qpbo": lambda rng, unit: (
        hints.Not(np.arange(N), 2) + scaled(chords(rng), unit) + hints.CannotLink([(0, 3)], unit)
    ),
    "trws": lambda rng, unit: scaled(chords(rng), unit) + hints.CannotLink([(0, 3)], unit),
    "lagrangian": lambda rng, unit: scaled(chords(rng), unit) + hints.Count([range(N)], 1, 4),
}


@pytest.mark.parametrize("unit", UNITS[::3])
@pytest.mark.parametrize("name", BOUNDED)
def test_units_of_bounds_do_not_matter(name, unit):
    exact = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        known, base = BOUNDED[name](rng, unit), rng.standard_normal((N, CLASSES))
        for offset in (0.0, 1e6):
            cost = unit * (base + offset)
            best = oracles.solve(cost, known, oracle="exhaustive").value
            found = oracles.solve(cost, known, oracle=name)
            slack = unit * (1e-8 + 1e-14 * N * offset)
            assert found.bound <= best + slack
            assert found.value >= best - slack
            exact += found.exact
            if found.exact:
                assert found.value <= best + slack, "called exact, which only holds in larger units"
    assert exact == 6 or name != "graph_cut"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", STRICT)
def test_units_of_costs_do_not_matter(name, unit):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        known, base = STRICT[name](rng), rng.standard_normal((N, CLASSES))
        for offset in (0.0, 1e6):
            cost = unit * (base + offset)
            best = oracles.solve(cost, known, oracle="exhaustive").value
            found = oracles.solve(cost, known, oracle=name)
            slack = unit * (1e-9 + 1e-14 * N * offset)
            assert found.exact
            assert found.value <= best + slack
            assert found.bound <= best + slack


# Rows are pairs of four items: two classes.
PAIRED = {"partition": hints.Partition(4), "order": hints.Order(4)}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", PAIRED)
def test_units_of_pairs_of_items_do_not_matter(name, unit):
    for seed in range(6):
        base = np.random.default_rng(seed).standard_normal((6, 2))
        for offset in (0.0, 1e6):
            cost = unit * (base + offset)
            best = oracles.solve(cost, PAIRED[name], oracle="exhaustive").value
            found = oracles.solve(cost, PAIRED[name], oracle=name)
            slack = unit * (1e-8 + 1e-14 * 6 * offset)
            assert found.exact
            assert found.value <= best + slack
            assert found.bound <= best + slack


def test_every_oracle_is_asked():
    assert {*STRICT, *BOUNDED, *PAIRED, "exhaustive"} == set(ORACLES)


@pytest.mark.parametrize("unit", [1e-10, 1e-3, 1.0, 1e9, 1e18, 1e22])
def test_units_of_linear_rows_do_not_matter(unit):
    A = np.zeros((1, 2 * 4))
    A[0, [1, 3, 5]] = unit  # row 0, 1 or 2 is 1
    known = hints.Linear(A, lower=2.0 * unit)
    found = oracles.solve(np.tile([0.0, 1.0], (4, 1)) * [[1], [3], [2], [1]], known)
    assert found.labels.tolist() == [1, 0, 1, 0]
    assert known.compile(4, _codes(2)).violation(np.array([1, 0, 0, 0])) == 1


def test_a_bound_beyond_all_labelings_is_infeasible_not_a_failure():
    assert not hints.check(hints.Linear(np.ones((1, 4)), lower=1e21), 2, [0, 1])


def test_a_bound_that_nothing_meets_is_refused():
    with pytest.raises(ValueError, match="row 0 can never be inf"):
        hints.Linear(np.ones((1, 4)), lower=np.inf)


def test_soft_pairs_are_no_matter_for_feasibility():
    n = 144  # a grid of soft pairs with counts takes branch and bound hours, strict hints alone not
    cell = np.arange(n).reshape(12, 12)
    edges = np.concatenate(
        [
            np.c_[cell[:, 1:].ravel(), cell[:, :-1].ravel()],
            np.c_[cell[1:].ravel(), cell[:-1].ravel()],
        ]
    )
    known = Hints([hints.Potts(edges, 0.5), hints.Share([0.2] * 4, [0.3] * 4)])
    assert hints.check(known, n, range(4))


def _codes(n):
    from tacit.hints._classes import ClassCodes

    return ClassCodes(range(n))
