"""Polish of labels under pairwise terms: single rows by a work queue, then forests as blocks.

A block is a set of nodes without a cycle among them, the others held fixed: its best labels are
found by dynamic programming. Neither move can raise the energy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.oracles._forest_kernel import decode, pass_up
from tacit.oracles._graph import Graph, add_terms, energy, jit

__all__ = ["Block", "Polish", "blocks", "improve_single"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

# Sets of nodes without a cycle that together hold nearly all; a grid needs two.
MAX_BLOCKS = 4
MAX_ROUNDS = 10
# A move counts if it gains more than rounding may, relative to the terms of its row.
GAIN = 1e-12


@dataclass(frozen=True)
class Block:
    """Nodes without a cycle among them, parents first, as the forest kernel wants them."""

    node: npt.NDArray[np.int64]
    above: npt.NDArray[np.int64]  # place of the parent in `node`, -1 at a root
    table: npt.NDArray[np.int64]
    weight: FloatArray
    member: npt.NDArray[np.bool_]  # (K,)


def blocks(graph: Graph) -> list[Block]:
    """Blocks that take turns: each begins with the nodes that no block before it had."""
    n_nodes = len(graph.middle)
    covered = np.zeros(n_nodes, bool)
    found: list[Block] = []
    while len(found) < MAX_BLOCKS and not covered.all():
        order = np.argsort(covered, kind="stable")
        member = _without_cycle(graph, order)
        covered |= member
        node, above, link = _parents_first(graph, member)
        edge = np.maximum(link, 0)
        at_head = graph.head[edge] == node  # the child is the higher end
        # Tables are [parent, child]; the second half of the kernel's tables are turned ones.
        turned = graph.flip[edge] == at_head
        table = graph.table[edge] + np.where(turned, len(graph.tables), 0)
        weight = np.where(link >= 0, graph.weight[edge], 0.0)
        found.append(Block(node, above, table.astype(np.int64), weight, member))
    return found


class Polish:
    """Labels at which neither single nodes nor the blocks of a graph can gain.

    Parameters
    ----------
    graph : Graph
        Pairwise terms.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.blocks = blocks(graph) if len(graph.tail) else []
        self._tables = np.concatenate([graph.tables, graph.tables.swapaxes(1, 2)])

    def __call__(self, own: FloatArray, labels: Labels) -> tuple[Labels, float]:
        """Better labels than the given ones, and what they cost, by `own` and the pairs."""
        labels = labels.copy()
        improve_single(own, self.graph, labels)
        best = energy(own, self.graph, labels)
        for _ in range(MAX_ROUNDS):
            before = best
            for block in self.blocks:
                trial = self._solve(own, block, labels)
                value = energy(own, self.graph, trial)
                if value < best - GAIN * abs(best):
                    labels, best = trial, value
            if not best < before:
                break
            improve_single(own, self.graph, labels)
            best = energy(own, self.graph, labels)
        return labels, best

    def _solve(self, own: FloatArray, block: Block, labels: Labels) -> Labels:
        """Best labels of a block, the others fixed; the same ones where none satisfy the pairs."""
        cost = _conditioned(own, self.graph, block.member, labels)
        edge = (block.above, block.table, block.weight, self._tables)
        belief = np.empty((len(block.node), own.shape[1]))
        chosen = np.empty(len(block.node), np.int32)
        pass_up(cost, np.empty((0, own.shape[1])), block.node, *edge, belief)
        if decode(belief, *edge, chosen) == np.inf:
            return labels
        trial = labels.copy()
        trial[block.node] = chosen
        return trial


@jit
def improve_single(own, graph, labels):  # type: ignore[no-untyped-def]
    """Give rows better labels, in place, while there are any; fewer broken hard pairs go first."""
    n_nodes, n_classes = own.shape
    queue, waits = np.arange(n_nodes), np.ones(n_nodes, np.bool_)
    first, length, moves = 0, n_nodes, 0
    total, term = np.empty(n_classes), np.empty(n_classes)
    broken = np.empty(n_classes, np.int64)
    while length > 0:
        i = queue[first]
        first, length = (first + 1) % n_nodes, length - 1
        waits[i] = False
        size = 0.0
        for a in range(n_classes):
            total[a] = own[i, a]
            broken[a] = 0 if own[i, a] < np.inf else 1 << 30
        for s in range(graph.start[i], graph.start[i + 1]):
            e = graph.edge[s]
            up = s >= graph.middle[i]
            j = graph.head[e] if up else graph.tail[e]
            term[:] = 0.0
            add_terms(graph, e, not up, labels[j], term)
            size += abs(graph.weight[e]) * graph.largest[graph.table[e]]
            for a in range(n_classes):
                if term[a] < np.inf:
                    total[a] += term[a]
                else:
                    broken[a] += 1
        best = now = labels[i]
        for a in range(n_classes):
            if (broken[a], total[a]) < (broken[best], total[best]):
                best = a
        size += abs(total[now]) if broken[now] == 0 else 0.0
        if broken[best] == broken[now] and not total[best] < total[now] - GAIN * size:
            continue
        labels[i] = best
        moves += 1
        for s in range(graph.start[i], graph.start[i + 1]):
            e = graph.edge[s]
            j = graph.head[e] if s >= graph.middle[i] else graph.tail[e]
            if not waits[j]:
                queue[(first + length) % n_nodes] = j
                length += 1
                waits[j] = True
    return moves


@jit
def _conditioned(own, graph, member, labels):  # type: ignore[no-untyped-def]
    """Costs of each node given the labels of its neighbours outside the block."""
    cost = own.copy()
    for e in range(len(graph.tail)):
        i, j = graph.tail[e], graph.head[e]
        if member[i] and not member[j]:
            add_terms(graph, e, False, labels[j], cost[i])
        elif member[j] and not member[i]:
            add_terms(graph, e, True, labels[i], cost[j])
    return cost


@jit
def _without_cycle(graph, order):  # type: ignore[no-untyped-def]
    """Take nodes in the given order unless one would close a cycle (union-find)."""
    n_nodes = len(order)
    root = np.arange(n_nodes)
    seen = np.full(n_nodes, -1)
    member = np.zeros(n_nodes, np.bool_)
    for i in order:
        closes = False
        for sure in range(2):  # look first, then join
            for s in range(graph.start[i], graph.start[i + 1]):
                e = graph.edge[s]
                j = graph.head[e] if s >= graph.middle[i] else graph.tail[e]
                if not member[j]:
                    continue
                while root[j] != j:
                    root[j] = root[root[j]]
                    j = root[j]
                if sure:
                    root[j] = i
                elif seen[j] == i:
                    closes = True
                    break
                else:
                    seen[j] = i
            if closes:
                break
        if not closes:
            member[i] = True
    return member


@jit
def _parents_first(graph, member):  # type: ignore[no-untyped-def]
    """Members breadth first, the place of each one's parent, and the edge to it."""
    n_nodes = len(member)
    node, above = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    link, reached = np.empty(n_nodes, np.int64), np.zeros(n_nodes, np.bool_)
    length = 0
    for r in range(n_nodes):
        if not member[r] or reached[r]:
            continue
        node[length], above[length], link[length] = r, -1, -1
        reached[r] = True
        k = length
        length += 1
        while k < length:
            i = node[k]
            for s in range(graph.start[i], graph.start[i + 1]):
                e = graph.edge[s]
                j = graph.head[e] if s >= graph.middle[i] else graph.tail[e]
                if member[j] and not reached[j]:
                    node[length], above[length], link[length] = j, k, e
                    reached[j] = True
                    length += 1
            k += 1
    return node[:length].copy(), above[:length].copy(), link[:length].copy()
