"""Errors that the library raises on purpose.

::

    TacitError
    ├── InfeasibleHints   no labeling satisfies all the hints; names a smallest conflicting subset
    ├── NoOracle          no discrete solver accepts the hints; says why each one refused
    ├── NotConverged      raised only by ``Solution.raise_for_status``
    ├── NotEnoughMemory   a fit would need more than the machine has; says what to change
    ├── DamagedFile       a saved model, hints or data file that cannot be trusted
    └── MissingData       a public data set is not where it is looked for

A model that fits its hints by a degenerate labeling gets a ``CollapseWarning``. Wrong arguments
are ordinary ``ValueError`` or ``TypeError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "CollapseWarning",
    "DamagedFile",
    "InfeasibleHints",
    "MissingData",
    "NoOracle",
    "NotConverged",
    "NotEnoughMemory",
    "TacitError",
]


class TacitError(Exception):
    """Base class of the library's own errors."""


class InfeasibleHints(TacitError, ValueError):
    """No labeling satisfies all hints.

    Parameters
    ----------
    message : str
        One sentence that says what contradicts what.
    conflict : sequence of Hint
        A smallest conflicting subset: dropping any one of them resolves this conflict.
    """

    def __init__(self, message: str, conflict: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.conflict = tuple(conflict)


class NoOracle(TacitError, ValueError):
    """No oracle accepts the program; the message lists which were tried and why each refused."""


class NotConverged(TacitError, RuntimeError):
    """The solver stopped before it met its own stopping rule."""


class NotEnoughMemory(TacitError, MemoryError):
    """A fit needs more memory than there is; raised before any of it is taken."""


class DamagedFile(TacitError, ValueError):
    """A file is truncated, altered, or not what its name says."""


class CollapseWarning(UserWarning):
    """One class took nearly all rows of others; says why, and what helps."""


class MissingData(TacitError, FileNotFoundError):
    """A public data set is not where it is looked for; the message says what to set."""
