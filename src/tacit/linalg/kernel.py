"""The range of an exact kernel matrix: eigendecomposition, or products alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.backends import Array, array_namespace, eigh
from tacit.linalg.base import NOT_SEMIDEFINITE, ScoreSpace, at, product, total
from tacit.linalg.cg import conjugate_gradients
from tacit.linalg.lowrank import LowRankSpace

__all__ = ["EigenSpace", "GramSpace"]


class _Kernel(ScoreSpace):
    """What all spaces with a stored kernel matrix share."""

    def __init__(self, K: Array) -> None:
        self._K, self.n = K, len(K)
        self.scale = float(array_namespace(K).linalg.trace(K)) / max(self.n, 1)

    @property
    def like(self) -> Array:
        return self._K

    def expand(self, alpha: Array) -> tuple[Array, Array]:
        return self.scores(alpha), alpha

    def scores(self, coef: Array) -> Array:
        return product(self._K, coef)

    def block(self, rows: npt.NDArray[np.intp]) -> Array:
        return at(at(self._K, rows).T, rows).T

    def regularizer(self, coef: Array, F: Array) -> float:
        return total(coef, F)

    def dual_norm(self, dual: Array) -> float:
        return total(dual, product(self._K, dual))


class EigenSpace(_Kernel):
    """K by its eigendecomposition: every rho is free, two products with N x N a step."""

    def __init__(self, K: Array) -> None:
        super().__init__(K)
        xp = array_namespace(K)
        d, U = eigh(K)
        eps = float(xp.finfo(K.dtype).eps)
        if len(d) and float(d[0]) < -max(1e-6, 100 * eps) * float(xp.max(xp.abs(d))):
            raise ValueError(NOT_SEMIDEFINITE)
        keep = d > d[-1] * len(d) * eps
        self._d, self._U = d[keep], xp.asarray(U[:, keep], copy=True)
        self.top = float(d[-1])

    def project(self, T: Array, rho: float, nu: float) -> tuple[Array, Array]:  # noqa: D102
        shrink = rho * self._d / (2.0 * nu + rho * self._d)
        F = self._U @ (shrink[:, None] * (self._U.T @ T))
        return F, (rho / (2.0 * nu)) * (T - F)

    def settle(self, coef: Array, F: Array) -> Array:
        """Coefficients of F in the range alone: what `project` leaves outside costs digits."""
        return self._U @ ((self._U.T @ F) / self._d[:, None])


class GramSpace(_Kernel):
    """K by products with it: conjugate gradients, preconditioned by a low-rank space of the rows.

    Each call continues from the answer of the last and takes the residual down by `reduce`, in as
    many steps as that needs but not more than `max_steps`; F = K alpha holds all the same. The
    multiplier of a solver must therefore be kept explicitly.

    Parameters
    ----------
    K : array of shape (N, N)
        Kernel matrix; no second array of its size is made.
    coarse : LowRankSpace
        Nearly the same space.
    reduce : float
        Share of the residual that may be left, of that which it starts with.
    max_steps : int
        Products with K in one call, at most.
    """

    exact = False

    def __init__(
        self, K: Array, coarse: LowRankSpace, reduce: float = 0.1, max_steps: int = 20
    ) -> None:
        super().__init__(K)
        self._coarse, self.reduce, self.max_steps = coarse, reduce, max_steps
        self.top = coarse.top
        self._steps = max_steps
        self._last: tuple[Array, Array] | None = None

    @property
    def coarse(self) -> ScoreSpace:
        """The low-rank space."""
        return self._coarse

    def begin(self, F: Array, alpha: Array, steps: int | None = None) -> None:
        """Continue from these coefficients, F = K alpha; `steps` in place of `max_steps`."""
        self._last, self._steps = (F, alpha), steps or self.max_steps

    def project(self, T: Array, rho: float, nu: float) -> tuple[Array, Array]:  # noqa: D102
        if self._last is None or self._last[0].shape != T.shape:
            self._last = (0.0 * T, 0.0 * T)
        F, alpha = self._last
        ridge = 2.0 * nu / rho
        inverse = self._coarse.inverse(rho, nu)
        solved = conjugate_gradients(
            lambda v: self._K @ v,
            ridge,
            T,
            alpha,
            F,
            lambda v: rho * inverse(v),
            self.reduce,
            self._steps,
        )
        self._last = (solved.product, solved.x)
        return self._last
