"""Where scores live: the range of K with its norm, and the one linear solve of the alpha-step.

=========  ========  ================================================================
symbol     shape     meaning
=========  ========  ================================================================
K          (N, N)    kernel matrix; X X' for explicit features (never formed)
coef       (M, P)    alpha (M = N), or weights W (M = number of features)
F          (N, P)    scores K alpha, or X W
T          (N, P)    target of the alpha-step, beta - dual / rho
=========  ========  ================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from tacit.linalg.cg import conjugate_gradients

__all__ = [
    "CholeskySpace",
    "EigenSpace",
    "IterativeSpace",
    "LinearSpace",
    "ScoreSpace",
    "feature_space",
    "kernel_space",
]

FloatArray = npt.NDArray[np.float64]

# One symmetric eigendecomposition costs about as much as 25 Cholesky factors of the same size.
EIGEN_LIMIT = 2500
# A Gram matrix of explicit features beyond this size is not formed.
GRAM_LIMIT = 5000
# Least and most products spent on the largest eigenvalue.
LANCZOS = (12, 60)


class ScoreSpace(ABC):
    """The scores a model can produce, and what they cost."""

    free_rho: bool = True
    """Whether a new rho costs no more than an old one."""
    n: int
    top: float
    """Largest eigenvalue of K."""
    scale: float
    """Mean of K's diagonal."""

    @abstractmethod
    def project(self, T: FloatArray, rho: float, nu: float) -> tuple[FloatArray, FloatArray]:
        """Scores and coefficients of min over coef of nu R(coef) + rho/2 |F - T|^2.

        Notes
        -----
        Equation: (17) in 004, corrected
        """

    @abstractmethod
    def expand(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores K alpha and coefficients (alpha, or X' alpha)."""

    @abstractmethod
    def block(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        """Entries of K for these rows and columns; rows may repeat."""

    def features(self, rows: npt.NDArray[np.intp]) -> FloatArray | None:
        """Explicit features of these rows, dense, where they are fewer than all rows."""
        return None

    @abstractmethod
    def regularizer(self, coef: FloatArray, F: FloatArray) -> float:
        """<alpha, K alpha>, or |W|^2."""

    @abstractmethod
    def dual_norm(self, dual: FloatArray) -> float:
        """<dual, K dual>."""


class EigenSpace(ScoreSpace):
    """K by its eigendecomposition: every rho is free, two products with N x N a step."""

    def __init__(self, K: FloatArray) -> None:
        self._K = K
        d, U = scipy.linalg.eigh(K, driver="evd")
        _require_semidefinite(d)
        keep = d > d[-1] * len(d) * np.finfo(np.float64).eps
        self._d, self._U = d[keep], np.ascontiguousarray(U[:, keep])
        self.n, self.top = len(K), float(d[-1])
        self.scale = float(np.trace(K)) / max(self.n, 1)

    def project(self, T: FloatArray, rho: float, nu: float) -> tuple[FloatArray, FloatArray]:  # noqa: D102
        shrink = rho * self._d / (2.0 * nu + rho * self._d)
        F = self._U @ (shrink[:, None] * (self._U.T @ T))
        return F, (rho / (2.0 * nu)) * (T - F)

    def expand(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: D102
        return self._K @ alpha, alpha

    def block(self, rows: npt.NDArray[np.intp]) -> FloatArray:  # noqa: D102
        return self._K[np.ix_(rows, rows)]

    def regularizer(self, coef: FloatArray, F: FloatArray) -> float:  # noqa: D102
        return float(np.vdot(coef, F))

    def dual_norm(self, dual: FloatArray) -> float:  # noqa: D102
        return float(np.vdot(dual, self._K @ dual))


class CholeskySpace(ScoreSpace):
    """K with one factor of 2 nu I + rho K, kept while rho stays; N^3 / 3 per new rho."""

    free_rho = False

    def __init__(self, K: FloatArray) -> None:
        self._K, self.n = K, len(K)
        self.scale = float(np.trace(K)) / max(self.n, 1)
        self.top = _top_eigenvalue(lambda v: K @ v, self.n)
        self._factor: tuple[float, float, Any] | None = None

    def project(self, T: FloatArray, rho: float, nu: float) -> tuple[FloatArray, FloatArray]:  # noqa: D102
        if self._factor is None or self._factor[:2] != (rho, nu):
            A = rho * self._K
            A.flat[:: self.n + 1] += 2.0 * nu
            try:
                factor = scipy.linalg.cho_factor(A, lower=True, overwrite_a=True)
            except scipy.linalg.LinAlgError:
                raise ValueError(_NOT_SEMIDEFINITE) from None
            self._factor = (rho, nu, factor)
        alpha = scipy.linalg.cho_solve(self._factor[2], rho * T)
        return T - (2.0 * nu / rho) * alpha, alpha

    def expand(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: D102
        return self._K @ alpha, alpha

    def block(self, rows: npt.NDArray[np.intp]) -> FloatArray:  # noqa: D102
        return self._K[np.ix_(rows, rows)]

    def regularizer(self, coef: FloatArray, F: FloatArray) -> float:  # noqa: D102
        return float(np.vdot(coef, F))

    def dual_norm(self, dual: FloatArray) -> float:  # noqa: D102
        return float(np.vdot(dual, self._K @ dual))


class LinearSpace(ScoreSpace):
    """Explicit features by the eigendecomposition of X' X; nothing of size N x N."""

    def __init__(self, X: Any) -> None:
        self._X, self.n = X, X.shape[0]
        gram = X.T @ X
        gram = gram.toarray() if sp.issparse(gram) else np.asarray(gram)
        d, self._V = scipy.linalg.eigh(gram, driver="evd")
        self._d = np.maximum(d, 0.0)
        self.top = float(self._d[-1])
        self.scale = float(self._d.sum()) / max(self.n, 1)

    def project(self, T: FloatArray, rho: float, nu: float) -> tuple[FloatArray, FloatArray]:  # noqa: D102
        shrink = rho / (2.0 * nu + rho * self._d)
        W = self._V @ (shrink[:, None] * (self._V.T @ (self._X.T @ T)))
        return np.asarray(self._X @ W), W

    def expand(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: D102
        return _expand(self._X, alpha)

    def block(self, rows: npt.NDArray[np.intp]) -> FloatArray:  # noqa: D102
        X = _dense(self._X[rows])
        return np.asarray(X @ X.T)

    def features(self, rows: npt.NDArray[np.intp]) -> FloatArray | None:  # noqa: D102
        return _dense(self._X[rows])

    def regularizer(self, coef: FloatArray, F: FloatArray) -> float:  # noqa: D102
        return float(np.vdot(coef, coef))

    def dual_norm(self, dual: FloatArray) -> float:  # noqa: D102
        W = self._X.T @ dual
        return float(np.vdot(W, W))


class WideSpace(EigenSpace):
    """More features than rows: the N x N Gram matrix is the smaller one; weights are X' alpha."""

    def __init__(self, X: Any) -> None:
        gram = X @ X.T
        super().__init__(gram.toarray() if sp.issparse(gram) else np.asarray(gram))
        self._X = X

    def project(self, T: FloatArray, rho: float, nu: float) -> tuple[FloatArray, FloatArray]:
        F, alpha = super().project(T, rho, nu)
        return F, np.asarray(self._X.T @ alpha)

    def expand(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._K @ alpha, np.asarray(self._X.T @ alpha)

    def regularizer(self, coef: FloatArray, F: FloatArray) -> float:
        return float(np.vdot(coef, coef))


class IterativeSpace(ScoreSpace):
    """Many rows and many features: conjugate gradients on W, warm from the last answer."""

    TOLERANCE = 1e-10

    def __init__(self, X: Any) -> None:
        self._X, self.n = X, X.shape[0]
        square = X.multiply(X) if sp.issparse(X) else X * X
        self.scale = float(square.sum()) / max(self.n, 1)
        self._diagonal = np.asarray(square.sum(axis=0)).ravel()
        self.top = _top_eigenvalue(lambda w: X.T @ (X @ w), X.shape[1])
        self._last: FloatArray | None = None

    def project(self, T: FloatArray, rho: float, nu: float) -> tuple[FloatArray, FloatArray]:  # noqa: D102
        ridge = 2.0 * nu / rho
        start = self._last if self._last is not None else np.zeros((self._X.shape[1], T.shape[1]))
        W = conjugate_gradients(
            lambda w: self._X.T @ (self._X @ w) + ridge * w,
            np.asarray(self._X.T @ T),
            start,
            1.0 / (self._diagonal + ridge),
            self.TOLERANCE,
        )
        self._last = W
        return np.asarray(self._X @ W), W

    def expand(self, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: D102
        return _expand(self._X, alpha)

    def block(self, rows: npt.NDArray[np.intp]) -> FloatArray:  # noqa: D102
        return _dense(self._X[rows] @ self._X[rows].T)

    def regularizer(self, coef: FloatArray, F: FloatArray) -> float:  # noqa: D102
        return float(np.vdot(coef, coef))

    def dual_norm(self, dual: FloatArray) -> float:  # noqa: D102
        W = self._X.T @ dual
        return float(np.vdot(W, W))


def _dense(X: Any) -> FloatArray:
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def _expand(X: Any, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    W = np.asarray(X.T @ alpha)
    return np.asarray(X @ W), W


def kernel_space(K: FloatArray) -> ScoreSpace:
    """Eigendecomposition up to a few thousand rows, Cholesky stages beyond."""
    return EigenSpace(K) if len(K) <= EIGEN_LIMIT else CholeskySpace(K)


def feature_space(X: Any) -> ScoreSpace:
    """Gram matrix of the smaller side; conjugate gradients where both sides are large."""
    n, d = X.shape
    if d <= min(n, GRAM_LIMIT):
        return LinearSpace(X)
    return WideSpace(X) if n <= EIGEN_LIMIT else IterativeSpace(X)


_NOT_SEMIDEFINITE = (
    "the kernel matrix is not positive semidefinite; check the kernel, or add a multiple of the "
    "identity to it."
)


def _require_semidefinite(d: FloatArray) -> None:
    if len(d) and d[0] < -1e-6 * float(np.abs(d).max()):
        raise ValueError(_NOT_SEMIDEFINITE)


def _top_eigenvalue(product: Any, n: int) -> float:
    """Largest eigenvalue to a per cent, by the Lanczos method from a fixed random start.

    Power iteration would stop on a plateau: K near a multiple of I, or a start near an eigenvector.
    """
    v = np.random.default_rng(0).standard_normal(n)
    basis = [v / np.linalg.norm(v)]
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        w = product(basis[-1])
        diagonal.append(float(basis[-1] @ w))
        Q = np.array(basis)
        for _ in range(2):  # once leaves rounding behind
            w = w - Q.T @ (Q @ w)
        rest = float(np.linalg.norm(w))
        values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside)
        top, steps = float(values[-1]), len(basis)
        near = steps >= LANCZOS[0] and rest * abs(vectors[-1, -1]) <= 1e-3 * top
        if near or steps == min(n, LANCZOS[1]) or rest <= 1e-10 * abs(top):
            return max(top, 0.0)
        beside.append(rest)
        basis.append(w / rest)
