"""Pairs and triangles on which consistency of all pairs of items can be read off.

Consistency of a partition (no pair apart inside a chain of joined ones) and of an order (no cycle)
is a matter of all cycles of the graph of pairs. In a chordal graph every longer cycle has a chord,
so that its triangles say everything; free pairs that make a graph chordal say nothing of their own.
"""

from __future__ import annotations

import heapq
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.hints._structures import ItemPairs

__all__ = ["Triangles"]

IntArray = npt.NDArray[np.intp]


class Triangles(NamedTuple):
    """A chordal graph that contains the given pairs of items."""

    pairs: IntArray  # (Q, 2) smaller item first, sorted; with those that were added
    corners: IntArray  # (T, 3) ascending

    @classmethod
    def of(cls, part: ItemPairs, most: int) -> Triangles | None:
        """Add pairs item by item, fewest neighbours first; None if more than `most` triangles."""
        near = _neighbours(part)
        queue = [(len(found), v) for v, found in enumerate(near)]
        heapq.heapify(queue)
        pairs, corners, done = list[list[int]](), list[list[int]](), [False] * part.n_items
        while queue:
            degree, v = heapq.heappop(queue)
            if done[v] or degree != len(near[v]):
                continue
            done[v], others = True, sorted(near[v])
            if len(corners) + degree * (degree - 1) // 2 > most:
                return None
            pairs += [sorted((v, a)) for a in others]
            corners += [sorted((v, a, b)) for a, b in combinations(others, 2)]
            for a in others:
                near[a] |= near[v]
                near[a] -= {a, v}
                heapq.heappush(queue, (len(near[a]), a))
        return cls(
            np.array(sorted(pairs), np.intp).reshape(-1, 2),
            np.array(sorted(corners), np.intp).reshape(-1, 3),
        )


def _neighbours(part: ItemPairs) -> list[set[int]]:
    near: list[set[int]] = [set() for _ in range(part.n_items)]
    for a, b in part.items.tolist():
        near[a].add(b)
        near[b].add(a)
    return near
