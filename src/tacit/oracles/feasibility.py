"""Find a labeling that satisfies all hints, or the smallest set of them that contradict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._classes import ClassCodes
from tacit.hints._program import LabelProgram
from tacit.hints.base import Hint
from tacit.hints.combine import Hints
from tacit.oracles._contract import Contraction
from tacit.oracles.select import select_oracle, zero_cost

__all__ = ["feasible_labels", "require_feasible"]

IntArray = npt.NDArray[np.intp]
# Above this many statements the search stops at whole hints: each test solves a program.
MAX_STATEMENTS = 4000


def feasible_labels(hint: Hint, n: int, classes: ClassCodes) -> npt.NDArray[np.int32]:
    """Codes of a labeling that satisfies the hints.

    Raises
    ------
    InfeasibleHints
        With a smallest conflicting subset of the hints, in words.
    """
    return require_feasible(hint.compile(n, classes), hint, classes)


def require_feasible(
    program: LabelProgram, hint: Hint, classes: ClassCodes
) -> npt.NDArray[np.int32]:
    """Solve a compiled program for its own costs; explain in terms of its hints if it fails."""
    labels = _solve(program)
    if labels is None:
        raise explain(program, hint, classes)
    return labels


def _solve(program: LabelProgram) -> npt.NDArray[np.int32] | None:
    if program.allowed is not None and not program.allowed.any(axis=1).all():
        return None
    bare = LabelProgram(  # soft costs do not matter here
        program.n,
        program.n_classes,
        allowed=program.allowed,
        pairs=program.pairs,
        counts=program.counts,
        linear=program.linear,
        linear_lower=program.linear_lower,
        linear_upper=program.linear_upper,
    )
    try:
        return select_oracle(bare).oracle(bare).solve(zero_cost(bare)).labels
    except InfeasibleHints:
        return None


def explain(program: LabelProgram, hint: Hint, classes: ClassCodes) -> InfeasibleHints:
    """Return the error that names a smallest conflicting subset."""
    for rows in _suspects(program):
        pieces = [p for p in hint.split() if _within(p, rows, program.n)]
        conflict = _smallest(pieces, _Feasible(rows, program.n, classes))
        if conflict is not None:
            return _error(conflict)
    everything = np.arange(program.n)
    feasible = _Feasible(everything, program.n, classes)
    parts = _smallest(list(Hints([hint])), feasible)
    if parts is None:
        return InfeasibleHints("no labeling satisfies all hints.", tuple(Hints([hint])))
    pieces = [piece for part in parts for piece in part.split()]
    conflict = _smallest(pieces, feasible) if len(pieces) <= MAX_STATEMENTS else None
    return _error(conflict or parts)


class _Feasible:
    """Whether some hints can all be true, looking at a few rows only."""

    def __init__(self, rows: IntArray, n: int, classes: ClassCodes) -> None:
        self.rows, self.n, self.classes = rows, n, classes

    def __call__(self, hints: Sequence[Hint]) -> bool:
        part = Hints(hints)
        if len(self.rows) < self.n:
            part = part.restrict(self.rows, self.n)
        return _solve(part.compile(len(self.rows), self.classes)) is not None


def _within(piece: Hint, rows: IntArray, n: int) -> bool:
    """Whether a statement speaks of the given rows alone."""
    own = piece.rows()
    if len(own) == 0:
        return len(rows) == n
    return bool(np.isin(own, rows).all())


def _suspects(program: LabelProgram) -> Iterator[IntArray]:
    """Sets of rows on which the hints are likely to contradict, smallest first."""
    empty = np.flatnonzero(~program.mask.any(axis=1))
    if len(empty):
        yield empty[:1]
    if len(program.pairs):
        joined = Contraction.of(program)
        for k in np.flatnonzero(~joined.allowed.any(axis=1))[:1]:
            yield np.flatnonzero(joined.component == k)
    for g in _tight_groups(program)[:1]:
        yield program.counts.rows(g)


def _tight_groups(program: LabelProgram) -> IntArray:
    """Groups whose own rows cannot meet their bounds."""
    counts, mask = program.counts, program.mask
    bad = []
    for g in range(len(counts)):
        allowed = mask[counts.rows(g)]
        forced = allowed & (allowed.sum(axis=1, keepdims=True) == 1)
        can, must = allowed.sum(axis=0), forced.sum(axis=0)
        lower, upper = counts.lower[g], counts.upper[g]
        total = (
            np.maximum(lower, must).sum() > len(allowed)
            or np.minimum(upper, can).sum() < len(allowed)
        )
        if total or np.any(can < lower) or np.any(must > upper):
            bad.append(g)
    return np.array(bad, np.intp)


def _smallest(
    hints: list[Hint], feasible: Callable[[Sequence[Hint]], bool]
) -> list[Hint] | None:
    """Return a smallest infeasible subset, by divide and conquer; None if all can be true.

    References
    ----------
    U. Junker, QuickXplain, AAAI 2004: k log(n / k) tests for k out of n.
    """
    if feasible(hints):
        return None

    def search(given: list[Hint], changed: bool, among: list[Hint]) -> list[Hint]:
        if changed and not feasible(given):
            return []
        if len(among) == 1:
            return among
        half = len(among) // 2
        first, second = among[:half], among[half:]
        part = search(given + first, True, second)
        return search(given + part, bool(part), first) + part

    return search([], False, hints) if hints else []


def _error(conflict: list[Hint]) -> InfeasibleHints:
    said = list(dict.fromkeys(hint.describe() for hint in conflict))
    if len(said) == 1:
        message = f"{said[0]}, which no labeling can satisfy"
    elif len(said) == 2:
        message = f"{said[0]} but {said[1]}"
    else:
        shown, more = said[:6], len(said) - 6
        rest = f", and {more} more statements" if more > 0 else ""
        message = f"these cannot all be true: {'; '.join(shown)}{rest}"
    return InfeasibleHints(message[0].upper() + message[1:] + ".", conflict)
