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
    "as_numbers",
    "name_from_data",
    "name_to_data",
    "names_from_data",
    "names_to_data",
    "numbers_to_data",
    "require_even",
    "rows_to_data",
    "whole_numbers",
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


def names_from_data(data: Any, key: str, gaps: bool = False) -> Any:
    """Undo `names_to_data`; a single name stays one. With `gaps`, None may stand for no name."""
    if not isinstance(data, list):
        return name_from_data(data)
    if data and all(isinstance(row, list) for row in data):
        require_even(data, repr(key))
        flat = as_names([name_from_data(v) for row in data for v in row], gaps)
        return flat.reshape(len(data), len(data[0]))
    return as_names([name_from_data(v) for v in data], gaps)


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


def as_numbers(values: Any, what: str) -> npt.NDArray[np.float64]:
    """Undo `numbers_to_data`: numbers as an array; what is none is shown in the error."""
    try:
        return np.array(values, np.float64)
    except (ValueError, TypeError):
        require_even(values, what)
        odd = next((v for v in _leaves(values) if not _is_number(v)), values)
        shown = repr(odd) if len(repr(odd)) < 60 else type(odd).__name__
        share = " (20% is written 0.2)" if isinstance(odd, str) and odd.endswith("%") else ""
        raise ValueError(f"{what} must hold numbers, got {shown}{share}.") from None


def require_even(values: Any, what: str) -> None:
    """Raise for rows of different lengths, at any depth."""
    rows = values if isinstance(values, list | tuple) else []
    sizes = [len(row) if isinstance(row, list | tuple) else -1 for row in rows]
    for i, size in enumerate(sizes):
        if size != sizes[0]:
            raise ValueError(
                f"{what}: row 0 has {_entries(sizes[0])} but row {i} has {_entries(size)}."
            )
    for row in rows:
        require_even(row, what)


def _entries(size: int) -> str:
    if size < 0:
        return "a single value"
    return "1 entry" if size == 1 else f"{size} entries"


def _leaves(values: Any) -> Iterator[Any]:
    if isinstance(values, np.ndarray):
        yield from values.ravel().tolist()
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _leaves(value)
    else:
        yield values


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (ValueError, TypeError):
        return False
    return True


def whole_numbers(values: Any, what: str) -> npt.NDArray[np.intp]:
    """Return whole numbers as an array."""
    array = as_numbers(values, what)
    if not np.array_equal(array, np.round(array)) or not np.isfinite(array).all():
        raise ValueError(f"{what} must hold whole numbers, got {values!r:.60}.")
    return array.astype(np.intp)


def rows_to_data(rows: Rows) -> dict[str, Any]:
    """Rows as positions (a mask is stored as the positions it selects)."""
    return {"rows": rows.index.tolist()}
