"""Deliberately wrong oracles: the checks on oracles must reject each of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from checks.oracles import check_against_exhaustive
from tacit.hints import Matching
from tacit.hints._classes import ClassCodes
from tacit.hints._program import Counts, LabelProgram, Pairs
from tacit.oracles.assignment import AssignmentOracle
from tacit.oracles.base import OracleResult
from tacit.oracles.flow import FlowOracle
from tacit.oracles.lagrangian import LagrangianOracle
from tacit.oracles.trws import TRWSOracle

# Four rows of which all like class 0 best; two may have it. Greedy gives it to the first two, the
# best choice to the last two, who lose more.
COST = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0]])


def bounded(lower, upper):
    counts = Counts(np.array([0, 4]), np.arange(4), np.array([lower]), np.array([upper]))
    return LabelProgram(4, 2, counts=counts)


PROGRAM = bounded([0, 0], [2, 4])


class IgnoresUpperBounds(AssignmentOracle):
    def __init__(self, program):
        super().__init__(program)
        self._forest = self._forest._replace(upper=np.full_like(self._forest.upper, program.n))


class BoundAboveOptimum(AssignmentOracle):
    def solve(self, cost):
        result = super().solve(cost)
        return replace(result, bound=result.value + 0.5, value=result.value)


class ClaimsMoreThanItPays(AssignmentOracle):
    """Value and bound agree with each other, not with the labels."""

    def solve(self, cost):
        result = super().solve(cost)
        return replace(result, value=result.value + 0.5, bound=result.value + 0.5)


class GreedyCalledExact(AssignmentOracle):
    def solve(self, cost):
        left, labels = self.program.counts.upper[0].copy(), np.empty(len(cost), np.int32)
        for i, row in enumerate(cost):
            labels[i] = np.argmin(np.where(left > 0, row, np.inf))
            left[labels[i]] -= 1
        value = float(cost[np.arange(len(cost)), labels].sum())
        return OracleResult(labels, value, value, True)


class GreedyWithWrongBound(GreedyCalledExact):
    """Does not call itself exact, yet its bound is no bound."""

    def solve(self, cost):
        return replace(super().solve(cost), exact=False)


class ExactWithoutProof(AssignmentOracle):
    def solve(self, cost):
        return replace(super().solve(cost), bound=-np.inf)


class NeverInfeasible(AssignmentOracle):
    def solve(self, cost):
        return OracleResult(np.zeros(len(cost), np.int32), 0.0, 0.0, True)


# Rows (0, 0), (0, 1), (1, 0), (1, 1) of a matching. The best pair, (0, 0), is not in the best
# matching: -5 - 4 beats -6 - 1.
LINKS = np.array([[0.0, -6.0], [0.0, -5.0], [0.0, -4.0], [0.0, -1.0]])
MATCHING = Matching(2, 2).compile(4, ClassCodes([0, 1]))


class OneFamilyOnly(FlowOracle):
    """Forgets what the second family allows."""

    def __init__(self, program):
        super().__init__(program)
        self._solver._net[2][2:4] = 9


class BestPairFirst(FlowOracle):
    def solve(self, cost):
        labels = np.array([1, 0, 0, 1], np.int32)
        value = float(cost[np.arange(4), labels].sum())
        return OracleResult(labels, value, value, True)


class StopsEarly(FlowOracle):
    """Stops before the first path, and calls what it has a bound."""

    def solve(self, cost):
        result = super().solve(cost)
        return replace(result, labels=np.zeros(4, np.int32), value=0.0, bound=0.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (OneFamilyOnly, "breaks a hard hint"),
        (BestPairFirst, "cuts off the optimum"),
        (StopsEarly, "cuts off the optimum"),
    ],
)
def test_check_rejects_flows(wrong, message):
    assert check_against_exhaustive(FlowOracle, MATCHING, LINKS).value == -9.0
    with pytest.raises(AssertionError, match=message):
        check_against_exhaustive(wrong, MATCHING, LINKS)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (IgnoresUpperBounds, "breaks a hard hint"),
        (BoundAboveOptimum, "bound above value"),
        (ClaimsMoreThanItPays, "not what the labels cost"),
        (GreedyCalledExact, "cuts off the optimum"),
        (GreedyWithWrongBound, "cuts off the optimum"),
        (ExactWithoutProof, "bound is far off"),
    ],
)
def test_check_rejects(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_against_exhaustive(wrong, PROGRAM, COST)


def test_check_rejects_an_answer_to_an_infeasible_program():
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_against_exhaustive(NeverInfeasible, bounded([3, 3], [4, 4]), COST)


def test_check_rejects_an_oracle_that_refuses():
    crossing = Counts(
        np.array([0, 2, 4]), np.array([0, 1, 1, 2]), np.zeros((2, 2), int), np.full((2, 2), 2)
    )
    with pytest.raises(AssertionError, match="overlap"):
        check_against_exhaustive(AssignmentOracle, LabelProgram(4, 2, counts=crossing), COST)


def test_check_passes_the_right_one():
    result = check_against_exhaustive(AssignmentOracle, PROGRAM, COST)
    assert result.value == 3.0
    assert check_against_exhaustive(AssignmentOracle, bounded([3, 3], [4, 4]), COST) is None


# Approximate oracles -------------------------------------------------------------------------

# A triangle that wants three labels of two: every bound is 0 but the best labeling pays 1.
ODD = Pairs(np.array([[0, 1], [1, 2], [0, 2]]), np.ones(3), np.zeros(3, np.intp), np.eye(2)[None])
FRUSTRATED = LabelProgram(3, 2, pairs=ODD)
# A ring of four, two of each class: at any price the cheapest labels are all the same.
RING = Pairs(
    np.array([[0, 1], [1, 2], [2, 3], [3, 0]]),
    np.ones(4),
    np.zeros(4, np.intp),
    (1.0 - np.eye(2))[None],
)
EVEN = LabelProgram(
    4,
    2,
    pairs=RING,
    counts=Counts(np.array([0, 4]), np.arange(4), np.full((1, 2), 2), np.full((1, 2), 2)),
)


class BoundAboveTheRelaxation(TRWSOracle):
    """Takes one more for the bound than the relaxation gives."""

    def solve(self, cost):
        result = super().solve(cost)
        return replace(result, bound=result.bound + 1.5)


class ForgetsTheCharge(LagrangianOracle):
    """The inner minimum at its prices, without what the bounds take back."""

    def solve(self, cost):
        result = super().solve(cost)
        prices = self.prices.sum(axis=0) + 2.0
        inner = TRWSOracle(replace(self.program, counts=Counts.none(2))).solve(cost + prices)
        return replace(result, bound=inner.bound)


class ForgetsTheRepair(LagrangianOracle):
    def solve(self, cost):
        result = super().solve(cost)
        return replace(result, labels=np.zeros_like(result.labels))


@pytest.mark.parametrize(
    ("wrong", "program", "message"),
    [
        (BoundAboveTheRelaxation, FRUSTRATED, "above value|cuts off the optimum"),
        (ForgetsTheCharge, EVEN, "above value|cuts off the optimum"),
        (ForgetsTheRepair, EVEN, "breaks a hard hint"),
    ],
)
def test_check_rejects_approximate_ones(wrong, program, message):
    with pytest.raises(AssertionError, match=message):
        check_against_exhaustive(wrong, program, np.zeros((program.n, 2)))


@pytest.mark.parametrize(
    ("oracle", "program"), [(TRWSOracle, FRUSTRATED), (LagrangianOracle, EVEN)]
)
def test_check_passes_a_bound_below_the_optimum(oracle, program):
    """Their bounds do not reach it, and they do not claim so."""
    result = check_against_exhaustive(oracle, program, np.zeros((program.n, 2)))
    assert not result.exact
    assert result.bound < result.value - 0.5
