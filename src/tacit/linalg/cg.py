"""Conjugate gradients for several right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tacit.backends import Array, array_namespace

__all__ = ["Solved", "conjugate_gradients"]


class Solved(NamedTuple):
    """Where conjugate gradients stopped."""

    x: Array
    product: Array
    """A x, carried along."""
    steps: int
    converged: bool


def conjugate_gradients(
    product: Callable[[Array], Array],
    ridge: float,
    b: Array,
    x: Array,
    Ax: Array,
    precondition: Callable[[Array], Array],
    reduce: float,
    max_steps: int,
    floor: float = 0.0,
) -> Solved:
    """Solve (A + ridge I) x = b, A symmetric positive semidefinite.

    Parameters
    ----------
    product : callable
        v -> A v for v of shape (n, P).
    ridge : float
        Positive.
    b, x, Ax : arrays of shape (n, P)
        Right-hand sides, start, and A times the start.
    precondition : callable
        v -> (about) (A + ridge I)^-1 v.
    reduce : float
        Stop when every column's residual is below this share of what it started with,
    floor : float
        or below this share of b.
    max_steps : int
        Products with A, at most.
    """
    xp = array_namespace(b)
    tiny = float(xp.finfo(b.dtype).smallest_normal)
    eps = float(xp.finfo(b.dtype).eps)
    r = b - Ax - ridge * x
    size = _lengths(xp, b)
    goal = xp.clip(reduce * _lengths(xp, r), min=tiny)
    goal = xp.maximum(goal, max(floor, 2.0 * eps) * size)
    z = precondition(r)
    p, rz = z, xp.sum(r * z, axis=0)
    for step in range(max_steps):
        if bool(xp.all(_lengths(xp, r) <= goal)):
            return Solved(x, Ax, step, True)
        Ap = product(p)
        curve = xp.sum(p * (Ap + ridge * p), axis=0)
        length = _ratio(xp, rz, curve)
        x, Ax = x + length * p, Ax + length * Ap
        r = r - length * (Ap + ridge * p)
        z = precondition(r)
        new = xp.sum(r * z, axis=0)
        p = z + _ratio(xp, new, rz) * p
        rz = new
    return Solved(x, Ax, max_steps, bool(xp.all(_lengths(xp, r) <= goal)))


def _lengths(xp: object, a: Array) -> Array:
    return xp.sqrt(xp.sum(a * a, axis=0))  # type: ignore[attr-defined]


def _ratio(xp: object, a: Array, b: Array) -> Array:
    """Return a / b where b > 0, else 0."""
    positive = b > 0
    one = xp.ones_like(b)  # type: ignore[attr-defined]
    return xp.where(positive, a / xp.where(positive, b, one), 0.0 * a)  # type: ignore[attr-defined]
