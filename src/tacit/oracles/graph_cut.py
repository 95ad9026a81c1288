r"""Pairs of two labels that prefer agreement: exact minimum cut.

.. math:: \min_y \sum_i c_{i y_i} + \sum_{(i, j)} w_{ij} T_{ij}(y_i, y_j),
    \qquad T(0, 1) + T(1, 0) \ge T(0, 0) + T(1, 1)

Must-links are contracted first, the same edge twice adds up, and infinite entries are exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram
from tacit.oracles._binary import Binary, too_many_labels
from tacit.oracles._pair_kernel import labels_value
from tacit.oracles.base import Oracle, OracleResult, Verdict, untreated
from tacit.oracles.mincut import MinCut

__all__ = ["GraphCutOracle"]

FloatArray = npt.NDArray[np.float64]

# What rounding may leave of the gap, relative to the sizes of the cut's terms, for calling the
# answer exact.
CLOSED = 1e-12
# Edges that a refusal names.
NAMED_EDGES = 3


class GraphCutOracle(Oracle):
    """Exact labels for submodular pairs of two classes, by a minimum cut that is kept.

    Classes may be more as long as each row has at most two allowed labels; what is submodular is
    then read in the order of the classes. Rows with a single label count as costs of their
    neighbours. The flow stays between calls: costs that drift take a fraction of the first call.

    Notes
    -----
    The label step of 004 (14) for two classes.

    References
    ----------
    V. Kolmogorov, R. Zabih, What energy functions can be minimized via graph cuts? (2004).
    """

    name = "graph_cut"
    summary = "submodular pairs (Potts, links) of two classes, costs per row"

    def __init__(self, program: LabelProgram) -> None:
        super().__init__(program)
        if refusal := _refuse(program):
            raise ValueError(f"GraphCutOracle cannot solve this program: {refusal}.")
        self._binary = binary = Binary.of(program.contraction)
        if edges := _not_submodular(binary, program):
            raise ValueError(f"GraphCutOracle cannot solve this program: {edges}.")
        self._cut = MinCut(len(binary.low), binary.edges, binary.forward, binary.backward)
        self._rounding = (self._cut.degree + 32) * float(np.finfo(float).eps)

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if refusal := _refuse(program):
            return Verdict(False, refusal)
        if refusal := _not_submodular(Binary.of(program.contraction), program):
            return Verdict(False, refusal)
        return Verdict(True, "pairs of two labels, all submodular")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        shape = (self.program.n, self.program.n_classes)
        if cost.shape != shape:
            raise ValueError(f"cost has shape {cost.shape}; expected {shape}.")
        binary, contraction = self._binary, self.program.contraction
        if binary.infeasible:
            raise InfeasibleHints("some row has no allowed label.")
        total = contraction.gather(cost)
        least, most = binary.pick(total)
        found = self._cut.solve(binary.cost + (most - least))
        labels = binary.labels(found.side)
        base, paid = binary.base(least, most)
        size = binary.size + paid
        if not contraction.trivial:
            labels = labels[contraction.component]
        value = value_of(self.program, cost, labels)
        margin = self._rounding * size
        bound = binary.const + base + found.bound - margin
        # Against what depends on the labels: an offset of the costs closes no gap.
        scale = binary.slopes(most - least)
        exact = value - bound <= CLOSED * scale + 2.0 * margin
        return OracleResult(labels, value, bound, bool(exact))


def value_of(
    program: LabelProgram, cost: npt.NDArray[np.floating], labels: npt.NDArray[np.int32]
) -> float:
    """Return what a labeling pays, from the program's own arrays; pairs and costs per row only."""
    own = np.empty((0, program.n_classes)) if program.unary is None else program.unary
    pairs = program.pairs
    costs = np.asarray(cost, np.float64)
    args = (pairs.edges, pairs.weight, pairs.table, pairs.tables)
    return float(labels_value(costs, own, *args, labels)[0])


def _refuse(program: LabelProgram) -> str:
    """Why a program is more than pairs of two labels, empty if it is not."""
    return untreated(program, "pairs") or too_many_labels(program.contraction)


def _not_submodular(binary: Binary, program: LabelProgram) -> str:
    """Name the edges that are not submodular, empty if all are."""
    if not binary.flip.any():
        return ""
    row = program.contraction.first_row
    edges = binary.edges[np.flatnonzero(binary.flip)]
    named = ", ".join(f"({row[u]}, {row[v]})" for u, v in edges[:NAMED_EDGES])
    more = f" and {len(edges) - NAMED_EDGES} more" if len(edges) > NAMED_EDGES else ""
    return f"pairs {named}{more} are not submodular (they prefer different labels)"
