r"""Labels that are a flow: networks, matchings, counts in two crossing families of groups.

.. math:: \min_y \sum_i c_{i y_i} + \min_x \{\langle w, x \rangle : x \text{ a flow},
    \; x_a = [y_i = k] \text{ where arc } a \text{ is class } k \text{ of row } i\}

as one flow of least cost: the arc of a label costs what the label costs more than the cheapest
label of its row that is no arc.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram
from tacit.oracles._flow_solver import Flow, FlowSolver
from tacit.oracles._flow_wiring import wire
from tacit.oracles.base import ROUNDED, Oracle, OracleResult, Verdict

__all__ = ["FlowOracle"]

FloatArray = npt.NDArray[np.float64]

# What rounding may leave of the gap, relative to the value, for calling the answer exact.
CLOSED = 1e-9


class FlowOracle(Oracle):
    """Exact least-cost flows, bipartite matchings and counts in two crossing families of groups.

    Networks of `hints.Flow` are solved as they are, if the arcs of each row leave one node or enter
    one. Bounds on the count of one class (with two classes: of either) in groups that fall into two
    families, each of disjoint or nested groups, are a network too: flow passes down the groups of
    the one, along the rows that have the class, and up those of the other. `hints.Matching` is such
    a program, and so are batches by day and by place. Potentials of the nodes are kept: the next
    costs are usually close, and then few paths change.

    Notes
    -----
    The flow supervisor of 000, and the label step of 000 (12) under it.

    References
    ----------
    R. K. Ahuja, T. L. Magnanti, J. B. Orlin, Network Flows (1993), ch. 9.
    """

    name = "flow"
    summary = "networks, matchings, counts of one class in two crossing families of groups"

    def __init__(self, program: LabelProgram) -> None:
        super().__init__(program)
        net = wire(program)
        if isinstance(net, str):
            raise ValueError(f"FlowOracle cannot solve this program: {net}.")
        self._net, joined = net, program.contraction
        self._solver = FlowSolver(net.n_nodes, net.tail, net.head, net.lower, net.upper, net.supply)
        self._own = np.where(joined.allowed, joined.unary, np.inf)
        # Places in the raveled table: of arcs; of the first label of each component, of each row.
        self._place = net.component * program.n_classes + net.cls
        self._first = np.arange(len(self._own)) * program.n_classes
        self._row = np.arange(program.n) * program.n_classes
        free = joined.allowed.copy()
        free[net.component, net.cls] = False
        self._only_arcs = np.flatnonzero(~free.any(axis=1))
        self._forbidden = np.flatnonzero(~joined.allowed[net.component, net.cls])
        self._dead = not joined.allowed.any(axis=1).all()
        self._paid = float(np.abs(net.cost[net.arc]).sum())

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        net = wire(program)
        if isinstance(net, str):
            return Verdict(False, net)
        what = "two families of groups" if program.flow is None else "a network"
        return Verdict(True, f"labels are a flow through {what} ({net.n_nodes} nodes)")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        if cost.shape != (shape := (self.program.n, self.program.n_classes)):
            raise ValueError(f"cost has shape {cost.shape}; expected {shape}.")
        if self._dead:
            raise InfeasibleHints("some row has no label that all its hints allow.")
        net = self._net
        free = self.program.contraction.gather(cost) + self._own
        arc_label = free.ravel()[self._place]
        free.ravel()[self._place] = np.inf
        labels, base = _cheapest(free)
        base[self._only_arcs] = 0.0  # one of the arcs will be used
        extra = arc_label - base[net.component]
        extra[self._forbidden] = 0.0
        arc_cost = net.cost.copy()
        arc_cost[net.arc] += extra
        found = self._solver.solve(arc_cost)
        if found is None:
            raise InfeasibleHints(self._why())
        used = np.flatnonzero(found.flow[net.arc])
        labels[net.component[used]] = net.cls[used]
        return self._result(cost, labels, found, np.abs(base).sum() + self._paid)

    def _result(
        self,
        cost: npt.NDArray[np.floating],
        labels: npt.NDArray[np.int32],
        found: Flow,
        size: float,
    ) -> OracleResult:
        """Answer with its value recomputed; `size` is that of the other terms that were rounded."""
        joined, net = self.program.contraction, self._net
        terms = (
            joined.unary.ravel()[self._first + labels],
            np.ravel(cost)[self._row + labels[joined.component]],
            net.cost[: net.own] * found.flow[: net.own],
        )
        value = float(sum(t.sum(dtype=np.float64) for t in terms))
        size += sum(np.abs(t).sum(dtype=np.float64) for t in terms)
        gap = found.gap + ROUNDED * float(size)
        exact = gap <= CLOSED * (1.0 + abs(value))
        return OracleResult(labels[joined.component], value, value - gap, exact)

    def _why(self) -> str:
        """Say what an infeasible flow means."""
        if self.program.flow is not None:
            cut = self._solver.cut
            assert cut is not None
            return (
                "no flow meets the bounds and supplies of the network and the labels that are "
                f"allowed: {int(cut.sum())} of its nodes cannot get rid of what enters them."
            )
        return "the count bounds on two families of groups cannot all hold."


def _cheapest(cost: FloatArray) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Cheapest label of each row and its cost, class by class: rows are many, classes few."""
    label, least = np.zeros(len(cost), np.int32), cost[:, 0].copy()
    for c in range(1, cost.shape[1]):
        better = cost[:, c] < least
        label[better] = c
        least = np.where(better, cost[:, c], least)
    return label, least
