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

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from tacit.backends import Array, norm
from tacit.linalg import ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.result import Status
from tacit.solvers._descent import descend
from tacit.solvers._loop import Measured
from tacit.solvers.schedules import Schedule

__all__ = ["Anneal", "Annealing", "State", "label_costs", "rms"]

# Ties are broken by noise far below any difference that means something, far above rounding.
TIE_NOISE = {"float64": 1e-8, "float32": 1e-6}
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

    F: Array
    dual: Array
    # Updated every iteration
    labels: Array | None = None
    coef: Array | None = None
    iteration: int = 0
    unchanged: int = 0
    objective: float = np.inf
    hint_cost: float = 0.0
    rho: float = np.nan
    # How the anneal ended
    status: Status = Status.CONVERGED

    @property
    def fit(self) -> float:
        """Loss and regulariser: the objective without S(y), of which a constant means nothing."""
        return self.objective - self.hint_cost


def label_costs(problem: Problem, V: Array, rho: float) -> Array:
    """Cost of every label: min over beta of w loss(c, beta) + rho/2 |beta - V|^2, (N, C).

    Notes
    -----
    Equation: (13) in 004, corrected: V = K alpha + dual / rho
    """
    return problem.envelope(V, rho)


@dataclass(frozen=True)
class Annealing(ABC):
    """Updates with a penalty schedule, and when they have settled.

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
    transition : float
        Penalty at which the widest mode becomes active.
    """

    problem: Problem
    space: ScoreSpace
    oracle: Oracle
    schedule: Schedule
    noise: Array
    transition: float

    @abstractmethod
    def step(self, state: State) -> tuple[State, Measured]:
        """One iteration."""

    def done(self, state: State, measured: Measured) -> bool:
        """Labels settled, residuals small, penalty past the transition; or penalty at its end."""
        if self.schedule.over(state.iteration) or measured.rho >= SHARP * self.problem.unit_weight:
            return True
        if self.schedule.values or state.unchanged < SETTLED:
            return False
        if measured.rho < ACTIVE * self.transition:
            return False
        small = max(measured.primal, measured.dual) < RESIDUAL
        return small or state.unchanged >= FROZEN


@dataclass(frozen=True)
class Anneal(Annealing):
    """The three updates of DC-ADMM in the scores.

    Notes
    -----
    Equation: (9), (10), (11) in 004
    Equation: (15) in 000, corrected: sign of the multiplier
    """

    def step(self, state: State) -> tuple[State, Measured]:
        """Update labels and beta, then alpha, then the multiplier."""
        problem, rho = self.problem, self.schedule.rho(state.iteration)
        V = state.F + state.dual / rho
        table = label_costs(problem, V, rho)
        table += self.noise
        labels, hint_cost = descend(self.oracle, table, state.labels)
        beta = problem.prox(V, rho, labels)
        F, coef = self.space.project(beta - state.dual / rho, rho, problem.nu_)
        dual = state.dual + rho * (F - beta)
        changes = len(labels) if state.labels is None else int((labels != state.labels).sum())
        objective = (
            problem.data_loss(F, labels) + problem.nu_ * self.space.regularizer(coef, F) + hint_cost
        )
        unchanged = state.unchanged + 1 if changes == 0 else 0
        new = State(
            F, dual, labels, coef, state.iteration + 1, unchanged, objective, hint_cost, rho
        )
        return new, Measured(objective, rms(F - beta), rho * rms(F - state.F), rho, changes)


def rms(x: Array) -> float:
    """Root mean square of the entries."""
    return norm(x) / float(np.sqrt(max(np.prod(x.shape), 1)))
