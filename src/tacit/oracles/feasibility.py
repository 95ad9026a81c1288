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
from tacit.hints.counts import CountPiece, SharePiece
from tacit.hints.labels import Labels
from tacit.oracles.select import select_oracle, zero_cost

__all__ = ["feasible_labels", "require_feasible"]

IntArray = npt.NDArray[np.intp]
# Above this many statements the search stops at whole hints: each test solves a program.
MAX_STATEMENTS = 4000
# Statements that a message spells out.
MAX_SHOWN = 6


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
    if len(classes) == 0:
        raise ValueError("there are no classes; name at least one.")
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
            return _error(conflict, program, classes)
    everything = np.arange(program.n)
    feasible = _Feasible(everything, program.n, classes)
    parts = _smallest(list(Hints([hint])), feasible)
    if parts is None:
        return InfeasibleHints("no labeling satisfies all hints.", tuple(Hints([hint])))
    pieces = [piece for part in parts for piece in part.split()]
    conflict = _smallest(pieces, feasible) if len(pieces) <= MAX_STATEMENTS else None
    return _error(conflict or parts, program, classes)


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
    """Yield sets of rows on which the hints are likely to contradict, smallest first."""
    empty = np.flatnonzero(~program.mask.any(axis=1))
    if len(empty):
        yield empty[:1]
    if len(program.pairs):
        joined = program.contraction
        for k in np.flatnonzero(~joined.allowed.any(axis=1))[:1]:
            yield np.flatnonzero(joined.component == k)
    for g in _tight_groups(program)[:1]:
        yield program.counts.rows(g)


def _tight_groups(program: LabelProgram) -> IntArray:
    """Return groups whose own rows cannot meet their bounds."""
    counts, mask = program.counts, program.mask
    bad = []
    for g in range(len(counts)):
        allowed = mask[counts.rows(g)]
        forced = allowed & (allowed.sum(axis=1, keepdims=True) == 1)
        can, must = allowed.sum(axis=0), forced.sum(axis=0)
        lower, upper = counts.lower[g], counts.upper[g]
        total = np.maximum(lower, must).sum() > len(allowed) or np.minimum(upper, can).sum() < len(
            allowed
        )
        if total or np.any(can < lower) or np.any(must > upper):
            bad.append(g)
    return np.array(bad, np.intp)


def _smallest(hints: list[Hint], feasible: Callable[[Sequence[Hint]], bool]) -> list[Hint] | None:
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


def _error(conflict: list[Hint], program: LabelProgram, classes: ClassCodes) -> InfeasibleHints:
    message = (
        _about_one_row(conflict, classes)
        or _about_one_bound(conflict, program, classes)
        or _about_one_group(conflict, program, classes)
        or _listed([hint.describe(classes) for hint in conflict])
    )
    return InfeasibleHints(f"{message}.", conflict)


def _about_one_row(conflict: list[Hint], classes: ClassCodes) -> str:
    """Statements about the same single row, in words; empty if these are others."""
    said = [hint.about_row(classes) for hint in conflict]
    if not all(said):
        return ""
    row = conflict[0].rows()[0]
    stated = [hint for hint in conflict if isinstance(hint, Labels)]
    if len(conflict) == 2 and stated:
        other = conflict[conflict[0] is stated[0]]
        objection = other.about_row(classes, repr(stated[0].names()[0]))
        return f"{stated[0].describe(classes)} but {objection}"
    return f"row {row} has no label left: {'; '.join(said)}"


def _about_one_bound(conflict: list[Hint], program: LabelProgram, classes: ClassCodes) -> str:
    """One bound against statements about single rows, in numbers of rows of the whole program."""
    bounds = [hint for hint in conflict if isinstance(hint, CountPiece | SharePiece)]
    others = [hint for hint in conflict if not isinstance(hint, CountPiece | SharePiece)]
    if len(bounds) != 1 or not all(hint.about_row(classes) for hint in others):
        return ""
    piece = bounds[0]
    if piece.one.value < 0:
        return f"{_needs(piece)} of {piece.one.subject(classes)}, fewer than none"
    counts = piece.compile(program.n, classes).counts
    allowed = program.mask[piece.members(program.n)]
    must = allowed[allowed.sum(axis=1) == 1].sum(axis=0)
    can, size = allowed.sum(axis=0), len(allowed)
    for c in range(len(classes)):
        if not piece.one.bounds(c, classes):
            continue
        what = f"{_needs(piece)} of class {classes[c]!r} but"
        if piece.one.side == "lower" and can[c] < counts.lower[0, c]:
            if can[c] == size:
                return f"{what} has {_rows(size, 'only')}"
            return f"{what} {_rows(can[c], 'only')} {'allows' if can[c] == 1 else 'allow'} it"
        if piece.one.side == "upper" and must[c] > counts.upper[0, c]:
            return f"{what} {_rows(must[c])} must have it"
    return ""


def _about_one_group(conflict: list[Hint], program: LabelProgram, classes: ClassCodes) -> str:
    """Bounds that the size of one set of rows rules out, all below or all above."""
    pieces = [hint for hint in conflict if isinstance(hint, CountPiece | SharePiece)]
    first = pieces[0] if pieces else None
    if first is None or len(pieces) < len(conflict):
        return ""
    rows = first.members(program.n)
    if any(
        p.one.side != first.one.side or not np.array_equal(p.members(program.n), rows)
        for p in pieces
    ):
        return ""
    said = [f"{_needs(p)} of {p.one.subject(classes)}" for p in pieces]
    start = f"{first.who} "
    also = [s.removeprefix(start) for s in said[1:]]
    return f"{' and '.join([said[0], *also])} but has {_rows(len(rows))}"


def _needs(piece: CountPiece | SharePiece) -> str:
    verb = "needs at least" if piece.one.side == "lower" else "may have at most"
    return f"{piece.who} {verb} {piece.amount}"


def _rows(count: int, but: str = "") -> str:
    if count == 0:
        return "no rows"
    return f"{but} {count} {'row' if count == 1 else 'rows'}".lstrip()


def _listed(said: list[str]) -> str:
    said = list(dict.fromkeys(said))
    if len(said) == 1:
        return f"{said[0]}, which no labeling can satisfy"
    if len(said) == 2:
        return f"{said[0]} but {said[1]}"
    shown, more = said[:MAX_SHOWN], len(said) - MAX_SHOWN
    rest = f"; and {more} more statements" if more > 0 else ""
    return f"these cannot all be true: {'; '.join(shown)}{rest}"
