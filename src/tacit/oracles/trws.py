r"""General pairwise terms: sequential tree-reweighted message passing.

.. math:: \min_y \sum_i c_{i y_i} + \sum_{(i, j)} w_{ij} T_{ij}(y_i, y_j)

Messages M move costs between the terms without changing any labeling's total. Every node gives an
even share of its total to each of the chains through it (paths along which the order of the nodes
rises), and the sum of the least costs of all chains is a lower bound,

.. math:: \sum_i (1 - \gamma_i n_i) \min_a \hat c_{ia} + \sum_{(h, i)} \min_{a, b}
    \bigl(w T(a, b) - M_{ih}(a) - M_{hi}(b) + \gamma_i \hat c_{ib}\bigr),

with h the lower neighbours of i, n_i their number. A sweep never lowers it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram
from tacit.oracles._bare import some_labeling
from tacit.oracles._graph import arrange, energy, prune
from tacit.oracles._icm import Polish
from tacit.oracles._trws_kernel import decode, lower_bound, sweep
from tacit.oracles.base import Oracle, OracleResult, Verdict, rounding, untreated

__all__ = ["TRWSOracle"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

# What rounding may leave of the gap of an answer that is called exact, relative to the value above
# each row's least cost, or to the largest term; sweeps go on to a tenth of it.
CLOSED = 1e-9
MAX_ITER = 300
# Stop when so many sweeps have closed less than this part of the gap.
PATIENCE, PROGRESS = 20, 0.005
# Messages so much larger than the costs come from other costs and would lose digits.
STALE = 1e4


class TRWSOracle(Oracle):
    """Labels and a lower bound for any pairwise terms, with cycles and any tables.

    Sweeps of messages, there and back along an order of the nodes; after each, labels are chosen
    one by one given those before. The best of them is polished by moves of single rows and of
    forests. The bound is that of the local polytope where messages end there, exact on trees; it is
    computed again from the messages, with what rounding may have added taken off. Messages are kept
    for the next costs.

    Parameters
    ----------
    program : LabelProgram
        Pairs only.
    gap : float, default=0.0
        Relative distance from the bound that is good enough.
    max_iter : int, default=300
        Sweeps there and back in one call.

    Notes
    -----
    Hard pairs and forbidden labels are treated exactly: labels that cannot be part of any labeling
    by arc consistency are dropped once. Where no labels that were tried satisfy all hard pairs,
    branch and bound finds some that do, once for all calls.

    References
    ----------
    V. Kolmogorov, Convergent tree-reweighted message passing for energy minimization, TPAMI 2006.
    """

    name = "trws"
    summary = "pairs of any kind, with cycles; approximate, with a lower bound"
    approximate = True
    slow = True

    def __init__(
        self, program: LabelProgram, *, gap: float = 0.0, max_iter: int = MAX_ITER
    ) -> None:
        super().__init__(program)
        if not (verdict := self.accepts(program)):
            raise ValueError(f"TRWSOracle cannot solve this program: {verdict.reason}.")
        self.gap, self.max_iter = gap, max_iter
        self._contraction = joined = program.contraction
        self._graph, self._node = arrange(joined.pairs, len(joined.first_row))
        self._allowed = joined.allowed[self._node]
        empty = -1
        if not self._allowed.all() or np.isinf(joined.pairs.tables).any():
            empty = prune(self._graph, self._allowed)
        self._contradicts = empty >= 0 or not self._allowed.any(axis=1).all()
        self._own = np.where(self._allowed, joined.unary[self._node], np.inf)
        shape = (len(joined.pairs), 2, program.n_classes)
        self._message = np.zeros(shape)
        self._polish: Polish | None = None
        self._known: Labels | None = None

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if refusal := untreated(program, "pairs"):
            return Verdict(False, refusal)
        return Verdict(True, "only pairs couple rows; approximate, with a proven bound")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        shape = (self.program.n, self.program.n_classes)
        if cost.shape != shape:
            raise ValueError(f"cost has shape {cost.shape}; expected {shape}.")
        if self._contradicts:
            raise InfeasibleHints(
                "no labeling satisfies the allowed labels and the hard pairs together."
            )
        own = self._contraction.gather(cost)[self._node] + self._own
        own -= own.min(axis=1, keepdims=True)
        size = self._size(own)
        if np.abs(self._message).max(initial=0.0) > STALE * size:
            self._message[:] = 0.0
        best, reached, bound = self._run(own, size)
        labels = np.empty_like(best)
        labels[self._node] = best
        labels = labels[self._contraction.component]
        value = float(cost[np.arange(len(labels)), labels].sum(dtype=np.float64))
        value += self.program.value(labels)
        # The gap is that of the reduced costs, whose rounding comes on top.
        gap = max(reached - bound, 0.0)
        below = gap + rounding(self.program, cost, labels)
        exact = bool(gap <= CLOSED * max(abs(reached), size))
        return OracleResult(labels, value, float(value - below), exact)

    def _size(self, own: FloatArray) -> float:
        """Largest finite term."""
        graph = self._graph
        pairs = (np.abs(graph.weight) * graph.largest[graph.table]).max(initial=0.0)
        return max(float(np.where(self._allowed, own, 0.0).max(initial=0.0)), float(pairs))

    def _run(self, own: FloatArray, size: float) -> tuple[Labels, float, float]:
        """Best labels, what they cost, and the bound."""
        graph, message = self._graph, self._message
        best, reached = self._constant(own)
        trial, bounds = np.empty_like(best), []
        polished = np.inf
        for k in range(self.max_iter if len(graph.tail) else 0):
            sweep(own, graph, message, True)
            bounds.append(sweep(own, graph, message, False))
            decode(own, graph, message, True, trial)
            value = energy(own, graph, trial)
            if value < reached:
                best, reached = trial.copy(), value
            if self._near(reached, bounds[-1], size):
                break
            if k % PATIENCE == PATIENCE - 1:
                if reached < polished:
                    best, reached = self._polished(own, best)
                    polished = reached
                if self._near(reached, bounds[-1], size) or _stalls(bounds, reached):
                    break
        if not reached < polished or not self._near(
            reached, bounds[-1] if bounds else -np.inf, size
        ):
            best, reached = self._polished(own, best)
        if reached == np.inf:
            best, reached = self._polished(own, self._some_labels())
        return best, reached, lower_bound(own, graph, message)

    def _constant(self, own: FloatArray) -> tuple[Labels, float]:
        """Best labels among: all the same; each row's best."""
        best, reached = np.argmin(own, axis=1).astype(np.int32), np.inf
        for c in range(-1, own.shape[1]):
            trial = np.where(own[:, c] < np.inf, c, best).astype(np.int32) if c >= 0 else best
            value = energy(own, self._graph, trial)
            if value < reached:
                best, reached = trial, value
        return best, reached

    def _near(self, value: float, bound: float, size: float) -> bool:
        """Whether labels are as good as was asked for."""
        return value - bound <= max(self.gap * abs(value), 0.1 * CLOSED * max(abs(value), size))

    def _polished(self, own: FloatArray, labels: Labels) -> tuple[Labels, float]:
        if self._polish is None:
            self._polish = Polish(self._graph)
        return self._polish(own, labels)

    def _some_labels(self) -> Labels:
        """Labels of the nodes that satisfy all hard pairs, found once."""
        if self._known is None:
            self._known = some_labeling(self.program)
        return self._known[self._contraction.first_row][self._node]


def _stalls(bounds: list[float], reached: float) -> bool:
    """Whether the last sweeps closed too little of the gap."""
    if len(bounds) <= PATIENCE:
        return False
    return bounds[-1] - bounds[-1 - PATIENCE] <= PROGRESS * (reached - bounds[-1])
