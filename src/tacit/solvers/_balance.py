r"""When one class swallows the others: seen, countered by a start that cannot, and reported.

Without bounds on counts the objective itself may prefer a degenerate labeling: along the constant
mode of the kernel one class takes nearly all rows at little cost. What the hints say of single rows
lets each class expect :math:`n_c = \sum_i p_{ic}` rows, with :math:`p_{ic} \propto
e^{-S_i(c)}` over the labels allowed. A labeling that leaves :math:`[n_c / 2, 3 n_c / 2]` is
lopsided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from tacit.hints._classes import ClassCodes
from tacit.hints._program import Counts, LabelProgram
from tacit.oracles import AssignmentOracle

__all__ = ["Balance"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.integer]

# Share of its expected rows that a class may have more or fewer before a labeling is lopsided.
WITHIN = 0.5
# A class with less than this share of at least so many expected rows has been swallowed.
STARVED, FEW = 0.1, 5.0


@dataclass(frozen=True)
class Balance:
    """How many rows each class may expect by what is known of single rows.

    Parameters
    ----------
    program : LabelProgram
        What is known, without bounds on counts.
    """

    program: LabelProgram

    @cached_property
    def expected(self) -> FloatArray:
        """Rows of each class, (C,)."""
        return np.asarray(softmax(-self.program.full_cost(), axis=1).sum(axis=0))

    def lopsided(self, labels: Labels) -> bool:
        """Whether some class has far more or far fewer rows than expected."""
        count, (lower, upper) = self._count(labels), self._bounds
        return bool(((count < lower) | (count > upper)).any())

    def oracle(self) -> AssignmentOracle | None:
        """Discrete step within the bounds; None where nothing fast solves it beside the hints."""
        n, (lower, upper) = self.program.n, self._bounds
        counts = Counts(np.array([0, n]), np.arange(n), lower[None], np.minimum(upper, n)[None])
        held = replace(self.program, counts=counts)
        return AssignmentOracle(held) if AssignmentOracle.accepts(held).ok else None

    def report(
        self, labels: Labels, codes: ClassCodes, objective: float, held: float, among: int
    ) -> str:
        """Say which classes were swallowed, and what helps; "" if none was.

        Parameters
        ----------
        labels : (N,) array
            The answer.
        codes : ClassCodes
            Names of the classes.
        objective : float
            What it reached.
        held : float
            What a balanced start reached, infinite where none was made.
        among : int
            Rows with which these two were reached: all, or a sample.
        """
        count = self._count(labels)
        swallowed = (count < STARVED * self.expected) & (self.expected >= FEW)
        if not swallowed.any():
            return ""
        names = ", ".join(repr(codes[int(c)]) for c in np.flatnonzero(swallowed))
        why = self._why(objective, held, among)
        most = int(count.argmax())
        return (
            f"class {codes[most]!r} took {count[most]} of {self.program.n} rows and left next to "
            f"none to {names}, though nothing known of single rows favours it; {why}. Bound the "
            "classes, for example with hints.Share(lower, upper), or state more of single rows."
        )

    def _why(self, objective: float, held: float, among: int) -> str:
        if np.isfinite(held):
            where = f", in a sample of {among} rows" if among < self.program.n else ""
            return (
                f"a start with balanced classes ended higher ({held:.4g} against {objective:.4g}"
                f"{where}), so the objective itself prefers this"
            )
        if self.oracle() is None:
            return "a start with balanced classes is not to be had beside hints that couple rows"
        return "no start with balanced classes was made"

    def _count(self, labels: Labels) -> npt.NDArray[np.intp]:
        return np.bincount(labels, minlength=self.program.n_classes)

    @cached_property
    def _bounds(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        lower = np.floor((1.0 - WITHIN) * self.expected).astype(np.int64)
        return lower, np.ceil((1.0 + WITHIN) * self.expected).astype(np.int64)
