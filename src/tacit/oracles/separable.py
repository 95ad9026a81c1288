"""Each row on its own: the cheapest allowed label."""

from __future__ import annotations

from tacit.backends import Array, array_namespace, as_like
from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram
from tacit.oracles.base import Oracle, OracleResult, Verdict

__all__ = ["SeparableOracle"]


class SeparableOracle(Oracle):
    """argmin over each row's allowed labels; costs of any array library, where they lie."""

    name = "separable"
    summary = "allowed labels and costs per row, nothing that couples rows"
    anywhere = True

    def __init__(self, program: LabelProgram) -> None:
        super().__init__(program)
        free = program.allowed is None and program.unary is None
        self._own = None if free else program.full_cost()
        self._there: Array = None  # the same where the last costs were

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if program.separable:
            return Verdict(True, "no hint couples two rows")
        return Verdict(False, "some hints couple rows")

    def solve(self, cost: Array) -> OracleResult:  # noqa: D102
        xp = array_namespace(cost)
        total = cost
        if self._own is not None:
            total = cost + self._own_like(cost)
        value = float(xp.sum(xp.min(total, axis=1), dtype=xp.float64))
        if value == float("inf"):
            raise InfeasibleHints("some row has no allowed label.")
        labels = xp.astype(xp.argmin(total, axis=1), xp.int32)
        return OracleResult(labels, value, value, True)

    def _own_like(self, cost: Array) -> Array:
        """Return what the program adds, where the costs are."""
        kept = self._there
        same = type(kept) is type(cost) and kept.dtype == cost.dtype
        if not same or kept.device != cost.device:
            self._there = as_like(self._own, cost)
        return self._there
