"""Arrays and class names as plain data for files, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._classes import as_names, plain
from tacit.hints._rows import Rows

__all__ = [
    "any_name",
    "name_from_data",
    "name_to_data",
    "names_from_data",
    "names_to_data",
    "numbers_from_data",
    "numbers_to_data",
    "rows_to_data",
]

_any_name: ContextVar[bool] = ContextVar("any_name", default=False)


@contextmanager
def any_name() -> Iterator[None]:
    """Let `name_to_data` pass names that no file can hold: hints with them compare too."""
    token = _any_name.set(True)
    try:
        yield
    finally:
        _any_name.reset(token)


def name_to_data(name: Any) -> Any:
    """One class name as JSON can hold it; tuples are marked, anything richer is refused."""
    name = plain(name)
    if name is None or isinstance(name, str | int | float | bool):
        return name
    if isinstance(name, tuple):
        return {"tuple": [name_to_data(v) for v in name]}
    if _any_name.get():
        return name
    raise TypeError(
        f"the class name {name!r} ({type(name).__name__}) cannot be written to a file; "
        "use strings, numbers, or tuples of them."
    )


def name_from_data(data: Any) -> Any:
    """Undo `name_to_data`."""
    if isinstance(data, dict):
        if set(data) != {"tuple"}:
            raise ValueError(f"a class name must be a string, a number or a tuple, got {data!r}.")
        return tuple(name_from_data(v) for v in data["tuple"])
    return data


def names_to_data(names: npt.NDArray[Any]) -> list[Any]:
    """Class names of any shape as nested lists."""
    if names.ndim > 1:
        return [names_to_data(row) for row in names]
    return [name_to_data(v) for v in names]


def names_from_data(data: Any) -> Any:
    """Undo `names_to_data`; a single name stays one."""
    if not isinstance(data, list):
        return name_from_data(data)
    if data and all(isinstance(row, list) for row in data):
        flat = as_names([name_from_data(v) for row in data for v in row])
        return flat.reshape(len(data), len(data[0]))
    return as_names([name_from_data(v) for v in data])


def numbers_to_data(array: Any) -> Any:
    """Numbers of any shape as nested lists; infinities become the text 'inf' or '-inf'."""
    value = array.tolist() if isinstance(array, np.ndarray | np.generic) else array
    if isinstance(value, list):
        return [numbers_to_data(v) for v in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def numbers_from_data(data: Any) -> npt.NDArray[np.float64]:
    """Undo `numbers_to_data`."""
    return np.array(data, dtype=np.float64)


def rows_to_data(rows: Rows) -> dict[str, Any]:
    """Rows as positions (a mask is stored as the positions it selects)."""
    return {"rows": rows.index.tolist()}
