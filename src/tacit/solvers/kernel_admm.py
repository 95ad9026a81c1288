"""Kernel DC-ADMM: one anneal of the penalty from a given start.

=========  =======  ==========================================  =============
symbol     shape    meaning                                     paper symbol
=========  =======  ==========================================  =============
F          (N, P)   scores K alpha                              K alpha
beta       (N, P)   split copy of the scores                    beta
dual       (N, P)   multiplier of K alpha = beta                lambda
V          (N, P)   F + dual / rho, where proxes are taken
table      (N, C)   envelope of the loss at V for every label   u (004), gamma
rho        ()       penalty                                     rho
=========  =======  ==========================================  =============
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.linalg import ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.solvers._loop import Measured
from tacit.solvers.schedules import Schedule

__all__ = ["Anneal", "State", "label_costs"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

# Ties are broken by noise far below any difference that means something, far above rounding.
TIE_NOISE = 1e-8
# Labels have settled when nothing changed for this long and the residuals are small,
SETTLED, RESIDUAL = 15, 2e-3
# or for this long whatever the residuals: a later polish closes them at fixed labels.
FROZEN = 20
# A penalty this many times the weight of a row leaves the scores where they are: from here on a
# label step is one of hard EM, which takes over.
SHARP = 100.0
# No settling is believed before rho has grown past the transition by this factor.
ACTIVE = 10.0


@dataclass(frozen=True)
class State:
    """Where an anneal stands."""

    F: FloatArray
    dual: FloatArray
    # Updated every iteration
    labels: Labels | None = None
    coef: FloatArray | None = None
    iteration: int = 0
    unchanged: int = 0
    objective: float = np.inf


def label_costs(problem: Problem, V: FloatArray, rho: float) -> FloatArray:
    """Cost of every label: min over beta of w loss(c, beta) + rho/2 |beta - V|^2, (N, C).

    Notes
    -----
    Equation: (13) in 004, corrected: V = K alpha + dual / rho
    """
    return np.asarray(rho * problem.loss_.envelope(V, problem.weights / rho))


@dataclass(frozen=True)
class Anneal:
    """The three updates of DC-ADMM, with a penalty schedule.

    Parameters
    ----------
    problem : Problem
        Rows in canonical order.
    space : ScoreSpace
        Its scores.
    oracle : Oracle
        Its discrete step.
    schedule : Schedule
        Penalty.
    noise : array of shape (N, C)
        Breaks ties; the same throughout a run.

    Notes
    -----
    Equation: (9), (10), (11) in 004
    Equation: (15) in 000, corrected: sign of the multiplier
    """

    problem: Problem
    space: ScoreSpace
    oracle: Oracle
    schedule: Schedule
    noise: FloatArray
    transition: float

    def step(self, state: State) -> tuple[State, Measured]:
        """Update labels and beta, then alpha, then the multiplier."""
        problem, rho = self.problem, self.schedule.rho(state.iteration)
        V = state.F + state.dual / rho
        table = label_costs(problem, V, rho) + self.noise
        labels, hint_cost = self._labels(table, state.labels)
        beta = problem.loss_.prox(V, problem.weights / rho, labels)
        F, coef = self.space.project(beta - state.dual / rho, rho, problem.nu_)
        dual = state.dual + rho * (F - beta)
        changes = len(labels) if state.labels is None else int(np.sum(labels != state.labels))
        objective = (
            problem.data_loss(F, labels) + problem.nu_ * self.space.regularizer(coef, F) + hint_cost
        )
        unchanged = state.unchanged + 1 if changes == 0 else 0
        new = State(F, dual, labels, coef, state.iteration + 1, unchanged, objective)
        return new, Measured(objective, _rms(F - beta), rho * _rms(F - state.F), rho, changes)

    def _labels(self, table: FloatArray, last: Labels | None) -> tuple[Labels, float]:
        """Discrete step and S(y); an inexact answer must not be worse than the labels before.

        Notes
        -----
        Equation: (16) in 004
        """
        result = self.oracle.solve(table)
        labels, rows = result.labels, np.arange(len(table))
        hint_cost = result.value - float(table[rows, labels].sum())
        if not result.exact and last is not None:
            last_cost = self.problem.program.value(last)
            if float(table[rows, last].sum()) + last_cost <= result.value:
                return last, last_cost
        return labels, hint_cost

    def done(self, state: State, measured: Measured) -> bool:
        """Labels settled, residuals small, penalty past the transition; or penalty at its end."""
        if measured.rho >= SHARP * self.problem.unit_weight:
            return True
        if measured.rho < ACTIVE * self.transition or state.unchanged < SETTLED:
            return False
        small = max(measured.primal, measured.dual) < RESIDUAL
        return small or state.unchanged >= FROZEN


def _rms(x: FloatArray) -> float:
    return float(np.linalg.norm(x)) / float(np.sqrt(max(x.size, 1)))


Step = Callable[[State], tuple[State, Measured]]
