"""Conjugate gradients for several right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tacit.exceptions import NotConverged

__all__ = ["conjugate_gradients"]

FloatArray = npt.NDArray[np.float64]


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    b: FloatArray,
    x: FloatArray,
    precondition: FloatArray,
    tolerance: float,
    max_iter: int = 10_000,
) -> FloatArray:
    """Solve A x = b, A symmetric positive definite, to |residual| <= tolerance |b| per column.

    Parameters
    ----------
    product : callable
        v -> A v for v of shape (n, P).
    b, x : arrays of shape (n, P)
        Right-hand sides and start.
    precondition : array of shape (n,)
        Inverse of (an approximation of) A's diagonal.
    """
    limit = tolerance * np.maximum(np.linalg.norm(b, axis=0), np.finfo(np.float64).tiny)
    r = b - product(x)
    z = precondition[:, None] * r
    p, rz = z, np.sum(r * z, axis=0)
    for _ in range(max_iter):
        if np.all(np.linalg.norm(r, axis=0) <= limit):
            return x
        Ap = product(p)
        curve = np.sum(p * Ap, axis=0)
        step = np.divide(rz, curve, out=np.zeros_like(rz), where=curve > 0)
        x = x + step * p
        r = r - step * Ap
        z = precondition[:, None] * r
        new = np.sum(r * z, axis=0)
        p = z + np.divide(new, rz, out=np.zeros_like(rz), where=rz > 0) * p
        rz = new
    raise NotConverged(f"conjugate gradients did not reach {tolerance:g} in {max_iter} steps.")
