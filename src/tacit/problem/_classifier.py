r"""The problem of learning a classifier and the labels together.

.. math:: J(y, \alpha) = \sum_i w_i \ell(y_i, (K \alpha)_i)
    + \nu \langle \alpha, K \alpha \rangle + S(y)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.backends import Array, as_like, is_number, is_torch, is_whole, place
from tacit.features import FeatureMap, make_map
from tacit.hints._classes import ClassCodes
from tacit.hints.base import Hint
from tacit.hints.combine import infer_classes
from tacit.linalg import ScoreSpace, feature_space, kernel_space, low_rank
from tacit.losses import Loss, get_loss
from tacit.problem._rows import HintedRows, by_rows, read_rows

__all__ = ["Problem"]

FloatArray = npt.NDArray[np.float64]
DTYPES = ("float64", "float32")
# Of an approximation, where nothing is said. With 1000 landmarks for 10,000 digits the test error
# was .2 to .4 points above that with 1500, with 4000 about .1 below it.
FEATURES, RANKS = 500, (1500, 4000)


@dataclass(frozen=True, eq=False)
class Problem(HintedRows):
    """Rows, what is known about their labels, and the model to learn.

    Parameters
    ----------
    X : array or sparse matrix of shape (N, d)
        Rows, or their kernel matrix for ``kernel="precomputed"``.
    hints : Hint, optional
        What is known about the labels.
    loss : str or Loss
        Convex loss of the scores.
    kernel : str or callable
        "linear", "rbf", "poly", "precomputed", or a function of two arrays of rows.
    gamma, degree, coef0
        Kernel parameters, as in scikit-learn's `SVC`.
    C : float
        Weight of the loss against the regulariser; nu = 1 / (2 C).
    nu : float, optional
        Weight of the regulariser; replaces C.
    classes : sequence, optional
        Class names in order; found in the hints by default.
    sample_weight : array of shape (N,), optional
        Weight of each row's loss.
    approximation : {None, "lowrank", "nystroem", "fourier"}
        "lowrank": the kernel matrix as low rank plus diagonal while learning, the exact kernel for
        new rows. The others: explicit features in place of the kernel.
    n_components : int, optional
        Landmarks or features of an approximation, at most. By default 500 features; for "lowrank"
        a tenth of the rows as landmarks, but not fewer than 1500 nor more than 4000.
    label_weight : float
        Factor on the weight of rows whose label is known.
    fit_intercept : bool
        Add 1 to the kernel: an intercept, regularised like everything else.
    dtype : {"float64", "float32"}
        Precision of scores, kernel and solves.
    device : str, optional
        Where to compute, as torch names it ("cpu", "cuda"); by default where X lies.

    Notes
    -----
    Equation: (1) in 000, corrected: sums, not means
    Equation: (5) in 004
    """

    X: Any
    hints: Hint | None = None
    loss: str | Loss = "hinge"
    kernel: str | Callable[..., Any] = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    C: float = 1.0
    nu: float | None = None
    classes: Any = None
    sample_weight: Any = None
    approximation: str | None = None
    n_components: int | None = None
    label_weight: float = 1.0
    fit_intercept: bool = False
    dtype: str = "float64"
    device: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", read_rows(self.X, self.kernel))
        for name in ("C", "nu", "label_weight"):
            value = getattr(self, name)
            if name == "nu" and value is None:
                continue
            if not (is_number(value) and 0 < value < np.inf):
                raise ValueError(f"{name}={value!r}; expected a positive number.")
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype={self.dtype!r}; expected one of {', '.join(DTYPES)}.")
        count = self.n_components
        if count is not None and not (is_whole(count) and count >= 1):
            raise ValueError(f"n_components={count!r}; expected an integer, at least 1, or None.")
        if self.fit_intercept not in (False, True):
            raise ValueError(f"fit_intercept={self.fit_intercept!r}; expected True or False.")
        if len(self.codes) == 0:
            raise ValueError("the classes are not known: no hint names any; give classes=[...].")
        if len(self.codes) == 1:
            raise ValueError(
                f"the problem has only one class, {self.codes[0]!r}; at least two are needed. "
                "Give classes=[...] if there are more."
            )

    @cached_property
    def codes(self) -> ClassCodes:
        """Classes in order."""
        return infer_classes(self.classes, (), self.known)

    @cached_property
    def loss_(self) -> Loss:
        """The loss object."""
        return get_loss(self.loss)

    @property
    def n_columns(self) -> int:
        """Score columns P."""
        return self.loss_.n_columns(len(self.codes))

    @property
    def nu_(self) -> float:
        """Weight of the regulariser."""
        return 1.0 / (2.0 * float(self.C)) if self.nu is None else float(self.nu)

    @cached_property
    def rows(self) -> Any:
        """X where the computing is done, in its precision."""
        if sp.issparse(self.X) and self.device is None:
            return self.X.astype(self.dtype, copy=False)
        return place(self.X, self.device, self.dtype)

    @property
    def like(self) -> Array:
        """Some array of the library, dtype and device of the computing."""
        return self.rows.data if sp.issparse(self.rows) else self.rows

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each row's loss, (N,)."""
        weights = self.sample_weights
        if self.label_weight == 1.0:
            return weights
        labelled = self.program.mask.sum(axis=1) == 1
        return np.where(labelled, self.label_weight, 1.0) * weights

    @cached_property
    def weights_there(self) -> Array:
        """The weights where the computing is done."""
        return as_like(self.weights, self.like)

    @property
    def shift(self) -> float:
        """1 for an intercept."""
        return float(self.fit_intercept)

    @property
    def components(self) -> int:
        """Landmarks or features of an approximation, at most."""
        if self.n_components is not None:
            return int(self.n_components)
        if self.approximation != "lowrank":
            return FEATURES
        return min(max(self.n // 10, RANKS[0]), RANKS[1])

    def feature_map(self, rng: np.random.Generator) -> FeatureMap:
        """Make the feature map; draws from `rng` only for approximations."""
        return make_map(self.kernel_, self.rows, self.approximation, self.components, rng)

    def space(self, features: FeatureMap, rng: np.random.Generator) -> ScoreSpace:
        """Return the scores the model can produce; may draw landmarks."""
        if features.explicit:
            return feature_space(features.rows(self.rows))
        if self.approximation == "lowrank":
            return self._low_rank(rng)
        return kernel_space(self.kernel_.gram(self.rows), rng)

    def _low_rank(self, rng: np.random.Generator) -> ScoreSpace:
        count = min(self.components, self.n)
        chosen = as_like(np.sort(rng.choice(self.n, count, replace=False)), self.like)
        kernel, rows = self.kernel_, self.rows
        if kernel.name == "precomputed":
            columns = kernel(rows[chosen], None).T
            diagonal = float(rows.trace()) / self.n + kernel.shift
            return low_rank(lambda part: columns[part], columns[chosen], diagonal, self.n)
        landmarks = rows[chosen]
        return low_rank(
            lambda part: kernel(rows[part], landmarks),
            kernel(landmarks, landmarks),
            float(kernel.diagonal(rows).mean()),
            self.n,
        )

    def envelope(self, V: Array, rho: float) -> Array:
        """min_u w loss(c, u) + rho/2 |u - V|^2 for every row and label c, (N, C)."""
        loss, step = self.loss_, self.weights_there / rho
        return by_rows(lambda a: rho * loss.envelope(V[a], step[a]), V)

    def prox(self, V: Array, rho: float, labels: Array) -> Array:
        """argmin_u w loss(y, u) + rho/2 |u - V|^2 for every row, (N, P)."""
        loss, step = self.loss_, self.weights_there / rho
        return by_rows(lambda a: loss.prox(V[a], step[a], labels[a]), V)

    def label_losses(self, scores: Array) -> Array:
        """Weighted loss of every row for every label, (N, C)."""
        loss, weight = self.loss_, self.weights_there[:, None]
        return by_rows(lambda a: loss.table(scores[a]) * weight[a], scores)

    def data_loss(self, scores: Array, labels: Array) -> float:
        """Weighted loss of the scores for a labeling."""
        y = as_like(labels, scores)
        losses = by_rows(lambda a: self.loss_.value(scores[a], y[a]), scores)
        if is_torch(losses):
            return float((self.weights_there * losses).double().sum())
        return float(np.dot(self.weights, losses))

    def objective(self, coef: FloatArray, labels: npt.NDArray[np.integer]) -> float:
        """Return J(y, coef), from scratch; coefficients of an exact kernel or linear features.

        Parameters
        ----------
        coef : array of shape (N, P), or (d, P) for the linear kernel
            Kernel coefficients alpha or weights W.
        labels : array of shape (N,)
            Class codes.
        """
        if self.approximation is not None:
            raise ValueError("objective needs the features of an approximation; see Solution.")
        features = self.feature_map(np.random.default_rng(0))
        coef = as_like(coef, self.like)
        scores = features.rows(self.rows) @ coef
        penalty = float((coef * (coef if features.explicit else scores)).sum())
        return self.data_loss(scores, labels) + self.nu_ * penalty + self.program.value(labels)
