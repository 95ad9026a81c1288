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
import scipy.sparse as sp

from tacit.backends import Array, array_namespace, as_like, eigh, is_torch, to_numpy
from tacit.features.kernels import Kernel

__all__ = [
    "APPROXIMATIONS",
    "FeatureMap",
    "FourierMap",
    "KernelMap",
    "LinearMap",
    "NystroemMap",
    "make_map",
    "score",
]

APPROXIMATIONS = ("lowrank", "nystroem", "fourier")
# Kernel values between new rows and the basis that are held at a time.
BLOCK = 20_000_000


class FeatureMap(ABC):
    """How rows enter the model."""

    explicit: ClassVar[bool]
    """Whether `rows` gives features (else kernel values against the training rows)."""

    @abstractmethod
    def rows(self, X: Any) -> Any:
        """Features or kernel values of the given rows."""

    @property
    def basis_(self) -> Any:
        """What new rows are multiplied with, and so must lie beside; None for nothing."""
        return None

    def bring(self, X: Any) -> Any:
        """Bring new rows to the library, device and precision of what they are multiplied with."""
        basis = self.basis_
        if basis is None:
            return X
        if not is_torch(basis):
            X = to_numpy(X) if is_torch(X) else X
            return X.astype(basis.dtype, copy=False)
        if sp.issparse(X):
            raise ValueError(
                "the model was fitted on torch tensors and takes no sparse rows; use X.toarray()."
            )
        return as_like(X, basis)


@dataclass(frozen=True)
class LinearMap(FeatureMap):
    """Rows are their own features; sparse rows stay sparse. `shift` is the kernel's."""

    shift: float = 0.0
    explicit: ClassVar[bool] = True

    def rows(self, X: Any) -> Any:  # noqa: D102
        return with_constant(X, self.shift)


@dataclass(frozen=True)
class KernelMap(FeatureMap):
    """Kernel values against the training rows."""

    kernel: Kernel
    basis: Any  # training rows; None for a precomputed kernel
    explicit: ClassVar[bool] = False

    @property
    def basis_(self) -> Any:  # noqa: D102
        return self.basis

    def rows(self, X: Any) -> Array:  # noqa: D102
        return self.kernel(X, self.basis)


@dataclass(frozen=True)
class NystroemMap(FeatureMap):
    r"""Nystroem features :math:`\phi(x) = \Lambda^{-1/2} U^\top k(L, x)` of random landmarks L.

    With K_LL = U Lambda U'; modes below rounding are dropped. Reproduces the kernel exactly
    between landmarks.
    """

    kernel: Kernel
    landmarks: Any
    whiten: Array  # (L, rank)
    explicit: ClassVar[bool] = True

    @classmethod
    def fit(
        cls, kernel: Kernel, X: Any, n_components: int, rng: np.random.Generator
    ) -> NystroemMap:
        """Draw landmarks among the rows."""
        count = min(n_components, X.shape[0])
        landmarks = X[as_like(np.sort(rng.choice(X.shape[0], count, replace=False)), X)]
        d, U = eigh(kernel.gram(landmarks))
        xp = array_namespace(d)
        keep = d > d[-1] * count * float(xp.finfo(d.dtype).eps)
        return cls(kernel, landmarks, U[:, keep] / xp.sqrt(d[keep]))

    @property
    def basis_(self) -> Any:  # noqa: D102
        return self.landmarks

    def rows(self, X: Any) -> Array:  # noqa: D102
        return self.kernel(X, self.landmarks) @ self.whiten


@dataclass(frozen=True)
class FourierMap(FeatureMap):
    r"""Random Fourier features of the rbf kernel.

    .. math:: \phi(x) = D^{-1/2} [\cos \omega_j^\top x, \sin \omega_j^\top x]_{j = 1..D}

    With omega ~ N(0, 2 gamma I), inner products have the kernel as their mean.
    """

    frequencies: Array  # (n_features, D)
    shift: float = 0.0
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
        drawn = np.sqrt(2.0 * kernel.gamma) * rng.standard_normal((X.shape[1], pairs))
        return cls(as_like(drawn, X), kernel.shift)

    @property
    def basis_(self) -> Any:  # noqa: D102
        return self.frequencies

    def rows(self, X: Any) -> Array:  # noqa: D102
        phase = X @ self.frequencies
        xp = array_namespace(phase)
        both = xp.concat([xp.cos(phase), xp.sin(phase)], axis=1)
        return with_constant(both / phase.shape[1] ** 0.5, self.shift)


def with_constant(X: Any, shift: float) -> Any:
    """Features with one more, the root of the shift, where it is not zero."""
    if not shift:
        return X
    root = shift**0.5
    if sp.issparse(X):
        return sp.csr_array(sp.hstack([X, np.full((X.shape[0], 1), root, X.dtype)]))
    if is_torch(X):
        return array_namespace(X).concat([X, X.new_full((len(X), 1), root)], axis=1)
    return np.concatenate([X, np.full((len(X), 1), root, X.dtype)], axis=1)


def make_map(
    kernel: Kernel,
    X: Any,
    approximation: str | None,
    n_components: int,
    rng: np.random.Generator,
) -> FeatureMap:
    """Choose the map: linear, exact kernel, or an approximation of it."""
    if approximation is None and kernel.linear:
        return LinearMap(kernel.shift)
    if approximation in {None, "lowrank"}:
        return KernelMap(kernel, None if kernel.name == "precomputed" else X)
    if approximation not in APPROXIMATIONS:
        known = ", ".join(repr(name) for name in APPROXIMATIONS)
        raise ValueError(f"approximation={approximation!r}; expected None, {known}.")
    if kernel.name == "precomputed":
        raise ValueError(
            "a precomputed kernel has no rows to approximate; use approximation=None or 'lowrank'."
        )
    fit = NystroemMap.fit if approximation == "nystroem" else FourierMap.fit
    return fit(kernel, X, n_components, rng)


def score(features: FeatureMap, X: Any, coef: Any) -> npt.NDArray[Any]:
    """Scores of new rows, (rows, P), a block at a time where they need the training rows."""
    if features.explicit or not X.shape[0]:
        phi = features.rows(X)
        return to_numpy(phi @ as_like(coef, phi.data if sp.issparse(phi) else phi))
    step = max(1, BLOCK // len(coef))
    starts = range(0, X.shape[0], step)
    return np.concatenate([_score_block(features, X[a : a + step], coef) for a in starts])


def _score_block(features: FeatureMap, X: Any, coef: Any) -> npt.NDArray[Any]:
    """Scores of some rows; their kernel values are gone before those of the next are made."""
    K = features.rows(X)
    return to_numpy(K @ as_like(coef, K))
