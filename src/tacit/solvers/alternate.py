"""Alternate classifier and labels until neither moves: a descent that ends every solver."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.linalg import ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.result import Status
from tacit.solvers._loop import Loop
from tacit.solvers.polish import Polished, polish

__all__ = ["Outcome", "alternate", "in_original_order"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

MAX_SWEEPS = 100


@dataclass(frozen=True)
class Outcome:
    """What a solver hands back, in the order of the rows it was given."""

    polished: Polished
    labels: Labels
    status: Status
    run_objectives: tuple[float, ...]


def alternate(
    problem: Problem,
    space: ScoreSpace,
    oracle: Oracle,
    loop: Loop,
    labels: Labels,
    *,
    run: int,
    tol: float,
    max_iter: int,
    start: tuple[FloatArray, FloatArray] | None = None,
    run_objectives: tuple[float, ...] = (),
) -> Outcome:
    """Fit the classifier, then the labels, as long as that lowers J by more than `tol`.

    Notes
    -----
    Equation: (1) in 000, coordinate descent of section 1.1
    """
    rows = np.arange(len(labels))
    for sweep in range(MAX_SWEEPS):
        end, status = polish(
            problem, space, labels, loop, run=run, tol=tol, max_iter=max_iter, start=start
        )
        table = problem.loss_.table(end.F) * problem.weights[:, None]
        here = float(table[rows, labels].sum()) + problem.program.value(labels)
        better = oracle.solve(table)
        last = loop.ended or sweep == MAX_SWEEPS - 1  # `end` belongs to these labels
        if last or better.value >= here - tol * (1.0 + abs(here)):
            break
        labels, start = better.labels, (end.F, end.dual)
    return Outcome(end, labels, status, run_objectives or (end.objective,))


def in_original_order(outcome: Outcome, order: npt.NDArray[np.intp], explicit: bool) -> Outcome:
    """Undo the canonical order: rows of scores and labels, and of alpha where it has rows."""
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    end = outcome.polished
    coef = end.coef if explicit else end.coef[back]
    return replace(
        outcome, polished=replace(end, F=end.F[back], coef=coef), labels=outcome.labels[back]
    )
