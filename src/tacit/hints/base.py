"""What every hint offers: compile to a program, restrict to rows, split into statements, store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tacit.hints._classes import ClassCodes
from tacit.hints._data import any_name
from tacit.hints._program import LabelProgram
from tacit.hints._rows import RowMap

if TYPE_CHECKING:
    from tacit.hints.combine import Hints, HintsOver

__all__ = ["Hint"]


class Hint(ABC):
    """One thing that is known about the labels; an immutable value.

    Hints combine with ``+``. A member states `kind` (its name in files), the arguments that
    files hold (`to_dict`) and how it reads as a `LabelProgram`.
    """

    kind: ClassVar[str]
    keys: ClassVar[tuple[str, ...]] = ()
    """What `from_dict` reads, beside the kind."""
    origin: str = ""
    """File and number of a hint that was read; errors begin with it."""

    def __add__(self, other: Hint) -> Hints:
        from tacit.hints.combine import Hints

        if not isinstance(other, Hint):
            return NotImplemented
        return Hints([self, other])

    def over(self, n: int) -> HintsOver:
        """Return the hint as an array-like of `n` rows, which cross-validation can index.

        Examples
        --------
        ``GridSearchCV(clf, grid).fit(X, y, hints=known.over(len(X)))`` restricts the hints to
        each training fold.
        """
        from tacit.hints.combine import HintsOver

        return HintsOver(self, n)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of `HintsOver` alone; scikit-learn asks for it before it takes some of the rows.

        Without it, scikit-learn would hand all the hints to every fold, where row i is another.
        """
        raise TypeError(
            f"{self!r} cannot be divided into folds: hints speak of rows by position, and in a "
            "fold row i is another one; wrap them with hints.over(n), where n is the number of "
            "rows."
        )

    @abstractmethod
    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:
        """Read the hint as a program for `n` rows and the given classes."""

    @abstractmethod
    def restrict(self, rows: Any, n: int | None = None) -> Hint:
        """Return what remains true on a subset of the rows, renumbered from 0.

        Parameters
        ----------
        rows : array of int or bool
            The rows to keep, in their new order, or a mask.
        n : int, optional
            How many rows there are; known already from a mask.
        """

    @abstractmethod
    def split(self) -> Iterator[Hint]:
        """Smallest statements that say the same together: one row, pair or bound each."""

    @abstractmethod
    def describe(self, classes: ClassCodes | None = None) -> str:
        """Put a split statement into words, without a full stop.

        With `classes`, classes that the hint gives by number appear by name.
        """

    def about_row(self, classes: ClassCodes, known: str = "") -> str:
        """Say what a split statement holds of its single row, naming the hint.

        Empty where it speaks of more than one row. The class `known` is called "it".
        """
        return ""

    @abstractmethod
    def rows(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Rows that the hint speaks of, in any order; empty for all rows."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data (lists, numbers, strings) from which `from_dict` makes an equal hint."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: dict[str, Any]) -> Hint:
        """Make the hint from `to_dict` data without its kind."""

    def about(self, rows: np.ndarray[Any, np.dtype[np.intp]]) -> Hint:
        """Return at least all statements that speak of these rows alone; may be the hint itself."""
        return self

    def names(self) -> list[Any]:
        """Class names that the hint mentions."""
        return []

    def width(self) -> int | None:
        """Return the number of classes, where the hint's arrays fix it."""
        return None

    def length(self) -> int | None:
        """Return the number of rows, where the hint's arrays fix it."""
        return None

    def _row_map(self, rows: Any, n: int | None) -> RowMap:
        length = self.length()
        if n is not None and length is not None and n != length:
            raise ValueError(f"restrict: {self!r} is about {length} rows but n={n}.")
        n = length if n is None else n
        return RowMap(rows, n, int(self.rows().max(initial=-1)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hint) or self.kind != other.kind:
            return False
        with any_name():
            return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.kind, len(self.rows())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.rows())} rows)"
