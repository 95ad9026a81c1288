"""Labels of a contracted program made better by cuts: expansion moves and swaps.

A `Field` holds the graph and what its energy is; arrays are set aside once.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from tacit.hints._contract import Contraction
from tacit.oracles._moves_kernel import add_cliques, load_expansion, load_swap
from tacit.oracles._pair_kernel import labels_value
from tacit.oracles.mincut import MinCut

__all__ = ["Field"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Labels = npt.NDArray[np.int32]

# A move counts if it gains more than this part of the terms: more than rounding can make.
GAIN = 1e-13


class Field:
    """Costs per node, pairs and cliques, and the graph on which moves are cut.

    Parameters
    ----------
    contraction : Contraction
        Pairs must be finite. Every clique gets two nodes of its own.
    """

    def __init__(self, contraction: Contraction) -> None:
        pairs, self._cliques = contraction.pairs, contraction.cliques
        self.n = len(contraction.first_row)
        free = bool(contraction.allowed.all()) and not contraction.unary.any()
        self._own = None if free else np.where(contraction.allowed, contraction.unary, np.inf)
        self._pairs = (pairs.edges, pairs.weight, pairs.table, pairs.tables)
        self._usable = contraction.allowed.any(axis=0)
        edges = pairs.edges
        if len(self._cliques):
            owner = self.n + 2 * self._cliques.owner
            spokes = np.stack([owner, self._cliques.members, owner + 1, self._cliques.members], 1)
            edges = np.concatenate([edges, spokes.reshape(-1, 2)])
        self._first_spoke = len(pairs.edges)
        self._cut = MinCut(
            self.n + 2 * len(self._cliques), edges, np.broadcast_to(0.0, len(edges)), reorder=False
        )

    def total(self, cost: FloatArray) -> FloatArray:
        """Costs of the nodes with the program's own, +inf where forbidden; not copied if free."""
        return np.ascontiguousarray(cost if self._own is None else cost + self._own)

    def energy(self, total: FloatArray, labels: Labels) -> tuple[float, float]:
        """Return what a labeling of the nodes pays, and the size of the terms."""
        value, size = labels_value(total, total[:0], *self._pairs, labels)
        if len(self._cliques):
            more = float(self._cliques.cost(labels).sum())
            value, size = value + more, size + more
        return value, size

    def expand(self, total: FloatArray, labels: Labels) -> tuple[Labels, float]:
        """Expansion moves, label by label, until none gains; labels and their energy.

        A label is not tried again before another has changed something.
        """
        value, size = self.energy(total, labels)
        tried = [int(a) for a in np.flatnonzero(self._usable)]
        left, k = len(tried), 0
        while left:
            alpha, k, left = tried[k % len(tried)], k + 1, left - 1
            trial = self._expansion(total, labels, alpha)
            reached, _ = self.energy(total, trial)
            if reached < value - GAIN * size:
                labels, value, left = trial, reached, len(tried) - 1
        return labels, value

    def swap(self, total: FloatArray, labels: Labels) -> tuple[Labels, float]:
        """Swap moves, two labels at a time, until none gains; labels and their energy.

        Two labels are not tried again before a node has changed to or from one of them.
        """
        value, size = self.energy(total, labels)
        usable = np.flatnonzero(self._usable)
        waiting = {(int(a), int(b)) for a, b in combinations(usable, 2)}
        while waiting:
            for pair in sorted(waiting):
                waiting.discard(pair)
                trial = self._swapped(total, labels, *pair)
                reached, _ = self.energy(total, trial)
                if reached < value - GAIN * size:
                    labels, value = trial, reached
                    waiting |= {
                        (int(a), int(b)) for a, b in combinations(usable, 2) if {a, b} & {*pair}
                    } - {pair}
        return labels, value

    def _expansion(self, total: FloatArray, labels: Labels, alpha: int) -> Labels:
        cut = self._cut
        graph = (cut.graph, cut.offset)
        load_expansion(
            *graph, cut.arc, *self._pairs, total, labels, alpha, cut.residual, cut.excess
        )
        if len(self._cliques):
            c = self._cliques
            add_cliques(
                *graph,
                self.n,
                cut.arc[self._first_spoke :],
                c.indptr,
                c.members,
                c.times,
                c.weight,
                c.truncate,
                labels,
                alpha,
                cut.residual,
                cut.excess,
            )
        change = cut.flow()[: self.n]
        return np.where(change, np.int32(alpha), labels)

    def _swapped(self, total: FloatArray, labels: Labels, alpha: int, beta: int) -> Labels:
        cut = self._cut
        load_swap(
            cut.graph,
            cut.offset,
            cut.arc,
            *self._pairs,
            total,
            labels,
            alpha,
            beta,
            cut.residual,
            cut.excess,
        )
        asked = (labels == alpha) | (labels == beta)
        second = cut.flow()[: self.n]
        return np.where(asked, np.where(second, beta, alpha), labels).astype(np.int32)
