"""Class names: any hashable, turned into codes 0..C-1 once and back once."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "ClassCodes",
    "as_names",
    "check_kinds",
    "check_name",
    "class_list",
    "is_missing",
    "is_name",
    "nth_class",
    "plain",
    "sort_names",
]


def plain(name: Any) -> Any:
    """Turn a numpy scalar into the Python value it holds."""
    return name.item() if isinstance(name, np.generic) else name


def is_missing(value: Any) -> bool:
    """Whether this stands for nothing: None, NaN, or what pandas writes for them."""
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def is_name(value: Any) -> bool:
    """Whether `value` is one class name rather than a list of them.

    Lists and arrays are many names; everything else (strings, numbers, tuples) is one.
    """
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    if isinstance(value, np.generic):
        return True
    return not isinstance(value, list | range) and not hasattr(value, "__array__")


def as_names(values: Any, gaps: bool = False) -> npt.NDArray[Any]:
    """Store class names as a 1-D array without changing their types.

    A list that mixes types becomes an object array; numpy's own conversion would turn
    ``['a', 1]`` into strings. None, NaN, NA and "" name no class; `gaps` lets them stand.
    """
    if is_name(values):
        values = [values]
    if isinstance(values, np.ndarray) and values.dtype != object:
        empty = values[_no_names(values)]
        if len(empty) and not gaps:
            check_name(empty[0])
        return values
    items = [plain(v) for v in (values.tolist() if hasattr(values, "tolist") else values)]
    for item in items:
        if not (gaps and names_nothing(item)):
            check_name(item)
    kinds = {type(v) for v in items}
    if kinds == {int} or kinds == {str} or kinds == {bool}:
        return np.array(items)
    array = np.empty(len(items), object)
    array[:] = items
    return array


def names_nothing(value: Any) -> bool:
    """Whether this says that there is no name: a missing value or empty text."""
    return is_missing(value) or (isinstance(value, str) and value == "")


def _no_names(names: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if names.dtype.kind == "f":
        return np.isnan(names)
    if names.dtype.kind == "M":
        return np.isnat(names)
    return np.asarray(names == "") if names.dtype.kind in "US" else np.zeros(names.shape, bool)


def check_name(name: Any) -> None:
    """Raise unless this names a class."""
    try:
        hash(name)  # a tuple may hold a list
    except TypeError:
        raise TypeError(
            f"a class name must be hashable (a string, number or tuple), got {name!r}."
        ) from None
    if names_nothing(name):
        shown = "empty text" if isinstance(name, str) else str(name)
        raise ValueError(f"{shown} is not a class name; leave out rows whose class is unknown.")


def check_kinds(names: Iterable[Any]) -> None:
    """Raise where truth values stand beside text: one of them was meant as the other."""
    names = list(names)
    truth = next((v for v in names if isinstance(v, bool)), None)
    word = next((v for v in names if isinstance(v, str)), None)
    if truth is not None and word is not None:
        raise ValueError(
            f"the classes are named by the truth value {truth} and by the text {word!r}; write "
            f"{str(truth).lower()!r} in quotes if it is text."
        )


def nth_class(code: int, classes: ClassCodes | None) -> str:
    """Return the class of a column in words: its name once the classes are known."""
    return f"number {code}" if classes is None else repr(classes[code])


def class_list(classes: Any) -> list[Any]:
    """Return a user's `classes` as a list."""
    if isinstance(classes, str | bytes) or not isinstance(classes, Iterable):
        raise ValueError(f"classes={classes!r}; expected a list of class names.")
    return list(classes)


class ClassCodes:
    """The classes in their fixed order, with the way from names to codes.

    Parameters
    ----------
    names : sequence of hashable
        Class names; their position is their code.
    """

    def __init__(self, names: Sequence[Hashable] | npt.NDArray[Any]) -> None:
        self.names: list[Any] = [plain(v) for v in names]
        for name in self.names:
            check_name(name)
        check_kinds(self.names)
        self._codes = {name: code for code, name in enumerate(self.names)}
        if len(self._codes) < len(self.names):
            twice = next(v for v in self.names if self.names.count(v) > 1)
            raise ValueError(f"classes names {twice!r} twice; each class must appear once.")

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, code: int) -> Any:
        return self.names[code]

    def code(self, name: Hashable, who: str) -> int:
        """Code of one name; `who` says in the error which hint used it."""
        try:
            return self._codes[plain(name)]
        except KeyError:
            raise ValueError(self._unknown(plain(name), who)) from None

    def encode(self, names: npt.NDArray[Any], who: str) -> npt.NDArray[np.intp]:
        """Codes of an array of names, in its shape; each distinct name is looked up once."""
        flat = names.ravel()
        if flat.dtype == object:
            codes = np.fromiter((self.code(v, who) for v in flat), np.intp, len(flat))
        else:
            distinct, inverse = np.unique(flat, return_inverse=True)
            table = np.array([self.code(v, who) for v in distinct], np.intp)
            codes = table[inverse] if len(distinct) else np.empty(0, np.intp)
        return codes.reshape(names.shape)

    def _unknown(self, name: Any, who: str) -> str:
        shown = {str(v): v for v in self.names}
        near = difflib.get_close_matches(str(name), list(shown), n=1)
        hint = f" Did you mean {shown[near[0]]!r}?" if near else ""
        listed = ", ".join(repr(v) for v in self.names[:10])
        more = f", ... ({len(self)} in all)" if len(self) > 10 else ""
        return f"{who} names the class {name!r}, which is not one of {listed}{more}.{hint}"


def sort_names(names: Iterable[Any]) -> list[Any]:
    """Sort distinct class names; mixed types are ordered by type, then by their text."""
    distinct = {plain(v) for v in names}
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=lambda v: (type(v).__name__, repr(v)))
