"""Where scores live: the range of K with its norm, and the one linear solve of the alpha-step.

=========  ========  ================================================================
symbol     shape     meaning
=========  ========  ================================================================
K          (N, N)    kernel matrix; X X' for explicit features (never formed)
coef       (M, P)    alpha (M = N), or weights W (M = number of features)
F          (N, P)    scores K alpha, or X W
T          (N, P)    target of the alpha-step, beta - dual / rho
=========  ========  ================================================================

All arrays are of one library, on one device and of one dtype: those of K or X.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt
import scipy.linalg

from tacit.backends import Array, array_namespace, as_like, norm

__all__ = [
    "CHUNK",
    "NOT_SEMIDEFINITE",
    "ScoreSpace",
    "product",
    "product_t",
    "top_eigenvalue",
    "total",
]

# Entries of a matrix that are brought to a higher precision together.
CHUNK = 250_000

# Least and most products spent on the largest eigenvalue.
LANCZOS = (12, 60)

NOT_SEMIDEFINITE = (
    "the kernel matrix is not positive semidefinite; check the kernel, or add a multiple of the "
    "identity to it."
)


class ScoreSpace(ABC):
    """The scores a model can produce, and what they cost."""

    n: int
    top: float
    """Largest eigenvalue of K."""
    scale: float
    """Mean of K's diagonal."""
    exact: bool = True
    """Whether `project` solves its equations to rounding."""

    @property
    def coarse(self) -> ScoreSpace:
        """A space nearly the same in which a step costs less; itself where there is none."""
        return self

    @property
    @abstractmethod
    def like(self) -> Array:
        """Some array of the space: of its library and dtype, on its device."""

    @abstractmethod
    def project(self, T: Array, rho: float, nu: float) -> tuple[Array, Array]:
        """Scores and coefficients of min over coef of nu R(coef) + rho/2 |F - T|^2.

        Notes
        -----
        Equation: (17) in 004, corrected
        """

    @abstractmethod
    def expand(self, alpha: Array) -> tuple[Array, Array]:
        """Scores K alpha and coefficients (alpha, or X' alpha)."""

    @abstractmethod
    def scores(self, coef: Array) -> Array:
        """Scores of coefficients, in the precision of the coefficients."""

    def settle(self, coef: Array, F: Array) -> Array:
        """Coefficients of scores F, without parts of `coef` that count for nothing but rounding."""
        return coef

    @abstractmethod
    def block(self, rows: npt.NDArray[np.intp]) -> Array:
        """Entries of K for these rows and columns; rows may repeat."""

    def features(self, rows: npt.NDArray[np.intp]) -> Array | None:
        """Explicit features of these rows, dense, where they are fewer than all rows."""
        return None

    @abstractmethod
    def regularizer(self, coef: Array, F: Array) -> float:
        """<alpha, K alpha>, or |W|^2."""

    @abstractmethod
    def dual_norm(self, dual: Array) -> float:
        """<dual, K dual>."""


def product(A: Array, v: Array) -> Array:
    """Return A v in the precision of v; of a narrower A, a few rows at a time are widened."""
    if A.dtype == v.dtype:
        return A @ v
    xp = array_namespace(v)
    return xp.concat([xp.astype(A[rows], v.dtype) @ v for rows in _parts(A)])


def product_t(A: Array, v: Array) -> Array:
    """Return A' v in the precision of v, likewise."""
    if A.dtype == v.dtype:
        return A.T @ v
    xp = array_namespace(v)
    return sum(xp.astype(A[rows], v.dtype).T @ v[rows] for rows in _parts(A))


def _parts(A: Array) -> Iterator[slice]:
    step = max(1, CHUNK // max(A.shape[1], 1))
    return (slice(a, a + step) for a in range(0, len(A), step))


def total(a: Array, b: Array) -> float:
    """Return <a, b>."""
    return float((a * b).sum())


def top_eigenvalue(product: Callable[[Array], Array], n: int, like: Array) -> float:
    """Largest eigenvalue to a per cent, by the Lanczos method from a fixed random start.

    Power iteration would stop on a plateau: K near a multiple of I, or a start near an eigenvector.
    """
    v = as_like(np.random.default_rng(0).standard_normal(n), like)
    basis = array_namespace(v).zeros(
        (min(n, LANCZOS[1]), n), dtype=v.dtype, device=array_api_compat.device(v)
    )
    basis[0] = v / norm(v)
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        steps = len(diagonal) + 1
        Q = basis[:steps]
        w = product(Q[-1])
        diagonal.append(float((Q[-1] * w).sum()))
        for _ in range(2):  # once leaves rounding behind
            w = w - Q.T @ (Q @ w)
        rest = norm(w)
        values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside)
        top = float(values[-1])
        near = steps >= LANCZOS[0] and rest * abs(vectors[-1, -1]) <= 1e-3 * top
        if near or steps == len(basis) or rest <= 1e-10 * abs(top):
            return max(top, 0.0)
        beside.append(rest)
        basis[steps] = w / rest


def at(array: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Rows of an array, wherever it lies."""
    return array[as_like(rows, array)]
