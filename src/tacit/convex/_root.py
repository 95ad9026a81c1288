"""Roots of increasing functions, many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tacit.convex.pair import Floats

__all__ = ["Residual", "increasing_root"]

Residual = Callable[[Floats, npt.NDArray[np.intp]], tuple[Floats, Floats]]
"""Value and derivative at x for the rows that are left."""

# A bracket is halved each time, down to one rounding error of its end: 1100 would exhaust float64.
MAX_STEPS = 1200
ROUNDING = 4.0 * float(np.finfo(float).eps)


def increasing_root(residual: Residual, low: Floats, high: Floats) -> Floats:
    """Newton's method inside brackets; a bisection wherever a step does not halve its bracket.

    Newton alone, kept inside the bracket, creeps: where the function bends, one end of the bracket
    never moves.

    Parameters
    ----------
    residual : callable
        ``residual(x, rows)``: value and derivative at x of the functions `rows`.
    low, high : (n,) arrays
        Ends of the brackets: residual(low) <= 0 <= residual(high).
    """
    low, high = np.minimum(low, high).copy(), high.copy()
    root = 0.5 * low + 0.5 * high
    left = np.arange(len(root))
    for _ in range(MAX_STEPS):
        if not left.size:
            return root
        a, b = low[left], high[left]
        x, done = _newton_step(residual, root[left], a, b, left)
        slow = ~done & (b - a > 0.5 * (high[left] - low[left]))
        low[left], high[left] = a, b
        rows = left[slow]
        if rows.size:
            middle = 0.5 * a[slow] + 0.5 * b[slow]
            value, _ = residual(middle, rows)
            low[rows] = np.where(value <= 0.0, middle, a[slow])
            high[rows] = np.where(value <= 0.0, b[slow], middle)
            x[slow] = np.clip(x[slow], low[rows], high[rows])
        root[left] = x
        width = high[left] - low[left]
        left = left[~done & (width > ROUNDING * np.abs(x)) & (width > np.finfo(float).tiny)]
    raise RuntimeError("a root was not found; are theta, x and C finite and of sensible size?")


def _newton_step(
    residual: Residual, x: Floats, low: Floats, high: Floats, rows: npt.NDArray[np.intp]
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Shrink the brackets (in place) at x; return the next points and which are final."""
    value, slope = residual(x, rows)
    low[:] = np.where(value <= 0.0, x, low)
    high[:] = np.where(value >= 0.0, x, high)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        step = value / slope
    done = (value == 0.0) | (np.abs(step) <= ROUNDING * np.abs(x))
    new = x - step
    inside = (new >= low) & (new <= high)
    return np.where(inside, new, 0.5 * low + 0.5 * high), done
