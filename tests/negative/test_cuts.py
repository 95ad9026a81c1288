"""Deliberately wrong cuts and moves: the checks on oracles must reject each of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from checks.oracles import check_against_exhaustive
from tacit.hints._program import LabelProgram, Pairs
from tacit.oracles import ExpansionOracle, GraphCutOracle, QPBOOracle
from tacit.oracles.base import OracleResult
from tacit.oracles.mincut import MinCut

# A ring of four rows with costs that pull apart; which label wins depends on all edges.
RING = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
PULLS = np.array([[0.0, 1.5], [0.0, 0.1], [1.4, 0.0], [0.3, 0.0]])


def ring(weight, n_classes=2):
    table = (1.0 - np.eye(n_classes))[None]
    pairs = Pairs(RING, np.asarray(weight, float), np.zeros(4, np.intp), table)
    return LabelProgram(4, n_classes, pairs=pairs)


class OneWayCapacities(GraphCutOracle):
    """Takes edges for one-way ones: half of the cuts cost nothing."""

    def __init__(self, program):
        super().__init__(program)
        binary = self._binary
        self._cut = MinCut(4, binary.edges, 2 * binary.forward, np.zeros(4))


class CountsEdgesTwice(GraphCutOracle):
    """More flow than the edges carry: a bound that is none."""

    def __init__(self, program):
        super().__init__(program)
        binary = self._binary
        self._cut = MinCut(4, np.tile(binary.edges, (2, 1)), np.tile(binary.forward, 2))


class LeavesOldFlow(GraphCutOracle):
    """A warm start that forgets that the costs have changed."""

    def solve(self, cost):
        first = super().solve(PULLS)
        return replace(first, value=self.program.value(first.labels) + pays(cost, first.labels))


class StopsAtTheStart(ExpansionOracle):
    """Makes no move, and takes where it is for a bound."""

    def solve(self, cost):
        labels = cost.argmin(axis=1).astype(np.int32)
        value = pays(cost, labels) + self.program.value(labels)
        return OracleResult(labels, value, value, True)


class RoofWithoutHalf(QPBOOracle):
    """Bound of the doubled graph without what the opposite nodes add."""

    def solve(self, cost):
        result = super().solve(cost)
        return replace(
            result, bound=result.bound + 0.5 * float(np.abs(cost[:, 1] - cost[:, 0]).sum())
        )


def pays(cost, labels):
    return float(cost[np.arange(len(cost)), labels].sum())


@pytest.mark.parametrize(
    ("wrong", "weight", "cost"),
    [
        (
            OneWayCapacities,
            [0.5, 0.9, 0.5, 0.1],
            np.array([[9, 10], [1, 7], [5, 10], [11, 0]]) / 10,
        ),
        (CountsEdgesTwice, [0.2, 0.2, 0.2, 0.2], PULLS),
        (StopsAtTheStart, [1.0, 1.0, 1.0, 1.0], PULLS),
        (LeavesOldFlow, [0.2, 0.2, 0.2, 0.2], PULLS[:, ::-1].copy()),
        (RoofWithoutHalf, [0.3, -0.3, 0.3, 0.3], PULLS),
    ],
)
def test_check_rejects_wrong_cuts(wrong, weight, cost):
    right = wrong.__mro__[1]
    check_against_exhaustive(right, ring(weight), cost)
    with pytest.raises(AssertionError):
        check_against_exhaustive(wrong, ring(weight), cost)
