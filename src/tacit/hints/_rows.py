"""Rows as positions or boolean masks, checked once; and maps onto a subset of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["RowMap", "Rows", "check_range", "frozen"]

IntArray = npt.NDArray[np.intp]


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only copy: hints are values and never change."""
    array = np.array(array)
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class Rows:
    """Checked row positions; `n` is known when they were given as a mask."""

    index: IntArray
    n: int | None

    @classmethod
    def read(cls, rows: Any, who: str) -> Rows:
        """Read positions, a boolean mask, or one position."""
        try:
            array = np.atleast_1d(np.asarray(rows))
        except ValueError:
            raise ValueError(
                f"{who}: rows must be one-dimensional, got lists of different lengths."
            ) from None
        if array.size == 0 and array.dtype != bool:
            array = array.astype(np.intp)
        if array.ndim != 1:
            raise ValueError(f"{who}: rows must be one-dimensional, got shape {array.shape}.")
        if array.dtype == bool:
            return cls(frozen(np.flatnonzero(array)), len(array))
        if not np.issubdtype(array.dtype, np.integer):
            raise TypeError(
                f"{who}: rows must be positions (integers) or a boolean mask, got {array.dtype}."
            )
        if array.size and array.min() < 0:
            raise ValueError(
                f"{who}: row {array.min()} is negative; rows are positions from 0, or a mask."
            )
        return cls(frozen(array.astype(np.intp)), None)

    def __len__(self) -> int:
        return len(self.index)

    def fit(self, n: int, who: str) -> IntArray:
        """Positions, once the number of rows is known."""
        if self.n is not None and self.n != n:
            raise ValueError(f"{who}: the mask has {self.n} entries but there are {n} rows.")
        check_range(self.index, n, who)
        return self.index

    def take(self, keep: npt.NDArray[Any]) -> Rows:
        """Return some of the rows (an index into them)."""
        return Rows(frozen(self.index[keep]), self.n)


def check_range(index: IntArray, n: int, who: str) -> None:
    """Raise if a position lies outside 0..n-1."""
    if index.size and index.max() >= n:
        raise ValueError(
            f"{who}: row {index.max()} is out of range; there are {n} rows, 0 to {n - 1}."
        )


class RowMap:
    """Where each old row lies in a subset: `new[old]`, -1 for rows left out."""

    def __init__(self, rows: Any, n: int | None, top: int) -> None:
        read = Rows.read(rows, "restrict")
        if n is not None and read.n is not None and n != read.n:
            raise ValueError(f"restrict: the mask has {read.n} entries but n={n}.")
        self.n: int | None = read.n if read.n is not None else n
        self.kept = read.index
        if len(np.unique(self.kept)) < len(self.kept):
            raise ValueError("restrict: a row is listed twice; hints cannot be duplicated.")
        if self.n is not None:
            check_range(self.kept, self.n, "restrict")
            if top >= self.n:
                raise ValueError(f"restrict: the hint speaks of row {top} but n={self.n}.")
        size = max(top + 1, int(self.kept.max(initial=-1)) + 1, self.n or 0)
        self.new = np.full(size, -1, np.intp)
        self.new[self.kept] = np.arange(len(self.kept))

    def keep(self, index: IntArray) -> npt.NDArray[np.bool_]:
        """Return which of the given old rows remain."""
        return np.asarray(self.new[index] >= 0)
