r"""A linear program that grows: solve, find rows that the answer breaks, add them, repeat.

.. math:: \min_x \; c^\top x \quad\text{s.t.}\quad a_r^\top x \le b_r, \; l \le x \le u.

Any prices :math:`p \le 0` of the rows prove a bound, whatever rows are still missing:

.. math:: p^\top b + \sum_j \min\bigl((c - A^\top p)_j l_j, (c - A^\top p)_j u_j\bigr).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.exceptions import InfeasibleHints

__all__ = ["GrowingModel", "Rows", "Until", "grow"]

FloatArray = npt.NDArray[np.float64]

UNLIMITED = 2**31 - 1
# A relaxation is left when so many rounds of rows in a row have each closed less than this share of
# the gap: on costs without structure that is most of the time and little of the bound.
STALE, SHARE = 10, 0.01


@dataclass(frozen=True)
class Rows:
    """Rows A x <= upper."""

    A: sp.csr_array
    upper: FloatArray

    def __len__(self) -> int:
        return len(self.upper)


@dataclass(frozen=True)
class Until:
    """When to stop: a time of `time.monotonic`, nodes of branch and bound."""

    time: float | None = None
    nodes: int | None = None

    @property
    def left(self) -> float:
        """Seconds."""
        return np.inf if self.time is None else self.time - time.monotonic()


class GrowingModel:
    """One HiGHS instance to which rows are added.

    Parameters
    ----------
    cost, lower, upper : (P,) arrays
        Costs and finite bounds of the columns. Costs should have a largest size of about 1:
        solvers compare with tolerances that are numbers of their own.
    """

    def __init__(self, cost: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        import highspy  # here, because most programs never need it

        self.cost, self.lower, self.upper = cost, lower, upper
        self._parts: list[Rows] = []
        self._prices = np.empty(0)
        self._h = h = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "parallel": "off",  # the answer must not depend on the number of threads
            "simplex_strategy": 1,  # serial dual simplex: warm after rows are added
            "solver": "simplex",
            "presolve": "off",  # presolve drops the basis
            "mip_rel_gap": 0.0,
            "mip_abs_gap": 1e-9,
        }.items():
            h.setOptionValue(option, value)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(cost), 0
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, lower, upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.zeros(1, np.int32)
        h.passModel(lp)

    @property
    def n_rows(self) -> int:
        """Rows so far."""
        return sum(map(len, self._parts))

    @property
    def rows(self) -> Rows:
        """All rows so far."""
        A = [part.A for part in self._parts] or [sp.csr_array((0, len(self.cost)))]
        upper = [np.empty(0), *(part.upper for part in self._parts)]
        return Rows(sp.csr_array(sp.vstack(A)), np.concatenate(upper))

    def add(self, rows: Rows) -> None:
        """Add rows."""
        A, m = rows.A, len(rows)
        self._parts.append(rows)
        self._h.addRows(
            m,
            np.full(m, -np.inf),
            rows.upper,
            A.nnz,
            A.indptr[:-1].astype(np.int32),
            A.indices.astype(np.int32),
            A.data,
        )

    def solve_lp(self, limit: float = np.inf) -> FloatArray | None:
        """Columns of the relaxation; None where time ended first."""
        import highspy

        h = self._h
        h.setOptionValue("time_limit", h.getRunTime() + limit)
        h.run()
        self._require_feasible()
        if h.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = h.getSolution()
        self._prices = np.array(solution.row_dual)
        return np.clip(np.array(solution.col_value), self.lower, self.upper)

    def branches(
        self, until: Until, start: Callable[[], FloatArray]
    ) -> Iterator[tuple[FloatArray | None, float]]:
        """Whole columns and a bound on them, again and again, with the rows added meanwhile.

        Parameters
        ----------
        until : Until
            Ends when its time or its nodes, those of all rounds together, are used up.
        start : function
            Whole columns that satisfy all rows: the best known.
        """
        import highspy

        h, nodes = self._h, 0
        every = np.arange(len(self.cost), dtype=np.int32)
        kinds = np.full(len(every), highspy.HighsVarType.kInteger)
        h.changeColsIntegrality(len(every), every, kinds)
        h.setOptionValue("presolve", "on")
        h.setOptionValue("solver", "choose")
        while until.left > 0 and (until.nodes is None or nodes < until.nodes):
            most = UNLIMITED if until.nodes is None else until.nodes - nodes
            h.setOptionValue("time_limit", h.getRunTime() + until.left)
            h.setOptionValue("mip_max_nodes", most)
            h.clearSolver()
            given = highspy.HighsSolution()
            given.col_value = list(start())
            h.setSolution(given)
            h.run()
            self._require_feasible()
            info = h.getInfo()
            nodes += max(int(info.mip_node_count), 1)
            found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
            columns = np.round(np.array(h.getSolution().col_value)) if found else None
            yield columns, float(info.mip_dual_bound)

    def _require_feasible(self) -> None:
        import highspy

        kinds = highspy.HighsModelStatus
        if self._h.getModelStatus() in {kinds.kInfeasible, kinds.kUnboundedOrInfeasible}:
            raise InfeasibleHints("no labeling satisfies all hints.")

    def bound(self) -> float:
        """Lower bound by the last prices, proven here; about a rounding below what it could be."""
        rows = self.rows
        prices = np.zeros(len(rows))
        prices[: len(self._prices)] = np.minimum(self._prices, 0.0)
        paid = rows.A.T @ prices
        reduced = self.cost - paid
        ends = np.minimum(reduced * self.lower, reduced * self.upper)
        size = np.abs(self.cost) + abs(rows.A).T @ np.abs(prices)
        reach = np.maximum(np.abs(self.lower), np.abs(self.upper))
        rounding = float(size @ reach + np.abs(prices) @ np.abs(rows.upper))
        terms = np.log2(len(rows) + len(self.cost) + 2.0)
        off = 8.0 * np.finfo(float).eps * terms * rounding
        return float(ends.sum() + prices @ rows.upper) - off


def grow(
    model: GrowingModel,
    broken: Callable[[FloatArray], Rows],
    until: Until,
    gap: Callable[[FloatArray, float], float],
) -> tuple[FloatArray | None, float]:
    """Solve a relaxation to which rows are added as long as any are broken.

    Parameters
    ----------
    model : GrowingModel
        Its columns and the first rows.
    broken : function of the columns
        Rows that they break; none ends the search.
    until : Until
        When to stop.
    gap : function of the columns and the bound
        How far the bound is from the best known; 0 or less ends the search.

    Returns
    -------
    columns : (P,) array or None
        The last answer.
    bound : float
        Proven, with whatever rows there were.
    """
    columns, bound, before, stale = None, -np.inf, np.inf, 0
    while True:
        answer = model.solve_lp(max(until.left, 0.0))
        if answer is None:
            return columns, max(bound, model.bound())
        columns = answer
        bound = max(bound, model.bound())
        left = gap(columns, bound)
        stale = stale + 1 if left > (1.0 - SHARE) * before else 0
        before = left
        if left <= 0 or stale >= STALE or until.left <= 0:
            return columns, bound
        rows = broken(columns)
        if not len(rows):
            return columns, bound
        model.add(rows)
