"""Starts: scores that agree with the hints on average, and labels guessed at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.backends import Array, as_like, to_numpy
from tacit.linalg import ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.solvers._loop import Loop

__all__ = ["Guess", "random_labels", "smooth_labels", "soft_labels", "start_from"]

FloatArray = npt.NDArray[np.float64]
Labels: TypeAlias = npt.NDArray[np.int32]
Guess: TypeAlias = Callable[[Problem, ScoreSpace, Oracle, np.random.Generator], Labels]

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


def random_labels(
    problem: Problem, space: ScoreSpace, oracle: Oracle, rng: np.random.Generator
) -> Labels:
    """Cheapest labels for random costs: any that the hints allow."""
    return _cheapest(oracle, rng.standard_normal((problem.n, problem.program.n_classes)))


def smooth_labels(
    problem: Problem, space: ScoreSpace, oracle: Oracle, rng: np.random.Generator
) -> Labels:
    """Cheapest labels for random scores that the model can produce, K z with z normal.

    Each column is centred and has unit variance, so that classes differ along the widest modes.
    """
    z = as_like(rng.standard_normal((problem.n, problem.n_columns)), space.like)
    F = to_numpy(space.expand(z)[0])
    F = (F - F.mean(axis=0)) / np.maximum(F.std(axis=0), np.finfo(F.dtype).tiny)
    return _cheapest(oracle, to_numpy(problem.label_losses(as_like(F, space.like))))


def _cheapest(oracle: Oracle, cost: npt.NDArray[np.floating]) -> Labels:
    return np.asarray(to_numpy(oracle.solve(cost).labels), np.int32)
