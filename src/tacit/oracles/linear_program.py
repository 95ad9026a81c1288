"""Overlapping counts, linear rows and more by HiGHS: LP first, integers only where fractional."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints, NotConverged
from tacit.hints._program import LabelProgram
from tacit.oracles._highs import INTEGRAL, TOLERANCE, Model
from tacit.oracles._relaxation import Priced, Relaxation
from tacit.oracles._relaxed_parts import MAX_TRIANGLES
from tacit.oracles._triangles import Triangles
from tacit.oracles.base import Oracle, OracleResult, Verdict, untreated

__all__ = ["LinearProgramOracle", "MixedIntegerOracle"]

FloatArray = npt.NDArray[np.float64]

# HiGHS prices are right to about 1e-7 of a reduced cost, of which the largest is 1 as it sees them;
# a larger gap is not rounding.
CLOSED = 1e-7
# The bound of branch and bound comes without prices that prove it. A reduced cost that is wrong by
# HiGHS's tolerance moves it by as much for every choice of one label (or pair of labels), a branch
# cut off too early once more; twice that is taken off. The most that was seen, against all
# labelings of 1500 small programs, is a hundredth of it.
MARGIN = 2.0


class MixedIntegerOracle(Oracle):
    """Anything of moderate size: HiGHS on a linear relaxation, branch and bound if fractional.

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
    deadline : float, optional
        What `time.monotonic` will be when all calls have to end.
    known : array of shape (N,), optional
        A labeling that satisfies the hints: the answer where time ends before another is found.

    Attributes
    ----------
    n_fractional : int
        How many calls had a fractional LP answer.

    Notes
    -----
    The bound of a linear program is computed from its prices, less what rounding may add: it is
    proven. That of branch and bound is HiGHS's own, less a multiple of its tolerances.

    Equation: (17) in 000, label step under overlapping count bounds
    """

    name = "milp"
    summary = f"anything (items up to {MAX_TRIANGLES:,} triangles), by branch and bound"
    slow = True

    def __init__(
        self,
        program: LabelProgram,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        max_nodes: int | None = None,
        deadline: float | None = None,
        known: npt.NDArray[np.int32] | None = None,
    ) -> None:
        super().__init__(program)
        if not (verdict := self.accepts(program)):
            raise ValueError(f"{type(self).__name__} cannot solve this program: {verdict.reason}.")
        self.gap, self.time_limit, self.max_nodes = gap, time_limit, max_nodes
        self.deadline, self.known = deadline, known
        self.n_fractional = 0
        self._relaxation = Relaxation.of(program)
        if not self._relaxation.contraction.allowed.any(axis=1).all():
            raise InfeasibleHints("some row has no label that all its hints allow.")
        self._lp = Model(self._relaxation.columns, integer=False)
        self._milp: Model | None = None

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        for part in (*program.partitions, *program.orders):
            if Triangles.of(part, MAX_TRIANGLES) is None:
                return Verdict(
                    False,
                    f"{len(part.rows)} pairs of {part.n_items} items make more than "
                    f"{MAX_TRIANGLES:,} triangles",
                )
        return Verdict(True, "branch and bound takes what the others do not; it may be slow")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        priced = self._relaxation.priced(cost)
        until = self._until()
        columns, bound = self._solve_lp(priced.cost, until)
        if columns is None:
            return self._best([], cost, priced, bound, -np.inf)
        x = columns[: self._relaxation.n_labels]
        whole = np.abs(x - np.round(x)).max(initial=0.0) <= INTEGRAL
        result = self._result(self._relaxation.labels(columns), cost, priced, bound)
        if whole and result is not None and result.exact:
            return result
        self.n_fractional += 1
        return self._repair(columns, cost, priced, bound, until)

    def _until(self) -> float | None:
        """When this call has to end."""
        own = None if self.time_limit is None else time.monotonic() + self.time_limit
        return min((t for t in (own, self.deadline) if t is not None), default=None)

    def _solve_lp(
        self, column_cost: FloatArray, until: float | None
    ) -> tuple[FloatArray | None, float]:
        """LP answer whose own prices prove it, and its bound; None where time ended first."""
        columns, bound = None, self._relaxation.bound(column_cost, self._relaxation.no_prices)
        for fresh in (False, True):
            answer = self._lp.solve(column_cost, fresh=fresh, time_limit=_left(until))
            if answer.prices is not None:
                bound = max(bound, self._relaxation.bound(column_cost, answer.prices))
            columns = answer.columns
            if columns is not None and _closed(float(column_cost @ columns), bound):
                return columns, bound
        if answer.infeasible:
            raise InfeasibleHints("no labeling satisfies all hints.")
        if columns is None and until is None:
            raise NotConverged("HiGHS found no answer to the linear relaxation of the hints.")
        return columns, bound  # a wide bound is still a bound

    def _result(
        self,
        labels: npt.NDArray[np.int32],
        cost: npt.NDArray[np.floating],
        priced: Priced,
        bound: float,
        unproven: float = -np.inf,
    ) -> OracleResult | None:
        """Answer with its value recomputed; None if its labels break a hint.

        Columns' units decide whether it is exact, and the bound is as far below the value in them:
        an offset of the costs costs no digits. `unproven` is what branch and bound says.
        """
        own = self.program.value(labels)
        if not np.isfinite(own):
            return None
        value = float(cost[np.arange(len(labels)), labels].sum(dtype=np.float64)) + own
        reached = self._relaxation.value(priced, labels)
        safe = max(bound, unproven - MARGIN * TOLERANCE * (1 + self._relaxation.n_choices))
        below = priced.unit * max(reached - safe, 0.0) + _rounding(self.program, cost)
        return OracleResult(labels, value, value - below, _closed(reached, max(bound, unproven)))

    def _repair(
        self,
        columns: FloatArray,
        cost: npt.NDArray[np.floating],
        priced: Priced,
        bound: float,
        until: float | None,
    ) -> OracleResult:
        """Whole labels: first in the fractional rows only, then in all."""
        few = self._repair_few(columns, priced.cost, until)
        parts = [] if few is None else [self._relaxation.labels(few)]
        first = self._result(parts[0], cost, priced, bound) if parts else None
        if first is not None and (first.exact or _relative_gap(first) <= self.gap):
            return first
        if self._milp is None:
            self._milp = Model(self._relaxation.columns, integer=True)
        # Without any labeling at hand the search goes on until there is one.
        limit = None if first is None else self.max_nodes
        start = None if first is None else few
        full = self._milp.solve(priced.cost, time_limit=_left(until), max_nodes=limit, start=start)
        if full.infeasible:
            raise InfeasibleHints("no labeling satisfies all hints.")
        if full.columns is not None:
            parts.append(self._relaxation.labels(full.columns))
        return self._best(parts, cost, priced, bound, full.bound)

    def _best(
        self,
        labelings: list[npt.NDArray[np.int32]],
        cost: npt.NDArray[np.floating],
        priced: Priced,
        bound: float,
        unproven: float,
    ) -> OracleResult:
        """Best of the labelings found, or the one that was known."""
        results = [self._result(labels, cost, priced, bound, unproven) for labels in labelings]
        found = [r for r in results if r is not None]
        if not found and self.known is not None:
            known = self._result(self.known, cost, priced, bound, unproven)
            found = [] if known is None else [known]
        if not found:
            raise NotConverged("no feasible labeling was found in time; raise time_limit.")
        return min(found, key=lambda r: r.value)

    def _repair_few(
        self, columns: FloatArray, column_cost: FloatArray, until: float | None
    ) -> FloatArray | None:
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
        left, nodes = _left(until), self.max_nodes
        answer = part.solve(column_cost[free], time_limit=left, max_nodes=nodes)
        if answer.columns is None:
            return None
        values[free] = answer.columns
        return values


class LinearProgramOracle(MixedIntegerOracle):
    """Counts of overlapping groups, linear rows and flows: an LP that is nearly always integral."""

    name = "lp"
    summary = "overlapping counts, linear rows, flows; hard must-links; integers where fractional"
    slow = False

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if len(program.pairs) and len(program.contraction.pairs):
            return Verdict(False, "pairs of rows are not linear in their labels")
        if refusal := untreated(program, "pairs", "counts", "linear", "flow"):
            return Verdict(False, refusal)
        flow = "" if program.flow is None else " and a flow"
        return Verdict(True, f"only counts and linear rows{flow} couple the rows")


def _relative_gap(result: OracleResult) -> float:
    return (result.value - result.bound) / max(abs(result.value), 1e-12)


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - time.monotonic(), 0.01)


def _rounding(program: LabelProgram, cost: npt.NDArray[np.floating]) -> float:
    """Return what rounding may add to a labeling's value, or to the costs that a solver sees."""
    pairs = program.pairs
    largest = np.where(np.isfinite(pairs.tables), np.abs(pairs.tables), 0.0).max(axis=(1, 2))
    size = float(np.abs(cost).max(axis=1).sum())
    size += float(np.abs(pairs.weight) @ largest[pairs.table]) if len(pairs) else 0.0
    if program.unary is not None:
        size += float(np.abs(program.unary).max(axis=1).sum())
    size += float(program.cliques.weight.sum())
    if program.flow is not None:
        net = program.flow
        size += float(np.abs(net.cost) @ np.maximum(np.abs(net.lower), np.abs(net.upper)))
    return 4.0 * float(np.finfo(np.float64).eps) * (program.n + len(pairs) + 8) * size


def _closed(value: float, bound: float) -> bool:
    return value - bound <= CLOSED * (1.0 + abs(value))
