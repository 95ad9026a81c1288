"""Overlapping counts and linear rows by HiGHS: LP first, integers only where it is fractional."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints, NotConverged
from tacit.hints._program import LabelProgram
from tacit.oracles._highs import INTEGRAL, Answer, Model
from tacit.oracles._relaxation import Priced, Relaxation
from tacit.oracles.base import Oracle, OracleResult, Verdict

__all__ = ["LinearProgramOracle", "MixedIntegerOracle"]

FloatArray = npt.NDArray[np.float64]

# HiGHS prices are right to about 1e-7 of a reduced cost, of which the largest is 1 as it sees them;
# a larger gap is not rounding.
CLOSED = 1e-7


class MixedIntegerOracle(Oracle):
    """Anything at all: HiGHS on the local polytope, then branch and bound if fractional.

    The LP is solved by warm dual simplex. Its answer is checked by a dual bound that is computed
    here from its prices, and solved again from scratch if the two differ. A fractional answer is
    first repaired by integers in the fractional rows alone; if that misses `gap`, by all.

    Parameters
    ----------
    program : LabelProgram
        What is known.
    gap : float, default=0.0
        Relative distance from the bound at which a repaired answer is good enough.
    time_limit : float, optional
        Seconds for branch and bound in one call.
    max_nodes : int, optional
        Nodes for branch and bound in one call, once some labeling is known: a limit that does not
        depend on the clock.

    Attributes
    ----------
    n_fractional : int
        How many calls had a fractional LP answer.

    Notes
    -----
    Equation: (17) in 000, label step under overlapping count bounds
    """

    name = "milp"
    summary = "anything, by branch and bound"

    def __init__(
        self,
        program: LabelProgram,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        max_nodes: int | None = None,
    ) -> None:
        super().__init__(program)
        self.gap, self.time_limit, self.max_nodes = gap, time_limit, max_nodes
        self.n_fractional = 0
        self._relaxation = Relaxation.of(program)
        if not self._relaxation.contraction.allowed.any(axis=1).all():
            raise InfeasibleHints("some row has no label that all its hints allow.")
        self._lp = Model(self._relaxation.columns, integer=False)
        self._milp: Model | None = None

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        return Verdict(True, "branch and bound takes any program; it may be slow")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        priced = self._relaxation.priced(cost)
        answer, bound = self._solve_lp(priced.cost)
        assert answer.columns is not None
        x = answer.columns[: self._relaxation.n_labels]
        whole = np.abs(x - np.round(x)).max(initial=0.0) <= INTEGRAL
        result = self._result(answer.columns, cost, priced, bound)
        if whole and result is not None and result.exact:
            return result
        self.n_fractional += 1
        return self._repair(answer.columns, cost, priced, bound)

    def _solve_lp(self, column_cost: FloatArray) -> tuple[Answer, float]:
        """LP answer whose own prices prove it."""
        for fresh in (False, True):
            answer = self._lp.solve(column_cost, fresh=fresh)
            if answer.columns is None or answer.prices is None:
                continue
            bound = self._relaxation.bound(column_cost, answer.prices)
            if _closed(float(column_cost @ answer.columns), bound):
                return answer, bound
        if answer.infeasible:
            raise InfeasibleHints("no labeling satisfies all hints.")
        if answer.columns is None or answer.prices is None:
            raise NotConverged("HiGHS found no answer to the linear relaxation of the hints.")
        return answer, bound  # a wide bound is still a bound

    def _result(
        self, columns: FloatArray, cost: npt.NDArray[np.floating], priced: Priced, bound: float
    ) -> OracleResult | None:
        """Answer with its value recomputed; None if its labels break a hint.

        Columns' units decide whether it is exact, and the bound is as far below the value in them:
        an offset of the costs costs no digits.
        """
        labels = self._relaxation.labels(columns)
        own = self.program.value(labels)
        if not np.isfinite(own):
            return None
        value = float(cost[np.arange(len(labels)), labels].sum(dtype=np.float64)) + own
        reached = self._relaxation.value(priced.cost, labels)
        below = priced.unit * max(reached - bound, 0.0)
        return OracleResult(labels, value, value - below, _closed(reached, bound))

    def _repair(
        self,
        columns: FloatArray,
        cost: npt.NDArray[np.floating],
        priced: Priced,
        bound: float,
    ) -> OracleResult:
        """Whole labels: first in the fractional rows only, then in all."""
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        few = self._repair_few(columns, priced.cost)
        first = None if few is None else self._result(few, cost, priced, bound)
        if first is not None and _relative_gap(first) <= self.gap:
            return first
        if self._milp is None:
            self._milp = Model(self._relaxation.columns, integer=True)
        left = None if deadline is None else max(deadline - time.monotonic(), 0.01)
        # Without any labeling at hand the search goes on until there is one.
        limit = None if first is None else self.max_nodes
        start = None if first is None else few
        full = self._milp.solve(priced.cost, time_limit=left, max_nodes=limit, start=start)
        if full.infeasible:
            raise InfeasibleHints("no labeling satisfies all hints.")
        proven = max(bound, full.bound)
        found = [
            result
            for part in (few, full.columns)
            if part is not None and (result := self._result(part, cost, priced, proven))
        ]
        if not found:
            raise NotConverged(
                f"no feasible labeling was found in {self.time_limit} s; raise time_limit."
            )
        return min(found, key=lambda r: r.value)

    def _repair_few(self, columns: FloatArray, column_cost: FloatArray) -> FloatArray | None:
        """Best whole labels of the fractional components, the others kept; None if none fit."""
        n_labels = self._relaxation.n_labels
        x = columns[:n_labels].reshape(-1, self.program.n_classes)
        fractional = np.abs(x - np.round(x)).max(axis=1) > INTEGRAL
        free = np.concatenate(
            [np.repeat(fractional, x.shape[1]), np.ones(len(columns) - n_labels, bool)]
        )
        free = np.flatnonzero(free)
        values = np.concatenate([np.round(columns[:n_labels]), columns[n_labels:]])
        part = Model(self._relaxation.part(free, values), integer=True)
        answer = part.solve(column_cost[free], max_nodes=self.max_nodes)
        if answer.columns is None:
            return None
        values[free] = answer.columns
        return values


class LinearProgramOracle(MixedIntegerOracle):
    """Counts of overlapping groups and linear rows: an LP that is nearly always integral."""

    name = "lp"
    summary = "overlapping counts and linear rows; hard must-links; integers where fractional"

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if len(program.pairs) and len(program.contraction.pairs):
            return Verdict(False, "pairs of rows are not linear in their labels")
        return Verdict(True, "only counts and linear rows couple the rows")


def _relative_gap(result: OracleResult) -> float:
    return (result.value - result.bound) / max(abs(result.value), 1e-12)


def _closed(value: float, bound: float) -> bool:
    return value - bound <= CLOSED * (1.0 + abs(value))
