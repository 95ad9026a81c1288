"""Hints about single rows: given labels, negative labels, candidate sets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._classes import ClassCodes, as_names, is_name, nth_class, plain
from tacit.hints._data import as_numbers, names_from_data, names_to_data, rows_to_data
from tacit.hints._program import LabelProgram
from tacit.hints._rows import Rows, frozen
from tacit.hints.base import Hint

__all__ = ["Labels", "Not", "OneOf"]


class _RowHint(Hint):
    """A statement per row; `_rows[i]` goes with the i-th entry of the other arrays."""

    _rows: Rows

    def rows(self) -> npt.NDArray[np.intp]:
        return self._rows.index

    def length(self) -> int | None:
        return self._rows.n

    @abstractmethod
    def _some(self, rows: npt.NDArray[np.intp], keep: npt.NDArray[np.intp]) -> Hint:
        """Return the statements at the places `keep`, about `rows` in place of their own."""

    def restrict(self, rows: Any, n: int | None = None) -> Hint:
        row_map = self._row_map(rows, n)
        keep = np.flatnonzero(row_map.keep(self._rows.index))
        return self._some(row_map.new[self._rows.index[keep]], keep)

    def about(self, rows: npt.NDArray[np.intp]) -> Hint:
        keep = np.flatnonzero(np.isin(self._rows.index, rows))
        return self._some(self._rows.index[keep], keep)

    def _start(self, n: int, classes: ClassCodes) -> tuple[npt.NDArray[np.intp], Any]:
        index = self._rows.fit(n, type(self).__name__)
        return index, np.ones((n, len(classes)), bool)


class Labels(_RowHint):
    """These rows have these labels.

    Parameters
    ----------
    rows : array of int or bool
        Positions or a mask.
    classes : hashable or array of hashable
        One class for all the rows, or one per row. Lists and arrays are per row; anything
        else, a tuple too, is one name.

    Examples
    --------
    >>> from tacit import hints
    >>> hints.Labels([0, 5], ["cat", "dog"])
    Labels(2 rows)
    """

    kind = "labels"
    keys = ("rows", "classes")
    who = "Labels"
    """What messages call the hint: labels may have been given as y."""

    def __init__(self, rows: Any, classes: Any) -> None:
        self._rows = Rows.read(rows, "Labels")
        self._classes = frozen(_per_row(classes, len(self._rows), "Labels"))

    def called(self, who: str) -> Labels:
        """Return the same hint under the name by which the user gave it."""
        same = Labels(self._rows.index, self._classes)
        same._rows, same.who = self._rows, who
        return same

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        index, allowed = self._start(n, classes)
        codes = classes.encode(self._classes, self.who)
        for c in range(len(classes)):
            # Forbidding is idempotent, so a row listed twice keeps both statements.
            allowed[np.ix_(index[codes != c], [c])] = False
        return LabelProgram(n, len(classes), allowed=allowed)

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The class of each of `rows()`."""
        return self._classes

    def names(self) -> list[Any]:  # noqa: D102
        return _distinct(self._classes)

    def _some(self, rows: npt.NDArray[np.intp], keep: npt.NDArray[np.intp]) -> Labels:
        return Labels(rows, self._classes[keep]).called(self.who)

    def split(self) -> Iterator[Hint]:  # noqa: D102
        for row, name in zip(self._rows.index, self._classes, strict=True):
            yield Labels([row], as_names(name)).called(self.who)

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"row {self._rows.index[0]} has label {_show(self._classes[0])}"

    def about_row(self, classes: ClassCodes, known: str = "") -> str:  # noqa: D102
        return f"{self.who} says {_show(self._classes[0])}"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return rows_to_data(self._rows) | {"classes": names_to_data(self._classes)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Labels:  # noqa: D102
        return cls(data["rows"], names_from_data(data["classes"], "classes"))


class Not(_RowHint):
    """Negative labels: these rows do not have these labels.

    Parameters
    ----------
    rows : array of int or bool
        Positions or a mask.
    classes : hashable or array of hashable, shape (), (rows,) or (rows, k)
        Forbidden classes: one for all rows, one per row, or k per row.
    """

    kind = "not"
    keys = ("rows", "classes")

    def __init__(self, rows: Any, classes: Any) -> None:
        self._rows = Rows.read(rows, "Not")
        self._classes = frozen(_table_of_names(classes, len(self._rows)))

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        index, allowed = self._start(n, classes)
        codes = classes.encode(self._classes, "Not")
        allowed[index[:, None], codes] = False
        return LabelProgram(n, len(classes), allowed=allowed)

    def names(self) -> list[Any]:  # noqa: D102
        return _distinct(self._classes)

    def _some(self, rows: npt.NDArray[np.intp], keep: npt.NDArray[np.intp]) -> Not:
        return Not(rows, self._classes[keep])

    def split(self) -> Iterator[Hint]:  # noqa: D102
        for row, names in zip(self._rows.index, self._classes, strict=True):
            for name in names:
                yield Not([row], as_names(name))

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"row {self._rows.index[0]} is not {_show(self._classes[0, 0])}"

    def about_row(self, classes: ClassCodes, known: str = "") -> str:  # noqa: D102
        name = _show(self._classes[0, 0])
        return f"Not forbids {'it' if name == known else name}"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return rows_to_data(self._rows) | {"classes": names_to_data(self._classes)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Not:  # noqa: D102
        return cls(data["rows"], names_from_data(data["classes"], "classes"))


class OneOf(_RowHint):
    """Candidate sets: the label of each row is one of its set.

    Parameters
    ----------
    rows : array of int or bool
        Positions or a mask.
    sets : sequence of iterables, or bool array of shape (rows, C)
        Candidate classes of each row, by name, or as a mask over the classes. Lists of True and
        False for every class are a mask too, unless True and False are the classes themselves.
    """

    kind = "one_of"
    keys = ("rows", "sets", "mask")

    def __init__(self, rows: Any, sets: Any) -> None:
        self._rows = Rows.read(rows, "OneOf")
        self._mask: npt.NDArray[np.bool_] | None = None
        self._sets: list[list[Any]] = []
        self._unsure = False
        """Whether the sets are [True, False] in some order: names, or a mask over two classes."""
        if (array := _mask_of(sets)) is not None:
            self._mask = frozen(array)
            count = len(array)
        else:
            sets = list(sets)
            self._sets = [_candidate_set(s) for s in sets]
            self._unsure = bool(sets) and all(_is_row_of_bools(s) and len(s) == 2 for s in sets)
            count = len(self._sets)
        if count != len(self._rows):
            raise ValueError(f"OneOf: {len(self._rows)} rows but {count} candidate sets.")
        sizes = self._mask.sum(1) if self._mask is not None else [len(s) for s in self._sets]
        empty = np.flatnonzero(np.asarray(sizes) == 0)
        if len(empty):
            raise ValueError(
                f"OneOf: the candidate set of row {self._rows.index[empty[0]]} is empty; "
                "name at least one class."
            )

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        index, allowed = self._start(n, classes)
        mask = self._mask if self._mask is not None else self._encoded(classes)
        if mask.shape[1] != len(classes):
            raise ValueError(
                f"OneOf: the mask has {mask.shape[1]} columns but there are {len(classes)} classes."
            )
        at, column = np.nonzero(~mask)
        allowed[index[at], column] = False
        return LabelProgram(n, len(classes), allowed=allowed)

    def _encoded(self, classes: ClassCodes) -> npt.NDArray[np.bool_]:
        if self._unsure and not any(isinstance(name, bool) for name in classes.names):
            return np.array(self._sets, bool)
        sizes = [len(s) for s in self._sets]
        flat = as_names([name for s in self._sets for name in s])
        mask = np.zeros((len(self._sets), len(classes)), bool)
        mask[np.repeat(np.arange(len(sizes)), sizes), classes.encode(flat, "OneOf")] = True
        return mask

    def names(self) -> list[Any]:  # noqa: D102
        return [] if self._unsure else list({name for s in self._sets for name in s})

    def width(self) -> int | None:  # noqa: D102
        return None if self._mask is None else self._mask.shape[1]

    def _some(self, rows: npt.NDArray[np.intp], keep: npt.NDArray[np.intp]) -> OneOf:
        sets = self._mask[keep] if self._mask is not None else [self._sets[i] for i in keep]
        piece = OneOf(rows, sets)
        piece._unsure = self._unsure
        return piece

    def split(self) -> Iterator[Hint]:  # noqa: D102
        for i, row in enumerate(self._rows.index):
            yield self._some(np.array([row]), np.array([i]))

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"row {self._rows.index[0]} is one of {self._listed(classes)}"

    def about_row(self, classes: ClassCodes, known: str = "") -> str:  # noqa: D102
        return f"OneOf allows only {self._listed(classes)}"

    def _listed(self, classes: ClassCodes | None) -> str:
        if self._mask is not None:
            which = [nth_class(int(c), classes) for c in np.flatnonzero(self._mask[0])]
            prefix = "class " if classes is None else ""
            return ", ".join(prefix + name for name in which)
        if classes is not None and self._unsure:
            return ", ".join(repr(classes[int(c)]) for c in np.flatnonzero(self._encoded(classes)))
        return ", ".join(_show(v) for v in self._sets[0])

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        if self._mask is not None and len(self._mask):
            return rows_to_data(self._rows) | {"mask": self._mask.astype(int).tolist()}
        sets = [names_to_data(as_names(s)) for s in self._sets]
        return rows_to_data(self._rows) | {"sets": sets}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> OneOf:  # noqa: D102
        if "mask" in data:
            return cls(data["rows"], _mask_from_data(data["mask"]))
        return cls(data["rows"], [names_from_data(s, "sets") for s in data["sets"]])


def _show(name: Any) -> str:
    return repr(name.item() if isinstance(name, np.generic) else name)


def _distinct(names: npt.NDArray[Any]) -> list[Any]:
    flat = names.ravel()
    if flat.dtype == object:
        return list(set(flat.tolist()))
    return np.unique(flat).tolist()


def _per_row(classes: Any, count: int, who: str) -> npt.NDArray[Any]:
    if is_name(classes):
        return np.repeat(as_names(classes), count)
    names = as_names(classes)
    if names.ndim != 1 or len(names) != count:
        raise ValueError(f"{who}: {count} rows but classes of shape {names.shape}.")
    return names


def _table_of_names(classes: Any, count: int) -> npt.NDArray[Any]:
    if is_name(classes):
        return np.repeat(as_names(classes), count)[:, None]
    if isinstance(classes, np.ndarray):
        table = classes if classes.ndim == 2 else classes[:, None]
    elif len(classes) and all(isinstance(row, list | np.ndarray) for row in classes):
        widths = {len(row) for row in classes}
        if len(widths) > 1:
            raise ValueError(
                f"Not: rows name {min(widths)} to {max(widths)} classes each; give the same "
                "number for every row, or add several Not hints."
            )
        table = as_names([v for row in classes for v in row]).reshape(len(classes), -1)
    else:
        table = as_names(classes)[:, None]
    if len(table) != count:
        raise ValueError(f"Not: {count} rows but classes for {len(table)}.")
    return table


def _mask_of(sets: Any) -> npt.NDArray[np.bool_] | None:
    """Return a mask over the classes; None for candidate sets by name.

    Lists are surely a mask where one says True or False twice, as a set of names never does.
    """
    if isinstance(sets, np.ndarray) and sets.dtype == bool and sets.ndim == 2:
        return sets
    if not isinstance(sets, list | tuple | np.ndarray) or not all(
        _is_row_of_bools(s) for s in sets
    ):
        return None
    rows = [list(s) for s in sets]
    twice = any(len(set(row)) < len(row) for row in rows)
    return np.array(rows, bool) if twice and len({len(row) for row in rows}) == 1 else None


def _is_row_of_bools(names: Any) -> bool:
    """Whether this has an order and holds nothing but True and False."""
    ordered = isinstance(names, list | tuple | np.ndarray)
    return ordered and all(isinstance(plain(v), bool) for v in names)


def _candidate_set(names: Any) -> list[Any]:
    if isinstance(names, str | bytes) or not hasattr(names, "__iter__"):
        raise TypeError(
            f"OneOf: each candidate set must be a list or set of classes, got {names!r}."
        )
    return as_names(list(names)).tolist()


def _mask_from_data(data: Any) -> npt.NDArray[np.bool_]:
    mask = as_numbers(data, "'mask'")
    if mask.ndim != 2 or not np.isin(mask, (0, 1)).all():
        raise ValueError("'mask' must be a list of rows of 0 and 1, one entry per class.")
    return mask.astype(bool)
