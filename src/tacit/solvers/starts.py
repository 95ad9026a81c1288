"""Soft starts: scores that agree with the hints on average."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.backends import Array, as_like
from tacit.linalg import ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.solvers._loop import Loop

__all__ = ["soft_labels", "start_from"]

FloatArray = npt.NDArray[np.float64]

# Labelings averaged into a soft start: enough to show what the hints imply, few enough that two
# starts differ.
SAMPLES = 30


def soft_labels(
    problem: Problem, oracle: Oracle, rng: np.random.Generator, loop: Loop, sampled: bool = False
) -> FloatArray:
    """Share of each label among optimal labelings for random costs, (N, C).

    Hints that do not couple rows need no sampling, unless starts shall differ: the labels allowed
    are equally likely.
    """
    program = problem.program
    if program.separable and program.unary is None and not sampled:
        return program.mask / program.mask.sum(axis=1, keepdims=True)
    share = np.zeros((problem.n, program.n_classes))
    rows = np.arange(problem.n)
    for _ in range(SAMPLES):
        share[rows, oracle.solve(rng.standard_normal(share.shape)).labels] += 1.0
        if loop.late:
            break
    return share / share.sum(axis=1, keepdims=True)


def start_from(
    problem: Problem, space: ScoreSpace, soft: FloatArray, ridge: float
) -> tuple[Array, Array]:
    """Scores and multiplier of the ridge regression on soft labels.

    The ridge is in units of the mean of K's diagonal; the multiplier is -2 nu alpha, as it is after
    every exact alpha-step.
    """
    target = 2.0 * soft - 1.0
    if problem.n_columns == 1:
        target = target[:, 1:]
    target = as_like(target, space.like)
    rho = 2.0 * problem.nu_ / (ridge * max(space.scale, 1e-12))
    F, _ = space.project(target, rho, problem.nu_)
    return F, -rho * (target - F)
