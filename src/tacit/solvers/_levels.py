"""Many rows, few weights: learn from a sample of the rows first, then go on with all of them.

With N rows and d P weights, a sample of some ten rows per weight has about the same minima as the
whole. The search for a good one (starts, anneals, reheats) is made there; each level after it, ten
times as many rows, starts from the classifier of the one before and only descends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.backends import Array, as_like, to_numpy
from tacit.exceptions import InfeasibleHints
from tacit.linalg import LinearSpace, ScoreSpace
from tacit.oracles import Oracle, select_oracle
from tacit.oracles.assignment import AssignmentOracle
from tacit.oracles.separable import SeparableOracle
from tacit.problem import Problem, draw_rows, sample
from tacit.solvers._narrow import fits
from tacit.solvers.alternate import Labels, Outcome

__all__ = ["Level", "level_below", "lift"]

# Rows per weight in the smallest sample, its least size, and the growth from level to level.
PER_WEIGHT, SMALLEST, GROWTH = 10, 3000, 10
# Fewer rows than this, or than this many times the smallest sample, are taken as they are.
MANY, WORTH = 20_000, 2


@dataclass(frozen=True)
class Level:
    """A problem on fewer rows, with its scores and its discrete step."""

    problem: Problem
    space: ScoreSpace
    oracle: Oracle


def level_below(
    problem: Problem, space: ScoreSpace, rng: np.random.Generator, part: bool
) -> Level | None:
    """Return a sample of the rows; None where the rows are few or their hints cannot be sampled.

    Only rows alone and counts are sampled: what pairs, cliques, flows and the like say is lost
    without their other rows. `part`
    says that these rows are a sample themselves.
    """
    if (problem.n < MANY and not part) or not fits(problem, space):
        return None
    assert isinstance(space, LinearSpace)
    smallest = max(SMALLEST, PER_WEIGHT * space.width * problem.n_columns)
    choice = select_oracle(problem.program)
    if problem.n < WORTH * smallest or choice.oracle not in {SeparableOracle, AssignmentOracle}:
        return None
    rows = draw_rows(problem.program, max(smallest, problem.n // GROWTH), rng)
    if not problem.weights[rows].any():
        return None
    fewer = sample(problem, rows)
    oracle = choice.oracle(fewer.program)
    try:  # bounds of a sampled group may ask for more than its sampled rows allow
        oracle.solve(rng.standard_normal((fewer.n, fewer.program.n_classes)))
    except InfeasibleHints:
        return None
    return Level(fewer, space.part(rows), oracle)


def lift(
    problem: Problem, space: ScoreSpace, oracle: Oracle, below: Outcome
) -> tuple[Labels, tuple[Array, Array]]:
    """Labels, and scores with multiplier, for all rows from the answer of a sample."""
    assert isinstance(space, LinearSpace)
    F = space.scores(below.polished.coef)
    table = problem.label_losses(F)
    result = oracle.solve(table if oracle.anywhere else to_numpy(table))
    labels = np.asarray(to_numpy(result.labels), np.int32)
    dual = problem.weights_there[:, None] * problem.loss_.gradient(F, as_like(labels, F))
    return labels, (F, dual)
