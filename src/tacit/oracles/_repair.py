"""Labels that miss count bounds made to keep them, then improved while they do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.hints._program import LabelProgram
from tacit.oracles._graph import Graph, energy
from tacit.oracles._repair_kernel import (
    Groups,
    changes,
    fill,
    move_single,
    repair,
    swap_runs,
)

__all__ = ["Repair", "component_groups", "member_matrix"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Labels = npt.NDArray[np.int32]

# Rounds of swaps and single moves; the first few find nearly all there is.
MAX_ROUNDS = 20


def component_groups(program: LabelProgram, node: IntArray) -> Groups:
    """Find the groups of components, `node[k]` the one at place k, and their tightest bounds.

    As each row has one label, the bounds on the other classes bound a class too; a lower bound
    above the upper one says that not all of them can hold.
    """
    counts, component = program.counts, program.contraction.component
    place = np.empty_like(node)
    place[node] = np.arange(len(node))
    ones = np.ones(len(counts.members), np.int64)
    rows = (ones, place[component[counts.members]], counts.indptr.copy())
    member = sp.csr_array(rows, (len(counts), len(node)))
    member.sum_duplicates()
    of_node = sp.csr_array(member.T)
    sizes = counts.sizes[:, None]
    lower, upper = np.maximum(counts.lower, 0), np.minimum(counts.upper, sizes)
    others_upper = upper.sum(axis=1, keepdims=True) - upper
    others_lower = lower.sum(axis=1, keepdims=True) - lower
    lower = np.maximum(lower, sizes - others_upper)
    upper = np.minimum(upper, sizes - others_lower)
    return Groups(
        of_node.indptr.astype(np.int64),
        of_node.indices.astype(np.int64),
        of_node.data.astype(np.int64),
        lower.astype(np.int64),
        upper.astype(np.int64),
    )


class Repair:
    """Local search among labelings of a graph's nodes under count bounds.

    Parameters
    ----------
    graph : Graph
        Pairwise terms.
    groups : Groups
        Bounds on counts.
    """

    def __init__(self, graph: Graph, groups: Groups) -> None:
        self.graph, self.groups = graph, groups
        self._alike = _alike(groups)
        self._tally = np.zeros(groups.lower.shape, np.int64)

    def tally(self, labels: Labels) -> npt.NDArray[np.int64]:
        """Class counts of each group, (G, C)."""
        fill(self.groups, labels, self._tally)
        return self._tally.copy()

    def keeps(self, labels: Labels) -> bool:
        """Whether labels keep all bounds."""
        return bool(fill(self.groups, labels, self._tally) == 0)

    def changes(self, own: FloatArray, labels: Labels) -> FloatArray:
        """Change of cost for every node and new label, (K, C)."""
        change = np.empty(own.shape)
        changes(own, self.graph, labels, change)
        return change

    def __call__(self, own: FloatArray, labels: Labels) -> tuple[Labels, float] | None:
        """Labels that keep all bounds, and their cost; None if moves of single nodes find none.

        `labels` must satisfy the hard pairs; so does the answer.
        """
        labels = labels.copy()
        before = -1
        while (missed := repair(own, self.graph, self.groups, self._tally, labels)) > 0:
            if missed == before:
                return None
            before = missed
        for _ in range(MAX_ROUNDS):
            gain = move_single(own, self.graph, self.groups, self._tally, labels)
            gain += self._swap(own, labels)
            if not gain > 0.0:
                break
        return labels, energy(own, self.graph, labels)

    def _swap(self, own: FloatArray, labels: Labels) -> float:
        """Exchange labels between nodes that count alike, in place; return the gain."""
        n_nodes, n_classes = own.shape
        change = self.changes(own, labels)
        node, goal = np.divmod(np.arange(n_nodes * n_classes), n_classes)
        gain = change.ravel()
        keep = (goal != labels[node]) & np.isfinite(gain) & (self._alike[node] >= 0)
        node, goal, gain = node[keep], goal[keep], gain[keep]
        if len(node) == 0:
            return 0.0
        kinds, kind = np.unique(
            (self._alike[node] * n_classes + labels[node]) * n_classes + goal, return_inverse=True
        )
        rest, to = np.divmod(kinds, n_classes)
        group, away = np.divmod(rest, n_classes)
        turned = (group * n_classes + to) * n_classes + away
        partner = np.minimum(np.searchsorted(kinds, turned), len(kinds) - 1)
        partner = np.where(kinds[partner] == turned, partner, -1)
        # Only what gains with the best move the other way is worth sorting.
        best = np.full(len(kinds) + 1, np.inf)  # the last for those without a partner
        np.minimum.at(best, kind, gain)
        keep = gain + best[partner[kind]] < 0.0
        node, goal, gain, kind = node[keep], goal[keep], gain[keep], kind[keep]
        order = np.lexsort((gain, kind))
        node, goal, gain = node[order], goal[order], gain[order]
        first = np.searchsorted(kind[order], np.arange(len(kinds) + 1))
        moves = (node, goal, gain, first, partner)
        return float(swap_runs(own, self.graph, self.groups, self._tally, labels, *moves))


def member_matrix(groups: Groups) -> sp.csr_array:
    """Return what each node adds to the counts of each group, (K, G)."""
    shape = (len(groups.start) - 1, len(groups.lower))
    return sp.csr_array((groups.size, groups.group, groups.start), shape)


def _alike(groups: Groups) -> IntArray:
    """Give nodes that count alike for the same groups the same number; -1 for others."""
    # Nodes with the same groups and sizes have the same sums of random numbers.
    rng = np.random.default_rng(0)
    salt = rng.integers(1, 1 << 62, len(groups.lower))
    total = member_matrix(groups) @ salt
    found = np.unique(total, return_inverse=True)[1].astype(np.intp)
    alone = np.bincount(found)[found] == 1
    found[alone | (np.diff(groups.start) == 0)] = -1
    return found
