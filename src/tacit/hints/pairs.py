"""Hints about pairs of rows: links, Potts terms, general tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._classes import ClassCodes
from tacit.hints._data import as_numbers, numbers_to_data, require_even
from tacit.hints._program import LabelProgram, Pairs
from tacit.hints._rows import check_range, frozen
from tacit.hints.base import Hint

__all__ = ["CannotLink", "MustLink", "Pairwise", "Potts", "close_chains", "linked_groups"]


def _read_pairs(pairs: Any, who: str) -> npt.NDArray[np.intp]:
    what = "edges" if who in {"Potts", "Pairwise"} else "pairs"
    try:
        array = np.asarray(pairs)
    except ValueError:
        require_even(pairs, f"{who}: {what}")
        raise
    if array.size == 0:
        array = np.empty((0, 2), np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{who}: expected pairs of rows, shape (M, 2), got {array.shape}.")
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{who}: {what} must hold row positions, got {array.dtype}.")
    if array.size and array.min() < 0:
        raise ValueError(f"{who}: row {array.min()} is negative; rows are positions from 0.")
    loops = np.flatnonzero(array[:, 0] == array[:, 1])
    if len(loops):
        raise ValueError(f"{who}: pair {loops[0]} joins row {array[loops[0], 0]} with itself.")
    return frozen(array.astype(np.intp))


class _PairHint(Hint):
    """A statement per pair of rows."""

    _pairs: npt.NDArray[np.intp]

    def rows(self) -> npt.NDArray[np.intp]:
        return np.unique(self._pairs)

    def _fit(self, n: int) -> npt.NDArray[np.intp]:
        check_range(self._pairs, n, type(self).__name__)
        return self._pairs

    def _inside(self, rows: Any, n: int | None) -> tuple[Any, Any]:
        """Pairs with both ends kept, renumbered, and which they were."""
        row_map = self._row_map(rows, n)
        keep = row_map.keep(self._pairs).all(axis=1)
        return row_map.new[self._pairs[keep]], keep

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._pairs)} pairs)"


class _Link(_PairHint):
    """Links: one shared table, hard where the cost is infinite."""

    def __init__(self, pairs: Any, cost: Any = np.inf) -> None:
        who = type(self).__name__
        self._pairs = _read_pairs(pairs, who)
        given = as_numbers(cost, f"{who}: cost")
        if given.shape not in {(), (len(self._pairs),)}:
            raise ValueError(
                f"{who}: cost has shape {given.shape}; expected one number or one for each of "
                f"the {len(self._pairs)} pairs."
            )
        if len(wrong := np.flatnonzero(~(given >= 0))):
            raise ValueError(
                f"{who}: costs must be 0 or more, got {given.ravel()[wrong[0]]:g}; inf makes a "
                "link hard."
            )
        self._cost = frozen(np.broadcast_to(given, (len(self._pairs),)))

    @abstractmethod
    def _broken(self, n_classes: int) -> npt.NDArray[np.float64]:
        """1 where a pair of labels breaks the link, (C, C)."""

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:
        broken = self._broken(len(classes))
        hard = np.isinf(self._cost)
        tables = np.stack([broken, np.where(broken > 0, np.inf, 0.0)])
        weight = np.where(hard, 1.0, self._cost)
        pairs = Pairs(self._fit(n), weight, hard.astype(np.intp), tables)
        return LabelProgram(n, len(classes), pairs=pairs)

    def split(self) -> Iterator[Hint]:
        for m in np.flatnonzero(np.isinf(self._cost)):
            yield type(self)(self._pairs[[m]])

    def to_dict(self) -> dict[str, Any]:
        return {"pairs": self._pairs.tolist(), "cost": numbers_to_data(self._cost)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> _Link:
        return cls(data["pairs"], data.get("cost", np.inf))


class MustLink(_Link):
    """The two rows of each pair have the same label.

    Parameters
    ----------
    pairs : array of shape (M, 2)
        Row positions.
    cost : float or array of shape (M,), default=inf
        Penalty for breaking a link, in units of one row's loss; infinite links are hard.
    """

    kind = "must_link"
    keys = ("pairs", "cost")

    def _broken(self, n_classes: int) -> npt.NDArray[np.float64]:
        return 1.0 - np.eye(n_classes)

    def restrict(self, rows: Any, n: int | None = None) -> MustLink:
        """Return the links that remain; hard chains through rows left out are closed up."""
        pairs, keep = self._inside(rows, n)
        row_map = self._row_map(rows, n)
        closed = close_chains(self.hard, row_map.new)
        cost = np.concatenate([self._cost[keep], np.full(len(closed), np.inf)])
        return MustLink(np.concatenate([pairs, closed]), cost)

    @property
    def hard(self) -> npt.NDArray[np.intp]:
        """Pairs that must have the same label at any cost, (M, 2)."""
        return self._pairs[np.isinf(self._cost)]

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        a, b = self._pairs[0]
        return f"rows {a} and {b} must have the same label"


class CannotLink(_Link):
    """The two rows of each pair have different labels.

    Parameters
    ----------
    pairs : array of shape (M, 2)
        Row positions.
    cost : float or array of shape (M,), default=inf
        Penalty for breaking a link, in units of one row's loss; infinite links are hard.
    """

    kind = "cannot_link"
    keys = ("pairs", "cost")

    def _broken(self, n_classes: int) -> npt.NDArray[np.float64]:
        return np.eye(n_classes)

    def restrict(self, rows: Any, n: int | None = None) -> CannotLink:  # noqa: D102
        pairs, keep = self._inside(rows, n)
        return CannotLink(pairs, self._cost[keep])

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        a, b = self._pairs[0]
        return f"rows {a} and {b} must have different labels"


class Potts(_PairHint):
    r"""Smoothness: each edge costs :math:`w_m [y_a \ne y_b]`.

    Parameters
    ----------
    edges : array of shape (M, 2)
        Row positions.
    weight : float or array of shape (M,), default=1.0
        Finite cost of different labels, in units of one row's loss.
    """

    kind = "potts"
    keys = ("edges", "weight")

    def __init__(self, edges: Any, weight: Any = 1.0) -> None:
        self._pairs = _read_pairs(edges, "Potts")
        given = as_numbers(weight, "Potts: weight")
        whole = given.shape in {(), (len(self._pairs),)}
        wrong = np.flatnonzero(~np.isfinite(given))
        if not whole or len(wrong):
            found = f"{given.ravel()[wrong[0]]:g}" if whole else f"shape {given.shape}"
            raise ValueError(
                "Potts: weight must be a finite number, or one for each of the "
                f"{len(self._pairs)} edges, got {found}; MustLink holds hard links."
            )
        self._weight = frozen(np.broadcast_to(given, (len(self._pairs),)))

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        table = (1.0 - np.eye(len(classes)))[None]
        pairs = Pairs(self._fit(n), self._weight, np.zeros(len(self._pairs), np.intp), table)
        return LabelProgram(n, len(classes), pairs=pairs)

    def restrict(self, rows: Any, n: int | None = None) -> Potts:  # noqa: D102
        pairs, keep = self._inside(rows, n)
        return Potts(pairs, self._weight[keep])

    def split(self) -> Iterator[Hint]:  # noqa: D102
        return iter(())  # soft: contradicts nothing

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"Potts terms on {len(self._pairs)} edges"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"edges": self._pairs.tolist(), "weight": numbers_to_data(self._weight)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Potts:  # noqa: D102
        return cls(data["edges"], data.get("weight", 1.0))


class Pairwise(_PairHint):
    r"""General pair costs :math:`T_m[y_a, y_b]`.

    Parameters
    ----------
    edges : array of shape (M, 2)
        Row positions (a, b).
    tables : array of shape (C, C) or (M, C, C)
        Cost of each pair of labels, classes in order; +inf forbids.
    """

    kind = "pairwise"
    keys = ("edges", "tables")

    def __init__(self, edges: Any, tables: Any) -> None:
        self._pairs = _read_pairs(edges, "Pairwise")
        table = as_numbers(tables, "Pairwise: tables")
        square = table.ndim in {2, 3} and table.shape[-1] == table.shape[-2]
        if not square or (table.ndim == 3 and len(table) != len(self._pairs)):
            raise ValueError(
                f"Pairwise: tables must have shape (C, C) or ({len(self._pairs)}, C, C), "
                f"got {table.shape}."
            )
        if (wrong := np.isnan(table) | (table == -np.inf)).any():
            place = tuple(np.argwhere(wrong)[0].tolist())
            raise ValueError(
                f"Pairwise: table entries must be numbers or +inf, got {table[place]} at {place}."
            )
        if len(self._pairs) == 0 and table.ndim == 3:
            table = np.zeros(table.shape[1:])  # nothing but the number of classes
        self._tables = frozen(table)

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        if self._tables.shape[-1] != len(classes):
            raise ValueError(
                f"Pairwise: tables are for {self._tables.shape[-1]} classes but there are "
                f"{len(classes)}."
            )
        m = len(self._pairs)
        shared = self._tables.ndim == 2
        index = np.zeros(m, np.intp) if shared else np.arange(m)
        tables = self._tables[None] if shared else self._tables
        return LabelProgram(n, len(classes), pairs=Pairs(self._fit(n), np.ones(m), index, tables))

    def width(self) -> int | None:  # noqa: D102
        return int(self._tables.shape[-1])

    def restrict(self, rows: Any, n: int | None = None) -> Pairwise:  # noqa: D102
        pairs, keep = self._inside(rows, n)
        return Pairwise(pairs, self._tables if self._tables.ndim == 2 else self._tables[keep])

    def split(self) -> Iterator[Hint]:  # noqa: D102
        for m in range(len(self._pairs)):
            table = self._tables if self._tables.ndim == 2 else self._tables[m]
            if np.isinf(table).any():
                yield Pairwise(self._pairs[[m]], table)

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        a, b = self._pairs[0]
        return f"Pairwise forbids some pairs of labels of rows {a} and {b}"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"edges": self._pairs.tolist(), "tables": numbers_to_data(self._tables)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Pairwise:  # noqa: D102
        return cls(data["edges"], data["tables"])


def close_chains(hard: npt.NDArray[np.intp], new: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Pairs of kept rows that hard links join only through rows left out, renumbered."""
    if len(hard) == 0 or (new[hard] >= 0).all():
        return np.empty((0, 2), np.intp)
    component = linked_groups(hard, len(new))
    kept = np.flatnonzero(new >= 0)
    kept = kept[np.argsort(component[kept], kind="stable")]
    same = component[kept[:-1]] == component[kept[1:]]
    return np.column_stack([new[kept[:-1][same]], new[kept[1:][same]]])


def linked_groups(links: npt.NDArray[np.intp], n: int) -> npt.NDArray[np.int32]:
    """Return the number of the group that links put each of `n` rows in, (n,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n, n))
    groups: npt.NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return groups
