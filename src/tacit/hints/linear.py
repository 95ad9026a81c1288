"""General linear statements about the one-hot labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.hints._classes import ClassCodes
from tacit.hints._data import as_numbers, numbers_to_data, whole_numbers
from tacit.hints._program import LabelProgram
from tacit.hints._rows import frozen
from tacit.hints.base import Hint

__all__ = ["Linear"]


class Linear(Hint):
    r"""Linear rows: :math:`lower \le A \,\mathrm{vec}(Y) \le upper` on the one-hot labels.

    Parameters
    ----------
    A : sparse or dense array of shape (R, N * C)
        Column ``i * C + c`` belongs to "row i has class number c".
    lower, upper : None, number, or array of shape (R,)
        Bounds, inclusive; None for no bound.
    """

    kind = "linear"
    keys = ("shape", "entries", "lower", "upper")

    def __init__(self, A: Any, lower: Any = None, upper: Any = None) -> None:
        A = A if sp.issparse(A) else as_numbers(A, "Linear: A")
        self._A = sp.csr_array(A, dtype=np.float64, copy=True)
        if self._A.ndim != 2:
            raise ValueError(f"Linear: A must have shape (R, N * C), got {np.shape(A)}.")
        self._A.sum_duplicates()
        self._A.eliminate_zeros()
        if not np.isfinite(self._A.data).all():
            raise ValueError("Linear: the coefficients must be finite.")
        for part in (self._A.data, self._A.indices, self._A.indptr):
            part.flags.writeable = False
        self._lower = self._bound(lower, -np.inf, "lower")
        self._upper = self._bound(upper, np.inf, "upper")
        for side, never in ((self._lower, np.inf), (self._upper, -np.inf)):
            if (side == never).any():
                r = int(np.argmax(side == never))
                raise ValueError(f"Linear: row {r} can never be {never:g}; give a finite bound.")
        crossed = np.flatnonzero(self._lower > self._upper)
        if len(crossed):
            r = crossed[0]
            raise ValueError(
                f"Linear: row {r} has lower {self._lower[r]:g} above upper {self._upper[r]:g}."
            )
        self._numbers = frozen(np.arange(self._A.shape[0]))

    def _bound(self, value: Any, missing: float, side: str) -> npt.NDArray[np.float64]:
        array = as_numbers(missing if value is None else value, f"Linear: {side}")
        rows = self._A.shape[0]
        if array.shape not in {(), (rows,)} or np.isnan(array).any():
            raise ValueError(
                f"Linear: {side} must be None, a number, or one for each of {rows} rows."
            )
        return frozen(np.broadcast_to(array, (rows,)))

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        if self._A.shape[1] != n * len(classes):
            raise ValueError(
                f"Linear: A has {self._A.shape[1]} columns; {n} rows of {len(classes)} classes "
                f"need {n * len(classes)}."
            )
        return LabelProgram(
            n,
            len(classes),
            linear=self._A,
            linear_lower=self._lower,
            linear_upper=self._upper,
        )

    def rows(self) -> npt.NDArray[np.intp]:  # noqa: D102
        return np.empty(0, np.intp)  # which rows the columns are depends on the number of classes

    def restrict(self, rows: Any, n: int | None = None) -> Linear:
        """Loosen each bound by the least and most that the rows left out can contribute."""
        row_map = self._row_map(rows, n)
        if row_map.n is None:
            raise ValueError(
                "Linear fixes only rows x classes, so restrict must know how many rows there "
                "are: restrict(rows, n=...), or give the rows as a boolean mask."
            )
        if self._A.shape[1] % row_map.n:
            raise ValueError(f"Linear: {self._A.shape[1]} columns do not divide by n={row_map.n}.")
        width = self._A.shape[1] // row_map.n
        out = np.setdiff1d(np.arange(row_map.n), row_map.kept)
        low, high = _extremes(self._A, out, width)
        columns = (row_map.kept[:, None] * width + np.arange(width)).ravel()
        piece = Linear(self._A[:, columns], self._lower - high, self._upper - low)
        piece._numbers = self._numbers
        return piece

    def split(self) -> Iterator[Hint]:  # noqa: D102
        for r in range(self._A.shape[0]):
            for lower, upper in ((self._lower[r], np.inf), (-np.inf, self._upper[r])):
                if np.isfinite(lower) or np.isfinite(upper):
                    piece = Linear(self._A[[r]], lower, upper)
                    piece._numbers = frozen(self._numbers[[r]])
                    yield piece

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        low, high = self._lower[0], self._upper[0]
        bound = f"at least {low:g}" if np.isfinite(low) else f"at most {high:g}"
        return f"linear row {self._numbers[0]} is {bound}"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        coo = self._A.tocoo()
        return {
            "shape": list(self._A.shape),
            "entries": [
                [int(r), int(c), numbers_to_data(float(v))]
                for r, c, v in zip(coo.coords[0], coo.coords[1], coo.data, strict=True)
            ],
            "lower": numbers_to_data(self._lower),
            "upper": numbers_to_data(self._upper),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Linear:  # noqa: D102
        A = _from_entries(data["shape"], data["entries"])
        return cls(A, data.get("lower"), data.get("upper"))

    def __repr__(self) -> str:
        return f"Linear({self._A.shape[0]} rows)"


def _from_entries(shape: Any, entries: Any) -> sp.coo_array:
    """Matrix of a file: its shape, and [row, column, coefficient] of each entry."""
    size = whole_numbers(shape, "'shape'")
    if size.shape != (2,) or size.min() < 0:
        raise ValueError(f"'shape' must be [rows, N * C], got {shape!r:.60}.")
    table = as_numbers(entries, "'entries'")
    if table.size == 0:
        table = np.empty((0, 3))
    if table.ndim != 2 or table.shape[1] != 3:
        raise ValueError(
            f"'entries' must be a list of [row, column, coefficient], got shape {table.shape}."
        )
    place = whole_numbers(table[:, :2], "rows and columns of 'entries'")
    outside = np.flatnonzero(((place < 0) | (place >= size)).any(axis=1))
    if len(outside):
        row, column = place[outside[0]].tolist()
        raise ValueError(
            f"entry {outside[0]} of 'entries' is in row {row}, column {column}, outside the "
            f"shape {size.tolist()}; both count from 0."
        )
    return sp.coo_array((table[:, 2], tuple(place.T)), shape=tuple(size.tolist()))


def _extremes(
    A: sp.csr_array, out: npt.NDArray[np.intp], width: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Least and most that the rows in `out` can add to each linear row, one label each."""
    columns = (out[:, None] * width + np.arange(width)).ravel()
    low, high = np.zeros(A.shape[0]), np.zeros(A.shape[0])
    part = A[:, columns]
    for r in range(part.shape[0]):  # one dense row at a time keeps memory at N * C
        dense = part[[r]].toarray().reshape(len(out), width)
        low[r], high[r] = dense.min(axis=1).sum(), dense.max(axis=1).sum()
    return low, high
