"""A ranking of items, where the rows are pairs of them: before, or behind."""

from __future__ import annotations

from tacit.hints._classes import ClassCodes
from tacit.hints._items import PairHint
from tacit.hints._program import LabelProgram
from tacit.hints._structures import PairOrder

__all__ = ["Order"]


class Order(PairHint):
    """The rows are pairs of items (a, b), compared by one linear order of the items.

    A row of the second class puts a before b, one of the first class b before a; no cycle.

    Parameters
    ----------
    items : int or array of int of shape (N, 2)
        How many items there are: the rows are all pairs of them, in the order (0, 1), (0, 2), ...
        Or the two items of each row; pairs may be missing, and rows of the same pair, or of the
        same two items turned round, agree.
    rows : array of int or bool, optional
        The rows that these pairs are; all rows in their order by default.

    Examples
    --------
    >>> from tacit import hints
    >>> known = hints.Order([[0, 1], [1, 2], [2, 0]]) + hints.Labels([0, 1, 2], "before")
    >>> hints.check(known, n=3, classes=["after", "before"]).feasible
    False
    """

    kind = "order"
    words = ("that its second item comes first", "that its first item does")

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        pairs = PairOrder(*self._coded(n, classes))
        return LabelProgram(n, 2, orders=(pairs,) if len(pairs.rows) else ())

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return f"the {len(self._items)} pairs of Order follow one order of their items"
