"""Centres of clusters, in the space of the rows or in a kernel's.

========  ========  ==============================================================
symbol    shape     meaning
========  ========  ==============================================================
coef      (M, C)    centres as columns: points (M = d), or weights of the training
                    rows (M = N), m_c = sum_i coef_ic phi(x_i)
D         (N, C)    squared distances of rows and centres
K         (N, N)    kernel matrix; not formed for the linear kernel
========  ========  ==============================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.features import Kernel, paired_distances, square_distances, square_norms
from tacit.problem import ClusterProblem

__all__ = ["Geometry", "KernelGeometry", "RowGeometry", "geometry_of"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.integer[Any]]

# A kernel distance this far below zero, in units of the largest k(x, x), is no rounding.
INDEFINITE = 1e-6


class Geometry(ABC):
    """Where rows and centres lie."""

    scatter: float
    """Mean squared distance of the rows from their common mean."""

    @abstractmethod
    def means(self, labels: Labels, n_classes: int, weights: FloatArray) -> FloatArray:
        """Weighted mean of the rows of each class; the origin for a class without rows."""

    @abstractmethod
    def distances(self, coef: FloatArray) -> FloatArray:
        """Squared distances D of all rows from the centres."""

    @abstractmethod
    def from_rows(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        """Squared distances of all rows from some of them, (N, len(rows))."""

    @abstractmethod
    def from_points(self, points: FloatArray) -> FloatArray:
        """Squared distances of all rows from points given by their features, (N, len(points))."""

    @abstractmethod
    def at(self, row: int) -> FloatArray:
        """Coefficients of a centre that lies on a row, (M,)."""

    @abstractmethod
    def paired(self, coef: FloatArray, D: FloatArray, labels: Labels) -> FloatArray:
        """Squared distance of each row from its own centre, (N,), as exact as it gets."""

    @abstractmethod
    def export(self, coef: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coefficients for the feature map, scores (N, C) and squared norms (C,)."""


class RowGeometry(Geometry):
    """Rows are points; dense ones are measured from their mean, so that no digits are lost."""

    def __init__(self, X: Any, weights: FloatArray) -> None:
        self._pivot = np.zeros(X.shape[1])
        mean = np.asarray(X.T @ weights) / weights.sum()
        if not sp.issparse(X):
            self._pivot = mean
            X = X - mean
        self._X, self._norms = X, square_norms(X)
        offset = 0.0 if not sp.issparse(X) else float(mean @ mean)
        self.scatter = max(float(weights @ self._norms) / float(weights.sum()) - offset, 0.0)

    def means(self, labels: Labels, n_classes: int, weights: FloatArray) -> FloatArray:
        share = _shares(labels, n_classes, weights)
        place = (labels, np.arange(len(labels)))
        member = sp.csr_array((share, place), shape=(n_classes, len(labels)))
        centers = member @ self._X
        return np.asarray(centers.toarray() if sp.issparse(centers) else centers).T

    def distances(self, coef: FloatArray) -> FloatArray:
        D = self._norms[:, None] - 2.0 * np.asarray(self._X @ coef) + square_norms(coef.T)
        return np.maximum(D, 0.0, out=D)

    def from_rows(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        return self.distances(_dense(self._X[rows]).T)

    def from_points(self, points: FloatArray) -> FloatArray:
        return square_distances(self._X, points - self._pivot)

    def at(self, row: int) -> FloatArray:
        return _dense(self._X[[row]])[0]

    def paired(self, coef: FloatArray, D: FloatArray, labels: Labels) -> FloatArray:
        return paired_distances(self._X, coef.T, labels)

    def export(self, coef: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        moved = coef + self._pivot[:, None]
        scores = np.asarray(self._X @ moved) + self._pivot @ moved
        return moved, scores, square_norms(moved.T)


class KernelGeometry(Geometry):
    """Rows are phi(x), known by their inner products only."""

    def __init__(self, K: FloatArray, X: Any, kernel: Kernel, weights: FloatArray) -> None:
        self._K, self._X, self._kernel = K, X, kernel
        self._norms = np.diagonal(K).copy()
        share = weights / weights.sum()
        self.scatter = max(float(share @ self._norms) - float(share @ (K @ share)), 0.0)

    def means(self, labels: Labels, n_classes: int, weights: FloatArray) -> FloatArray:
        alpha = np.zeros((len(labels), n_classes))
        alpha[np.arange(len(labels)), labels] = _shares(labels, n_classes, weights)
        return alpha

    def distances(self, coef: FloatArray) -> FloatArray:
        scores = self._K @ coef
        return self._positive(self._norms[:, None] - 2.0 * scores + (coef * scores).sum(axis=0))

    def from_rows(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        return self._positive(self._norms[:, None] - 2.0 * self._K[:, rows] + self._norms[rows])

    def from_points(self, points: FloatArray) -> FloatArray:
        if self._kernel.name == "precomputed":
            raise ValueError(
                "init as an array of centres needs rows, which a precomputed kernel does not "
                "hold; use init='k-means++' or 'random'."
            )
        cross, own = self._kernel(self._X, points), self._kernel.diagonal(points)
        return self._positive(self._norms[:, None] - 2.0 * cross + own)

    def at(self, row: int) -> FloatArray:
        one = np.zeros(len(self._K))
        one[row] = 1.0
        return one

    def paired(self, coef: FloatArray, D: FloatArray, labels: Labels) -> FloatArray:
        return D[np.arange(len(labels)), labels]

    def export(self, coef: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        scores = self._K @ coef
        return coef, scores, (coef * scores).sum(axis=0)

    def _positive(self, D: FloatArray) -> FloatArray:
        if D.min(initial=0.0) < -INDEFINITE * np.abs(self._norms).max(initial=0.0):
            raise ValueError(
                "the kernel matrix is not positive semidefinite (a squared distance is "
                f"{D.min():.3g}); check the kernel."
            )
        return np.maximum(D, 0.0, out=D)


def geometry_of(problem: ClusterProblem) -> Geometry:
    """Rows themselves for the linear kernel, else the kernel matrix."""
    kernel = problem.kernel_
    if kernel.linear:
        return RowGeometry(problem.X, problem.weights)
    return KernelGeometry(kernel.gram(problem.X), problem.X, kernel, problem.weights)


def _shares(labels: Labels, n_classes: int, weights: FloatArray) -> FloatArray:
    """Weight of each row in the mean of its class; rows count alike where all weigh nothing."""
    weights = np.where(np.bincount(labels, weights, n_classes)[labels] > 0, weights, 1.0)
    return weights / np.bincount(labels, weights, n_classes)[labels]


def _dense(X: Any) -> FloatArray:
    return np.asarray(X.toarray() if sp.issparse(X) else X)
