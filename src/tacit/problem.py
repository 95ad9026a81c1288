r"""The one problem: data, loss, regulariser and hints; no algorithm.

.. math:: J(y, \alpha) = \sum_i w_i \ell(y_i, (K \alpha)_i)
    + \nu \langle \alpha, K \alpha \rangle + S(y)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.features import FeatureMap, Kernel, make_map
from tacit.hints._classes import ClassCodes
from tacit.hints._program import LabelProgram
from tacit.hints.base import Hint
from tacit.hints.combine import Hints, infer_classes
from tacit.linalg import ScoreSpace, feature_space, kernel_space
from tacit.losses import Loss, get_loss

__all__ = ["Problem", "require_finite"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
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
    approximation : {None, "nystroem", "fourier"}
        Explicit features in place of the exact kernel.
    n_components : int
        Features of an approximation, at most.

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
    n_components: int = 500

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", _read_rows(self.X, self.kernel))
        for name in ("C", "nu"):
            value = getattr(self, name)
            if name == "nu" and value is None:
                continue
            if not (isinstance(value, int | float | np.number) and 0 < value < np.inf):
                raise ValueError(f"{name}={value!r}; expected a positive number.")
        if not (isinstance(self.n_components, int | np.integer) and self.n_components >= 1):
            raise ValueError(f"n_components={self.n_components!r}; expected at least 1.")
        if len(self.codes) == 0:
            raise ValueError("the classes are not known: no hint names any; give classes=[...].")
        if len(self.codes) == 1:
            raise ValueError(
                f"the problem has only one class, {self.codes[0]!r}; at least two are needed. "
                "Give classes=[...] if there are more."
            )

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return int(self.X.shape[0])

    @cached_property
    def codes(self) -> ClassCodes:
        """Classes in order."""
        return infer_classes(self.classes, (), Hints([] if self.hints is None else [self.hints]))

    @cached_property
    def program(self) -> LabelProgram:
        """The hints, compiled."""
        known = Hints([] if self.hints is None else [self.hints])
        return known.compile(self.n, self.codes)

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
        return 1.0 / (2.0 * self.C) if self.nu is None else float(self.nu)

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each row's loss, (N,)."""
        if self.sample_weight is None:
            return np.ones(self.n)
        weights = np.asarray(self.sample_weight, np.float64)
        if weights.shape != (self.n,):
            raise ValueError(
                f"sample_weight must hold one number for each of {self.n} rows; got shape "
                f"{weights.shape}."
            )
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(bad):
            raise ValueError(
                f"sample_weight[{bad[0]}] is {weights[bad[0]]:g}; weights must be finite and not "
                "negative."
            )
        if not weights.any():
            raise ValueError("sample_weight is zero for every row; nothing is left to learn from.")
        return weights

    @cached_property
    def unit_weight(self) -> float:
        """Mean weight of the rows that count: the scale of the loss, and so of rho."""
        return float(self.weights[self.weights > 0].mean())

    @cached_property
    def kernel_(self) -> Kernel:
        """The kernel with its parameters resolved."""
        return Kernel.read(self.kernel, self.X, self.gamma, self.degree, self.coef0, self.weights)

    def feature_map(self, rng: np.random.Generator) -> FeatureMap:
        """Make the feature map; draws from `rng` only for approximations."""
        return make_map(self.kernel_, self.X, self.approximation, self.n_components, rng)

    def space(self, features: FeatureMap) -> ScoreSpace:
        """Return the scores the model can produce."""
        if features.explicit:
            return feature_space(features.rows(self.X))
        return kernel_space(self.kernel_.gram(self.X))

    def take(self, order: npt.NDArray[np.intp]) -> Problem:
        """Return the same problem with its rows in another order."""
        X = self.X[order]
        if self.kernel == "precomputed":
            X = X[:, order]
        weight = None if self.sample_weight is None else self.weights[order]
        moved = replace(self, X=X, sample_weight=weight, gamma=self.kernel_.gamma)
        moved.__dict__["codes"] = self.codes
        moved.__dict__["program"] = self.program.take(order)
        return moved

    def data_loss(self, scores: FloatArray, labels: npt.NDArray[np.integer]) -> float:
        """Weighted loss of the scores for a labeling."""
        return float(np.dot(self.weights, self.loss_.value(scores, labels)))

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
        if self.kernel_.linear:
            scores, penalty = self.X @ coef, float(np.vdot(coef, coef))
        else:
            scores = self.kernel_.gram(self.X) @ coef
            penalty = float(np.vdot(coef, scores))
        return self.data_loss(scores, labels) + self.nu_ * penalty + self.program.value(labels)

    def violation(self, labels: npt.NDArray[np.integer]) -> int:
        """Return how many hard statements of the hints a labeling breaks."""
        return self.program.violation(labels)


def require_finite(X: Any) -> None:
    """Raise, naming the first entry that is NaN or infinite."""
    if X.dtype.kind not in "fc":
        return
    bad = np.flatnonzero(~np.isfinite(X.data if sp.issparse(X) else X.ravel()))
    if len(bad):
        where = sp.coo_array(X).coords if sp.issparse(X) else np.unravel_index(bad, X.shape)
        row, column = (int(c[bad[0]] if sp.issparse(X) else c[0]) for c in where)
        what = "NaN" if np.isnan(X[row, column]) else "infinity"
        raise ValueError(
            f"X contains {what} (row {row}, column {column}; {len(bad)} such "
            f"{'entry' if len(bad) == 1 else 'entries'} in all); impute or drop them first."
        )


def _read_rows(X: Any, kernel: str | Callable[..., Any]) -> Any:
    """Check the rows; lists and data frames become arrays, sparse matrices CSR."""
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, rows by features; got shape {X.shape}.")
    if X.shape[0] == 0:
        raise ValueError("the problem has 0 rows; at least one is needed.")
    require_finite(X)
    if isinstance(kernel, str) and kernel == "precomputed":
        if sp.issparse(X):
            raise ValueError("a precomputed kernel must be a dense matrix; use X.toarray().")
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed kernel must be a square matrix, got {X.shape}.")
    return X
