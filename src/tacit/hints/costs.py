"""Soft knowledge about single rows: costs and votes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._classes import (
    ClassCodes,
    as_names,
    check_name,
    is_missing,
    nth_class,
    plain,
)
from tacit.hints._data import (
    as_numbers,
    name_from_data,
    name_to_data,
    names_from_data,
    names_to_data,
    numbers_to_data,
)
from tacit.hints._program import LabelProgram
from tacit.hints._rows import frozen
from tacit.hints.base import Hint

__all__ = ["Cost", "Votes"]


class Cost(Hint):
    """Soft cost of every label of every row; +inf forbids.

    Parameters
    ----------
    U : array of shape (N, C)
        Costs in units of one row's loss, columns in class order.
    """

    kind = "cost"
    keys = ("costs",)

    def __init__(self, U: Any) -> None:
        table = as_numbers(U, "Cost: costs")
        if table.ndim != 2:
            raise ValueError(f"Cost: expected an array (rows, classes), got shape {table.shape}.")
        bad = np.isnan(table) | (table == -np.inf)
        if bad.any():
            i, j = np.argwhere(bad)[0]
            raise ValueError(f"Cost: entry ({i}, {j}) is {table[i, j]}; use numbers or +inf.")
        self._table = frozen(table)

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        if self._table.shape != (n, len(classes)):
            raise ValueError(
                f"Cost: the array has shape {self._table.shape} but there are {n} rows and "
                f"{len(classes)} classes."
            )
        allowed = np.isfinite(self._table)
        unary = np.where(allowed, self._table, 0.0)
        return LabelProgram(
            n,
            len(classes),
            allowed=None if allowed.all() else allowed,
            unary=unary if unary.any() else None,
        )

    def rows(self) -> npt.NDArray[np.intp]:  # noqa: D102
        return np.arange(len(self._table))

    def width(self) -> int | None:  # noqa: D102
        return int(self._table.shape[1])

    def length(self) -> int | None:  # noqa: D102
        return len(self._table)

    def restrict(self, rows: Any, n: int | None = None) -> Cost:  # noqa: D102
        return Cost(self._table[self._row_map(rows, n).kept])

    def about(self, rows: npt.NDArray[np.intp]) -> Cost:  # noqa: D102
        table = np.zeros_like(self._table)
        table[rows] = self._table[rows]
        return Cost(table)

    def split(self) -> Iterator[Hint]:  # noqa: D102
        for i, j in np.argwhere(np.isinf(self._table)):
            yield _Forbidden(self._table.shape, int(i), int(j))

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"Cost gives the labels of {len(self._table)} rows"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"costs": numbers_to_data(self._table)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Cost:  # noqa: D102
        return cls(data["costs"])


class _Forbidden(Cost):
    """One infinite entry of a cost table."""

    def __init__(self, shape: tuple[int, int], row: int, column: int) -> None:
        self._shape, self._row, self._column = shape, row, column

    @property
    def _table(self) -> npt.NDArray[np.float64]:  # type: ignore[override]
        # Made when asked for: there may be many.
        table = np.zeros(self._shape)
        table[self._row, self._column] = np.inf
        return table

    def rows(self) -> npt.NDArray[np.intp]:
        return np.array([self._row])

    def width(self) -> int | None:
        return self._shape[1]

    def length(self) -> int | None:
        return self._shape[0]

    def about_row(self, classes: ClassCodes, known: str = "") -> str:
        name = nth_class(self._column, classes)
        return f"Cost forbids {'it' if name == known else name}"

    def describe(self, classes: ClassCodes | None = None) -> str:
        return f"Cost forbids class {nth_class(self._column, classes)} for row {self._row}"


class Votes(Hint):
    r"""Votes of labelling functions: :math:`u_{ic} = \sum_f w_f [L_{if} \ne c]`.

    A class costs a row the weight of all votes against it; who abstains is not counted.

    Parameters
    ----------
    L : array of shape (N, F)
        Class that function f votes for on row i; -1, None or NaN abstains.
    weight : float or array of shape (F,), default=1.0
        Cost of going against each function, in units of one row's loss.
    abstain : hashable, default=-1
        The entry that abstains, besides None and NaN. Where -1 is a class, set another one; while
        the two clash, compiling warns and the entry abstains.
    """

    kind = "votes"
    keys = ("votes", "weight", "abstain")

    def __init__(self, L: Any, weight: Any = 1.0, abstain: Any = -1) -> None:
        self._abstain = None if is_missing(abstain) else plain(abstain)
        self._weight = frozen(as_numbers(weight, "Votes: weight"))
        votes = L if isinstance(L, np.ndarray) else _vote_table(L)
        if votes.shape == (0,):  # no rows: only the weights tell how many functions there are
            votes = votes.reshape(0, self._weight.size if self._weight.ndim else 0)
        if votes.ndim != 2:
            raise ValueError(f"Votes: expected an array (rows, functions), got {votes.shape}.")
        if np.issubdtype(votes.dtype, np.floating):
            votes = _whole_votes(votes)
        elif votes.dtype == object:
            votes = _without_missing(votes)
        self._votes = frozen(votes)
        if self._weight.shape not in {(), (votes.shape[1],)}:
            raise ValueError(
                f"Votes: weight has shape {self._weight.shape}; expected one number or one for "
                f"each of the {votes.shape[1]} functions."
            )
        if not np.all(np.isfinite(self._weight) & (self._weight >= 0)):
            raise ValueError("Votes: weights must be finite and not negative.")
        for name in self.names():
            self._check_vote(name)

    def _abstains(self) -> npt.NDArray[np.bool_]:
        kind, mark = self._votes.dtype.kind, self._abstain
        if kind == "O":
            return np.array([v is None or v == mark for v in self._votes.flat], bool).reshape(
                self._votes.shape
            )
        if kind == "U" and mark is not None:
            # numpy writes -1 among strings as text
            whole = isinstance(mark, float) and mark.is_integer()
            return np.asarray(self._votes == str(int(mark) if whole else mark))
        if kind in "iub" and isinstance(mark, int | float):
            return np.asarray(self._votes == mark)
        return np.zeros(self._votes.shape, bool)

    def _check_vote(self, name: Any) -> None:
        try:
            check_name(name)
        except ValueError as error:
            raise ValueError(f"Votes: {error} Say abstain={name!r} if it abstains.") from error

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        if len(self._votes) != n:
            raise ValueError(f"Votes: {len(self._votes)} rows of votes but there are {n} rows.")
        abstains = self._abstains()
        if self._abstain in classes.names and abstains.any():
            warnings.warn(
                f"Votes: {self._abstain!r} is a class and also the entry that abstains; it is read "
                "as abstaining. Give abstain=... to tell them apart.",
                UserWarning,
                stacklevel=2,
            )
        row, function = np.nonzero(~abstains)
        codes = classes.encode(self._votes[row, function], "Votes")
        weight = np.broadcast_to(self._weight, self._votes.shape[1:])[function]
        support = np.zeros((n, len(classes)))
        np.add.at(support, (row, codes), weight)
        return LabelProgram(n, len(classes), unary=support.sum(axis=1, keepdims=True) - support)

    def rows(self) -> npt.NDArray[np.intp]:  # noqa: D102
        return np.arange(len(self._votes))

    def names(self) -> list[Any]:  # noqa: D102
        return list(set(self._votes[~self._abstains()].tolist()))

    def length(self) -> int | None:  # noqa: D102
        return len(self._votes)

    def restrict(self, rows: Any, n: int | None = None) -> Votes:  # noqa: D102
        return Votes(self._votes[self._row_map(rows, n).kept], self._weight, self._abstain)

    def split(self) -> Iterator[Hint]:  # noqa: D102
        return iter(())  # votes are soft: no part of them can contradict anything

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"Votes of {self._votes.shape[1]} functions"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "votes": names_to_data(self._votes),
            "weight": numbers_to_data(self._weight),
            "abstain": name_to_data(self._abstain),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Votes:  # noqa: D102
        return cls(
            names_from_data(data["votes"], "votes", gaps=True),
            data.get("weight", 1.0),
            name_from_data(data.get("abstain", -1)),
        )


def _whole_votes(votes: npt.NDArray[np.floating]) -> npt.NDArray[Any]:
    """Votes that numpy or pandas turned into floats: NaN stands for None."""
    missing = np.isnan(votes)
    if not np.array_equal(votes[~missing], np.round(votes[~missing])):
        raise ValueError("Votes: entries must be class names; -1 or None abstains.")
    whole = np.where(missing, 0, votes).astype(np.int64)
    if not missing.any():
        return whole
    table = whole.astype(object)
    table[missing] = None
    return table


def _without_missing(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """None for every missing entry; beside them, whole numbers are classes: 1.0 is the class 1."""
    entries = table.ravel().tolist()
    if not any(is_missing(v) for v in entries):
        return table
    flat = np.empty(len(entries), object)
    for i, v in enumerate(entries):
        whole = isinstance(v, float) and v.is_integer()
        flat[i] = None if is_missing(v) else int(v) if whole else v
    return flat.reshape(table.shape)


def _vote_table(L: Any) -> npt.NDArray[Any]:
    if hasattr(L, "isna") and L.isna().to_numpy().any():  # pandas writes NaN or NA for None
        return np.asarray(L.to_numpy(dtype=object))
    if hasattr(L, "to_numpy"):
        return np.asarray(L.to_numpy())
    L = list(_rows_of_votes(L))
    rows = [[None if is_missing(v) else v for v in row] for row in L]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("Votes: every row needs one entry per labelling function.")
    shape = (len(rows), len(rows[0])) if rows else (0,)
    return as_names([v for row in rows for v in row], gaps=True).reshape(shape)


def _rows_of_votes(L: Any) -> Iterator[Any]:
    """Yield the rows, each of which must be a list."""
    if isinstance(L, str) or not isinstance(L, Iterable):
        raise TypeError(f"Votes: expected a list of rows, got {L!r:.60}.")
    for i, row in enumerate(L):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise TypeError(
                f"Votes: row {i} is {row!r}; expected a list with the vote of each function, "
                f"[[{row!r}], ...] for a single one."
            )
        yield row
