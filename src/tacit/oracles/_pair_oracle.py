"""What the oracles of partitions and of orders share: rows that are pairs of items, two classes.

Both pay, beside a constant, what the first class costs more than the second for the pairs that have
it: those that are cut, or those turned round.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram
from tacit.hints._structures import ItemPairs
from tacit.oracles._row_generation import Until
from tacit.oracles.base import Oracle, OracleResult, Verdict, untreated

__all__ = ["Found", "PairOracle"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Shape = TypeVar("Shape")

# Gap, relative to what is paid above each pair's least and to the largest cost, that is rounding of
# HiGHS.
CLOSED = 1e-8
# Nodes of branch and bound in one call times pairs, unless said otherwise: a limit that does not
# depend on the clock.
NODES = 1_000_000


@dataclass(frozen=True)
class Found:
    """Which pairs have the second class, what that pays and a bound, without the constant."""

    yes: BoolArray
    value: float
    bound: float


class PairOracle(Oracle, Generic[Shape]):
    """Pairs of items that have to fit together, with costs and allowed labels per pair.

    Parameters
    ----------
    program : LabelProgram
        What is known.
    exact : bool, default=True
        Whether to go on with cutting planes, and branch and bound where these leave a gap. False:
        local search from the last answer, and a quick bound.
    time_limit : float, optional
        Seconds for one call.
    max_nodes : int, optional
        Nodes of branch and bound in one call; by default fewer where there are more pairs.
    deadline : float, optional
        What `time.monotonic` will be when all calls have to end.
    """

    slow = True
    part: str
    """The field of `LabelProgram` that is treated."""

    def __init__(
        self,
        program: LabelProgram,
        *,
        exact: bool = True,
        time_limit: float | None = None,
        max_nodes: int | None = None,
        deadline: float | None = None,
    ) -> None:
        super().__init__(program)
        if not (verdict := self.accepts(program)):
            raise ValueError(f"{type(self).__name__} cannot solve this program: {verdict.reason}.")
        self.exact, self.time_limit, self.deadline = exact, time_limit, deadline
        self._parts: tuple[ItemPairs, ...] = getattr(program, self.part)
        pairs = sum(len(p.rows) for p in self._parts)
        self.max_nodes = NODES // max(pairs, 1) + 1 if max_nodes is None else max_nodes
        self._last: list[Any] = [None] * len(self._parts)

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:
        if refusal := untreated(program, cls.part):
            return Verdict(False, refusal)
        parts: tuple[ItemPairs, ...] = getattr(program, cls.part)
        if not parts:
            return Verdict(False, f"there are no {cls.part} of items")
        rows = np.concatenate([p.rows for p in parts])
        if len(np.unique(rows)) < len(rows):
            return Verdict(False, "some rows are pairs of items twice, in two hints")
        n = sum(p.n_items for p in parts)
        return Verdict(True, f"{len(rows)} pairs of {n} items, nothing else couples rows")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:
        shape = (self.program.n, 2)
        if cost.shape != shape:
            raise ValueError(f"cost has shape {cost.shape}; expected {shape}.")
        total = self.program.full_cost(cost)
        until = Until(self._until(), self.max_nodes)
        shapes = self._shapes
        labels = total.argmin(axis=1).astype(np.int32)
        gap, unit, paid, terms = 0.0, 0.0, 0.0, 0.0
        for k, part in enumerate(self._parts):
            with np.errstate(invalid="ignore"):
                gain = total[part.rows, 0] - total[part.rows, 1]
            gain = np.where(np.isfinite(gain), gain, 0.0)
            found, self._last[k] = self._find(shapes[k], gain, self._last[k], until)
            labels[part.rows] = found.yes
            gap += max(found.value - found.bound, 0.0)
            unit = max(unit, float(np.abs(gain).max(initial=0.0)))
            paid += max(found.value - float(np.minimum(gain, 0.0).sum()), 0.0)
            terms += float(np.abs(gain).sum())
        own = self.program.value(labels)
        if not np.isfinite(own):
            raise RuntimeError(f"the {self.name} oracle broke a hint; please report the hints.")
        rows = np.arange(len(labels))
        value = float(cost[rows, labels].sum(dtype=np.float64)) + own
        # Sums of the rows' costs, in another order, and of their differences.
        size = float(np.abs(total[rows, labels]).sum()) + terms + gap
        bound = value - gap - 8.0 * np.finfo(float).eps * np.log2(len(rows) + 2.0) * size
        # Against what is paid above each pair's least: an offset of the costs closes no gap.
        closed = gap <= CLOSED * (unit + paid)
        return OracleResult(labels, value, float(bound), bool(closed))

    @cached_property
    def _shapes(self) -> list[Shape]:
        """Items and pairs of each part, what is certain taken in."""
        mask = self.program.mask
        if not mask.any(axis=1).all():
            raise InfeasibleHints("some row has no allowed label.")
        return [self._shape(p, ~mask[p.rows, 0], ~mask[p.rows, 1]) for p in self._parts]

    def _until(self) -> float | None:
        """When this call has to end."""
        own = None if self.time_limit is None else time.monotonic() + self.time_limit
        return min((t for t in (own, self.deadline) if t is not None), default=None)

    @abstractmethod
    def _shape(self, part: ItemPairs, yes: BoolArray, no: BoolArray) -> Shape:
        """Items and pairs, of which some have one class for certain."""

    @abstractmethod
    def _find(self, shape: Shape, gain: FloatArray, last: Any, until: Until) -> tuple[Found, Any]:
        """Solve for what the first class costs more; also return what the next call starts from."""
