"""Errors that the library raises on purpose.

::

    TacitError
    ├── InfeasibleHints   no labeling satisfies all the hints; names a smallest conflicting subset
    ├── NoOracle          no discrete solver accepts the hints; says why each one refused
    ├── NotConverged      raised only by ``Solution.raise_for_status``
    ├── NotEnoughMemory   a fit would need more than the machine has; says what to change
    └── DamagedFile       a saved model or hints file that cannot be trusted

Wrong arguments are ordinary ``ValueError`` or ``TypeError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "DamagedFile",
    "InfeasibleHints",
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
