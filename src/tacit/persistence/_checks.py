"""Whether what was read from a file can be a fitted model: types, shapes, ranges.

A checksum tells that an array is the one that was written, not that it fits the others. What is let
through here may be indexed and multiplied without a further look.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.features import (
    FeatureMap,
    FourierMap,
    Kernel,
    KernelMap,
    LinearMap,
    NystroemMap,
)
from tacit.result import Clustering, Solution

__all__ = [
    "check_columns",
    "check_names",
    "check_numbers",
    "check_solution",
    "read_kernel",
    "read_sparse",
]

# Of the annotations of plain fields, by their text.
PLAIN: dict[str, tuple[type, ...]] = {"float": (int, float), "int": (int,), "str": (str,)}


def check_numbers(cls: type, data: dict[str, Any]) -> None:
    """Raise unless each plain field of a dataclass has a value of its type."""
    for item in fields(cls):
        wanted = PLAIN.get(str(item.type))
        if item.name in data and wanted is not None:
            value = data[item.name]
            _require(
                isinstance(value, wanted) and not isinstance(value, bool),
                f"{item.name} is {value!r}, which is no {item.type}",
            )


def check_columns(columns: dict[str, npt.NDArray[Any]]) -> None:
    """Raise unless these are columns of one table: numbers, or text in `phase`."""
    for name, column in columns.items():
        kinds = "Uf" if name == "phase" else "if"  # without rows, text is float too
        _require(column.ndim == 1 and column.dtype.kind in kinds, f"history.{name} is no column")
    _require(len({len(c) for c in columns.values()}) == 1, "the history's columns differ in length")


def check_names(n_features: Any, names: Any) -> None:
    """Raise unless there is a name for every feature, or none at all."""
    _require(type(n_features) is int and n_features > 0, f"n_features_in is {n_features!r}")
    if names is not None:
        whole = isinstance(names, list) and all(isinstance(v, str) for v in names)
        _require(whole and len(names) == n_features, f"feature_names_in are not {n_features} names")


def read_kernel(data: dict[str, Any]) -> Kernel:
    """Make a kernel of which only numbers and a name were read."""
    kernel = Kernel(**data)
    numbers = (kernel.gamma, kernel.degree, kernel.coef0, kernel.shift)
    whole = all(isinstance(v, int | float) and math.isfinite(v) for v in numbers)
    _require(whole and kernel.shift >= 0, f"the kernel is {kernel}")
    return kernel


def read_sparse(parts: list[npt.NDArray[Any]], shape: Any, name: str) -> sp.csr_array:
    """Make a sparse matrix, every index of which lies inside."""
    data, indices, indptr = parts
    whole = isinstance(shape, list) and len(shape) == 2 and all(type(v) is int for v in shape)
    _require(whole, f"{name} has shape {shape!r}")
    _require(
        data.ndim == indices.ndim == indptr.ndim == 1
        and data.dtype.kind == "f"
        and indices.dtype.kind == indptr.dtype.kind == "i",
        f"{name} is no sparse matrix of numbers",
    )
    matrix = sp.csr_array((data, indices, indptr), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def check_solution(solution: Solution, n_classes: int, n_columns: int, n_features: int) -> None:
    """Raise unless labels, coefficients and feature map fit each other and the classes."""
    labels, coef = solution.labels, solution.coef
    _require(labels.ndim == 1 and labels.dtype.kind == "i", "labels are not whole numbers")
    _require(len(labels) > 0, "there are no labels")
    _require(
        labels.min() >= 0 and labels.max() < n_classes,
        f"labels lie in {labels.min()}..{labels.max()}, but there are {n_classes} classes",
    )
    _require(
        coef.ndim == 2 and coef.shape[1] == n_columns,
        f"coef has shape {coef.shape}; {n_classes} classes need {n_columns} columns",
    )
    rows = _coef_rows(solution.features, len(labels), n_features)
    _matrix("coef", coef, (rows, n_columns))
    _matrix("scores", solution.scores, (len(labels), n_columns))
    if isinstance(solution, Clustering):
        _matrix("norms", solution.norms, (n_columns,))


def _coef_rows(features: FeatureMap, n: int, n_features: int) -> int:
    """Return how many rows of coefficients a feature map needs, after a look at its arrays."""
    if isinstance(features, LinearMap):
        return n_features + _constant(features.shift)
    if isinstance(features, FourierMap):
        pairs = _matrix("frequencies", features.frequencies, (n_features, None))
        return 2 * pairs[1] + _constant(features.shift)
    if isinstance(features, NystroemMap):
        count = _matrix("landmarks", features.landmarks, (None, n_features))[0]
        return _matrix("whiten", features.whiten, (count, None))[1]
    assert isinstance(features, KernelMap)
    _require(
        (features.basis is None) == (features.kernel.name == "precomputed"),
        f"a model with the kernel {features.kernel.name!r} and such a basis was never saved",
    )
    if features.basis is None:
        _require(n_features == n, f"{n} rows have a kernel matrix of {n_features} columns")
    else:
        _matrix("basis", features.basis, (n, n_features))
    return n


def _constant(shift: float) -> int:
    _require(math.isfinite(shift) and shift >= 0, f"shift is {shift!r}")
    return int(shift > 0)


def _matrix(name: str, array: Any, shape: tuple[int | None, ...]) -> tuple[int, ...]:
    """Check an array of finite numbers; None stands for any length. Returns its shape."""
    fits = sp.issparse(array) or isinstance(array, np.ndarray)
    fits = fits and array.dtype.kind == "f" and len(array.shape) == len(shape)
    fits = fits and all(w is None or w == s for s, w in zip(array.shape, shape, strict=True))
    wanted = " x ".join("any" if v is None else str(v) for v in shape)
    _require(fits, f"{name} is not an array of {wanted} numbers")
    entries = array.data if sp.issparse(array) else array
    _require(bool(np.isfinite(entries).all()), f"{name} contains NaN or infinity")
    return tuple(array.shape)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
