"""Feature maps: rows to explicit features, or to a kernel matrix.

A map is what turns new rows into scores: ``scores = map.rows(X_new) @ coef``, where the rows are
explicit features (linear, Nystroem, Fourier) or kernel values against the training rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacit.features.kernels import Kernel

__all__ = ["FeatureMap", "FourierMap", "KernelMap", "LinearMap", "NystroemMap", "make_map"]

FloatArray = npt.NDArray[np.float64]


class FeatureMap(ABC):
    """How rows enter the model."""

    explicit: ClassVar[bool]
    """Whether `rows` gives features (else kernel values against the training rows)."""

    @abstractmethod
    def rows(self, X: Any) -> Any:
        """Features or kernel values of the given rows."""


@dataclass(frozen=True)
class LinearMap(FeatureMap):
    """Rows are their own features; sparse rows stay sparse."""

    explicit: ClassVar[bool] = True

    def rows(self, X: Any) -> Any:  # noqa: D102
        return X


@dataclass(frozen=True)
class KernelMap(FeatureMap):
    """Kernel values against the training rows."""

    kernel: Kernel
    basis: Any  # training rows; None for a precomputed kernel
    explicit: ClassVar[bool] = False

    def rows(self, X: Any) -> FloatArray:  # noqa: D102
        return self.kernel(X, self.basis)


@dataclass(frozen=True)
class NystroemMap(FeatureMap):
    r"""Nystroem features :math:`\phi(x) = \Lambda^{-1/2} U^\top k(L, x)` of random landmarks L.

    With K_LL = U Lambda U'; modes below rounding are dropped. Reproduces the kernel exactly
    between landmarks.
    """

    kernel: Kernel
    landmarks: Any
    whiten: FloatArray  # (L, rank)
    explicit: ClassVar[bool] = True

    @classmethod
    def fit(
        cls, kernel: Kernel, X: Any, n_components: int, rng: np.random.Generator
    ) -> NystroemMap:
        """Draw landmarks among the rows."""
        count = min(n_components, X.shape[0])
        landmarks = X[np.sort(rng.choice(X.shape[0], count, replace=False))]
        d, U = np.linalg.eigh(kernel.gram(landmarks))
        keep = d > d[-1] * count * np.finfo(np.float64).eps
        return cls(kernel, landmarks, U[:, keep] / np.sqrt(d[keep]))

    def rows(self, X: Any) -> FloatArray:  # noqa: D102
        return self.kernel(X, self.landmarks) @ self.whiten


@dataclass(frozen=True)
class FourierMap(FeatureMap):
    r"""Random Fourier features of the rbf kernel.

    .. math:: \phi(x) = D^{-1/2} [\cos \omega_j^\top x, \sin \omega_j^\top x]_{j = 1..D}

    With omega ~ N(0, 2 gamma I), inner products have the kernel as their mean.
    """

    frequencies: FloatArray  # (n_features, D)
    explicit: ClassVar[bool] = True

    @classmethod
    def fit(cls, kernel: Kernel, X: Any, n_components: int, rng: np.random.Generator) -> FourierMap:
        """Draw n_components / 2 frequencies."""
        if kernel.name != "rbf":
            raise ValueError(
                f"approximation='fourier' needs kernel='rbf', got {kernel.name!r}; "
                "'nystroem' works for every kernel of rows."
            )
        pairs = max(n_components // 2, 1)
        return cls(np.sqrt(2.0 * kernel.gamma) * rng.standard_normal((X.shape[1], pairs)))

    def rows(self, X: Any) -> FloatArray:  # noqa: D102
        phase = X @ self.frequencies
        return np.concatenate([np.cos(phase), np.sin(phase)], axis=1) / np.sqrt(phase.shape[1])


def make_map(
    kernel: Kernel,
    X: Any,
    approximation: str | None,
    n_components: int,
    rng: np.random.Generator,
) -> FeatureMap:
    """Choose the map: linear, exact kernel, or an approximation of it."""
    if approximation is None:
        if kernel.linear:
            return LinearMap()
        return KernelMap(kernel, None if kernel.name == "precomputed" else X)
    if approximation not in {"nystroem", "fourier"}:
        raise ValueError(
            f"approximation={approximation!r}; expected None, 'nystroem' or 'fourier'."
        )
    if kernel.name == "precomputed":
        raise ValueError("a precomputed kernel has no rows to approximate; use approximation=None.")
    fit = NystroemMap.fit if approximation == "nystroem" else FourierMap.fit
    return fit(kernel, X, n_components, rng)
