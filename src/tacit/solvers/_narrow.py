r"""Fixed labels, many rows, few weights: Newton's method on the augmented Lagrangian, in W.

.. math:: \min_W \; \nu |W|^2 + \sum_i \min_u w_i \ell(y_i, u)
    + \tfrac{\rho}{2} |W^\top x_i + D_i / \rho - u|^2

for a fixed multiplier D is smooth and convex. Its Hessian has the size of W; rows whose loss is
linear near their scores drop out of it. At the minimum D moves to the slopes rho (V - u), which are
dual feasible, so that the gap comes for free; then rho grows. Some tens of passes over the rows.

=========  =======  ============================================================
symbol     shape    meaning
=========  =======  ============================================================
W          (d, P)   weights
F          (N, P)   scores X W
D          (N, P)   multiplier, a slope of the loss
V, u       (N, P)   F + D / rho and the prox there
slopes     (N, P)   rho (V - u)
g          (d, P)   gradient, 2 nu W + X' slopes
=========  =======  ============================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from tacit.backends import Array, is_torch
from tacit.linalg import LinearSpace, ScoreSpace
from tacit.losses import MarginLoss
from tacit.problem import Problem
from tacit.result import Status
from tacit.solvers._loop import Loop, Measured
from tacit.solvers.polish import FixedLabels, Polished, polish

__all__ = ["Narrow", "fits", "narrow_polish", "steady_polish"]

FloatArray = npt.NDArray[np.floating]
Labels = npt.NDArray[np.int32]

WIDEST = 1000  # weights: the Hessian is dense
SLOW = 200  # iterations after which a polish in the scores is given up for one in the weights
BLOCK = 32_768  # rows that enter the Hessian at a time
GROWTH, QUICK = 4.0, 4  # of rho, after a minimum that took so few steps
SHARE = 0.1  # of the gap asked for, that may come from a gradient which is not zero
NEAR = 0.1  # a gap that is not known, or larger, counts as this
# After a Newton step of which the search took less than this, one with the most curvature there can
# be: where few rows have a curved loss only nu says how far to go, whatever the features' sizes.
SHORT = 0.3
MAX_TRIES, FLATTER = 30, 0.1  # of the search along a step, and the share of the slope it leaves


def fits(problem: Problem, space: ScoreSpace) -> bool:
    """Whether this is the way: numpy's rows, a Hessian of moderate size."""
    narrow = isinstance(space, LinearSpace) and space.width * problem.n_columns <= WIDEST
    return narrow and not is_torch(space.like)


class Point(NamedTuple):
    """Weights with what follows from them."""

    W: FloatArray
    F: FloatArray
    V: FloatArray
    slopes: FloatArray


@dataclass(frozen=True)
class Descent:
    """Where the descent stands; `best` holds the best answer and bound so far."""

    best: Polished
    p: Point
    D: FloatArray
    rho: float
    steps: int = 0
    """Newton steps since D moved."""
    short: bool = False
    """Whether the last one went a small part of the way."""


class Narrow:
    """Newton steps and moves of the multiplier for one labeling.

    Parameters
    ----------
    problem, space, labels, tol
        What is solved, and to which relative gap.

    Notes
    -----
    Equation: (5) in 004, minimised over W = X' alpha
    """

    def __init__(self, problem: Problem, space: LinearSpace, labels: Labels, tol: float) -> None:
        self.problem, self.space, self.labels, self.tol = problem, space, labels, tol
        self.fixed = FixedLabels(problem, space, labels, tol)

    def begin(self, W: FloatArray, F: FloatArray, D: FloatArray, rho: float) -> Descent:
        """Start from weights, scores, multiplier and penalty."""
        objective = self.fixed.objective(F, W)
        best = Polished(F, D, W, objective, -np.inf, rho, 0, self.fixed.hint_cost, (F, W))
        return Descent(best, self._point(W, F, D, rho), D, rho, short=True)

    def step(self, s: Descent) -> tuple[Descent, Measured]:
        """One Newton step, or one move of the multiplier where the gradient is small enough."""
        g = 2.0 * self.problem.nu_ * s.p.W + self.space.gather(s.p.slopes)
        if float(np.linalg.norm(g)) <= self._goal(s):
            return self._move(s)
        p, share = self._search(s, self._direction(s.p, g, s.rho, s.short))
        objective = self.fixed.objective(p.F, p.W)
        short = share < SHORT and not s.short
        s = replace(s, p=p, steps=s.steps + 1, best=_better(s.best, p, objective), short=short)
        return s, Measured(objective, rho=s.rho, gap=s.best.gap)

    def _point(self, W: FloatArray, F: FloatArray, D: FloatArray, rho: float) -> Point:
        V = F + D / rho
        slopes = V - self.problem.prox(V, rho, self.labels)
        slopes *= rho
        return Point(W, F, V, slopes)

    def _goal(self, s: Descent) -> float:
        """Length of a gradient that takes no more than its share of the gap, or of a tenth of it.

        The gap is |g|^2 / (4 nu) + <g, W> more than it were for g = 0.
        """
        best = s.best
        wanted = max(self.tol, 0.1 * min(best.gap, NEAR))
        spare = SHARE * wanted * max(best.objective - best.hint_cost, 1e-12)
        length = float(np.linalg.norm(s.p.W))
        return min(2.0 * float(np.sqrt(self.problem.nu_ * spare)), spare / max(length, 1e-12))

    def _move(self, s: Descent) -> tuple[Descent, Measured]:
        slopes, best = s.p.slopes, s.best
        bound = min(max(best.bound, self.fixed.bound(slopes)), best.objective)
        best = replace(best, bound=bound, dual=slopes)
        rho = s.rho * GROWTH if s.steps <= QUICK else s.rho
        p = self._point(s.p.W, self.space.scores(s.p.W), slopes, rho)
        return Descent(best, p, slopes, rho), Measured(best.objective, rho=s.rho, gap=best.gap)

    def _direction(self, p: Point, g: FloatArray, rho: float, full: bool) -> FloatArray:
        """Solve Hessian step = -g; column by column where the loss couples none of them.

        With `full` every row has the curvature rho, the most there can be.
        """
        H = 2.0 * self.problem.nu_ * np.eye(g.size)
        d, P = g.shape
        margin = full or isinstance(self.problem.loss_, MarginLoss)
        for a in range(0, self.problem.n, BLOCK):
            rows = np.arange(a, min(a + BLOCK, self.problem.n))
            curve = self._most(rows, rho) if full else rho * self._curvature(p.V[rows], rows, rho)
            pairs = [(c, c) for c in range(P)] if margin else np.ndindex(P, P)
            for c, e in pairs:
                share = curve[:, c] if margin else curve[:, c, e]
                active = np.flatnonzero(share)
                X: Any = self.space.features(rows[active])
                part = X.T @ (share[active, None] * X)
                H[c * d : (c + 1) * d, e * d : (e + 1) * d] += part
        step = _solve_definite(H, -g.T.ravel(), float(np.finfo(g.dtype).eps))
        return np.asarray(step.reshape(P, d).T, g.dtype)

    def _most(self, rows: npt.NDArray[np.intp], rho: float) -> FloatArray:
        """Return the largest curvature that rows with a weight can have, (rows, P)."""
        there = (self.problem.weights_there[rows] > 0).astype(self.space.like.dtype)
        return rho * np.repeat(there[:, None], self.problem.n_columns, axis=1)

    def _curvature(self, V: FloatArray, rows: npt.NDArray[np.intp], rho: float) -> FloatArray:
        """I - J of the prox at some rows, (rows, P) or (rows, P, P)."""
        tau = self.problem.weights_there[rows] / rho
        J = np.asarray(self.problem.loss_.prox_jacobian(V, tau, self.labels[rows]))
        return 1.0 - J if J.ndim == 2 else np.eye(J.shape[1]) - J

    def _search(self, s: Descent, step: FloatArray) -> tuple[Point, float]:
        """Go to where the slope along the step, which only grows, is next to nothing.

        Also returns which share of the step that is.
        """
        p, moved = s.p, self.space.scores(step)
        first = self._slope(p, step, moved)
        low, high, share = 0.0, 1.0, 1.0
        at_low, at_high = first, np.inf
        for _ in range(MAX_TRIES):
            taken = share
            new = self._point(p.W + share * step, p.F + share * moved, s.D, s.rho)
            slope = self._slope(new, step, moved)
            if abs(slope) <= FLATTER * abs(first) or (share == 1.0 and slope < 0.0):
                break
            # Regula falsi; the end that stays counts half, or it would stay for good.
            if slope < 0.0:
                low, at_low, at_high = share, slope, 0.5 * at_high
            else:
                high, at_low, at_high = share, 0.5 * at_low, slope
            share = low + (high - low) * at_low / (at_low - at_high)
        return new, taken

    def _slope(self, p: Point, step: FloatArray, moved: FloatArray) -> float:
        return 2.0 * self.problem.nu_ * float(np.vdot(p.W, step)) + float(np.vdot(p.slopes, moved))

    def done(self, s: Descent, measured: Measured) -> bool:
        """Whether the gap is within tol."""
        return s.best.gap <= self.tol


def _better(best: Polished, p: Point, objective: float) -> Polished:
    if objective > best.objective:
        return best
    return replace(best, F=p.F, coef=p.W, objective=objective, best=(p.F, p.W))


def narrow_polish(
    problem: Problem,
    space: ScoreSpace,
    labels: Labels,
    loop: Loop,
    *,
    run: int,
    tol: float,
    max_iter: int,
    start: tuple[FloatArray, FloatArray, FloatArray],
    rho: float | None = None,
) -> tuple[Polished, Status]:
    """Solve for fixed labels, warm from weights, scores and multiplier, and the penalty left."""
    assert isinstance(space, LinearSpace)
    W, F, D = start
    unit = problem.unit_weight  # scores and slopes are of order one
    rho = unit if rho is None else max(unit, rho / GROWTH)
    narrow = Narrow(problem, space, labels, tol)
    end, status = loop.run(
        narrow.begin(W, F, D, rho),
        narrow.step,
        narrow.done,
        run=run,
        phase="polish",
        max_iter=max_iter,
    )
    return replace(end.best, rho=end.rho), status


def steady_polish(
    problem: Problem,
    space: ScoreSpace,
    labels: Labels,
    loop: Loop,
    *,
    run: int,
    tol: float,
    max_iter: int,
    start: tuple[Array, Array] | None = None,
) -> tuple[Polished, Status]:
    """Solve for fixed labels by `polish`; where that is slow, go on in the weights if they are few.

    One rho cannot serve features of very different sizes; Newton's steps do not see sizes.
    """
    few = min(max_iter, SLOW) if fits(problem, space) else max_iter
    end, status = polish(problem, space, labels, loop, run=run, tol=tol, max_iter=few, start=start)
    if status is not Status.MAX_ITER or few == max_iter:
        return end, status
    slopes = problem.loss_.gradient(end.F, labels)
    dual = problem.weights_there[:, None] * slopes
    then, status = narrow_polish(
        problem,
        space,
        labels,
        loop,
        run=run,
        tol=tol,
        max_iter=max_iter - few,
        start=(end.coef, end.F, dual),
    )
    best = then if then.objective <= end.objective else end
    best = replace(best, bound=min(max(then.bound, end.bound), best.objective))
    return best, Status.CONVERGED if best.gap <= tol else status


def _solve_definite(H: FloatArray, b: FloatArray, eps: float) -> FloatArray:
    """Solve H x = b with as small a ridge as rounding of H asks for."""
    unit = np.sqrt(np.maximum(np.diagonal(H), np.finfo(np.float64).tiny))  # features have sizes
    values, vectors = scipy.linalg.eigh(H / unit[:, None] / unit, check_finite=False)
    ridge = eps * max(float(values[-1]), 0.0)
    return np.asarray(vectors @ ((vectors.T @ (b / unit)) / np.maximum(values, ridge)) / unit)
