"""Hints about how many rows of a group have each class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._bounds import Bound
from tacit.hints._classes import ClassCodes, plain
from tacit.hints._data import name_from_data, name_to_data
from tacit.hints._program import Counts, LabelProgram
from tacit.hints._rows import RowMap, Rows, check_range, frozen
from tacit.hints.base import Hint

__all__ = ["AtLeast", "Count", "Share"]

IntArray = npt.NDArray[np.intp]


class Groups:
    """Groups of rows, from a list of row arrays or an id per row (-1: none)."""

    def __init__(self, groups: Any, who: str) -> None:
        self.n: int | None = None
        self.numbers: IntArray
        if _is_id_per_row(groups):
            self.lists, self.n = _by_id(np.asarray(groups), who), len(groups)
        else:
            read = [Rows.read(g, f"{who}: group {i}") for i, g in enumerate(groups)]
            self.lists = [r.index for r in read]
            self.n = next((r.n for r in read if r.n is not None), None)
        for i, rows in enumerate(self.lists):
            if len(rows) == 0 and self.n is None:
                raise ValueError(f"{who}: group {i} is empty; leave it out or give its rows.")
            if len(np.unique(rows)) < len(rows):
                raise ValueError(f"{who}: group {i} lists a row twice.")
        self.numbers = np.arange(len(self.lists))

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def members(self) -> IntArray:
        """All rows, group after group."""
        return np.concatenate([np.empty(0, np.intp), *self.lists])

    @property
    def sizes(self) -> IntArray:
        """Rows per group."""
        return np.array([len(g) for g in self.lists], np.intp)

    def counts(self, n: int, lower: Any, upper: Any, who: str) -> Counts:
        """Groups with bounds as a part of a program."""
        if self.n is not None and self.n != n:
            raise ValueError(
                f"{who}: there is a group id for {self.n} rows but there are {n} rows."
            )
        check_range(self.members, n, who)
        indptr = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        members = np.concatenate([np.empty(0, np.intp), *(np.sort(g) for g in self.lists)])
        size = self.sizes[:, None]
        return Counts(
            indptr,
            members,
            np.maximum(np.ceil(lower - 1e-9), 0).astype(np.int64),
            np.clip(np.floor(upper + 1e-9), -1, size).astype(np.int64),
        )

    def restrict(self, row_map: RowMap) -> tuple[list[IntArray], IntArray, IntArray, IntArray]:
        """Renumbered groups, which they were, how many rows each lost and kept; empty ones go."""
        kept = [g[row_map.keep(g)] for g in self.lists]
        which = np.array([i for i, g in enumerate(kept) if len(g)], np.intp)
        remain = np.array([len(kept[i]) for i in which], np.intp)
        lost = self.sizes[which] - remain
        return [row_map.new[kept[i]] for i in which], which, lost, remain


def _is_id_per_row(groups: Any) -> bool:
    if isinstance(groups, np.ndarray) or hasattr(groups, "to_numpy"):
        array = np.asarray(groups)
        return array.ndim == 1 and array.dtype != object
    return len(groups) > 0 and all(isinstance(g, int | np.integer) for g in groups)


def _by_id(ids: Any, who: str) -> list[IntArray]:
    if not np.issubdtype(ids.dtype, np.integer):
        raise TypeError(f"{who}: group ids must be integers, -1 for none, got {ids.dtype}.")
    if ids.size and ids.min() < -1:
        raise ValueError(f"{who}: group id {ids.min()}; ids are 0, 1, ... and -1 for none.")
    order = np.argsort(ids, kind="stable")
    edges = np.searchsorted(ids[order], np.arange(int(ids.max(initial=-1)) + 2))
    return [order[a:b] for a, b in zip(edges[:-1], edges[1:], strict=True)]


class Count(Hint):
    r"""Class counts: :math:`lower_{gc} \le |\{i \in g : y_i = c\}| \le upper_{gc}`.

    Parameters
    ----------
    groups : list of row arrays, or array of int of shape (N,)
        Groups (they may overlap), or the group id of every row, -1 for none.
    lower, upper : None, number, array of shape (C,) or (G, C), or dict by class
        Bounds, inclusive. A dict gives one number per class or one per group.
    """

    kind = "count"
    keys = ("groups", "lower", "upper")

    def __init__(self, groups: Any, lower: Any = None, upper: Any = None) -> None:
        self._set(groups, lower, upper, "Count")

    def _set(self, groups: Any, lower: Any, upper: Any, who: str) -> None:
        self._groups = Groups(groups, who)
        self._lower = Bound(lower, len(self._groups), -np.inf, f"{who}: lower")
        self._upper = Bound(upper, len(self._groups), np.inf, f"{who}: upper")

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        lower, upper = self._lower.resolve(classes), self._upper.resolve(classes)
        crossed = np.argwhere(lower > upper)
        if len(crossed):
            g, c = crossed[0]
            raise ValueError(
                f"{type(self).__name__}: group {self._groups.numbers[g]} has lower "
                f"{lower[g, c]:g} above upper {upper[g, c]:g} for class {classes[c]!r}."
            )
        counts = self._groups.counts(n, lower, upper, type(self).__name__)
        return LabelProgram(n, len(classes), counts=counts)

    def rows(self) -> IntArray:  # noqa: D102
        return np.unique(self._groups.members)

    def names(self) -> list[Any]:  # noqa: D102
        return self._lower.names + self._upper.names

    def width(self) -> int | None:  # noqa: D102
        return self._lower.width or self._upper.width

    def length(self) -> int | None:  # noqa: D102
        return self._groups.n

    def restrict(self, rows: Any, n: int | None = None) -> Count:
        """Return bounds that still hold: k rows left out may all have been of the class, or none."""
        groups, which, lost, remain = self._groups.restrict(self._row_map(rows, n))
        lower = self._lower.changed(which, lambda v: np.maximum(v - lost[:, None], 0))
        upper = self._upper.changed(which, lambda v: np.minimum(v, remain[:, None]))
        piece = Count(groups, lower, upper)
        piece._groups.numbers = self._groups.numbers[which]
        return piece

    def split(self) -> Iterator[Hint]:  # noqa: D102
        for g, rows in enumerate(self._groups.lists):
            for side, bound in (("lower", self._lower), ("upper", self._upper)):
                for key, value in bound.entries(g):
                    number = int(self._groups.numbers[g])
                    yield CountPiece(rows, number, side, key, value, self.width())

    def describe(self) -> str:  # noqa: D102
        return f"counts in {len(self._groups)} groups"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "groups": [g.tolist() for g in self._groups.lists],
            "lower": self._lower.to_data(),
            "upper": self._upper.to_data(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Count:  # noqa: D102
        return cls(
            data["groups"], Bound.from_data(data.get("lower")), Bound.from_data(data.get("upper"))
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._groups)} groups)"


class CountPiece(Count):
    """One bound of one group on one class: the smallest statement about counts."""

    def __init__(
        self,
        rows: IntArray,
        number: int,
        side: str,
        key: tuple[str, Any],
        value: float,
        width: int | None,
    ) -> None:
        kind, which = key
        self.side, self.value, self.number, self.key = side, value, number, key
        if kind == "name":
            spec: Any = {which: value}
        elif width is None:
            spec = value  # one number for every class
        else:
            missing = -np.inf if side == "lower" else np.inf
            spec = np.where(np.arange(width) == which, value, missing)[None]
        super().__init__([rows], **{side: spec})
        self._groups.numbers = np.array([number])

    def describe(self) -> str:
        what = "at least" if self.side == "lower" else "at most"
        kind, which = self.key
        if kind == "column" and self.width() is None:
            cls = "every class"
        else:
            cls = f"class {which!r}" if kind == "name" else f"class number {which}"
        return f"group {self.number} has {what} {self.value:g} of {cls}"


class AtLeast(Count):
    """At least n rows of each bag have class `cls`.

    Parameters
    ----------
    bags : list of row arrays, or array of int of shape (N,)
        Bags, or the bag id of every row, -1 for none.
    cls : hashable
        The class.
    n : int, default=1
        How many rows of the bag have it, at least.
    """

    kind = "at_least"
    keys = ("bags", "cls", "n")

    def __init__(self, bags: Any, cls: Any, n: Any = 1) -> None:
        self._cls, self._n = plain(cls), n
        self._set(bags, {self._cls: n}, None, "AtLeast")

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        bags = [g.tolist() for g in self._groups.lists]
        n = np.asarray(self._n).tolist()
        return {"bags": bags, "cls": name_to_data(self._cls), "n": n}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AtLeast:  # noqa: D102
        return cls(data["bags"], name_from_data(data["cls"]), data.get("n", 1))


class Share(Hint):
    r"""Class shares: the fraction of each class among all rows, or the given ones, is bounded.

    Parameters
    ----------
    lower, upper : None, number, array of shape (C,), or dict by class
        Fractions between 0 and 1.
    rows : array of int or bool, optional
        The rows that the shares are of; all by default.
    """

    kind = "share"
    keys = ("lower", "upper", "rows")

    def __init__(self, lower: Any = None, upper: Any = None, rows: Any = None) -> None:
        self._rows = None if rows is None else Rows.read(rows, "Share")
        if self._rows is not None and len(self._rows) == 0:
            raise ValueError("Share: rows is empty; a share of no rows says nothing.")
        self._lower = Bound(lower, 1, -np.inf, "Share: lower")
        self._upper = Bound(upper, 1, np.inf, "Share: upper")
        for bound in (self._lower, self._upper):
            for _, value in bound.entries(0):
                if not 0.0 <= value <= 1.0:
                    raise ValueError(f"{bound.who} is {value:g}; shares are fractions, 0 to 1.")

    def _count(self, n: int) -> Count:
        rows = np.arange(n) if self._rows is None else self._rows.fit(n, "Share")
        only = np.zeros(1, np.intp)
        return Count(
            [rows],
            self._lower.changed(only, lambda v: np.ceil(v * len(rows) - 1e-9)),
            self._upper.changed(only, lambda v: np.floor(v * len(rows) + 1e-9)),
        )

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        lower, upper = self._lower.resolve(classes)[0], self._upper.resolve(classes)[0]
        crossed = np.flatnonzero(lower > upper)
        if len(crossed):
            c = crossed[0]
            raise ValueError(
                f"Share: lower {lower[c]:g} is above upper {upper[c]:g} for class {classes[c]!r}."
            )
        return self._count(n).compile(n, classes)

    def rows(self) -> IntArray:  # noqa: D102
        return np.empty(0, np.intp) if self._rows is None else self._rows.index

    def names(self) -> list[Any]:  # noqa: D102
        return self._lower.names + self._upper.names

    def width(self) -> int | None:  # noqa: D102
        return self._lower.width or self._upper.width

    def length(self) -> int | None:  # noqa: D102
        return None if self._rows is None else self._rows.n

    def restrict(self, rows: Any, n: int | None = None) -> Hint:  # noqa: D102
        row_map = self._row_map(rows, n)
        if self._rows is None and row_map.n is None:
            raise ValueError(
                "Share speaks of all rows, so restrict must know how many there are: "
                "restrict(rows, n=...), or give the rows as a boolean mask."
            )
        total = row_map.n if row_map.n is not None else int(self.rows().max()) + 1
        return self._count(total).restrict(rows, n)

    def split(self) -> Iterator[Hint]:  # noqa: D102
        rows = None if self._rows is None else self._rows.index
        for side, bound in (("lower", self._lower), ("upper", self._upper)):
            for key, value in bound.entries(0):
                yield SharePiece(rows, side, key, value, self.width())

    def describe(self) -> str:  # noqa: D102
        return "shares of the classes"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        rows = None if self._rows is None else self._rows.index.tolist()
        return {"lower": self._lower.to_data(), "upper": self._upper.to_data(), "rows": rows}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Share:  # noqa: D102
        return cls(
            Bound.from_data(data.get("lower")), Bound.from_data(data.get("upper")), data.get("rows")
        )

    def __repr__(self) -> str:
        return "Share(all rows)" if self._rows is None else f"Share({len(self._rows)} rows)"


class SharePiece(Share):
    """One bound on one class's share."""

    def __init__(
        self, rows: Any, side: str, key: tuple[str, Any], value: float, width: int | None
    ) -> None:
        kind, which = key
        self.side, self.value, self.key = side, value, key
        if kind == "name":
            spec: Any = {which: value}
        elif width is None:
            spec = value
        else:
            missing = -np.inf if side == "lower" else np.inf
            spec = np.where(np.arange(width) == which, value, missing)[None]
        super().__init__(rows=rows, **{side: spec})

    def describe(self) -> str:
        what = "at least" if self.side == "lower" else "at most"
        kind, which = self.key
        whole = "all rows" if self._rows is None else f"{len(self._rows)} rows"
        if kind == "column" and self.width() is None:
            cls = "every class"
        else:
            cls = f"class {which!r}" if kind == "name" else f"class number {which}"
        return f"{what} {self.value:.4g} of {whole} have {cls}"
