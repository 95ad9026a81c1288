"""What every oracle offers: say whether it accepts a program, then solve it for many costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tacit.hints._program import LabelProgram

__all__ = ["ROUNDED", "Oracle", "OracleResult", "Verdict", "rounding", "untreated"]

# Roundings of each term in numpy's sums: some ten in blocks, then one for each doubling.
ROUNDED = 32.0 * float(np.finfo(np.float64).eps)

# What each part of a program does, in words, for an oracle that does not treat it.
COUPLINGS = {
    "pairs": "costs or links between pairs couple rows",
    "counts": "counts couple rows",
    "linear": "general linear rows couple rows",
    "cliques": "costs of whole cliques couple rows",
    "flow": "the flow in a network couples rows",
    "partitions": "pairs of a partition couple rows",
    "orders": "pairs of an order couple rows",
}


@dataclass(frozen=True)
class Verdict:
    """Whether an oracle accepts a program, and why (not)."""

    ok: bool
    reason: str

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True)
class OracleResult:
    """Answer of a discrete step.

    Attributes
    ----------
    labels : (N,) int32 array
        A feasible labeling.
    value : float
        <cost, Y> + S(y) of that labeling, recomputed from the program.
    bound : float
        A proven lower bound on the value of every labeling.
    exact : bool
        Whether value and bound agree up to rounding.
    """

    labels: npt.NDArray[np.int32]
    value: float
    bound: float
    exact: bool

    def __post_init__(self) -> None:
        for name, kind in (("value", float), ("bound", float), ("exact", bool)):
            object.__setattr__(self, name, kind(getattr(self, name)))  # no scalars of numpy


class Oracle(ABC):
    """Solves argmin_y <cost, Y> + S(y) for one program and many costs.

    An instance belongs to one program; it may keep what makes the next call cheaper (prices, a
    basis), never what changes the value of an answer that is called exact.

    Notes
    -----
    Equation: (12) in 000, (14) in 004
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """What it accepts, in a few words, for tables."""
    anywhere: ClassVar[bool] = False
    """Whether `solve` takes costs of any array library where they lie; else numpy ones."""
    approximate: ClassVar[bool] = False
    """Whether answers may be above the optimum; they say so, with a proven bound."""
    slow: ClassVar[bool] = False
    """Whether a call is a search of its own, so that solvers should make few of them."""

    def __init__(self, program: LabelProgram) -> None:
        self.program = program

    @classmethod
    @abstractmethod
    def accepts(cls, program: LabelProgram) -> Verdict:
        """Say whether this oracle can solve the program, with the reason."""

    @abstractmethod
    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:
        """Minimise over the labelings; `cost` is a finite (N, C) array.

        Raises
        ------
        InfeasibleHints
            If no labeling satisfies the program.
        """


def untreated(program: LabelProgram, *treated: str) -> str:
    """Say which part of a program is none of those treated; empty if all are.

    Parts are named as the fields of `LabelProgram` that couple rows.
    """
    return next((COUPLINGS[part] for part in program.couplings if part not in treated), "")


def rounding(
    program: LabelProgram, cost: npt.NDArray[np.floating], labels: npt.NDArray[np.integer]
) -> float:
    """Return what rounding may change in sums of a labeling's costs per row and per pair.

    Costs of labels that are not chosen count too: they are summed and compared before.
    """
    size = np.abs(cost).max(axis=1, initial=0.0).sum(dtype=np.float64)
    if program.unary is not None:
        size += np.abs(program.unary).max(axis=1, initial=0.0).sum()
    size += np.abs(program.pairs.cost(labels)).sum()
    return ROUNDED * float(size)
