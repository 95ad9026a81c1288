"""Cliques of rows that tend to have one label: P^n Potts terms and their robust form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._classes import ClassCodes
from tacit.hints._data import as_numbers, numbers_to_data
from tacit.hints._program import LabelProgram, Pairs
from tacit.hints._rows import frozen
from tacit.hints._structures import Cliques
from tacit.hints.base import Hint
from tacit.hints.counts import Groups
from tacit.hints.pairs import MustLink, close_chains

__all__ = ["Same"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


class Same(Hint):
    r"""The rows of each clique have one label, at a cost if some have another.

    .. math:: cost_k \cdot \min(m_k / truncate_k, \; 1), \qquad
        m_k = \min_l |\{i \in k : y_i \ne l\}|

    Parameters
    ----------
    cliques : list of row arrays, or array of int of shape (N,)
        Cliques (they may overlap, and the same one twice counts twice), or the clique of every
        row, -1 for none. A clique of one row says nothing.
    cost : float or array of shape (K,), default=inf
        What a clique costs at most, in units of one row's loss; inf: its rows must agree.
    truncate : float or array of shape (K,), optional
        How many rows without the clique's most frequent label cost all of it (robust P^n Potts);
        1 or more. One by default: any disagreement does (P^n Potts).

    References
    ----------
    P. Kohli, L. Ladicky, P. H. S. Torr, Robust higher order potentials for enforcing label
    consistency, IJCV 2009.
    """

    kind = "same"
    keys = ("cliques", "cost", "truncate")

    def __init__(self, cliques: Any, cost: Any = np.inf, truncate: Any = None) -> None:
        self._groups = Groups.read(cliques, "Same")
        self._cost = self._numbers(cost, "cost")
        self._truncate = self._numbers(1.0 if truncate is None else truncate, "truncate")
        if len(wrong := np.flatnonzero(~(self._cost >= 0))):
            raise ValueError(
                f"Same: costs must be 0 or more, got {self._cost[wrong[0]]:g}; inf makes a clique "
                "hard."
            )
        short = ~np.isfinite(self._truncate) | (self._truncate < 1)
        if len(wrong := np.flatnonzero(short)):
            raise ValueError(
                "Same: truncate must be a number of rows, 1 or more, got "
                f"{self._truncate[wrong[0]]:g}; leave it out where any disagreement costs all."
            )
        both = np.flatnonzero(np.isinf(self._cost) & (self._truncate > 1))
        if len(both):
            raise ValueError(
                f"Same: clique {self._groups.numbers[both[0]]} has an infinite cost and truncate "
                f"{self._truncate[both[0]]:g}; give a finite cost, or truncate 1."
            )

    def _numbers(self, given: Any, what: str) -> FloatArray:
        array = as_numbers(given, f"Same: {what}")
        if array.shape not in {(), (len(self._groups),)}:
            raise ValueError(
                f"Same: {what} has shape {array.shape}; expected one number or one for each of "
                f"the {len(self._groups)} cliques."
            )
        return frozen(np.broadcast_to(array, (len(self._groups),)))

    @property
    def hard(self) -> IntArray:
        """Pairs of rows that must agree at any cost: the first of a clique with each other one."""
        lists = [g for g, w in zip(self._groups.lists, self._cost, strict=True) if np.isinf(w)]
        stars = [np.column_stack([np.full(len(g) - 1, g[0]), g[1:]]) for g in lists if len(g) > 1]
        return np.concatenate([np.empty((0, 2), np.intp), *stars])

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:
        """Hard cliques are hard must-links, those that cost something are cliques."""
        checked = self._groups.counts(n, 0.0, np.inf, "Same")  # row numbers, sorted
        soft = np.isfinite(self._cost) & (self._cost > 0) & (checked.sizes > 1)
        kept = np.repeat(soft, checked.sizes)
        indptr = np.concatenate([[0], np.cumsum(checked.sizes[soft])]).astype(np.intp)
        members, times = checked.members[kept], np.ones(int(kept.sum()), np.int64)
        cliques = Cliques(indptr, members, times, self._cost[soft], self._truncate[soft])
        links, C = self.hard, len(classes)
        table = np.where(np.eye(C, dtype=bool), 0.0, np.inf)[None]
        pairs = Pairs(links, np.ones(len(links)), np.zeros(len(links), np.intp), table)
        return LabelProgram(n, C, pairs=pairs, cliques=cliques)

    def rows(self) -> IntArray:  # noqa: D102
        return np.unique(self._groups.members)

    def length(self) -> int | None:  # noqa: D102
        return self._groups.n

    def restrict(self, rows: Any, n: int | None = None) -> Same:
        """Return the cliques of the rows that remain: they cost as much or less than before.

        The rows left out may have had the label of most. Hard cliques that met in rows left out
        are closed up.
        """
        row_map = self._row_map(rows, n)
        groups, which, _ = self._groups.restrict(row_map)
        closed = close_chains(self.hard, row_map.new)
        if not len(closed):
            return Same(groups, self._cost[which], self._truncate[which])
        lists = [*groups.lists, *(frozen(pair) for pair in closed)]
        more = np.full(len(closed), np.inf)
        cost = np.concatenate([self._cost[which], more])
        truncate = np.concatenate([self._truncate[which], np.ones(len(closed))])
        numbers = np.concatenate([groups.numbers, np.full(len(closed), -1)])
        return Same(Groups(lists, numbers, groups.n), cost, truncate)

    def split(self) -> Iterator[Hint]:
        """Soft cliques contradict nothing; hard ones are links."""
        for pair in self.hard:
            yield MustLink(pair[None])

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"the rows of each of {len(self._groups)} cliques have the same label"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "cliques": self._groups.to_data(),
            "cost": numbers_to_data(self._cost),
            "truncate": numbers_to_data(self._truncate),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Same:  # noqa: D102
        return cls(data["cliques"], data.get("cost", np.inf), data.get("truncate"))

    def __repr__(self) -> str:
        return f"Same({len(self._groups)} cliques)"
