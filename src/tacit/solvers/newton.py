"""Semismooth Newton for fixed labels: from a rough answer to rounding.

With the split scores u = prox(V) of the loss, optimality reads

    r = m alpha + V - u = 0,    V = F + D / rho,    D = -2 nu alpha.

Kept coupled, as written, this is Newton on the optimality condition itself: exact where the pieces
of the prox are already the right ones, but without a merit function. With D held fixed, r is the
gradient of a convex function of the scores (the augmented Lagrangian, minimised over u), which a
line search descends from anywhere; D follows, and rho grows. The second leads to where the first
finishes, and both need one and the same linear system.

=========  ===========  ===================================================================
symbol     shape        meaning
=========  ===========  ===================================================================
alpha      (N, P)       kernel coefficients; D = -2 nu alpha at the solution
F          (N, P)       scores K alpha
D          (N, P)       multiplier, a slope of the loss at u
V, u       (N, P)       where the prox is taken, and the prox
J          (N, P[, P])  Jacobian of the prox; I - J has eigenvalues lam and directions Q
m          ()           2 nu / rho
r          (N, P)       residual
=========  ===========  ===================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.linalg

from tacit.linalg import ScoreSpace
from tacit.losses import MarginLoss
from tacit.problem import Problem

__all__ = ["Newton", "Point"]

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

MAX_ROUNDS = 20  # moves of the multiplier
MAX_STEPS = 20  # Newton steps between them
GROWTH, QUICK = 4.0, 4  # of rho, after a descent of so few steps; back after one that did not end
ENOUGH = 1e-2  # share of its residual that is left when the multiplier moves
MAX_TRIES, FLATTER = 30, 0.1  # of the search along a step, and the share of the slope it leaves
SMALL = 1e-9  # a relative residual below this that falls no more is rounding
MAX_RIDGES = 10  # tried on a singular matrix, each a hundred times the last
HUGE = 1e6  # a step this much longer than the coefficients leads nowhere
FLAT = 1e-12  # eigenvalues of I - J below this count as zero
FIRM = 1e-8  # smallest ridge, in units of K, that may be divided by


@dataclass(frozen=True)
class Point:
    """Coefficients with everything that follows from them and the multiplier."""

    alpha: FloatArray
    F: FloatArray
    V: FloatArray
    u: FloatArray
    r: FloatArray

    @property
    def size(self) -> float:
        """Length of the residual."""
        return float(np.linalg.norm(self.r))


@dataclass(frozen=True)
class Newton:
    """Newton steps for one labeling at one rho.

    Parameters
    ----------
    problem, space, labels
        What is solved.
    rho : float
        Weighs scores against slopes in the residual; the first rho of the descent.

    Notes
    -----
    Equation: (5) in 004, minimised over alpha
    """

    problem: Problem
    space: ScoreSpace
    labels: npt.NDArray[np.int32]
    rho: float

    @property
    def eps(self) -> float:
        """Rounding of the space's numbers."""
        return float(np.finfo(self.space.like.dtype).eps)

    @property
    def m(self) -> float:
        """2 nu / rho."""
        return 2.0 * self.problem.nu_ / self.rho

    def solve(self, alpha: FloatArray) -> Point:
        """Refine coefficients until the residual is rounding, or nothing helps."""
        best, rho, start = self._finish(alpha), self.rho, alpha
        for _ in range(MAX_ROUNDS):
            if self._rounded(best):
                break
            at = replace(self, rho=rho)
            near, steps = at._descend(start, -2.0 * self.problem.nu_ * alpha)
            if steps == MAX_STEPS:
                start, rho = near.alpha, rho / GROWTH
                continue
            start = alpha = (near.u - near.V) / at.m
            rho = rho * GROWTH if steps <= QUICK else rho
            end = self._finish(alpha)
            if best.size < SMALL * float(np.linalg.norm(best.V)) and end.size > 0.5 * best.size:
                break
            best = min(best, end, key=lambda p: p.size)
        return best

    def _rounded(self, p: Point) -> bool:
        """Whether the residual is what rounding makes of the scores and of the sums in them."""
        sums = self.space.scale * np.sqrt(len(p.F)) * float(np.linalg.norm(p.alpha))
        return p.size <= self.eps * (8.0 * float(np.linalg.norm(p.V)) + sums)

    def _point(self, alpha: FloatArray, F: FloatArray, D: FloatArray | None) -> Point:
        V = F + D / self.rho if D is not None else F - self.m * alpha
        u = np.asarray(
            self.problem.loss_.prox(V, self.problem.weights_there / self.rho, self.labels)
        )
        return Point(alpha, F, V, u, self.m * alpha + (V - u))

    def _finish(self, alpha: FloatArray) -> Point:
        """Undamped steps with D = -2 nu alpha, as long as each shrinks the residual."""
        p = self._point(alpha, self.space.expand(alpha)[0], None)
        for _ in range(MAX_STEPS):
            if self._rounded(p):
                break
            step = self._direction(p, 0.0)
            # A singular system that has no solution, for want of the right pieces.
            if not np.linalg.norm(step) <= HUGE * (1.0 + np.linalg.norm(p.alpha)):
                return p
            alpha = p.alpha + step
            new = self._point(alpha, self.space.expand(alpha)[0], None)
            if not new.size < 0.5 * p.size:
                return new if new.size < p.size else p
            p = new
        return p

    def _descend(self, alpha: FloatArray, D: FloatArray) -> tuple[Point, int]:
        """Minimise the augmented Lagrangian for this D; also returns how many steps it took."""
        p = self._point(alpha, self.space.expand(alpha)[0], D)
        goal = ENOUGH * p.size
        for count in range(MAX_STEPS):
            if p.size <= goal or self._rounded(p):
                return p, count
            p = self._search(p, self._direction(p, 1.0), D)
        return p, MAX_STEPS

    def _search(self, p: Point, step: FloatArray, D: FloatArray) -> Point:
        """Go to where the slope along the step, which only grows, is next to nothing."""
        moved = self.space.expand(step)[0]
        first = float(np.vdot(p.r, moved))
        low, high, share = 0.0, 1.0, 1.0
        at_low, at_high = first, np.inf
        for _ in range(MAX_TRIES):
            new = self._point(p.alpha + share * step, p.F + share * moved, D)
            slope = float(np.vdot(new.r, moved))
            if abs(slope) <= FLATTER * abs(first) or (share == 1.0 and slope < 0.0):
                break
            # Regula falsi; the end that stays counts half, or it would stay for good.
            if slope < 0.0:
                low, at_low, at_high = share, slope, 0.5 * at_high
            else:
                high, at_low, at_high = share, 0.5 * at_low, slope
            share = low + (high - low) * at_low / (at_low - at_high)
        return replace(new, F=self.space.expand(new.alpha)[0])

    def _direction(self, p: Point, keep: float) -> FloatArray:
        """Solve ((I - J) K + m (J + keep (I - J))) step = -r; `keep` is 1 for a fixed D, else 0."""
        loss, tau = self.problem.loss_, self.problem.weights_there / self.rho
        J = np.asarray(loss.prox_jacobian(p.V, tau, self.labels))
        if not isinstance(loss, MarginLoss):
            lam, Q = np.linalg.eigh(np.eye(J.shape[1]) - J)
            return self._solve(lam, Q, p.r, keep)
        one = np.ones((len(J), 1, 1))
        columns = [self._solve(1.0 - J[:, [c]], one, p.r[:, [c]], keep) for c in range(J.shape[1])]
        return np.concatenate(columns, axis=1)

    def _solve(self, lam: FloatArray, Q: FloatArray, r: FloatArray, keep: float) -> FloatArray:
        """Directions with lam = 0 are read off; the others make a symmetric system."""
        active = lam > FLAT
        turned = np.einsum("nij,ni->nj", Q, r)
        step = np.einsum("nij,nj->ni", Q, np.where(active, 0.0, -turned / self.m))
        rows, which = np.nonzero(active)
        if len(rows) == 0:
            return step
        share, ways = lam[rows, which], Q[rows, :, which]
        pull = np.sum(ways * self.space.expand(step)[0][rows], axis=1)
        ridge = self.m * ((1.0 - share) / share + keep)
        part = self._system(rows, ways, ridge, -turned[rows, which] / share - pull)
        np.add.at(step, rows, part[:, None] * ways)
        return step

    def _system(self, rows: Rows, ways: FloatArray, ridge: FloatArray, b: FloatArray) -> FloatArray:
        """Solve (K_ij <way_i, way_j> + ridge) x = b, by the smaller of two Cholesky factors."""
        scale = self.space.scale
        X = self.space.features(rows)
        # The factor of the features' size divides by the ridge.
        if X is None or X.shape[1] * ways.shape[1] >= len(rows) or ridge.min() < FIRM * scale:
            A = self.space.block(rows)
            if ways.shape[1] > 1:
                A *= ways @ ways.T
            return _solve_spd(A, ridge, b, len(rows) * self.eps * scale)
        Z = (X[:, :, None] * ways[:, None, :]).reshape(len(rows), -1)
        scaled = Z / ridge[:, None]
        inner = _solve_spd(Z.T @ scaled, np.ones(Z.shape[1]), scaled.T @ b, 0.0)
        return (b - Z @ inner) / ridge


def _solve_spd(A: FloatArray, ridge: FloatArray, b: FloatArray, tiny: float) -> FloatArray:
    """Solve (A + ridge) x = b; A may be singular, and then grows a ridge as small as possible."""
    diagonal = np.diagonal(A) + ridge
    for _ in range(MAX_RIDGES):
        A.flat[:: len(A) + 1] = diagonal + tiny
        try:
            factor = scipy.linalg.cho_factor(A, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            tiny = 100.0 * max(tiny, float(np.finfo(A.dtype).eps) * float(diagonal.max()))
            continue
        return np.asarray(scipy.linalg.cho_solve(factor, b, check_finite=False))
    return np.zeros_like(b)  # numbers that are not finite: no step at all
