"""Rows that are pairs of items: what `Partition` and `Order` share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._classes import ClassCodes
from tacit.hints._data import require_even
from tacit.hints._rows import Rows, frozen
from tacit.hints.base import Hint

__all__ = ["PairHint", "all_pairs", "two_classes"]

IntArray = npt.NDArray[np.intp]


def all_pairs(n: int) -> IntArray:
    """Every two of n items in condensed order: (0, 1), (0, 2), ..., (n - 2, n - 1)."""
    return np.column_stack(np.triu_indices(n, 1)).astype(np.intp)


def two_classes(who: str, first: str, second: str, classes: ClassCodes) -> None:
    """Raise unless there are two classes."""
    if len(classes) != 2:
        raise ValueError(
            f"{who}: there are {len(classes)} classes; it needs two, of which the first means "
            f"{first} and the second {second}."
        )


def _read_items(items: Any, who: str) -> IntArray:
    if isinstance(items, int | np.integer) and not isinstance(items, bool):
        if items < 0:
            raise ValueError(f"{who}: {items} items; give how many there are, or the pairs.")
        return frozen(all_pairs(int(items)))
    try:
        array = np.asarray(items)
    except ValueError:
        require_even(items, f"{who}: items")
        raise
    if array.size == 0 and array.ndim:
        array = np.empty((0, 2), np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"{who}: expected the two items of each row, shape (N, 2), or the number of items, "
            f"got {f'shape {array.shape}' if array.ndim else repr(items)}."
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{who}: items must be whole numbers, got {array.dtype}.")
    if array.size and array.min() < 0:
        raise ValueError(f"{who}: item {array.min()} is negative; items are numbered from 0.")
    loops = np.flatnonzero(array[:, 0] == array[:, 1])
    if len(loops):
        raise ValueError(
            f"{who}: pair {loops[0]} is item {array[loops[0], 0]} with itself; leave it out."
        )
    return frozen(array.astype(np.intp))


class PairHint(Hint):
    """A statement about all pairs together; pair k is row k, or the k-th of the given rows."""

    keys = ("items", "rows")
    words: tuple[str, str]
    """What the two classes mean."""

    def __init__(self, items: Any, rows: Any = None) -> None:
        who = type(self).__name__
        self._items = _read_items(items, who)
        self._rows = None if rows is None else Rows.read(rows, who)
        if self._rows is None:
            return
        if len(self._rows) != len(self._items):
            raise ValueError(
                f"{who}: {len(self._items)} pairs of items but {len(self._rows)} rows; give one "
                "row for each pair."
            )
        if len(np.unique(self._rows.index)) < len(self._rows):
            raise ValueError(f"{who}: a row is listed twice; a row is one pair of items.")

    @property
    def items(self) -> IntArray:
        """Items of each pair, (P, 2)."""
        return self._items

    def rows(self) -> IntArray:
        return np.arange(len(self._items)) if self._rows is None else self._rows.index

    def length(self) -> int | None:
        return len(self._items) if self._rows is None else self._rows.n

    def width(self) -> int | None:
        return 2

    def _coded(self, n: int, classes: ClassCodes) -> tuple[int, IntArray, IntArray]:
        """Items numbered without gaps: how many, each pair's, and the pairs' rows."""
        who = type(self).__name__
        two_classes(who, *self.words, classes)
        if self._rows is None and n != len(self._items):
            raise ValueError(
                f"{who}: {len(self._items)} pairs of items but {n} rows; give the rows that are "
                "pairs, rows=[...]."
            )
        rows = np.arange(n) if self._rows is None else self._rows.fit(n, who)
        found, code = np.unique(self._items, return_inverse=True)
        return len(found), code.reshape(self._items.shape).astype(np.intp), rows

    def restrict(self, rows: Any, n: int | None = None) -> PairHint:
        """Return the pairs that remain, of the same items; no more follows from the others."""
        row_map = self._row_map(rows, n)
        if self._rows is None:  # every row is a pair
            return type(self)(self._items[row_map.kept])
        kept = row_map.keep(self._rows.index)
        return type(self)(self._items[kept], row_map.new[self._rows.index[kept]])

    def about(self, rows: IntArray) -> PairHint:
        """Return the pairs that these rows are."""
        keep = np.isin(self.rows(), rows)
        return type(self)(self._items[keep], self.rows()[keep])

    def split(self) -> Iterator[Hint]:
        if len(self._items):
            yield self  # no part of it says what the whole does

    def to_dict(self) -> dict[str, Any]:
        n = int(self._items.max(initial=-1)) + 1
        whole = np.array_equal(self._items, all_pairs(n)) if n < 2**16 else False
        return {
            "items": n if whole else self._items.tolist(),
            "rows": None if self._rows is None else self._rows.index.tolist(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PairHint:
        return cls(data["items"], data.get("rows"))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._items)} pairs)"
