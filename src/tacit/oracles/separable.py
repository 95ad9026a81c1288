"""Each row on its own: the cheapest allowed label."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram
from tacit.oracles.base import Oracle, OracleResult, Verdict

__all__ = ["SeparableOracle"]


class SeparableOracle(Oracle):
    """argmin over each row's allowed labels."""

    name = "separable"
    summary = "allowed labels and costs per row, nothing that couples rows"

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if program.separable:
            return Verdict(True, "no hint couples two rows")
        return Verdict(False, "some hints couple rows")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        total = self.program.full_cost(cost)
        labels = np.argmin(total, axis=1).astype(np.int32)
        value = float(total[np.arange(len(labels)), labels].sum())
        if not np.isfinite(value):
            raise InfeasibleHints("some row has no allowed label.")
        return OracleResult(labels, value, value, True)
