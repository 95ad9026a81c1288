"""One name for the array library of a formula: numpy in, numpy out; torch in, torch out."""

from __future__ import annotations

from typing import Any, TypeAlias

import array_api_compat
import numpy as np
import numpy.typing as npt

__all__ = ["Array", "array_namespace", "to_numpy"]

# An array of whichever library the caller uses; shapes are stated in the docstrings.
Array: TypeAlias = Any


def array_namespace(*arrays: Array) -> Any:
    """Return the array-API namespace that all the given arrays belong to."""
    return array_api_compat.array_namespace(*arrays)


def to_numpy(array: Array) -> npt.NDArray[Any]:
    """Copy an array to the host as numpy; numpy arrays pass through unchanged."""
    if isinstance(array, np.ndarray):
        return array
    return np.asarray(array_api_compat.to_device(array, "cpu"))
