"""What all problems share: rows, their kernel, and what is known about their labels."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.backends import Array, as_like, is_torch, to_numpy
from tacit.features import Kernel
from tacit.hints._classes import ClassCodes
from tacit.hints._data import as_numbers
from tacit.hints._program import LabelProgram
from tacit.hints.base import Hint
from tacit.hints.combine import Hints

__all__ = ["HintedRows", "by_rows", "read_rows", "require_finite"]

FloatArray = npt.NDArray[np.float64]
# Rows of a formula that are computed at a time: intermediate results then stay in the cache.
ROWS = 8192


class HintedRows(ABC):
    """Rows, their kernel, and what is known about their labels: what all problems share."""

    X: Any
    hints: Hint | None
    kernel: str | Callable[..., Any]
    gamma: float | str
    degree: int
    coef0: float
    sample_weight: Any

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return int(self.X.shape[0])

    @property
    @abstractmethod
    def codes(self) -> ClassCodes:
        """Classes in order."""

    @property
    def known(self) -> Hints:
        """The hints, none or several, as one."""
        return Hints([] if self.hints is None else [self.hints])

    @cached_property
    def program(self) -> LabelProgram:
        """The hints, compiled."""
        return self.known.compile(self.n, self.codes)

    @property
    def shift(self) -> float:
        """What is added to every entry of the kernel matrix."""
        return 0.0

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each row's loss, (N,)."""
        return self.sample_weights

    @cached_property
    def sample_weights(self) -> FloatArray:
        """The given weights, checked; ones by default."""
        if self.sample_weight is None:
            return np.ones(self.n)
        weights = as_numbers(self.sample_weight, "sample_weight")
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
        return Kernel.read(
            self.kernel,
            self.X,
            self.gamma,
            self.degree,
            self.coef0,
            self.sample_weights,
            self.shift,
        )

    def take(self, order: npt.NDArray[np.intp]) -> Self:
        """Return the same problem with its rows in another order."""
        there = as_like(order, self.X) if is_torch(self.X) else order
        X = self.X[there]
        if self.kernel == "precomputed":
            X = X[:, there]
        weight = None if self.sample_weight is None else self.sample_weights[order]
        this: Any = self
        moved = replace(this, X=X, sample_weight=weight, gamma=self.kernel_.gamma)
        moved.__dict__["codes"] = self.codes
        moved.__dict__["program"] = self.program.take(order)
        return moved

    def violation(self, labels: npt.NDArray[np.integer]) -> int:
        """Return how many hard statements of the hints a labeling breaks."""
        return self.program.violation(labels)


def by_rows(formula: Callable[[slice], Array], like: Array) -> Array:
    """Compute a formula that treats every row on its own, a block of numpy's rows at a time."""
    n = len(like)
    if n <= ROWS or is_torch(like):
        return formula(slice(0, n))
    first = formula(slice(0, ROWS))
    whole = np.empty((n, *first.shape[1:]), first.dtype)
    whole[:ROWS] = first
    for start in range(ROWS, n, ROWS):
        rows = slice(start, min(start + ROWS, n))
        whole[rows] = formula(rows)
    return whole


def require_finite(X: Any) -> None:
    """Raise, naming the first entry that is NaN or infinite."""
    if is_torch(X):
        if bool(X.isfinite().all()):
            return
        X = to_numpy(X)
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


def _require_squares(X: Any) -> None:
    """Raise where inner products of rows are beyond what a number can hold."""
    entries = X.data if sp.issparse(X) else X
    if not math.prod(entries.shape) or (not is_torch(X) and X.dtype.kind not in "fiu"):
        return
    largest = max(abs(float(entries.max())), abs(float(entries.min())))
    if largest > math.sqrt(sys.float_info.max / (8 * math.prod(X.shape))):
        raise ValueError(
            f"X holds numbers as large as {largest:.3g}, whose squares overflow; scale the "
            "features."
        )


def read_rows(X: Any, kernel: str | Callable[..., Any]) -> Any:
    """Check the rows; lists and data frames become arrays, sparse matrices CSR."""
    if not is_torch(X):
        X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, rows by features; got shape {X.shape}.")
    if X.shape[0] == 0:
        raise ValueError("the problem has 0 rows; at least one is needed.")
    if X.shape[1] == 0:
        raise ValueError(f"X has 0 features for {X.shape[0]} rows; at least one is needed.")
    require_finite(X)
    X = X.detach() if is_torch(X) else X  # nothing is learned through the rows
    if isinstance(kernel, str) and kernel == "precomputed":
        if sp.issparse(X):
            raise ValueError("a precomputed kernel must be a dense matrix; use X.toarray().")
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed kernel must be a square matrix, got {X.shape}.")
    else:
        _require_squares(X)
    return X
