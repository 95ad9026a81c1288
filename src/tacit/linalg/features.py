"""Scores of explicit features: nothing of size N x N, unless rows are the fewer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.backends import Array, array_namespace, as_like, double, eigh
from tacit.exceptions import NotConverged
from tacit.linalg.base import CHUNK, ScoreSpace, at, product, product_t, top_eigenvalue, total
from tacit.linalg.cg import conjugate_gradients
from tacit.linalg.kernel import EigenSpace

__all__ = ["IterativeSpace", "LinearSpace", "WideSpace"]


class _Features(ScoreSpace):
    """What all spaces of explicit features share; X may be sparse."""

    def __init__(self, X: Any) -> None:
        self._X, self.n = X, X.shape[0]

    @property
    def like(self) -> Array:
        return self._X.data if sp.issparse(self._X) else self._X

    def expand(self, alpha: Array) -> tuple[Array, Array]:
        W = self._weights(alpha)
        return self.scores(W), W

    def scores(self, coef: Array) -> Array:
        return _plain(self._X @ coef) if sp.issparse(self._X) else product(self._X, coef)

    def _weights(self, alpha: Array) -> Array:
        return _plain(self._X.T @ alpha) if sp.issparse(self._X) else product_t(self._X, alpha)

    def block(self, rows: npt.NDArray[np.intp]) -> Array:
        X = at(self._X, rows)
        return _dense(X @ X.T)

    def regularizer(self, coef: Array, F: Array) -> float:
        return total(coef, coef)

    def dual_norm(self, dual: Array) -> float:
        W = self._weights(dual)
        return total(W, W)


class LinearSpace(_Features):
    """Explicit features by the eigendecomposition of X' X; nothing of size N x N.

    It is made in double precision: features of very different sizes need it.
    """

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        d, self._V = eigh(_square(X))
        xp = array_namespace(d)
        self._d = xp.clip(d, min=0.0)
        self.top = float(self._d[-1])
        self.scale = float(xp.sum(self._d)) / max(self.n, 1)

    def project(self, T: Array, rho: float, nu: float) -> tuple[Array, Array]:  # noqa: D102
        shrink = rho / (2.0 * nu + rho * self._d)
        pull = double(_plain(self._X.T @ T))
        W = as_like(self._V @ (shrink[:, None] * (self._V.T @ pull)), T)
        return _plain(self._X @ W), W

    def features(self, rows: npt.NDArray[np.intp]) -> Array | None:  # noqa: D102
        return _dense(at(self._X, rows))

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self._X.shape[1])

    def part(self, rows: npt.NDArray[np.intp]) -> LinearSpace:
        """Return the scores of some of the rows."""
        return LinearSpace(at(self._X, rows))

    def gather(self, slopes: Array) -> Array:
        """Return X' slopes."""
        return _plain(self._X.T @ slopes)


class WideSpace(_Features):
    """More features than rows: the N x N Gram matrix is the smaller one; weights are X' alpha."""

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        self._gram = EigenSpace(_dense(X @ X.T))
        self.top, self.scale = self._gram.top, self._gram.scale

    def project(self, T: Array, rho: float, nu: float) -> tuple[Array, Array]:  # noqa: D102
        F, alpha = self._gram.project(T, rho, nu)
        return F, self._weights(alpha)

    def settle(self, coef: Array, F: Array) -> Array:  # noqa: D102
        return self._weights(self._gram.settle(coef, F))

    def expand(self, alpha: Array) -> tuple[Array, Array]:  # noqa: D102
        return self._gram.scores(alpha), self._weights(alpha)

    def block(self, rows: npt.NDArray[np.intp]) -> Array:  # noqa: D102
        return self._gram.block(rows)

    def dual_norm(self, dual: Array) -> float:  # noqa: D102
        return self._gram.dual_norm(dual)


class IterativeSpace(_Features):
    """Many rows and many features: conjugate gradients on W, warm from the last answer."""

    TOLERANCE = 1e-12
    MAX_STEPS = 10_000

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        square = X.multiply(X) if sp.issparse(X) else X * X
        self._diagonal = _plain(square.sum(0)).reshape(-1)
        self.scale = float(self._diagonal.sum()) / max(self.n, 1)
        self.top = top_eigenvalue(self._product, X.shape[1], self.like)
        self._last: Array | None = None

    def _product(self, W: Array) -> Array:
        return _plain(self._X.T @ (self._X @ W))

    def project(self, T: Array, rho: float, nu: float) -> tuple[Array, Array]:  # noqa: D102
        ridge = 2.0 * nu / rho
        b = _plain(self._X.T @ T)
        W = 0.0 * b if self._last is None else self._last
        scale = 1.0 / (self._diagonal + ridge)
        solved = conjugate_gradients(
            self._product,
            ridge,
            b,
            W,
            self._product(W),
            lambda v: scale[:, None] * v,
            reduce=0.0,
            max_steps=self.MAX_STEPS,
            floor=self.TOLERANCE,
        )
        if not solved.converged:
            raise NotConverged(
                f"conjugate gradients did not reach {self.TOLERANCE:g} in {self.MAX_STEPS} steps."
            )
        self._last = solved.x
        return _plain(self._X @ solved.x), solved.x


def _plain(product: Any) -> Array:
    """Products with sparse matrices may be numpy matrices."""
    return np.asarray(product) if isinstance(product, np.matrix) else product


def _square(X: Any) -> Array:
    """X' X in double precision."""
    if sp.issparse(X):
        X = X.astype(np.float64)
        return _dense(X.T @ X)
    xp, step = array_namespace(X), max(1, CHUNK // max(X.shape[1], 1))
    parts = (double(X[a : a + step]) for a in range(0, len(X), step))
    return sum((part.T @ part for part in parts), start=xp.zeros_like(double(X[:0].T @ X[:0])))


def _dense(X: Any) -> Array:
    return X.toarray() if sp.issparse(X) else X
