"""One name for the array library of a formula: numpy in, numpy out; torch in, torch out."""

from __future__ import annotations

import importlib.util
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

__all__ = [
    "Array",
    "array_namespace",
    "as_like",
    "clip",
    "is_torch",
    "norm",
    "place",
    "to_numpy",
]

# An array of whichever library the caller uses; shapes are stated in the docstrings.
Array: TypeAlias = Any
NUMPY = array_api_compat.array_namespace(np.empty(0))


def array_namespace(*arrays: Array) -> Any:
    """Return the array-API namespace that all the given arrays belong to."""
    if all(type(array) is np.ndarray for array in arrays):
        return NUMPY  # looked up hundreds of times in an iteration
    return array_api_compat.array_namespace(*arrays)


def clip(array: Array, min: float | None = None, max: float | None = None) -> Array:
    """Bound the entries from below, above or both.

    The namespace's own clip costs numpy ten times as much for a few thousand entries: it checks
    and broadcasts its bounds.
    """
    if not isinstance(array, np.ndarray):
        return array_namespace(array).clip(array, min=min, max=max)
    if min is not None:
        array = np.maximum(array, min)
    return array if max is None else np.minimum(array, max)


def is_torch(array: Any) -> bool:
    """Whether an array is a torch tensor; never imports torch."""
    return bool(array_api_compat.is_torch_array(array))


def to_numpy(array: Array) -> npt.NDArray[Any]:
    """Copy an array to the host as numpy; numpy arrays pass through unchanged."""
    if isinstance(array, np.ndarray):
        return array
    return np.asarray(array_api_compat.to_device(array, "cpu"))


def as_like(array: Array, like: Array) -> Array:
    """Bring an array to the library and device of another; floats to its dtype too."""
    if sp.issparse(like):
        like = like.data
    if not is_torch(like):
        array = to_numpy(array)
        return array.astype(like.dtype, copy=False) if array.dtype.kind == "f" else array
    import torch

    if not is_torch(array):
        array = np.asarray(array)
        array = torch.from_numpy(array if array.flags.writeable else array.copy())
    return array.to(device=like.device, dtype=like.dtype if array.is_floating_point() else None)


def place(array: Any, device: str | None, dtype: str) -> Array:
    """Bring rows to a device as floats of the given type; None leaves them where they are.

    Raises
    ------
    ImportError, ValueError
        If torch is missing, or there is no such device.
    """
    if is_torch(array):
        import torch

        return array.to(device=device, dtype=getattr(torch, dtype))
    if device is None:
        return array.astype(dtype, copy=False)
    if sp.issparse(array):
        raise ValueError(
            f"device={device!r} needs dense rows; use X.toarray(), or device=None for sparse ones."
        )
    if importlib.util.find_spec("torch") is None:
        raise ImportError(f"device={device!r} needs PyTorch: pip install 'tacit[torch]'")
    import torch

    try:
        return torch.from_numpy(np.array(array)).to(device=device, dtype=getattr(torch, dtype))
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device={device!r} cannot be used here: {str(error).splitlines()[0]}"
        ) from None


def norm(array: Array) -> float:
    """Frobenius norm."""
    if is_torch(array):
        return float(array.double().norm()) if array.device.type == "cpu" else float(array.norm())
    return float(np.linalg.norm(array))
