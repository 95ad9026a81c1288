"""Bounds in floating point against optima in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit import hints
from tacit.hints._classes import ClassCodes
from tacit.oracles import ORACLES
from tacit.oracles.linear_program import _rounding

N, CLASSES = 200, ClassCodes([0, 1])
CHAIN = np.column_stack([np.arange(N - 1), np.arange(1, N)])


@pytest.mark.parametrize(
    "name", ["trws", "lagrangian", "qpbo", "graph_cut", "expansion", "swap", "small", "milp"]
)
def test_large_offsets_leave_bounds_below_the_optimum(name):
    """Own costs of 1e-7 beside an offset of 1e9, of which an addition keeps one digit.

    Pairs cost nothing: the optimum is that of each row alone.
    """
    known = hints.Potts(CHAIN, 0.0)
    if name == "lagrangian":
        known = known + hints.Count([np.arange(N)], 0, N)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        cost = np.repeat(rng.normal(size=(N, 1)) + 1e9, 2, axis=1)
        own = rng.choice([0.0, 1e-7], (N, 2))
        result = ORACLES[name]((known + hints.Cost(own)).compile(N, CLASSES)).solve(cost)
        best = sum(Fraction(c) for c in cost[:, 0]) + sum(Fraction(u) for u in own.min(axis=1))
        assert Fraction(result.bound) <= best
        assert result.bound <= result.value


@pytest.mark.parametrize("name", ["trws", "lagrangian", "qpbo", "graph_cut", "expansion", "swap"])
def test_costs_that_cancel_leave_bounds_below_the_optimum(name):
    """Costs and the program's own are far larger than their sums."""
    known = hints.Potts(CHAIN, 0.0)
    if name == "lagrangian":
        known = known + hints.Count([np.arange(N)], 0, N)
    for seed in range(4):
        cost = 10.0 ** np.random.default_rng(seed).uniform(0, 12, (N, 2))
        own = -np.round(cost, 3)
        result = ORACLES[name]((known + hints.Cost(own)).compile(N, CLASSES)).solve(cost)
        sums = [
            [Fraction(a) + Fraction(b) for a, b in zip(*r, strict=True)]
            for r in zip(cost, own, strict=True)
        ]
        assert Fraction(result.bound) <= sum(min(row) for row in sums)


def test_negative_pairs_round_like_positive_ones():
    cost = np.zeros((N, 2))
    there, back = (_rounding(hints.Potts(CHAIN, w).compile(N, CLASSES), cost) for w in (3.0, -3.0))
    assert there == back > 0
