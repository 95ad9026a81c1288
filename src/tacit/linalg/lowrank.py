r"""A kernel matrix as low rank plus diagonal, from random landmarks.

.. math:: K \approx \Phi \Phi^\top + \delta I,
    \qquad \Phi = K_{NL} L^{-\top}, \quad L L^\top = K_{LL}

with :math:`\delta` the mean of what is missing on the diagonal. It matters: without it the small
modes of K, which together carry much of the regulariser, would be gone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tacit.backends import (
    Array,
    NotPositiveDefinite,
    array_namespace,
    as_like,
    cholesky,
    cholesky_solve,
    solve_lower,
)
from tacit.linalg.base import (
    NOT_SEMIDEFINITE,
    ScoreSpace,
    at,
    product,
    product_t,
    top_eigenvalue,
    total,
)

__all__ = ["LowRankSpace", "low_rank"]

# Ridges tried on the landmarks' matrix, in units of eps times its trace.
RIDGES = (1.0, 10.0, 100.0, 1e3, 1e4)
# Rows whose features are made at a time: enough for full speed, little memory.
CHUNK = 1024


class LowRankSpace(ScoreSpace):
    """K = Phi Phi' + delta I: one m x m factor per rho, products with N x m.

    Parameters
    ----------
    Phi : array of shape (N, m)
        Features.
    delta : float
        Weight of the diagonal.
    """

    def __init__(self, Phi: Array, delta: float) -> None:
        self._Phi, self.delta, self.n = Phi, float(delta), Phi.shape[0]
        self._G = Phi.T @ Phi
        trace = float(array_namespace(Phi).linalg.trace(self._G))
        self.scale = trace / max(self.n, 1) + self.delta
        self.top = top_eigenvalue(lambda v: self._G @ v, Phi.shape[1], Phi) + self.delta
        self._factor: tuple[float, Array] | None = None

    @property
    def like(self) -> Array:  # noqa: D102
        return self._Phi

    def inverse(self, rho: float, nu: float) -> Callable[[Array], Array]:
        """Return v -> (2 nu I + rho K)^-1 v, by Woodbury's identity."""
        diagonal = 2.0 * nu + rho * self.delta
        if self._factor is None or self._factor[0] != diagonal / rho:
            A = array_namespace(self._G).asarray(self._G, copy=True)
            _add_to_diagonal(A, diagonal / rho)
            try:
                self._factor = (diagonal / rho, cholesky(A))
            except NotPositiveDefinite:
                raise ValueError(NOT_SEMIDEFINITE) from None
        factor, Phi = self._factor[1], self._Phi
        return lambda v: (v - Phi @ cholesky_solve(factor, Phi.T @ v)) / diagonal

    def project(self, T: Array, rho: float, nu: float) -> tuple[Array, Array]:  # noqa: D102
        alpha = rho * self.inverse(rho, nu)(T)
        return T - (2.0 * nu / rho) * alpha, alpha

    def expand(self, alpha: Array) -> tuple[Array, Array]:  # noqa: D102
        return self.scores(alpha), alpha

    def scores(self, coef: Array) -> Array:  # noqa: D102
        return product(self._Phi, product_t(self._Phi, coef)) + self.delta * coef

    def block(self, rows: npt.NDArray[np.intp]) -> Array:  # noqa: D102
        Phi = at(self._Phi, rows)
        same = (rows[:, None] == rows[None, :]).astype(np.float64)
        return Phi @ Phi.T + self.delta * as_like(same, Phi)

    def regularizer(self, coef: Array, F: Array) -> float:  # noqa: D102
        return total(coef, F)

    def dual_norm(self, dual: Array) -> float:  # noqa: D102
        low = product_t(self._Phi, dual)
        return total(low, low) + self.delta * total(dual, dual)


def low_rank(
    columns: Callable[[slice], Array],
    landmarks: Array,
    diagonal: float,
    n: int,
) -> LowRankSpace:
    """Make the space from the kernel between rows and landmarks.

    Parameters
    ----------
    columns : callable
        Kernel between some rows and all landmarks, (rows, m).
    landmarks : array of shape (m, m)
        Kernel between landmarks.
    diagonal : float
        Mean of K's diagonal.
    n : int
        Number of rows.
    """
    xp = array_namespace(landmarks)
    L = _factor(landmarks)
    Phi = xp.empty((n, len(L)), dtype=L.dtype, device=L.device)
    for start in range(0, n, CHUNK):
        rows = slice(start, min(start + CHUNK, n))
        Phi[rows] = solve_lower(L, columns(rows).T).T
    kept = float(xp.sum(xp.vecdot(Phi, Phi))) / n
    return LowRankSpace(Phi, max(diagonal - kept, 0.0))


def _factor(K: Array) -> Array:
    """Cholesky factor of the landmarks' matrix with as small a ridge as will do."""
    xp = array_namespace(K)
    eps = float(xp.finfo(K.dtype).eps)
    trace = float(xp.linalg.trace(K))
    for ridge in RIDGES:
        A = xp.asarray(K, copy=True)
        _add_to_diagonal(A, ridge * eps * trace)
        try:
            return cholesky(A)
        except NotPositiveDefinite:
            continue
    raise ValueError(NOT_SEMIDEFINITE)


def _add_to_diagonal(A: Array, value: float) -> None:
    """In place; a view of every (n + 1)th entry is the diagonal."""
    A.reshape(-1)[:: len(A) + 1] += value
