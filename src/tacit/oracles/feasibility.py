"""Find a labeling that satisfies all hints, or the smallest set of them that contradict."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from tacit.exceptions import InfeasibleHints
from tacit.hints._classes import ClassCodes
from tacit.hints._items import PairHint
from tacit.hints._program import LabelProgram
from tacit.hints.base import Hint
from tacit.hints.combine import Hints
from tacit.hints.costs import Cost
from tacit.hints.counts import CountPiece, SharePiece
from tacit.hints.labels import Labels, Not, OneOf
from tacit.hints.pairs import CannotLink, MustLink
from tacit.oracles._bare import bare
from tacit.oracles._closure import closes, closure, contradiction, say_contradiction
from tacit.oracles.assignment import AssignmentOracle
from tacit.oracles.select import select_oracle, zero_cost

__all__ = ["feasible_labels", "require_feasible"]

IntArray = npt.NDArray[np.intp]
# Above this many statements the search stops at whole hints: each test solves a program.
MAX_STATEMENTS = 4000
# Time for making the conflict smaller.
MAX_SECONDS = 10.0
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
    hard = bare(program)  # soft costs do not matter here
    if closes(hard):
        return closure(hard)
    choice = select_oracle(hard).oracle
    try:
        # Shortest paths among costs that are all equal are the slowest: any costs will do.
        cost = zero_cost(hard) if choice is not AssignmentOracle else _any_cost(hard)
        return choice(hard).solve(cost).labels
    except InfeasibleHints:
        return None


def _any_cost(program: LabelProgram) -> npt.NDArray[np.float64]:
    return np.random.default_rng(0).random((program.n, program.n_classes))


def explain(program: LabelProgram, hint: Hint, classes: ClassCodes) -> InfeasibleHints:
    """Return the error that names a smallest conflicting subset.

    Smallest if it is found within `MAX_SECONDS`; what cannot be left out by then stays in.
    """
    deadline = time.monotonic() + MAX_SECONDS
    for rows in _suspects(program):
        pieces = [p for p in hint.about(rows).split() if _within(p, rows, program.n)]
        feasible = _Feasible(rows, program.n, classes, deadline)
        conflict = None
        if program.mask[rows].any(axis=1).all():
            conflict = _ruled_out(pieces, program, feasible)
        if conflict is None and len(pieces) <= MAX_STATEMENTS:
            conflict = _smallest_linked(pieces, feasible)
        if conflict is not None:
            return _error(conflict, program, classes)
    everything = np.arange(program.n)
    feasible = _Feasible(everything, program.n, classes, deadline)
    parts = _smallest(list(Hints([hint])), feasible)
    if parts is None:
        return InfeasibleHints("no labeling satisfies all hints.", tuple(Hints([hint])))
    pieces = [piece for part in parts for piece in part.split()]
    conflict = _smallest_linked(pieces, feasible) if len(pieces) <= MAX_STATEMENTS else None
    return _error(conflict or parts, program, classes)


class _Feasible:
    """Whether some hints can all be true, looking at a few rows only."""

    def __init__(
        self,
        rows: IntArray,
        n: int,
        classes: ClassCodes,
        deadline: float,
        given: Sequence[Hint] = (),
    ) -> None:
        self.rows, self.n, self.classes = rows, n, classes
        self.deadline, self.given = deadline, given

    def also(self, given: Sequence[Hint]) -> _Feasible:
        """Return the same question with some hints taken for granted."""
        return _Feasible(self.rows, self.n, self.classes, self.deadline, given)

    @property
    def late(self) -> bool:
        """Whether the time for questions is over."""
        return time.monotonic() > self.deadline

    def __call__(self, hints: Sequence[Hint]) -> bool:
        part = Hints([*self.given, *hints])
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
    for part in (*program.partitions, *program.orders):
        rows = contradiction(part, program.mask)
        if len(rows):
            yield np.unique(rows)
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


def _ruled_out(pieces: list[Hint], program: LabelProgram, feasible: _Feasible) -> list[Hint] | None:
    """Return one count bound and as few statements about single rows as rule it out, if any do.

    A lower bound l of s rows is ruled out by s - l + 1 rows that may not have the class, one
    statement each; an upper bound u by u + 1 rows that may have nothing else.
    """
    classes = feasible.classes
    said: dict[int, list[Hint]] = {}
    for piece in pieces:
        if piece.about_row(classes):
            said.setdefault(int(piece.rows()[0]), []).append(piece)
    for bound in (p for p in pieces if isinstance(p, CountPiece | SharePiece)):
        counts = bound.compile(program.n, classes).counts
        rows = bound.members(program.n)
        allowed = program.mask[rows]
        for c in (c for c in range(len(classes)) if bound.one.bounds(c, classes)):
            if bound.one.side == "lower":
                wrong, enough = rows[~allowed[:, c]], len(rows) - counts.lower[0, c] + 1
            else:
                only = allowed[:, c] & (allowed.sum(axis=1) == 1)
                wrong, enough = rows[only], counts.upper[0, c] + 1
            if len(wrong) < enough:
                continue
            conflict: list[Hint] = [bound]
            for row in wrong[: max(enough, 0)].tolist():
                conflict += _reason(row, c, bound.one.side, said.get(row, []), feasible)
            # A bound on every class may be ruled out by fewer.
            conflict = _in_order(pieces, conflict)
            return _smallest(conflict, feasible) if bound.one.every else conflict
    return None


def _reason(row: int, c: int, side: str, said: list[Hint], feasible: _Feasible) -> list[Hint]:
    """Fewest statements by which a row may not have class c, or may have no other."""
    if len(said) == 1 and len(feasible.classes) > 1:
        return said
    masks = [p.restrict([row], feasible.n).compile(1, feasible.classes).mask[0] for p in said]
    if side == "lower":
        return [piece for piece, mask in zip(said, masks, strict=True) if not mask[c]][:1]
    kept = list(range(len(said)))
    for k in range(len(said)):
        rest = [masks[j] for j in kept if j != k]
        if np.sum(np.logical_and.reduce([np.ones(len(masks[k]), bool), *rest])) == 1:
            kept.remove(k)
    return [said[k] for k in kept]


def _smallest_linked(hints: list[Hint], feasible: _Feasible) -> list[Hint] | None:
    """Return a smallest infeasible subset, with all must-links taken at once where there are any.

    The others that contradict under all links still do under the links of trees that join their
    rows.
    """
    links = [hint for hint in hints if isinstance(hint, MustLink)]
    if not links:
        return _smallest(hints, feasible)
    if feasible(hints):
        return None
    others = [hint for hint in hints if not isinstance(hint, MustLink)]
    pairs = np.concatenate([link.rows() for link in links]).reshape(-1, 2)
    core = _smallest(others, feasible.also([MustLink(pairs)]))
    if not core:  # nothing else is needed; leave out links one by one
        return _smallest(hints, feasible)
    if not all(len(hint.rows()) for hint in core):
        return _smallest(_in_order(hints, [*links, *core]), feasible)
    tree = [links[k] for k in _joining(pairs, np.concatenate([hint.rows() for hint in core]))]
    if feasible([*tree, *core]):
        return _smallest(_in_order(hints, [*links, *core]), feasible)
    if _spares_no_link(core, len(feasible.classes)):
        return _in_order(hints, [*tree, *core])
    return _smallest(_in_order(hints, [*tree, *core]), feasible)


def _in_order(hints: list[Hint], some: list[Hint]) -> list[Hint]:
    chosen = {id(hint) for hint in some}
    return [hint for hint in hints if id(hint) in chosen]


def _spares_no_link(core: list[Hint], n_classes: int) -> bool:
    """Whether a tree that joins the rows of the statements is smallest for sure.

    Without one of its links, single rows fall into two parts, each with fewer statements than
    contradict under all links; the ends of one cannot-link may have different labels.
    """
    if all(isinstance(hint, Labels | Not | OneOf | Cost) for hint in core):
        return True
    return len(core) == 1 and isinstance(core[0], CannotLink) and n_classes > 1


def _joining(pairs: IntArray, rows: IntArray) -> list[int]:
    """Which pairs make up trees that join the given rows as far as the pairs do."""
    size = int(max(pairs.max(), rows.max())) + 1
    number = sp.coo_array((np.arange(1, len(pairs) + 1), pairs.T), (size, size))
    graph = sp.csr_array(number + number.T)
    _, component = connected_components(graph, directed=False)
    found: set[tuple[int, int]] = set()
    for label in np.unique(component[rows]):
        ends = np.unique(rows[component[rows] == label])
        _, before = breadth_first_order(graph, ends[0], directed=False)
        for row in ends[1:]:
            while row != ends[0]:
                found.add((min(row, before[row]), max(row, before[row])))
                row = before[row]
    first = {(min(a, b), max(a, b)): k for k, (a, b) in reversed(list(enumerate(pairs.tolist())))}
    return sorted(first[pair] for pair in found)


def _smallest(hints: list[Hint], feasible: _Feasible) -> list[Hint] | None:
    """Return a smallest infeasible subset, by divide and conquer; None if all can be true.

    References
    ----------
    U. Junker, QuickXplain, AAAI 2004: k log(n / k) tests for k out of n.
    """
    if feasible(hints):
        return None

    def search(given: list[Hint], changed: bool, among: list[Hint]) -> list[Hint]:
        if changed and not feasible.late and not feasible(given):
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
        or _about_a_gap(conflict, program, classes)
        or _about_one_group(conflict, program, classes)
        or _about_items(conflict, program, classes)
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
    sums = _sums(pieces, program, classes, len(rows))
    return f"{' and '.join([said[0], *also])}{sums}"


def _sums(
    pieces: list[CountPiece | SharePiece], program: LabelProgram, classes: ClassCodes, size: int
) -> str:
    """Say what the bounds on all classes of one set of rows add up to, and what it must be."""
    lower = pieces[0].one.side == "lower"
    tightest, codes = (max, min)[not lower], range(len(classes))
    over = f"for {len(classes)} classes " if any(p.one.every for p in pieces) else ""
    given = [[p.one.value for p in pieces if p.one.bounds(c, classes)] for c in codes]
    share = sum(tightest(values) if values else 0.0 if lower else np.inf for values in given)
    if all(isinstance(p, SharePiece) for p in pieces) and (share > 1.0 if lower else share < 1.0):
        return f", which {over}adds up to {share:.4g} of the rows"
    exact = all(_is_whole(_in_rows(p, size)) for p in pieces)
    if not over and exact:
        return f" but has {_rows(size)}"
    counts = [p.compile(program.n, classes).counts for p in pieces]
    bounds = [(part.lower if lower else part.upper)[0] for part in counts]
    total = sum(tightest(values) for values in zip(*bounds, strict=True))
    note = "" if exact else " (counts are whole numbers)"
    return f", which {over}adds up to {total}{note}, but has {_rows(size)}"


def _is_whole(rows: float) -> bool:
    return abs(rows - round(rows)) < 1e-9


def _in_rows(piece: CountPiece | SharePiece, size: int) -> float:
    return piece.one.value * (size if isinstance(piece, SharePiece) else 1)


def _about_a_gap(conflict: list[Hint], program: LabelProgram, classes: ClassCodes) -> str:
    """Name two bounds of one class with no whole number of rows between them; or return ""."""
    pieces = [hint for hint in conflict if isinstance(hint, CountPiece | SharePiece)]
    if len(pieces) != 2 or len(conflict) != 2 or {p.one.side for p in pieces} != {"lower", "upper"}:
        return ""
    low, high = sorted(pieces, key=lambda p: p.one.side)
    rows = low.members(program.n)
    if not np.array_equal(high.members(program.n), rows):
        return ""
    least, most = _in_rows(low, len(rows)), _in_rows(high, len(rows))
    shared = any(
        low.one.bounds(c, classes) and high.one.bounds(c, classes) for c in range(len(classes))
    )
    if not shared or least > most or np.ceil(least - 1e-9) <= np.floor(most + 1e-9):
        return ""
    return (
        f"{_listed([low.describe(classes), high.describe(classes)])}; counts are whole numbers, "
        f"and none lies between {least:g} and {most:g}"
    )


def _about_items(conflict: list[Hint], program: LabelProgram, classes: ClassCodes) -> str:
    """One partition or order against statements about single rows; or return ""."""
    pairs = [hint for hint in conflict if isinstance(hint, PairHint)]
    others = [hint for hint in conflict if not isinstance(hint, PairHint)]
    if len(pairs) != 1 or not all(hint.about_row(classes) for hint in others):
        return ""
    alone = Hints(conflict).compile(program.n, classes)
    part = (*alone.partitions, *alone.orders)[0]
    said = say_contradiction(part, alone.mask, pairs[0].items)
    return f"{type(pairs[0]).__name__}: {said}" if said else ""


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
