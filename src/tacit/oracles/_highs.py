"""HiGHS, kept between calls: change the costs, start from the last basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.oracles._relaxation import Columns

__all__ = ["INTEGRAL", "TOLERANCE", "Answer", "Model"]

FloatArray = npt.NDArray[np.float64]

UNLIMITED = 2**31 - 1
INTEGRAL = 1e-6  # HiGHS's own feasibility tolerance is 1e-7
# What branch and bound may be wrong by in a row, a reduced cost, and where it cuts a branch off.
# HiGHS's own 1e-6 loses unary costs beside pairs that cost a million times as much.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Answer:
    """What HiGHS returned: columns, row prices, its bound; None where there is no such thing."""

    columns: FloatArray | None
    prices: FloatArray | None
    bound: float
    infeasible: bool
    optimal: bool


class Model:
    """One HiGHS instance for one set of rows and columns.

    Parameters
    ----------
    columns : Columns
        The program without its costs.
    integer : bool
        Whether the label columns must be whole numbers.
    """

    def __init__(self, columns: Columns, integer: bool) -> None:
        import highspy  # here, because most programs never need it

        self.integer = integer
        self.width = len(columns.cap)
        self._zeros_fit = bool((columns.lower <= 0).all() and (columns.upper >= 0).all())
        self._h = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "parallel": "off",  # the answer must not depend on the number of threads
            "simplex_strategy": 1,  # serial dual simplex: warm after a change of costs too
            "presolve": "on" if integer else "off",  # presolve drops the basis
            # Undoing perturbed costs takes a quarter of a warm solve.
            "dual_simplex_cost_perturbation_multiplier": 0.0,
            "mip_rel_gap": 0.0,
            "mip_abs_gap": TOLERANCE,
        }.items():
            self._h.setOptionValue(option, value)
        if integer:
            for kind in ("primal", "dual", "mip"):
                self._h.setOptionValue(f"{kind}_feasibility_tolerance", TOLERANCE)
        if not integer:
            self._h.setOptionValue("solver", "simplex")
        if self._h.passModel(_as_lp(columns, integer)) == highspy.HighsStatus.kError:
            raise ValueError("HiGHS refuses these linear rows: their coefficients differ too much.")
        self._all = np.arange(self.width, dtype=np.int32)

    def solve(
        self,
        cost: FloatArray,
        *,
        fresh: bool = False,
        time_limit: float | None = None,
        max_nodes: int | None = None,
        start: FloatArray | None = None,
    ) -> Answer:
        """Minimise for new costs; `fresh` forgets the basis, `start` is a known solution."""
        if self.width == 0:  # HiGHS has no answer to a program without columns
            none = np.zeros(self._h.getNumRow())
            return Answer(np.empty(0), none, 0.0, not self._zeros_fit, self._zeros_fit)
        h = self._h
        h.changeColsCost(self.width, self._all, cost)
        if fresh or self.integer:
            h.clearSolver()
        # HiGHS counts its run time from the first call on.
        limit = np.inf if time_limit is None else h.getRunTime() + time_limit
        h.setOptionValue("time_limit", limit)
        if self.integer:
            h.setOptionValue("mip_max_nodes", UNLIMITED if max_nodes is None else max_nodes)
        if start is not None:
            import highspy

            solution = highspy.HighsSolution()
            solution.col_value = list(start)
            h.setSolution(solution)
        h.run()
        return self._answer()

    def _answer(self) -> Answer:
        import highspy

        h = self._h
        status = h.getModelStatus()
        kinds = highspy.HighsModelStatus
        infeasible = status in {kinds.kInfeasible, kinds.kUnboundedOrInfeasible}
        info, solution = h.getInfo(), h.getSolution()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        columns = np.array(solution.col_value) if found and not infeasible else None
        prices = None if self.integer or not found else np.array(solution.row_dual)
        bound = info.mip_dual_bound if self.integer else -np.inf
        return Answer(columns, prices, float(bound), infeasible, status == kinds.kOptimal)


def _as_lp(columns: Columns, integer: bool) -> Any:
    import highspy

    A = columns.A
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = A.shape
    lp.col_cost_ = np.zeros(lp.num_col_)
    lp.col_lower_, lp.col_upper_ = np.zeros(lp.num_col_), columns.cap
    lp.row_lower_, lp.row_upper_ = columns.lower, columns.upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = A.indptr.astype(np.int32)
    lp.a_matrix_.index_ = A.indices.astype(np.int32)
    lp.a_matrix_.value_ = A.data
    if integer:
        kinds = highspy.HighsVarType
        extra = lp.num_col_ - columns.n_labels
        lp.integrality_ = [kinds.kInteger] * columns.n_labels + [kinds.kContinuous] * extra
    return lp
