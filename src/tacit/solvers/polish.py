"""Fixed labels: a convex problem, solved to a duality gap."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.linalg import ScoreSpace
from tacit.problem import Problem
from tacit.result import Status
from tacit.solvers._loop import Loop, Measured
from tacit.solvers.newton import Newton

__all__ = ["FixedLabels", "Polished", "polish"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

RELAX = 1.6  # over-relaxation: about a third fewer iterations on every problem measured
BALANCE = 5.0  # residuals further apart than this move rho
PATIENCE = 10  # iterations between looks at the gap and moves of rho
PATIENCE_FIXED = 50  # the same where a new rho costs a factorisation
# Newton finishes problems of up to this many scores, once the gap is below NEAR, or this LATE. It
# is called again where that did not end at rounding and the gap has fallen by AGAIN.
NEWTON_LIMIT, NEAR, LATE, AGAIN = 2500, 1e-2, 200, 0.1
ROUNDING = 1e-13  # objectives closer than this, in units of theirs and the weights, are the same


@dataclass(frozen=True)
class Polished:
    """Best coefficients found for fixed labels, with the best dual bound."""

    F: FloatArray
    dual: FloatArray
    coef: FloatArray
    objective: float
    bound: float
    rho: float
    iteration: int
    best: tuple[FloatArray, FloatArray] | None = None
    """Scores and coefficients that reached `objective`."""
    tried: float = np.inf
    """Gap at which Newton was last called."""

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.objective - self.bound) / max(abs(self.objective), 1e-12)


class FixedLabels:
    r"""ADMM on the scores with residual balancing; every look gives a duality gap.

    Small problems are handed to `Newton` once the gap is small, which takes it to rounding.

    The prox step leaves slopes D = rho (V - beta) of the loss at beta. They are dual feasible, so
    :math:`-\sum_i (w_i \ell)^*(D_i) - \langle D, K D \rangle / (4 \nu)` bounds the objective below.

    Notes
    -----
    Equation: (27) in 004
    """

    def __init__(self, problem: Problem, space: ScoreSpace, labels: Labels, tol: float) -> None:
        self.problem, self.space, self.labels, self.tol = problem, space, labels, tol
        self.hint_cost = problem.program.value(labels)
        self.patience = PATIENCE if space.free_rho else PATIENCE_FIXED
        self.small = problem.n * problem.n_columns <= NEWTON_LIMIT

    def step(self, s: Polished) -> tuple[Polished, Measured]:
        """Prox, projection, multiplier; now and then the gap and a new rho."""
        problem, rho = self.problem, s.rho
        V = s.F + s.dual / rho
        beta = problem.loss_.prox(V, problem.weights / rho, self.labels)
        mixed = RELAX * beta + (1.0 - RELAX) * s.F
        F, coef = self.space.project(mixed - s.dual / rho, rho, problem.nu_)
        dual = s.dual + rho * (F - mixed)
        primal, change = float(np.linalg.norm(F - beta)), rho * float(np.linalg.norm(F - s.F))
        objective = self._objective(F, coef)
        best = (F, coef) if objective <= s.objective or s.best is None else s.best
        lowest = min(objective, s.objective)
        new = Polished(F, dual, coef, lowest, s.bound, rho, s.iteration + 1, best, s.tried)
        if new.iteration % self.patience == 0:
            bound = max(s.bound, self._bound(rho * (V - beta)))
            new = replace(new, bound=bound, rho=self._balance(rho, primal, change))
        if self.small and self._near(new):
            new = self._finish(new)
            objective = new.objective
        size = float(np.sqrt(F.size))
        return new, Measured(objective, primal / size, change / size, rho, 0, new.gap)

    def _near(self, s: Polished) -> bool:
        fallen = s.gap <= min(NEAR, AGAIN * s.tried)
        return fallen or s.gap <= self.tol or s.iteration % LATE == 0

    def _finish(self, s: Polished) -> Polished:
        """Newton's answer where it is better, to rounding."""
        newton = Newton(self.problem, self.space, self.labels, s.rho)
        end = newton.solve(-s.dual / (2.0 * self.problem.nu_))
        F, coef = self.space.expand(end.alpha)
        slopes = s.rho * (end.V - end.u)
        objective, bound = self._objective(F, coef), self._bound(slopes)
        slack = ROUNDING * (abs(s.objective) + float(self.problem.weights.sum()))
        if objective > s.objective + slack:
            return replace(s, bound=max(bound, s.bound), tried=s.gap)
        # No bound holds beyond what was reached.
        bound = min(max(bound, s.bound), objective)
        return replace(
            s,
            F=F,
            dual=slopes,
            coef=coef,
            objective=objective,
            bound=bound,
            best=(F, coef),
            tried=s.gap,
        )

    def _objective(self, F: FloatArray, coef: FloatArray) -> float:
        penalty = self.problem.nu_ * self.space.regularizer(coef, F)
        return self.problem.data_loss(F, self.labels) + penalty + self.hint_cost

    def _bound(self, slopes: FloatArray) -> float:
        problem = self.problem
        weight = problem.weights
        active = weight > 0
        unit = slopes[active] / weight[active, None]
        unit = problem.loss_.project_dual(unit, self.labels[active])
        inside = np.zeros_like(slopes)
        inside[active] = unit * weight[active, None]
        conjugate = problem.loss_.conjugate(unit, self.labels[active])
        fit = -float(np.dot(weight[active], conjugate))
        return fit - self.space.dual_norm(inside) / (4.0 * problem.nu_) + self.hint_cost

    def _balance(self, rho: float, primal: float, change: float) -> float:
        factor = 2.0 if self.space.free_rho else 4.0
        if primal > BALANCE * change:
            return rho * factor
        return rho / factor if change > BALANCE * primal else rho

    def done(self, s: Polished, measured: Measured) -> bool:
        """Whether the gap is within tol."""
        return s.gap <= self.tol


def polish(
    problem: Problem,
    space: ScoreSpace,
    labels: Labels,
    loop: Loop,
    *,
    run: int,
    tol: float,
    max_iter: int,
    start: tuple[FloatArray, FloatArray] | None = None,
    rho: float | None = None,
) -> tuple[Polished, Status]:
    """Solve for fixed labels, warm from scores and multiplier if given."""
    shape = (problem.n, problem.n_columns)
    F, dual = start if start is not None else (np.zeros(shape), np.zeros(shape))
    fixed = FixedLabels(problem, space, labels, tol)
    if rho is None:
        # Scores are of order one; this is where typical modes of K balance.
        rho = 2.0 * problem.nu_ / max(space.scale, 1e-12)
    first = Polished(F, dual, np.zeros_like(F), np.inf, -np.inf, rho, 0)
    last, status = loop.run(
        first, fixed.step, fixed.done, run=run, phase="polish", max_iter=max_iter
    )
    assert last.best is not None
    return replace(last, F=last.best[0], coef=last.best[1]), status
