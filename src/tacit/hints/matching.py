"""Links between two sets of nodes, where the rows are the pairs that may be linked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._bounds import OneBound
from tacit.hints._classes import ClassCodes
from tacit.hints._data import as_numbers, numbers_to_data
from tacit.hints._items import two_classes
from tacit.hints._program import Counts, LabelProgram
from tacit.hints._rows import frozen
from tacit.hints.base import Hint
from tacit.hints.counts import CountPiece, Groups

__all__ = ["Matching"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


class Matching(Hint):
    r"""Row k is the pair (rows[k], cols[k]); each node has a bounded number of linked pairs.

    .. math:: lower_u \le |\{k : rows_k = u, \; y_k = 1\}| \le upper_u

    and the same for the columns. The second class means linked, the first not.

    Parameters
    ----------
    rows, cols : array of int of shape (N,), or int
        Nodes of each pair on the left and on the right, from 0; a pair that is listed twice is two
        links. Or how many nodes there are: all pairs, (0, 0), (0, 1), ..., (1, 0), ...
    row_degree, col_degree : (lower, upper), default=(0, 1)
        Least and most links of each node on a side: numbers, or arrays with one for each node;
        upper None for no bound. A single lower bound holds for nodes that are in some pair. (0, 1)
        lets nodes go without a link, (1, 1) does not.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit import hints, oracles
    >>> gain = np.array([3.0, 2.0, 2.0, -1.0])
    >>> cost = np.column_stack([np.zeros(4), -gain])
    >>> oracles.solve(cost, hints.Matching(2, 2)).labels
    array([0, 1, 1, 0], dtype=int32)
    """

    kind = "matching"
    keys = ("rows", "cols", "row_degree", "col_degree")

    def __init__(
        self, rows: Any, cols: Any, row_degree: Any = (0, 1), col_degree: Any = (0, 1)
    ) -> None:
        left, right = _read_pairs(rows, cols)
        self._sides = (
            _Side("left", left, row_degree, _nodes(rows)),
            _Side("right", right, col_degree, _nodes(cols)),
        )

    @property
    def pairs(self) -> IntArray:
        """Nodes of each pair, (N, 2)."""
        return np.column_stack([side.node for side in self._sides])

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:
        """One group for each node whose bounds can bind, rows' nodes before columns'."""
        two_classes("Matching", "not linked", "linked", classes)
        if n != len(self._sides[0].node):
            raise ValueError(
                f"Matching: {len(self._sides[0].node)} pairs but {n} rows; every row is a pair."
            )
        parts = [side.groups() for side in self._sides]
        lists = [rows for part in parts for rows in part[0]]
        sizes = np.array([len(rows) for rows in lists], np.int64)
        lower, upper = (np.concatenate([part[j] for part in parts]) for j in (1, 2))
        zero = np.zeros_like(sizes)
        counts = Counts(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
            np.concatenate([np.empty(0, np.intp), *lists]),
            np.column_stack([zero, np.minimum(lower, sizes + 1)]),
            np.column_stack([sizes, np.minimum(upper, sizes)]),
        )
        return LabelProgram(n, 2, counts=counts)

    def rows(self) -> IntArray:  # noqa: D102
        return np.arange(len(self._sides[0].node))

    def width(self) -> int | None:  # noqa: D102
        return 2

    def length(self) -> int | None:  # noqa: D102
        return len(self._sides[0].node)

    def restrict(self, rows: Any, n: int | None = None) -> Matching:
        """Loosen the lower bounds: the pairs left out may all be linked."""
        kept = self._row_map(rows, n).kept
        sides = [side.restrict(kept) for side in self._sides]
        return Matching(sides[0][0], sides[1][0], sides[0][1], sides[1][1])

    def split(self) -> Iterator[Hint]:  # noqa: D102
        for side in self._sides:
            yield from side.split(self.rows())

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"links of {len(self._sides[0].node)} pairs"

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        left, right = self._sides
        return {
            "rows": left.node.tolist(),
            "cols": right.node.tolist(),
            "row_degree": left.to_data(),
            "col_degree": right.to_data(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Matching:  # noqa: D102
        degrees = (data.get(key, (0, 1)) for key in ("row_degree", "col_degree"))
        return cls(data["rows"], data["cols"], *degrees)

    def __repr__(self) -> str:
        return f"Matching({len(self._sides[0].node)} pairs)"


class _Side:
    """Nodes of one side: which each pair has, and the bounds of each."""

    def __init__(self, name: str, node: IntArray, degree: Any, n_nodes: int | None) -> None:
        self.name, self.node = name, frozen(node)
        who = f"Matching: {'row' if name == 'left' else 'col'}_degree"
        if not isinstance(degree, tuple | list) or len(degree) != 2:
            raise ValueError(
                f"{who}={degree!r:.60}; expected (lower, upper), such as (0, 1) or (1, 1), each a "
                "number or an array with one for each node."
            )
        low, high = (self._bound(value, who) for value in degree)
        if n_nodes is None:
            known = max((len(b) for b in (low, high) if b.ndim), default=0)
            n_nodes = known or int(node.max(initial=-1)) + 1
        for bound in (low, high):
            if bound.ndim and len(bound) != n_nodes:
                raise ValueError(
                    f"{who} bounds {len(bound)} nodes but there are {n_nodes}; give one number "
                    "for each node."
                )
        if node.max(initial=-1) >= n_nodes:
            raise ValueError(f"{who} bounds {n_nodes} nodes but a pair has node {node.max()}.")
        there = np.bincount(node, minlength=n_nodes) > 0
        self.lower = frozen(low if low.ndim else np.where(there, low, 0.0))
        self.upper = frozen(np.broadcast_to(high, (n_nodes,)))
        crossed = np.flatnonzero(self.lower > self.upper)
        if len(crossed):
            u = crossed[0]
            raise ValueError(
                f"{who}: node {u} has lower {self.lower[u]:g} above upper {self.upper[u]:g}."
            )

    @staticmethod
    def _bound(value: Any, who: str) -> FloatArray:
        items = value if isinstance(value, list | tuple) else [value]
        items = [np.inf if v is None else v for v in items]
        array = as_numbers(items if isinstance(value, list | tuple) else items[0], who)
        wrong = np.isnan(array) | (array < 0) | (array != np.round(array))
        if array.ndim > 1 or wrong.any():
            raise ValueError(
                f"{who}: expected whole numbers of links, 0 or more, got {value!r:.60}; None "
                "leaves an upper bound out."
            )
        return array

    def groups(self) -> tuple[list[IntArray], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Pairs and bounds of the nodes whose bounds can bind."""
        sizes = np.bincount(self.node, minlength=len(self.lower))
        binds = (self.lower > 0) | (self.upper < sizes)
        order = np.argsort(self.node, kind="stable")
        lists = np.split(order, np.cumsum(sizes)[:-1]) if len(sizes) else []
        largest = len(self.node) + 1.0
        lower = np.minimum(self.lower[binds], largest).astype(np.int64)
        upper = np.minimum(self.upper[binds], largest).astype(np.int64)
        return [lists[u] for u in np.flatnonzero(binds)], lower, upper

    def restrict(self, kept: IntArray) -> tuple[IntArray, tuple[FloatArray, FloatArray]]:
        """Nodes of the pairs that remain, and bounds that still hold."""
        sizes = np.bincount(self.node, minlength=len(self.lower))
        lost = sizes - np.bincount(self.node[kept], minlength=len(sizes))
        return self.node[kept], (np.maximum(self.lower - lost, 0.0), self.upper)

    def split(self, rows: IntArray) -> Iterator[Hint]:
        """Each bound on its own."""
        sizes = np.bincount(self.node, minlength=len(self.lower))
        for u, size in enumerate(sizes):
            pairs = frozen(rows[self.node == u])
            bounds = [("lower", self.lower[u])] if self.lower[u] > 0 else []
            bounds += [("upper", self.upper[u])] if self.upper[u] < size else []
            for side, value in bounds:
                one = OneBound(side, float(value), column=1, width=2)
                yield _Piece(self.name, u, pairs, one)

    def to_data(self) -> Any:
        """Plain data: two lists of bounds, None where there is none above."""
        return [numbers_to_data(self.lower), numbers_to_data(self.upper)]


class _Piece(CountPiece):
    """One bound on the links of one node."""

    def __init__(self, side: str, node: int, pairs: IntArray, one: OneBound) -> None:
        super().__init__(Groups([pairs]), one)
        self.who = f"{side} node {node}"


def _nodes(given: Any) -> int | None:
    """How many nodes a number means."""
    number = isinstance(given, int | np.integer) and not isinstance(given, bool)
    return int(given) if number else None


def _read_pairs(rows: Any, cols: Any) -> tuple[IntArray, IntArray]:
    sizes = _nodes(rows), _nodes(cols)
    if sizes[0] is not None and sizes[1] is not None:
        if min(sizes[0], sizes[1]) < 0:
            raise ValueError(f"Matching: {sizes[0]} and {sizes[1]} nodes; expected 0 or more.")
        left, right = np.divmod(np.arange(sizes[0] * sizes[1]), max(sizes[1], 1))
        return left, right
    sides = []
    for given, name in ((rows, "rows"), (cols, "cols")):
        array = np.asarray(given)
        if array.size == 0:
            array = np.empty(0, np.intp)
        if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
            raise ValueError(
                f"Matching: {name} must be the node of each pair (whole numbers from 0), or how "
                f"many nodes there are on either side; got {given!r:.60}."
            )
        if array.size and array.min() < 0:
            raise ValueError(f"Matching: {name} has node {array.min()}; nodes count from 0.")
        sides.append(array.astype(np.intp))
    if len(sides[0]) != len(sides[1]):
        raise ValueError(
            f"Matching: {len(sides[0])} rows but {len(sides[1])} cols; a pair has one of each."
        )
    return sides[0], sides[1]
