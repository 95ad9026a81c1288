"""Try every labeling: the reference for tests and for teaching."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram
from tacit.oracles.base import Oracle, OracleResult, Verdict

__all__ = ["ExhaustiveOracle"]

MAX_LABELINGS = 2_000_000


class ExhaustiveOracle(Oracle):
    """Enumerate C^N labelings and keep the cheapest feasible one."""

    name = "exhaustive"
    summary = f"anything with at most {MAX_LABELINGS:,} labelings"

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        count = float(program.n_classes) ** program.n
        if count <= MAX_LABELINGS:
            return Verdict(True, f"only {count:.0f} labelings")
        return Verdict(False, f"{count:.1e} labelings are more than {MAX_LABELINGS:,}")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        n, rows = self.program.n, np.arange(self.program.n)
        best, best_value = None, np.inf
        for combo in product(range(self.program.n_classes), repeat=n):
            labels = np.array(combo, np.int32)
            value = float(cost[rows, labels].sum()) + self.program.value(labels)
            if value < best_value:
                best, best_value = labels, value
        if best is None:
            raise InfeasibleHints("none of the labelings satisfies all hints.")
        return OracleResult(best, best_value, best_value, True)
