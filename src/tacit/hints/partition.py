"""Groups of items, where the rows are pairs of them: together, or apart."""

from __future__ import annotations

from tacit.hints._classes import ClassCodes
from tacit.hints._items import PairHint
from tacit.hints._program import LabelProgram
from tacit.hints._structures import PairPartition

__all__ = ["Partition"]


class Partition(PairHint):
    """The rows are pairs of items; the pairs that are joined make an equivalence of the items.

    A row of the second class joins its two items, one of the first class keeps them apart. No pair
    may be apart whose items are connected by joined pairs.

    Parameters
    ----------
    items : int or array of int of shape (N, 2)
        How many items there are: the rows are all pairs of them, in the order (0, 1), (0, 2), ...
        Or the two items of each row; pairs may be missing, and rows of the same pair agree.
    rows : array of int or bool, optional
        The rows that these pairs are; all rows in their order by default.

    Examples
    --------
    >>> from tacit import hints
    >>> known = hints.Partition(3) + hints.Labels([0, 2], "yes") + hints.Labels([1], "no")
    >>> hints.check(known, n=3, classes=["no", "yes"]).feasible
    False
    """

    kind = "partition"
    words = ("apart", "joined")

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        pairs = PairPartition(*self._coded(n, classes))
        return LabelProgram(n, 2, partitions=(pairs,) if len(pairs.rows) else ())

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"the {len(self._items)} pairs of Partition divide their items into groups"
