"""A directed network whose tied arcs are labels, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._classes import ClassCodes, as_names, is_name
from tacit.hints._data import (
    as_numbers,
    names_from_data,
    names_to_data,
    numbers_to_data,
    require_even,
    whole_numbers,
)
from tacit.hints._rows import Rows, frozen
from tacit.hints._structures import FlowNetwork

__all__ = ["Network"]

IntArray = npt.NDArray[np.intp]


class Network:
    """A directed network with whole bounds and supplies; some arcs are labels.

    Parameters
    ----------
    n_nodes : int
        Number of nodes, 0..n_nodes-1.
    arcs : array of int of shape (M, 2)
        From and to. Cycles are allowed; so is the same arc twice, with bounds and cost of its own.
    lower, upper : int or array of int of shape (M,), default=0 and 1
        Least and most flow on each arc: finite, 0 or more. Where nothing else bounds it, the sum
        of all positive supplies is an upper bound that hardly ever binds.
    cost : float or array of shape (M,), default=0.0
        Cost of one unit of flow on each arc, in units of one row's loss; may be negative.
    supply : int or array of int of shape (n_nodes,), default=0
        Flow that begins at each node, negative where it ends; adds up to zero.
    ties : (arcs, rows, classes), optional
        The flow on these arcs is 1 where the row has the class, else 0. `classes` is one name for
        all, or a list of one for each. An arc has one tie at most, and an upper bound of 1.
    """

    keys = ("n_nodes", "arcs", "lower", "upper", "cost", "supply", "ties")

    def __init__(
        self,
        n_nodes: Any,
        arcs: Any,
        lower: Any = 0,
        upper: Any = 1,
        cost: Any = 0.0,
        supply: Any = 0,
        ties: Any = None,
    ) -> None:
        count = whole_numbers(n_nodes, "Network: n_nodes")
        if count.shape != () or count < 0:
            raise ValueError(f"Network: n_nodes={n_nodes!r:.60}; expected the number of nodes.")
        self.n_nodes = int(count)
        self.arcs = _read_arcs(arcs, self.n_nodes)
        self.lower, self.upper = self._bounds(lower, upper)
        self.cost = frozen(self._each(as_numbers(cost, "Network: cost"), "cost"))
        if not np.isfinite(self.cost).all():
            a = int(np.argmin(np.isfinite(self.cost)))
            raise ValueError(
                f"Network: the cost of arc {a} is {self.cost[a]}; costs must be finite, upper=0 "
                "forbids an arc."
            )
        self.supply = self._supplies(supply)
        self.tie_arc, self._rows, self.classes = self._ties(ties)

    @property
    def tie_row(self) -> IntArray:
        """Row of each tied arc."""
        return self._rows.index

    def _each(self, array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
        if array.shape not in {(), (len(self.arcs),)}:
            raise ValueError(
                f"Network: {what} has shape {array.shape}; expected one number or one for each of "
                f"the {len(self.arcs)} arcs."
            )
        return np.broadcast_to(array, (len(self.arcs),))

    def _bounds(self, lower: Any, upper: Any) -> tuple[IntArray, IntArray]:
        found = []
        for given, what in ((lower, "lower"), (upper, "upper")):
            array = self._each(as_numbers(given, f"Network: {what}"), what)
            wrong = np.flatnonzero(~(array >= 0) | (array != np.round(array)) | np.isinf(array))
            if len(wrong):
                raise ValueError(
                    f"Network: {what} of arc {wrong[0]} is {array[wrong[0]]:g}; flows are finite "
                    "whole numbers, 0 or more"
                    + (
                        "; the sum of all positive supplies is a bound that hardly ever binds."
                        if np.isposinf(array[wrong[0]])
                        else ". A flow back is an arc the other way."
                    )
                )
            found.append(frozen(array.astype(np.int64)))
        crossed = np.flatnonzero(found[0] > found[1])
        if len(crossed):
            a = crossed[0]
            raise ValueError(f"Network: arc {a} has lower {found[0][a]} above upper {found[1][a]}.")
        return found[0], found[1]

    def _supplies(self, supply: Any) -> IntArray:
        array = whole_numbers(supply, "Network: supply")
        if array.shape not in {(), (self.n_nodes,)}:
            raise ValueError(
                f"Network: supply has shape {array.shape}; expected one number for each of the "
                f"{self.n_nodes} nodes."
            )
        array = np.broadcast_to(array, (self.n_nodes,)).astype(np.int64)
        if array.sum() != 0:
            raise ValueError(
                f"Network: the supplies add up to {array.sum()}, not to 0: what begins somewhere "
                "has to end somewhere (a negative supply)."
            )
        return frozen(array)

    def _ties(self, ties: Any) -> tuple[IntArray, Rows, npt.NDArray[Any]]:
        ties = ([], [], []) if ties is None else ties
        if not isinstance(ties, tuple | list) or len(ties) != 3:
            raise ValueError("Network: ties must be (arcs, rows, classes), one entry for each tie.")
        arcs = Rows.read(ties[0], "Network: ties: arcs").index
        rows = Rows.read(ties[1], "Network: ties: rows")
        names = as_names(ties[2])
        if is_name(ties[2]):
            names = np.repeat(names, len(arcs))
        if not len(arcs) == len(rows) == len(names):
            raise ValueError(
                f"Network: ties hold {len(arcs)} arcs, {len(rows)} rows and {len(names)} classes; "
                "give one of each for every tie."
            )
        if arcs.max(initial=-1) >= len(self.arcs):
            raise ValueError(
                f"Network: arc {arcs.max()} of ties is out of range; there are {len(self.arcs)} "
                f"arcs, 0 to {len(self.arcs) - 1}."
            )
        twice = np.flatnonzero(np.bincount(arcs, minlength=1) > 1)
        if len(twice):
            raise ValueError(f"Network: arc {twice[0]} has two ties; give each label its own arc.")
        wide = arcs[self.upper[arcs] > 1]
        if len(wide):
            raise ValueError(
                f"Network: arc {wide[0]} is tied to a label but its upper bound is "
                f"{self.upper[wide[0]]}; a label is a flow of 0 or 1."
            )
        return arcs, rows, frozen(names)

    def compiled(self, n: int, classes: ClassCodes) -> FlowNetwork:
        """Return the part of a program for `n` rows."""
        rows = self._rows.fit(n, "Flow")
        codes = classes.encode(self.classes, "Flow")
        return FlowNetwork(
            self.n_nodes, self.arcs, self.lower, self.upper, self.cost, self.supply,
            self.tie_arc, rows, codes,
        )  # fmt: skip

    def with_rows(self, keep: npt.NDArray[np.bool_], new: IntArray) -> Network:
        """Return the network with some of its ties, about other rows; arcs without are free."""
        ties = (self.tie_arc[keep], new, self.classes[keep].tolist())
        return Network(
            self.n_nodes, self.arcs, self.lower, self.upper, self.cost, self.supply, ties
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "n_nodes": self.n_nodes,
            "arcs": self.arcs.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "cost": numbers_to_data(self.cost),
            "supply": self.supply.tolist(),
            "ties": [self.tie_arc.tolist(), self.tie_row.tolist(), names_to_data(self.classes)],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Network:
        """Undo `to_dict`."""
        rest = {key: data[key] for key in cls.keys[2:-1] if key in data}
        ties = data.get("ties")
        if isinstance(ties, list) and len(ties) == 3:
            ties = [*ties[:2], names_from_data(ties[2], "ties")]
        return cls(data["n_nodes"], data["arcs"], **rest, ties=ties)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.n_nodes, len(self.arcs)))

    def __repr__(self) -> str:
        return f"Network({self.n_nodes} nodes, {len(self.arcs)} arcs, {len(self.tie_arc)} ties)"


def _read_arcs(arcs: Any, n_nodes: int) -> IntArray:
    try:
        array = np.asarray(arcs)
    except ValueError:
        require_even(arcs, "Network: arcs")
        raise
    if array.size == 0:
        array = np.empty((0, 2), np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"Network: arcs must be pairs (from, to), shape (M, 2), got {array.shape}."
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"Network: arcs must hold nodes (whole numbers), got {array.dtype}.")
    if array.size and (array.min() < 0 or array.max() >= n_nodes):
        bad = array.min() if array.min() < 0 else array.max()
        raise ValueError(
            f"Network: an arc ends at node {bad}; there are {n_nodes} nodes, 0 to {n_nodes - 1}."
        )
    loops = np.flatnonzero(array[:, 0] == array[:, 1])
    if len(loops):
        raise ValueError(
            f"Network: arc {loops[0]} joins node {array[loops[0], 0]} with itself; leave it out, "
            "it carries nothing anywhere."
        )
    return frozen(array.astype(np.intp))
