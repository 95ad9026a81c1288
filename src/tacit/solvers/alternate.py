"""Alternate classifier and labels until neither moves: a descent that ends every solver."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.backends import Array, as_like, to_numpy
from tacit.linalg import ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.result import Status
from tacit.solvers._loop import Loop
from tacit.solvers._narrow import fits, narrow_polish, steady_polish
from tacit.solvers.polish import Polished

__all__ = ["Labels", "Outcome", "alternate", "in_original_order"]

Labels = npt.NDArray[np.int32]

MAX_SWEEPS = 100
# From so many rows on, a fit from nothing is made in the weights where they are few.
MANY = 20_000
ROUNDING = 1e-12


@dataclass(frozen=True)
class Outcome:
    """What a solver hands back, in the order of the rows it was given."""

    polished: Polished
    labels: Labels
    status: Status
    run_objectives: tuple[float, ...]
    collapse: str = ""
    balanced: tuple[float, float, int] = (np.inf, np.inf, 0)
    """What the search reached, what a balanced start in it, and among how many rows."""


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
    start: tuple[Array, Array] | None = None,
    coef: Array | None = None,
    run_objectives: tuple[float, ...] = (),
) -> Outcome:
    """Fit the classifier, then the labels, as long as that lowers J by more than `tol`.

    `start` holds scores and multiplier. With weights `coef` as well, or where nothing is given for
    many rows and few weights, the classifier is fitted in the weights (`narrow_polish`).

    Notes
    -----
    Equation: (1) in 000, coordinate descent of section 1.1
    """
    rows, rho = np.arange(len(labels)), None
    if start is None and problem.n >= MANY and fits(problem, space):
        zero = as_like(np.zeros((problem.n, problem.n_columns)), space.like)
        start, coef = (zero, zero), space.expand(zero)[1]
    for sweep in range(MAX_SWEEPS):
        if coef is None:
            end, status = steady_polish(
                problem, space, labels, loop, run=run, tol=tol, max_iter=max_iter, start=start
            )
        else:
            assert start is not None
            end, status = narrow_polish(
                problem,
                space,
                labels,
                loop,
                run=run,
                tol=tol,
                max_iter=max_iter,
                start=(coef, *start),
                rho=rho,
            )
            coef, rho = end.coef, end.rho
        table = to_numpy(problem.label_losses(end.F))
        here = float(table[rows, labels].sum()) + problem.program.value(labels)
        better = oracle.solve(table)
        last = loop.ended or sweep == MAX_SWEEPS - 1  # `end` belongs to these labels
        # Relative to the fit alone: a constant in S(y) must not decide when to stop.
        if last or better.value >= here - tol * max(end.objective - end.hint_cost, ROUNDING):
            break
        labels, start = better.labels, (end.F, end.dual)
    return Outcome(end, labels, status, run_objectives or (end.objective,))


def in_original_order(outcome: Outcome, back: npt.NDArray[np.intp], explicit: bool) -> Outcome:
    """Undo the canonical order: rows of scores and labels, and of alpha where it has rows."""
    end = outcome.polished
    F, coef = to_numpy(end.F), to_numpy(end.coef)
    coef = coef if explicit else coef[back]
    return replace(
        outcome, polished=replace(end, F=F[back], coef=coef), labels=outcome.labels[back]
    )
