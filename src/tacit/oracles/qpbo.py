r"""Pairs of two labels that may prefer to differ: roof duality on the doubled graph.

Every node i is there twice, as x_i and as its opposite z_i, which should be 1 - x_i. A term in x_u
and x_v is half of it in x_u, x_v and half in z_u, z_v; one that is not submodular is half in x_u,
z_v and half in z_u, x_v. All halves are submodular:

.. math:: \min_{x, z} \tfrac12 \bigl( E(x, 1 - z) + E(1 - z, x) \bigr) \le \min_x E(x)

is one minimum cut, and where x_i = 1 - z_i in it, some optimal labeling has x_i.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram
from tacit.oracles._bare import some_labeling
from tacit.oracles._binary import Binary, too_many_labels
from tacit.oracles._graph import arrange
from tacit.oracles._icm import Polish
from tacit.oracles.base import Oracle, OracleResult, Verdict, untreated
from tacit.oracles.graph_cut import CLOSED, value_of
from tacit.oracles.mincut import MinCut

__all__ = ["QPBOOracle"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int32]


class QPBOOracle(Oracle):
    """Optimal labels of as many rows as roof duality decides, and its bound, for two classes.

    The other rows are labelled by moves of single rows and of forests. Where all rows are decided
    the answer is exact: so it is for pairs that are submodular after some rows have been turned
    round, and for many that are not. The flow is kept between calls.

    Attributes
    ----------
    unlabelled : (N,) bool array
        Rows that roof duality left open in the last call. The labels of the others are those of
        some optimal labeling, all of them together.

    References
    ----------
    P. L. Hammer, P. Hansen, B. Simeone, Roof duality, complementation and persistency in quadratic
    0-1 optimization (1984).
    E. Boros, P. L. Hammer, Pseudo-Boolean optimization (2002).
    """

    name = "qpbo"
    summary = "any pairs of two classes; proven labels of some rows, with a lower bound"
    approximate = True
    slow = True

    def __init__(self, program: LabelProgram) -> None:
        super().__init__(program)
        if not (verdict := self.accepts(program)):
            raise ValueError(f"QPBOOracle cannot solve this program: {verdict.reason}.")
        self._contraction = program.contraction
        self._binary = binary = Binary.of(program.contraction)
        self._cut = _doubled(binary)
        self.unlabelled: BoolArray = np.ones(program.n, bool)
        self._polish: tuple[Polish, npt.NDArray[np.intp]] | None = None
        self._rounding = (self._cut.degree + 64) * float(np.finfo(float).eps)

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if refusal := untreated(program, "pairs") or too_many_labels(program.contraction):
            return Verdict(False, refusal)
        return Verdict(True, "pairs of two labels; exact where roof duality decides all rows")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        shape = (self.program.n, self.program.n_classes)
        if cost.shape != shape:
            raise ValueError(f"cost has shape {cost.shape}; expected {shape}.")
        binary, joined = self._binary, self._contraction
        if binary.infeasible:
            raise InfeasibleHints("some row has no allowed label.")
        total = joined.gather(cost)
        least, most = binary.pick(total)
        slope = binary.cost + (most - least)
        found = self._cut.solve(np.concatenate([slope, -slope]) / 2.0)
        one, opposite = np.split(found.side, 2)
        labels, open_ = binary.labels(one), (one == opposite) & (binary.low != binary.high)
        if open_.any():
            labels = self._complete(total, labels, open_)
        self.unlabelled = open_[joined.component]
        half = np.where(np.isinf(slope), 0.0, slope) / 2.0
        base, paid = binary.base(least, most)
        size = binary.size + paid + float(np.abs(half).sum())
        bound = binary.const + base + float(half.sum()) + found.bound
        chosen = labels[joined.component]
        value = value_of(self.program, cost, chosen)
        margin = self._rounding * size
        exact = value - bound <= CLOSED * binary.slopes(most - least) + margin
        return OracleResult(chosen, value, bound - margin, bool(exact))

    def _complete(self, total: FloatArray, labels: Labels, open_: BoolArray) -> Labels:
        """Labels in which open nodes follow their own costs, polished."""
        joined = self._contraction
        if self._polish is None:
            graph, node = arrange(joined.pairs, len(joined.first_row))
            self._polish = Polish(graph), node
        polish, node = self._polish
        own = total + np.where(joined.allowed, joined.unary, np.inf)
        labels = np.where(open_, own.argmin(axis=1), labels).astype(np.int32)
        best, reached = polish(own[node], labels[node])
        if reached == np.inf:
            some = some_labeling(self.program)[joined.first_row]
            # Decided labels break nothing that can be kept; the others have to fit to them.
            fit, value = polish(own[node], np.where(open_, some, labels)[node].astype(np.int32))
            best = fit if value < np.inf else polish(own[node], some[node])[0]
        polished = np.empty_like(best)
        polished[node] = best
        # Putting the decided labels back in never costs anything.
        return np.where(open_, polished, labels).astype(np.int32)


def _doubled(binary: Binary) -> MinCut:
    """Cut graph of all nodes and their opposites, numbered from K on."""
    k, edges = len(binary.low), binary.edges
    u, v = edges.T
    # The opposite of the second end where the term is one in 1 - x_v.
    there = v + k * binary.flip if len(binary.flip) else v
    back = (there + k) % (2 * k)
    both = np.concatenate([np.stack([u, there], 1), np.stack([u + k, back], 1)])
    forward = np.concatenate([binary.forward, binary.backward]) / 2.0
    backward = np.concatenate([binary.backward, binary.forward]) / 2.0
    return MinCut(2 * k, both, forward, backward)
