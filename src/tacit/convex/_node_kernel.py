"""What happens at a node: the dual raised, the regulariser split, labels fixed.

=========  =========  ============================================================================
symbol     shape      meaning
=========  =========  ============================================================================
model                 kind of loss, X (N, d), w (N,), cost (N, 2) of the labels, nu
m          (N,)       share of the regulariser that goes to each row of unknown label
P, q       (N, d)     rows of X Q^-1, and x' Q^-1 x, with Q = nu I - sum_i m_i x_i x_i' > 0
s, theta   (N,) (d,)  dual variables, and theta = -Q^-1 X' s / 2
cross      (N,)       slope at which both labels of a row are as good
gain       (N, 2)     how much the bound rises at least when a row gets label 0, or 1
=========  =========  ============================================================================

For every labeling y of the node, and every s, with h_i the row's function (`_dual_kernel`),

    min_theta  nu |theta|^2 + sum_i w_i phi(t_i x_i' theta)
        >=  -sum_i h_i*(s_i) - s' X Q^-1 X' s / 4
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tacit.convex._dual_kernel import (
    conjugate,
    crossing,
    hull_conjugate,
    hull_step,
    label_step,
    spread,
)
from tacit.convex._propagation import BOTH, pair_bound, propagate

__all__ = ["LEAST", "gains", "raise_bound", "split", "value", "visit"]

LEAST = 1e-2  # Q >= LEAST nu I: the rest of the regulariser that no row gets
SLACK = 0.5  # part of that which rounding of eigenvalues may not take away
BARRIER = 0.05  # part of the shares' worth that stays unused to keep Q well conditioned
EPS = 2.3e-16
BLOCK = 5  # passes between looks at the bound


@njit(cache=True, nogil=True)
def _score(X: Any, i: int, theta: Any) -> float:
    total = 0.0
    for k in range(len(theta)):
        total += X[i, k] * theta[k]
    return total


@njit(cache=True, nogil=True)
def value(model: Any, m: Any, P: Any, domain: Any, s: Any, theta: Any) -> float:
    """Bound at s, from scratch and lowered by what rounding may have added; sets theta.

    P need not be exact: the quadratic is evaluated at the theta it gives, with the residual
    r = 2 Q theta + X' s, and its minimum is lower by at most |r|^2 / (4 LEAST nu).
    """
    kind, X, w, cost, nu = model
    n, d = X.shape
    residual = np.zeros(d)
    theta[:] = 0.0
    for i in range(n):
        if s[i] != 0.0:
            for k in range(d):
                residual[k] += s[i] * X[i, k]
                theta[k] -= 0.5 * s[i] * P[i, k]
    total, size, rough = 0.0, 0.0, 0.0
    for i in range(n):
        if domain[i] == BOTH:
            part = -hull_conjugate(kind, w[i], m[i], s[i], cost[i, 0], cost[i, 1])
        elif domain[i] == 2:
            part = cost[i, 1] - conjugate(kind, w[i], m[i], s[i])
        else:
            part = cost[i, 0] - conjugate(kind, w[i], m[i], -s[i])
        f = _score(X, i, theta)
        length = 0.0
        for k in range(d):
            residual[k] -= 2.0 * m[i] * f * X[i, k]
            length += X[i, k] * X[i, k]
        rough += (abs(s[i]) + 2.0 * m[i] * abs(f)) * np.sqrt(length)
        total += part + s[i] * f - m[i] * f * f
        # What the conjugates and products added up on the way (cancellation included).
        size += abs(part) + w[i] + abs(cost[i, 0]) + abs(cost[i, 1])
        size += abs(s[i] * f) + m[i] * f * f
    norm, left = 0.0, 0.0
    for k in range(d):
        norm += theta[k] * theta[k]
        left += (residual[k] + 2.0 * nu * theta[k]) ** 2
    rounding = 8.0 * (n + d) * EPS
    left = np.sqrt(left) + rounding * (rough + 2.0 * nu * np.sqrt(norm))
    total += nu * norm - left * left / (4.0 * SLACK * LEAST * nu)
    return total - rounding * (size + nu * norm)


@njit(cache=True, nogil=True)
def _sweep(model: Any, m: Any, P: Any, q: Any, cross: Any, domain: Any, s: Any, theta: Any) -> None:
    """One pass of coordinate ascent."""
    kind, X, w, _, _ = model
    n, d = X.shape
    for i in range(n):
        if domain[i] == BOTH and m[i] <= 0.0:
            continue
        away = _score(X, i, theta) + 0.5 * q[i] * s[i]
        if domain[i] == BOTH:
            new = hull_step(kind, w[i], m[i], q[i], away, cross[i])
        else:
            new = label_step(kind, w[i], m[i], q[i], away, 2.0 * domain[i] - 3.0)[0]
        step = new - s[i]
        if step != 0.0:
            s[i] = new
            for k in range(d):
                theta[k] -= 0.5 * step * P[i, k]


@njit(cache=True, nogil=True)
def raise_bound(
    model: Any,
    m: Any,
    P: Any,
    q: Any,
    cross: Any,
    domain: Any,
    s: Any,
    theta: Any,
    target: float,
    tol: float,
    passes: int,
) -> float:
    """Coordinate ascent until the bound passes `target` or a few passes raise it by little.

    The bound may fall by rounding: what is returned is the bound at the s that is left.
    """
    best = value(model, m, P, domain, s, theta)
    done = 0
    while done < passes and best < target:
        for _ in range(BLOCK):
            _sweep(model, m, P, q, cross, domain, s, theta)
        done += BLOCK
        new = value(model, m, P, domain, s, theta)
        small = new - best <= tol * abs(new)
        best = new
        if small:
            break
    return best


@njit(cache=True, nogil=True)
def gains(model: Any, m: Any, q: Any, domain: Any, s: Any, theta: Any, gain: Any) -> None:
    """How much one step raises the bound when a row gets a label; zero where it has one."""
    kind, X, w, cost, _ = model
    for i in range(len(s)):
        gain[i, 0] = 0.0
        gain[i, 1] = 0.0
        if domain[i] != BOTH:
            continue
        away = _score(X, i, theta) + 0.5 * q[i] * s[i]
        now = -hull_conjugate(kind, w[i], m[i], s[i], cost[i, 0], cost[i, 1])
        now += away * s[i] - 0.25 * q[i] * s[i] * s[i]
        for c in range(2):
            there = label_step(kind, w[i], m[i], q[i], away, 2.0 * c - 1.0)[1] + cost[i, c]
            # Steps of other rows may have left rounding in theta: only what is well above it.
            sure = 1e-9 * (abs(there) + abs(now) + w[i])
            gain[i, c] = max(there - now - sure, 0.0)


@njit(cache=True, nogil=True)
def split(model: Any, m: Any, P: Any, q: Any) -> None:
    """P and q for the shares m, which are scaled down until Q >= LEAST nu I."""
    _, X, _, _, nu = model
    n, d = X.shape
    top = 0.0
    M = np.zeros((d, d))
    if m.max() > 0.0:
        M = (X * m.reshape(n, 1)).T @ X
        top = np.linalg.eigvalsh(M)[-1]
    if top > (1.0 - LEAST) * nu:
        scale = (1.0 - LEAST) * nu / top
        m *= scale
        M *= scale
    P[:, :] = X @ np.linalg.inv(nu * np.eye(d) - M)
    for i in range(n):
        q[i] = _score(X, i, P[i])


@njit(cache=True, nogil=True)
def _share(model: Any, m: Any, q: Any, cross: Any, domain: Any, s: Any, theta: Any) -> None:
    """Move the shares towards where they raise the bound, against a barrier log det Q."""
    kind, X, w, _, _ = model
    n, d = X.shape
    worth = np.zeros(n)
    total = 0.0
    for i in range(n):
        if domain[i] == BOTH:
            f = _score(X, i, theta)
            worth[i] = spread(kind, w[i], m[i], s[i], cross[i], f)
            total += m[i] * worth[i]
    if total <= 0.0:
        return
    for i in range(n):
        if domain[i] == BOTH and q[i] > 0.0:
            ratio = (worth[i] * d / (BARRIER * total * q[i])) ** 0.25
            m[i] *= min(max(ratio, 0.2), 5.0)


@njit(cache=True, nogil=True)
def _cross(model: Any, m: Any, domain: Any, cross: Any) -> None:
    """Where both labels are as good, for the present shares."""
    kind, _, w, cost, _ = model
    for i in range(len(m)):
        if domain[i] == BOTH and cost[i, 0] != cost[i, 1]:
            cross[i] = crossing(kind, w[i], m[i], cost[i, 0], cost[i, 1])


@njit(cache=True, nogil=True)
def _settle(model: Any, m: Any, domain: Any, s: Any) -> None:
    """Labels that are known get no share; their slopes return to where the conjugate is finite."""
    kind, _, w, _, _ = model
    for i in range(len(s)):
        if domain[i] == BOTH:
            if m[i] <= 0.0:
                s[i] = 0.0
            continue
        m[i] = 0.0
        t = 2.0 * domain[i] - 3.0
        inside = min(t * s[i], 0.0)
        s[i] = t * (inside if kind == 1 and w[i] > 0.0 else max(inside, -w[i]))


@njit(cache=True, nogil=True)
def visit(
    model: Any,
    rows: Any,
    pairs: Any,
    shared: bool,
    m: Any,
    P: Any,
    q: Any,
    cross: Any,
    domain: Any,
    s: Any,
    theta: Any,
    gain: Any,
    target: float,
    turns: int,
    tol: float,
    passes: int,
) -> tuple[float, float, float]:
    """Propagate, raise the bound, fix labels, until nothing moves.

    Returns the best bound, +inf where the hints leave nothing; the bound at the s that is left, the
    only one that `gain` may be added to; and the least bound of all labelings that were discarded
    because theirs is at least `target`.
    """
    away = np.inf
    best = -np.inf
    here = -np.inf
    while True:
        if not propagate(domain, rows, pairs):
            return np.inf, np.inf, away
        known = pair_bound(domain, pairs)
        _settle(model, m, domain, s)
        for turn in range(turns + 1 if shared else 1):
            if shared:
                split(model, m, P, q)
                _cross(model, m, domain, cross)
            last = turn == turns or not shared
            here = known + raise_bound(
                model,
                m,
                P,
                q,
                cross,
                domain,
                s,
                theta,
                target - known,
                tol if last else 10.0 * tol,
                passes if last else passes // 5,
            )
            best = max(best, here)
            if best >= target:
                return best, best, min(away, best)
            if not last:
                _share(model, m, q, cross, domain, s, theta)
        gains(model, m, q, domain, s, theta, gain)
        moved = False
        for i in range(len(s)):
            if domain[i] != BOTH:
                continue
            zero, one = here + gain[i, 0] >= target, here + gain[i, 1] >= target
            if zero and one:
                least = min(here + gain[i, 0], here + gain[i, 1])
                return least, least, min(away, least)
            if zero or one:
                away = min(away, here + (gain[i, 0] if zero else gain[i, 1]))
                domain[i] = 2 if zero else 1
                moved = True
        if not moved:
            return best, here, away
