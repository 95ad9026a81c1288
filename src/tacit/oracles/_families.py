"""Count groups as two families, each of them nested or disjoint: days and places, rows and columns.

Two groups clash if they overlap and neither contains the other. There are two such families if and
only if the graph of clashes has no odd cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from tacit.hints._program import Counts, LabelProgram

__all__ = ["Bounded", "Family", "bounded_class", "two_families"]

IntArray = npt.NDArray[np.intp]
Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Bounded:
    """Groups of components of which only one class is counted."""

    cls: int
    member: sp.csr_array  # (G, K), 1 where a group contains a component
    lower: Int64Array  # (G,)
    upper: Int64Array  # (G,)


@dataclass(frozen=True)
class Family:
    """Nested or disjoint groups: where each component is at home, -1 for nowhere."""

    home: IntArray  # (K,) innermost group
    parent: IntArray  # (G,) group around each group, -1 for none
    lower: Int64Array  # (G,)
    upper: Int64Array  # (G,)


def bounded_class(program: LabelProgram) -> Bounded | str:
    """Return the groups whose bounds can bind, or why they are not about one class alone."""
    counts, sizes = program.counts, program.counts.sizes
    lower, upper = counts.lower, counts.upper
    if program.n_classes == 2:  # what one class may not have, the other must
        cls = 1
        low = np.maximum(lower[:, 1], sizes - upper[:, 0])
        high = np.minimum(upper[:, 1], sizes - lower[:, 0])
    else:
        bound = np.flatnonzero(((lower > 0) | (upper < sizes[:, None])).any(axis=0))
        if len(bound) > 1:
            return f"counts of {len(bound)} classes of {program.n_classes} are bounded, not of one"
        cls = int(bound[0]) if len(bound) else 0
        low, high = lower[:, cls], upper[:, cls]
    binds = np.flatnonzero((low > 0) | (high < sizes))
    joined = program.contraction
    group = np.repeat(np.arange(len(counts)), sizes)
    shape = (len(counts), len(joined.first_row))
    member = sp.csr_array(
        (np.ones(len(group), np.int64), (group, joined.component[counts.members])), shape
    )
    member.sum_duplicates()
    member = sp.csr_array(member[binds])
    if member.nnz and member.data.max() > 1:
        return "rows that must have the same label are counted in the same group"
    return Bounded(cls, member, low[binds], high[binds])


def two_families(groups: Bounded) -> tuple[Family, Family] | None:
    """Split groups into two families of nested or disjoint ones; None if that cannot be."""
    member = groups.member
    n_groups = member.shape[0]
    sizes = np.diff(member.indptr)
    shared = sp.coo_array(member @ member.T)
    one, other = shared.coords
    clash = shared.data < np.minimum(sizes[one], sizes[other])
    one, other = one[clash], other[clash]
    # Two copies of every group, side 0 and side 1: a clash joins one side of each with the other
    # side of the other. In an odd cycle both sides of a group come together.
    ends = np.concatenate([one, one + n_groups]), np.concatenate([other + n_groups, other])
    graph = sp.coo_array((np.ones(len(ends[0]), np.int8), ends), (2 * n_groups, 2 * n_groups))
    _, part = connected_components(graph, directed=False)
    here, there = part[:n_groups], part[n_groups:]
    if np.any(here == there):
        return None
    side = here < there
    return _family(groups, np.flatnonzero(side)), _family(groups, np.flatnonzero(~side))


def _family(groups: Bounded, chosen: IntArray) -> Family:
    member = sp.csr_array(groups.member[chosen])
    member.sort_indices()
    lower, upper = groups.lower[chosen], groups.upper[chosen]
    none = np.zeros((len(chosen), 1), np.int64)
    counts = Counts(member.indptr.astype(np.intp), member.indices.astype(np.intp), none, none)
    nesting = LabelProgram(member.shape[1], 1, counts=counts)
    home, parent = nesting.home, nesting.parent
    assert home is not None
    assert parent is not None
    return Family(home, parent, lower, upper)
