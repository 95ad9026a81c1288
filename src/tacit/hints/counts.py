"""Hints about how many rows of a group have each class."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._bounds import Bound, OneBound
from tacit.hints._classes import ClassCodes, check_name, is_name, plain
from tacit.hints._data import name_from_data, name_to_data, whole_numbers
from tacit.hints._program import Counts, LabelProgram
from tacit.hints._rows import RowMap, Rows, check_range, frozen
from tacit.hints._shares import estimate_shares
from tacit.hints.base import Hint

__all__ = ["AtLeast", "Count", "CountPiece", "Share", "SharePiece"]

IntArray = npt.NDArray[np.intp]


class Groups:
    """Groups of rows, from a list of row arrays or an id per row (-1: none)."""

    def __init__(
        self, lists: list[IntArray], numbers: IntArray | None = None, n: int | None = None
    ) -> None:
        self.lists, self.n = lists, n
        self.numbers = frozen(np.arange(len(lists)) if numbers is None else numbers)

    @classmethod
    def read(cls, groups: Any, who: str) -> Groups:
        """Read what a user gives; only ids can skip a group, which then has no rows."""
        if isinstance(groups, Groups):
            return groups
        if isinstance(groups, str) or not hasattr(groups, "__iter__"):
            raise TypeError(
                f"{who}: groups must be a list of row arrays or a group id per row, got {groups!r}."
            )
        groups = groups if isinstance(groups, np.ndarray) else list(groups)
        if _is_id_per_row(groups):
            ids = np.asarray(groups.tolist() if isinstance(groups, np.ndarray) else groups)
            return cls([frozen(g) for g in _by_id(ids, who)], n=len(groups))
        parts = [Rows.read(g, f"{who}: group {i}") for i, g in enumerate(groups)]
        for i, part in enumerate(parts):
            if len(part) == 0:
                raise ValueError(f"{who}: group {i} is empty; leave it out or give its rows.")
            if len(np.unique(part.index)) < len(part):
                raise ValueError(f"{who}: group {i} lists a row twice.")
        lengths = {part.n for part in parts if part.n is not None}
        if len(lengths) > 1:
            raise ValueError(f"{who}: the masks have {min(lengths)} to {max(lengths)} entries.")
        return cls([part.index for part in parts], n=min(lengths, default=None))

    def to_data(self) -> list[Any]:
        """Return lists of rows, or the id of every row where an id has none."""
        if all(len(g) for g in self.lists) or self.n is None:
            return [g.tolist() for g in self.lists]
        ids = np.full(self.n, -1)
        for i, rows in enumerate(self.lists):
            ids[rows] = i
        return ids.tolist()

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
        """Return groups with bounds as a part of a program."""
        if self.n is not None and self.n != n:
            raise ValueError(
                f"{who}: the group ids or masks are for {self.n} rows but there are {n} rows."
            )
        check_range(self.members, n, who)
        indptr = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        members = np.concatenate([np.empty(0, np.intp), *(np.sort(g) for g in self.lists)])
        size = self.sizes[:, None]
        low = np.clip(np.ceil(lower - 1e-9), 0, size + 1).astype(np.int64)
        high = np.clip(np.floor(upper + 1e-9), -1, size).astype(np.int64)
        # No whole number between 2.5 and 2.7: as impossible as an upper bound below zero.
        return Counts(indptr, members, low, np.where(low > high, -1, high))

    def restrict(self, row_map: RowMap) -> tuple[Groups, IntArray, IntArray]:
        """Renumbered groups, which they were, how many rows each lost; those that lost all go."""
        kept = [g[row_map.keep(g)] for g in self.lists]
        stay = [i for i, g in enumerate(kept) if len(g) or not len(self.lists[i])]
        which = np.array(stay, np.intp)
        lost = self.sizes[which] - np.array([len(kept[i]) for i in stay], np.intp)
        lists = [frozen(row_map.new[kept[i]]) for i in stay]
        n = None if self.n is None else len(row_map.kept)
        return Groups(lists, self.numbers[which], n), which, lost


def _is_id_per_row(groups: Any) -> bool:
    if isinstance(groups, np.ndarray) and groups.dtype != object:
        return groups.ndim == 1
    return len(groups) > 0 and all(isinstance(g, int | float | np.number) for g in groups)


def _by_id(ids: Any, who: str) -> list[IntArray]:
    if not np.issubdtype(ids.dtype, np.integer):
        raise TypeError(f"{who}: group ids must be integers, -1 for none, got {ids.dtype}.")
    if ids.size and ids.min() < -1:
        raise ValueError(f"{who}: group id {ids.min()}; ids are 0, 1, ... and -1 for none.")
    top = int(ids.max(initial=-1))
    if top > 1000 + 100 * len(ids):  # each id up to the largest is a group
        raise ValueError(
            f"{who}: group id {top} for {len(ids)} rows; number the groups 0, 1, ... "
            "(numpy.unique(ids, return_inverse=True) does)."
        )
    order = np.argsort(ids, kind="stable")
    edges = np.searchsorted(ids[order], np.arange(top + 2))
    return [order[a:b] for a, b in itertools.pairwise(edges)]


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
        self._groups = Groups.read(groups, who)
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
        """Return bounds that still hold: the rows left out may all be of the class, or none."""
        groups, which, lost = self._groups.restrict(self._row_map(rows, n))
        lower = self._lower.changed(which, lambda v: v - lost[:, None])
        return Count(groups, lower, self._upper.changed(which, lambda v: v))

    def split(self) -> Iterator[Hint]:  # noqa: D102
        for g, rows in enumerate(self._groups.lists):
            for one in self._lower.entries(g) + self._upper.entries(g):
                if one.value > 0 if one.side == "lower" else one.value < len(rows):
                    yield CountPiece(Groups([rows], self._groups.numbers[[g]], self._groups.n), one)

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"counts in {len(self._groups)} groups"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "groups": self._groups.to_data(),
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

    def __init__(self, group: Groups, one: OneBound) -> None:
        super().__init__(group, **{one.side: one.spec})
        self.one, self.who = one, f"group {group.numbers[0]}"

    def members(self, n: int) -> IntArray:
        """Rows that the bound is about."""
        return self._groups.lists[0]

    @property
    def amount(self) -> str:
        """Return the bound in words."""
        return f"{self.one.value:g}"

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        what = "at least" if self.one.side == "lower" else "at most"
        return f"{self.who} has {what} {self.one.value:g} of {self.one.subject(classes)}"


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
        if not is_name(cls):
            raise TypeError(
                f"AtLeast: cls must be one class, got {cls!r:.60}; join one AtLeast for each."
            )
        check_name(cls)
        if (whole_numbers(n, "AtLeast: n") < 0).any():
            raise ValueError(f"AtLeast: n={n!r}; expected whole numbers, 0 or more.")
        self._cls, self._n = plain(cls), n
        self._set(bags, {self._cls: n}, None, "AtLeast")

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        n = np.asarray(self._n).tolist()
        return {"bags": self._groups.to_data(), "cls": name_to_data(self._cls), "n": n}

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
            for one in bound.entries(0):
                if not 0.0 <= one.value <= 1.0:
                    raise ValueError(f"{bound.who} is {one.value:g}; shares are fractions, 0 to 1.")

    @classmethod
    def from_labels(
        cls, y: Any, level: float = 0.8, *, classes: Any = None, unlabeled: Any = "auto"
    ) -> Share:
        r"""Bounds estimated from the rows whose label is known.

        .. math:: lower_c, upper_c = \text{quantiles } \tfrac{1 \mp level}{2} \text{ of }
            \mathrm{Beta}(n_c + 2, \; l - n_c + 2 (C - 1))

        for :math:`n_c` of the :math:`l` labels: what is believed of the share of class c after
        seeing them, if every class had two labels beforehand. It supposes that the labelled rows
        were drawn at random. Intervals hold their mean at least; and where so few rows are open
        that whole rows could not be within all bounds, labelled rows count as they are and the
        bounds are those of the others: neither each other nor y do they contradict.

        Parameters
        ----------
        y : array of shape (N,)
            Labels where they are known; None, NaN and "" are unknown.
        level : float, default=0.8
            Probability that the share of a class lies within its bounds.
        classes : sequence, optional
            Class names; those in y by default. Needed where a class has no label yet.
        unlabeled : "auto", None or a label
            What else stands for "unknown" in y, as in `HintClassifier`: -1 by default, unless it
            is a class.

        Examples
        --------
        >>> from tacit import hints
        >>> share = hints.Share.from_labels(["cat", "dog", "", "dog", "", ""])
        >>> {name: round(low[0], 3) for name, low in share.to_dict()["lower"]["by_class"]}
        {'cat': 0.201, 'dog': 0.333}
        """
        return cls(*estimate_shares(y, level, classes, unlabeled))

    def _count(self, n: int) -> Count:
        rows = np.arange(n) if self._rows is None else self._rows.fit(n, "Share")
        only = np.zeros(1, np.intp)
        return Count(
            Groups([rows]),
            self._lower.changed(only, lambda v: v * len(rows)),
            self._upper.changed(only, lambda v: v * len(rows)),
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
        for one in self._lower.entries(0) + self._upper.entries(0):
            yield SharePiece(rows, one)

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
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

    def __init__(self, rows: Any, one: OneBound) -> None:
        super().__init__(rows=rows, **{one.side: one.spec})
        self.one = one

        self.who = "the set of " + ("all" if self._rows is None else f"{len(self._rows)}") + " rows"

    def members(self, n: int) -> IntArray:
        """Rows that the bound is about."""
        return np.arange(n) if self._rows is None else self._rows.index

    @property
    def amount(self) -> str:
        """Return the bound in words."""
        return f"a share of {self.one.value:.4g}"

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        what = "at least" if self.one.side == "lower" else "at most"
        whole = "all rows" if self._rows is None else f"{len(self._rows)} rows"
        return f"{what} {self.one.value:.4g} of {whole} have {self.one.subject(classes)}"
