"""Squared distances between rows and centres, with few digits lost where they are close."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.backends import Array, array_namespace

__all__ = ["paired_distances", "square_distances", "square_norms"]

FloatArray = npt.NDArray[np.float64]
AnyFloats = npt.NDArray[np.floating]
Index = npt.NDArray[np.integer[Any]]

# Distances this small against the norms they are the difference of are computed again, directly.
CLOSE = 1e-6
CHUNK = 4_000_000  # entries subtracted at a time


def square_norms(X: Any) -> Array:
    """Return |x|^2 of every row, (N,)."""
    if sp.issparse(X):
        return np.ravel(X.multiply(X).sum(axis=1))
    return array_namespace(X).vecdot(X, X)


def square_distances(X: Any, centers: AnyFloats) -> FloatArray:
    """Squared distances of all rows from all centres, (N, C); rows may be sparse.

    Dense rows are measured from the centres' mean, so that an offset of all data costs no digits.
    """
    if not sp.issparse(X):
        pivot = centers.mean(axis=0)
        X, centers = X - pivot, centers - pivot
    size = square_norms(X)[:, None] + square_norms(centers)
    D: FloatArray = size - 2.0 * np.asarray(X @ centers.T)
    i, c = np.nonzero(CLOSE * size >= D)
    D[i, c] = _differences(X, centers, i, c)
    return D


def paired_distances(X: Any, centers: AnyFloats, labels: Index) -> FloatArray:
    """Squared distance of each row from its own centre, (N,)."""
    rows = np.arange(X.shape[0])
    if not sp.issparse(X):
        return _differences(X, centers, rows, labels)
    size = square_norms(X) + square_norms(centers)[labels]
    D: FloatArray = size - 2.0 * np.asarray(X @ centers.T)[rows, labels]
    i = np.flatnonzero(CLOSE * size >= D)
    D[i] = _differences(X, centers, i, labels[i])
    return D


def _differences(X: Any, centers: AnyFloats, i: Index, c: Index) -> FloatArray:
    """Squared distances of some pairs of row and centre, by subtraction."""
    D = np.empty(len(i))
    step = max(1, CHUNK // max(X.shape[1], 1))
    for a in range(0, len(i), step):
        part = X[i[a : a + step]]
        part = part.toarray() if sp.issparse(part) else part
        D[a : a + step] = square_norms(part - centers[c[a : a + step]])
    return D
