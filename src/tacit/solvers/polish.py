"""Fixed labels: a convex problem, solved to a duality gap."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.backends import Array, as_like, double, is_torch, norm
from tacit.linalg import ScoreSpace
from tacit.problem import Problem
from tacit.result import Status
from tacit.solvers._loop import Loop, Measured
from tacit.solvers.newton import Newton

__all__ = ["FixedLabels", "Polished", "polish", "unpolished"]

Labels = npt.NDArray[np.int32]

RELAX = 1.6  # over-relaxation: about a third fewer iterations on every problem measured
BALANCE = 5.0  # residuals further apart than this move rho
PATIENCE = 10  # iterations between looks at the gap and moves of rho
# Newton finishes problems of up to this many scores, once the gap is below NEAR, or this LATE. It
# is called again where that did not end at rounding and the gap has fallen by AGAIN.
NEWTON_LIMIT, NEAR, LATE, AGAIN = 2500, 1e-2, 200, 0.1
ROUNDING = 1e-13  # objectives closer than this, in units of theirs and the weights, are the same


@dataclass(frozen=True)
class Polished:
    """Best coefficients found for fixed labels, with the best dual bound; both with S(y)."""

    F: Array
    dual: Array
    coef: Array
    objective: float
    bound: float
    rho: float
    iteration: int
    hint_cost: float
    """S(y), the same for all coefficients."""
    best: tuple[Array, Array] | None = None
    """Scores and coefficients that reached `objective`."""
    slopes: Array | None = None
    """Slopes of the loss that gave `bound`."""
    tried: float = np.inf
    """Gap at which Newton was last called."""

    @property
    def gap(self) -> float:
        """Duality gap relative to loss and regulariser: what S(y) is does not matter."""
        return (self.objective - self.bound) / max(self.objective - self.hint_cost, 1e-12)


class FixedLabels:
    r"""ADMM on the scores with residual balancing; every look gives a duality gap.

    Small problems are handed to `Newton` once the gap is small, which takes it to rounding.

    The prox step leaves slopes D = rho (V - beta) of the loss at beta. They are dual feasible, so
    :math:`-\sum_i (w_i \ell)^*(D_i) - \langle D, K D \rangle / (4 \nu)` bounds the objective below.

    Notes
    -----
    Equation: (27) in 004
    """

    def __init__(self, problem: Problem, space: ScoreSpace, labels: Array, tol: float) -> None:
        self.problem, self.space, self.labels, self.tol = problem, space, labels, tol
        self.hint_cost = problem.program.value(labels)
        self.there = as_like(labels, space.like)
        self.small = problem.n * problem.n_columns <= NEWTON_LIMIT and not is_torch(space.like)

    def step(self, s: Polished) -> tuple[Polished, Measured]:
        """Prox, projection, multiplier; now and then the gap and a new rho."""
        problem, rho = self.problem, s.rho
        V = s.F + s.dual / rho
        beta = problem.prox(V, rho, self.there)
        mixed = RELAX * beta + (1.0 - RELAX) * s.F
        F, coef = self.space.project(mixed - s.dual / rho, rho, problem.nu_)
        dual = s.dual + rho * (F - mixed)
        primal, change = norm(F - beta), rho * norm(F - s.F)
        objective = self.objective(F, coef)
        best = (F, coef) if objective <= s.objective or s.best is None else s.best
        lowest = min(objective, s.objective)
        new = replace(
            s,
            F=F,
            dual=dual,
            coef=coef,
            objective=lowest,
            iteration=s.iteration + 1,
            best=best,
        )
        if new.iteration % PATIENCE == 0:
            new = self._bounded(new, rho * (V - beta))
            new = replace(new, rho=self._balance(rho, primal, change))
        if self.small and self._near(new):
            new = self._finish(new)
            objective = new.objective
        size = float(np.sqrt(np.prod(F.shape)))
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
        objective = self.objective(F, coef)
        size = abs(s.objective - s.hint_cost) + float(self.problem.weights.sum())
        s = replace(self._bounded(s, slopes), tried=s.gap)
        if objective > s.objective + ROUNDING * size:
            return s
        # No bound holds beyond what was reached.
        bound, best = min(s.bound, objective), (F, coef)
        return replace(s, F=F, dual=slopes, coef=coef, objective=objective, bound=bound, best=best)

    def _bounded(self, s: Polished, slopes: Array) -> Polished:
        bound = self.bound(slopes)
        return replace(s, bound=bound, slopes=slopes) if bound > s.bound else s

    def better(self, s: Polished, F: Array, coef: Array) -> Polished:
        """Take these scores as the best so far if they are."""
        objective = self.objective(F, coef)
        return replace(s, objective=objective, best=(F, coef)) if objective < s.objective else s

    def certified(self, s: Polished) -> Polished:
        """J and its bound from the coefficients that are returned, in double precision."""
        assert s.best is not None
        F, coef = s.best
        coef = self.space.settle(coef, F)
        wide = double(coef)
        F = self.space.scores(wide)
        objective = self.objective(F, wide)
        bound = -np.inf if s.slopes is None else self.bound(double(s.slopes))
        F = as_like(F, self.space.like)
        return replace(s, F=F, coef=coef, objective=objective, bound=min(bound, objective))

    def objective(self, F: Array, coef: Array) -> float:
        """J at these labels."""
        penalty = self.problem.nu_ * self.space.regularizer(coef, F)
        return self.problem.data_loss(F, self.labels) + penalty + self.hint_cost

    def bound(self, slopes: Array) -> float:
        """Lower bound on J at these labels from slopes of the loss, made feasible first."""
        problem = self.problem
        weight = as_like(problem.weights, slopes)
        active = weight > 0
        unit = slopes[active] / weight[active][:, None]
        unit = problem.loss_.project_dual(unit, self.there[active])
        inside = 0.0 * slopes
        inside[active] = unit * weight[active][:, None]
        conjugate = problem.loss_.conjugate(unit, self.there[active])
        fit = -float((weight[active] * conjugate).sum())
        return fit - self.space.dual_norm(inside) / (4.0 * problem.nu_) + self.hint_cost

    def _balance(self, rho: float, primal: float, change: float) -> float:
        if primal > BALANCE * change:
            return rho * 2.0
        return rho / 2.0 if change > BALANCE * primal else rho

    def done(self, s: Polished, measured: Measured) -> bool:
        """Whether the gap is within tol."""
        return s.gap <= self.tol


def unpolished(
    problem: Problem, space: ScoreSpace, labels: Labels, dual: Array, coef: Array, exact: bool
) -> Polished:
    """Classifier that an anneal left as it is, with its objective and bound.

    After an exact alpha-step the multiplier is -2 nu alpha. After an inexact one it is not near
    that for a long time (a few steps of conjugate gradients leave small modes to it), and in the
    consensus form it never is: what separates the classes is the coefficients.
    """
    fixed = FixedLabels(problem, space, labels, np.inf)
    if exact:
        F, coef = space.expand(dual / (-2.0 * problem.nu_))
    else:
        F = space.scores(coef)
    left = Polished(F, dual, coef, np.nan, np.nan, np.nan, 0, fixed.hint_cost, (F, coef), dual)
    return fixed.certified(left)


def polish(
    problem: Problem,
    space: ScoreSpace,
    labels: Array,
    loop: Loop,
    *,
    run: int,
    tol: float,
    max_iter: int,
    start: tuple[Array, Array] | None = None,
) -> tuple[Polished, Status]:
    """Solve for fixed labels, warm from scores and multiplier if given."""
    if start is None:
        zero = as_like(np.zeros((problem.n, problem.n_columns)), space.like)
        start = (zero, zero)
    F, dual = start
    fixed = FixedLabels(problem, space, labels, tol)
    # Scores are of order one; this is where typical modes of K balance.
    rho = 2.0 * problem.nu_ / max(space.scale, 1e-12)
    first = fixed.better(
        Polished(F, dual, 0.0 * F, np.inf, -np.inf, rho, 0, fixed.hint_cost),
        *space.expand(0.0 * dual),
    )
    first = fixed.better(first, *space.expand(dual / (-2.0 * problem.nu_)))
    last, status = loop.run(
        first, fixed.step, fixed.done, run=run, phase="polish", max_iter=max_iter
    )
    last = fixed.certified(last)
    if status is Status.CONVERGED and last.gap > tol:
        status = Status.ROUNDING
    return last, status
