"""Kernels between rows, by name or by the user's own function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.backends import Array, array_namespace, is_number, is_torch, is_whole
from tacit.features.distances import square_norms

__all__ = ["KERNELS", "Kernel"]

FloatArray = npt.NDArray[np.float64]
BLOCK = 64  # rows whose own kernel matrix is formed for its diagonal
KERNELS = ("linear", "rbf", "poly", "precomputed")
SCALED = ("rbf", "poly")  # those with a gamma
# Rows of a kernel matrix that are looked at together, so that checks take no memory to speak of.
CHUNK = 512


@dataclass(frozen=True)
class Kernel:
    r"""A kernel with its parameters fixed.

    rbf :math:`\exp(-\gamma |x - z|^2)`, poly :math:`(\gamma \langle x, z \rangle + c_0)^d`,
    linear :math:`\langle x, z \rangle`, each plus `shift`.

    Parameters
    ----------
    name : {"linear", "rbf", "poly", "precomputed"} or callable
        A callable takes two arrays of rows and returns their kernel matrix.
    gamma, degree, coef0 : float, int, float
        Parameters of rbf and poly.
    shift : float
        Added to every entry: 1 is an intercept that is regularised like everything else.
    """

    name: str | Callable[..., Any]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        _check_name(self.name)

    @classmethod
    def read(
        cls,
        name: str | Callable[..., Any],
        X: Any,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        weights: FloatArray | None = None,
        shift: float = 0.0,
    ) -> Kernel:
        """Check the name and turn gamma's "scale" and "auto" into a number, as in `SVC`.

        The variance in "scale" counts rows by their weights: a row of weight 2 is two rows.
        """
        _check_name(name)  # before gamma, which may take time
        if not is_whole(degree) or degree < 0:
            raise ValueError(f"degree={degree!r}; expected a whole number, 0 or more.")
        if not is_number(coef0) or not math.isfinite(coef0):
            raise ValueError(f"coef0={coef0!r}; expected a number.")
        if isinstance(gamma, str) and gamma in {"scale", "auto"} and name not in SCALED:
            gamma = 1.0  # of no use to the others, and data may be too large for it
        return cls(name, _gamma(gamma, X, weights), int(degree), float(coef0), shift)

    @property
    def linear(self) -> bool:
        """Whether rows are their own features."""
        return self.name == "linear"

    def __call__(self, X: Any, Z: Any) -> Array:
        """Kernel matrix between the rows of X and of Z, (len(X), len(Z)); a new array."""
        if self.name == "precomputed":
            return X + self.shift if self.shift else X
        if callable(self.name):
            K = self._by_hand(X, Z)
        elif self.name == "rbf":
            K = _rbf(X, Z, self.gamma)
        else:
            K = _inner(X, Z)
            if self.name == "poly":
                K *= self.gamma
                K += self.coef0
                K **= self.degree
        if self.shift:
            K += self.shift
        return K

    def _by_hand(self, X: Any, Z: Any) -> Array:
        assert callable(self.name)
        K = self.name(X, Z)
        dtype = np.float64 if is_torch(X) or X.dtype.kind != "f" else X.dtype
        K = K.to(X) if is_torch(X) else np.array(K, dtype)
        if K.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {K.shape} for {X.shape[0]} and "
                f"{Z.shape[0]} rows; expected ({X.shape[0]}, {Z.shape[0]})."
            )
        return K

    def diagonal(self, X: Any) -> Array:
        """Kernel value of each row with itself, (N,), without the matrix around it."""
        if self.name == "precomputed":
            raise ValueError(
                "a precomputed kernel between new rows and training rows does not hold the new "
                "rows' own k(x, x), which distances need."
            )
        square = square_norms(X)
        if self.name == "rbf":
            return 0.0 * square + (1.0 + self.shift)
        if self.name == "linear":
            return square + self.shift
        if self.name == "poly":
            return (self.gamma * square + self.coef0) ** self.degree + self.shift
        parts = [X[a : a + BLOCK] for a in range(0, X.shape[0], BLOCK)]
        own = [array_namespace(B).linalg.diagonal(B) for B in (self(p, p) for p in parts)]
        return array_namespace(square).concat([0.0 * square[:0], *own])

    def gram(self, X: Any) -> Array:
        """Kernel matrix of the training rows, checked to be symmetric where it is the user's."""
        K = self(X, X)
        if self.name == "precomputed" or callable(self.name):
            if K.ndim != 2 or K.shape[0] != K.shape[1]:
                raise ValueError(f"a precomputed kernel must be a square matrix, got {K.shape}.")
            K = _symmetric(K)
        if not all(bool(array_namespace(part).all(_finite(part))) for _, part in _parts(K)):
            raise ValueError("the kernel matrix contains NaN or infinity; check the kernel.")
        return K


def _check_name(name: Any) -> None:
    if not callable(name) and name not in KERNELS:
        raise ValueError(
            f"kernel={name!r} is not known; choose one of {', '.join(KERNELS)}, or a callable."
        )


def _parts(K: Array) -> Iterator[tuple[slice, Array]]:
    for start in range(0, len(K), CHUNK):
        rows = slice(start, start + CHUNK)
        yield rows, K[rows]


def _finite(K: Array) -> Array:
    return array_namespace(K).isfinite(K)


def _symmetric(K: Array) -> Array:
    """Return K, or the mean with its transpose where they differ by rounding."""
    xp = array_namespace(K)
    apart = max((float(xp.max(xp.abs(p - K[:, rows].T))) for rows, p in _parts(K)), default=0.0)
    if apart == 0.0:
        return K
    scale = max(float(xp.max(xp.abs(p))) for _, p in _parts(K))
    if not apart <= max(1e-8, 4.0 * float(xp.finfo(K.dtype).eps)) * (1.0 + scale):
        if math.isfinite(apart):
            raise ValueError("the kernel matrix of the training rows is not symmetric.")
        return K  # said to be not finite by the caller
    return 0.5 * (K + K.T)


def _inner(X: Any, Z: Any) -> Array:
    """<x, z> of all rows, dense."""
    K = X @ Z.T
    return K.toarray() if sp.issparse(K) else K


def _rbf(X: Any, Z: Any, gamma: float) -> Array:
    """exp(-gamma |x - z|^2), in the memory of the inner products.

    Differences do not see a shift of all rows, the sums of squares that they are made of do: dense
    rows are taken from the mean of Z.
    """
    same = X is Z
    if not (sp.issparse(X) or sp.issparse(Z)):
        middle = Z.mean(0)
        Z = Z - middle
        X = Z if same else X - middle
    K = _inner(X, Z)
    own, other = gamma * square_norms(X), gamma * square_norms(Z)
    for rows, part in _parts(K):
        part *= 2.0 * gamma
        part -= own[rows, None] + other[None, :]  # this sum first, so that K is symmetric
    if same:  # exactly, not up to rounding
        K.reshape(-1)[:: len(K) + 1] = 0.0
    if is_torch(K):
        return K.clamp_(max=0.0).exp_()
    np.minimum(K, 0.0, out=K)
    return np.exp(K, out=K)


def _gamma(gamma: float | str, X: Any, weights: FloatArray | None) -> float:
    if isinstance(gamma, str):
        if gamma not in {"scale", "auto"}:
            raise ValueError(f"gamma={gamma!r}; expected a positive number, 'scale' or 'auto'.")
        if gamma == "auto":
            return 1.0 / X.shape[1]
        variance = _variance(X, np.ones(X.shape[0]) if weights is None else weights)
        # Twelve digits: a row of weight 2 and two rows must not differ by rounding.
        return float(f"{1.0 / (X.shape[1] * variance):.12g}") if variance > 0 else 1.0
    if not (is_number(gamma) and 0 < gamma < np.inf):
        raise ValueError(f"gamma={gamma!r}; expected a positive number, 'scale' or 'auto'.")
    return float(gamma)


def _variance(X: Any, weights: FloatArray) -> float:
    """Weighted variance of all entries, the same to the last bit in any order of the rows."""
    if is_torch(X):
        w, X = X.new_tensor(weights).double(), X.double()
        total = float(w.sum()) * X.shape[1]
        mean = float((w * X.sum(1)).sum()) / total
        return float((w * (X - mean).square().sum(1)).sum()) / total
    total = math.fsum(weights) * X.shape[1]
    mean = math.fsum(weights * np.ravel(X.sum(axis=1, dtype=np.float64))) / total
    if sp.issparse(X):
        apart = X.astype(np.float64, copy=True)
        apart.sum_duplicates()
        apart.data = (apart.data - mean) ** 2
        missing = (X.shape[1] - np.diff(apart.indptr)) * mean**2
        return math.fsum(weights * (np.ravel(apart.sum(axis=1)) + missing)) / total
    return math.fsum(weights * _spread(X, mean)) / total


def _spread(X: npt.NDArray[Any], mean: float) -> FloatArray:
    """Sum of (x - mean)^2 over each row, a few rows at a time."""
    parts = [((X[a : a + CHUNK] - mean) ** 2).sum(axis=1) for a in range(0, len(X), CHUNK)]
    return np.concatenate([np.empty(0), *parts])
