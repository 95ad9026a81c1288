"""What labels that are forced imply of a partition or an order, and where they contradict."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from tacit.hints._program import LabelProgram
from tacit.hints._structures import ItemPairs, PairOrder, PairPartition

__all__ = ["closes", "closure", "contradiction", "say_contradiction"]

IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


def closes(program: LabelProgram) -> bool:
    """Whether a program without costs is decided by its forced labels: nothing else couples rows.

    Each row may be a pair of one partition or order only.
    """
    parts = (*program.partitions, *program.orders)
    if not parts or set(program.couplings) - {"partitions", "orders"}:
        return False
    rows = np.concatenate([part.rows for part in parts])
    return len(np.unique(rows)) == len(rows)


def closure(program: LabelProgram) -> npt.NDArray[np.int32] | None:
    """Labels that satisfy a program that `closes`; None if there are none.

    Only what must be is joined; an order is any that the forced pairs leave.
    """
    labels = program.mask.argmax(axis=1).astype(np.int32)
    for part in (*program.partitions, *program.orders):
        if len(contradiction(part, program.mask)):
            return None
        if isinstance(part, PairPartition):
            joined = np.zeros(program.n, np.int32)
            joined[part.rows] = _forced(part, program.mask, 1)
            group = part.groups(joined)
            labels[part.rows] = group[part.items[:, 0]] == group[part.items[:, 1]]
        elif isinstance(part, PairOrder):
            place = np.empty(part.n_items, np.intp)
            place[list(_sorter(part, program.mask).static_order())] = np.arange(part.n_items)
            labels[part.rows] = place[part.items[:, 0]] < place[part.items[:, 1]]
    return labels


def contradiction(part: ItemPairs, mask: BoolArray) -> IntArray:
    """Rows whose forced labels contradict, few of them; empty if there are none.

    Of a partition: a chain of joined pairs, then the pair apart that it connects. Of an order: a
    cycle.
    """
    if isinstance(part, PairOrder):
        return _cycle(part, mask)
    yes, no = _forced(part, mask, 1), np.flatnonzero(_forced(part, mask, 0))
    joined = part.items[yes]
    graph = sp.coo_array((np.ones(len(joined), np.int8), joined.T), (part.n_items,) * 2).tocsr()
    _, group = sp.csgraph.connected_components(graph, directed=False)
    broken = no[group[part.items[no, 0]] == group[part.items[no, 1]]]
    if not len(broken):
        return np.empty(0, np.intp)
    start, end = part.items[broken[0]].tolist()
    _, before = breadth_first_order(graph, start, directed=False)
    chain = [end]
    while chain[-1] != start:
        chain.append(int(before[chain[-1]]))
    ways = np.concatenate([joined, joined[:, ::-1]])
    rows = _along(ways, np.tile(part.rows[yes], 2), chain[::-1])
    return np.array([*rows, part.rows[broken[0]]], np.intp)


def say_contradiction(part: ItemPairs, mask: BoolArray, items: IntArray) -> str:
    """Put the contradiction into words; `items` are the user's numbers of the pairs' items."""
    rows = contradiction(part, mask)
    if not len(rows):
        return ""
    place = {int(row): k for k, row in enumerate(part.rows)}
    if isinstance(part, PairOrder):
        first = [_turned(items[place[int(r)]], bool(mask[r, 1]))[0] for r in rows]
        ring = " before ".join(str(a) for a in [*first, first[0]])
        return f"{_named(rows)} put item {ring}, which is a cycle"
    a, b = items[place[int(rows[-1])]]
    chain = len(rows) - 1
    verb = "joins" if chain == 1 else "join"
    return f"{_named(rows[:-1])} {verb} items {a} and {b} but row {rows[-1]} keeps them apart"


def _turned(pair: IntArray, forward: bool) -> tuple[int, int]:
    a, b = pair.tolist()
    return (a, b) if forward else (b, a)


def _named(rows: IntArray) -> str:
    if len(rows) == 1:
        return f"row {rows[0]}"
    return f"rows {', '.join(str(r) for r in rows[:-1])} and {rows[-1]}"


def _forced(part: ItemPairs, mask: BoolArray, label: int) -> BoolArray:
    """Pairs whose rows allow this label alone."""
    own = mask[part.rows]
    return np.asarray(own[:, label] & ~own[:, 1 - label])


def _ways(part: ItemPairs, mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the forced pairs as (before, after), and which pairs they are."""
    yes, no = _forced(part, mask, 1), _forced(part, mask, 0)
    which = np.flatnonzero(yes | no)
    ways = np.where(yes[which, None], part.items[which], part.items[which][:, ::-1])
    return ways, which


def _sorter(part: ItemPairs, mask: BoolArray) -> TopologicalSorter[int]:
    sorter: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(part.n_items), ()))
    for before, after in _ways(part, mask)[0].tolist():
        sorter.add(after, before)
    return sorter


def _cycle(part: ItemPairs, mask: BoolArray) -> IntArray:
    try:
        _sorter(part, mask).prepare()
    except CycleError as error:
        chain = list(error.args[1])  # each before the next, the first again at the end
        ways, which = _ways(part, mask)
        return np.array(_along(ways, part.rows[which], chain), np.intp)
    return np.empty(0, np.intp)


def _along(ways: IntArray, rows: IntArray, chain: list[int]) -> list[int]:
    """Return a row for each step of a chain of items, the first of several."""
    row = {
        tuple(way): r for way, r in reversed(list(zip(ways.tolist(), rows.tolist(), strict=True)))
    }
    return [row[step] for step in pairwise(chain)]
