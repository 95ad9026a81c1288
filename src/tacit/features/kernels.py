"""Kernels between rows, by name or by the user's own function."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

__all__ = ["KERNELS", "Kernel"]

FloatArray = npt.NDArray[np.float64]
KERNELS = ("linear", "rbf", "poly", "precomputed")


@dataclass(frozen=True)
class Kernel:
    r"""A kernel with its parameters fixed.

    rbf :math:`\exp(-\gamma |x - z|^2)`, poly :math:`(\gamma \langle x, z \rangle + c_0)^d`,
    linear :math:`\langle x, z \rangle`.

    Parameters
    ----------
    name : {"linear", "rbf", "poly", "precomputed"} or callable
        A callable takes two arrays of rows and returns their kernel matrix.
    gamma, degree, coef0 : float, int, float
        Parameters of rbf and poly.
    """

    name: str | Callable[..., Any]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    @classmethod
    def read(
        cls,
        name: str | Callable[..., Any],
        X: Any,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        weights: FloatArray | None = None,
    ) -> Kernel:
        """Check the name and turn gamma's "scale" and "auto" into a number, as in `SVC`.

        The variance in "scale" counts rows by their weights: a row of weight 2 is two rows.
        """
        if not callable(name) and name not in KERNELS:
            raise ValueError(
                f"kernel={name!r} is not known; choose one of {', '.join(KERNELS)}, or a callable."
            )
        return cls(name, _gamma(gamma, X, weights), degree, coef0)

    @property
    def linear(self) -> bool:
        """Whether rows are their own features."""
        return self.name == "linear"

    def __call__(self, X: Any, Z: Any) -> FloatArray:
        """Kernel matrix between the rows of X and of Z, (len(X), len(Z))."""
        if self.name == "precomputed":
            return np.asarray(X, np.float64)
        if callable(self.name):
            K = np.asarray(self.name(X, Z), np.float64)
            if K.shape != (X.shape[0], Z.shape[0]):
                raise ValueError(
                    f"the kernel function returned shape {K.shape} for {X.shape[0]} and "
                    f"{Z.shape[0]} rows; expected ({X.shape[0]}, {Z.shape[0]})."
                )
            return K
        if self.name == "linear":
            return np.asarray(linear_kernel(X, Z, dense_output=True))
        if self.name == "poly":
            return np.asarray(polynomial_kernel(X, Z, self.degree, self.gamma, self.coef0))
        return np.asarray(rbf_kernel(X, Z, self.gamma))

    def gram(self, X: Any) -> FloatArray:
        """Kernel matrix of the training rows, checked to be symmetric where it is the user's."""
        K = self(X, X)
        if self.name == "precomputed" or callable(self.name):
            if K.ndim != 2 or K.shape[0] != K.shape[1]:
                raise ValueError(f"a precomputed kernel must be a square matrix, got {K.shape}.")
            scale = np.abs(K).max(initial=0.0)
            if np.abs(K - K.T).max(initial=0.0) > 1e-8 * (1.0 + scale):
                raise ValueError("the kernel matrix of the training rows is not symmetric.")
        if not np.isfinite(K).all():
            raise ValueError("the kernel matrix contains NaN or infinity; check the kernel.")
        return 0.5 * (K + K.T)


def _gamma(gamma: float | str, X: Any, weights: FloatArray | None) -> float:
    if isinstance(gamma, str):
        if gamma not in {"scale", "auto"}:
            raise ValueError(f"gamma={gamma!r}; expected a positive number, 'scale' or 'auto'.")
        if gamma == "auto":
            return 1.0 / X.shape[1]
        variance = _variance(X, np.ones(X.shape[0]) if weights is None else weights)
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    if not (isinstance(gamma, int | float | np.number) and 0 < gamma < np.inf):
        raise ValueError(f"gamma={gamma!r}; expected a positive number, 'scale' or 'auto'.")
    return float(gamma)


def _variance(X: Any, weights: FloatArray) -> float:
    """Weighted variance of all entries, the same to the last bit in any order of the rows."""
    total = math.fsum(weights) * X.shape[1]
    mean = math.fsum(weights * np.ravel(X.sum(axis=1))) / total
    if sp.issparse(X):
        return math.fsum(weights * np.ravel(X.multiply(X).sum(axis=1))) / total - mean**2
    return math.fsum(weights * ((X - mean) ** 2).sum(axis=1)) / total
