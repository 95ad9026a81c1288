"""Deliberately wrong hints: the checks on hints must reject each of them."""

from __future__ import annotations

import numpy as np
import pytest

from checks.hints import (
    Case,
    Term,
    check_immutable,
    check_meaning,
    check_permutation,
    check_restrict_forgets_nothing,
    check_restrict_is_sound,
    check_round_trip,
    check_split,
    check_sum,
)
from checks.structures import clique_cost
from tacit.hints import (
    CannotLink,
    Cost,
    Count,
    Hints,
    Labels,
    MustLink,
    Not,
    Pairwise,
    Partition,
    Same,
)
from tacit.hints._program import LabelProgram

TABLE = np.array([[0.0, 1.0], [2.0, np.inf]])
COSTS = np.array([[0.0, 1.0], [0.5, 0.0], [np.inf, 0.0]])


def at_most_one(kind=Count, **other):
    """At most one of the rows 0, 1, 2 is 'b', at least one is."""
    hard = [
        Term((0, 1, 2), lambda Y: Y.sum(axis=1) >= 1),
        Term((0, 1, 2), lambda Y: Y.sum(axis=1) <= 1),
    ]
    return Case(kind([[0, 1, 2]], {"b": 1}, {"b": 1}, **other), 3, ["a", "b"], hard)


def linked(kind=MustLink):
    hard = [
        Term((0, 1), lambda Y: Y[:, 0] == Y[:, 1]),
        Term((1, 2), lambda Y: Y[:, 1] == Y[:, 2]),
    ]
    return Case(kind([[0, 1], [1, 2]]), 3, ["a", "b"], hard)


def tabled(kind=Pairwise):
    finite = np.where(np.isfinite(TABLE), TABLE, 0.0)
    hard = [Term((0, 2), lambda Y: np.isfinite(TABLE[Y[:, 0], Y[:, 2]]))]
    soft = [Term((0, 2), lambda Y: finite[Y[:, 0], Y[:, 2]])]
    return Case(kind([[0, 2]], TABLE), 3, ["a", "b"], hard, soft)


def costly(kind=Cost):
    hard = [Term((2,), lambda Y: Y[:, 2] == 1)]
    soft = [
        Term((0,), lambda Y: COSTS[0, Y[:, 0]]),
        Term((1,), lambda Y: COSTS[1, Y[:, 1]]),
    ]
    return Case(kind(COSTS), 3, ["a", "b"], hard, soft)


def labelled(kind=Labels):
    return Case(kind([1], "b"), 3, ["a", "b"], [Term((1,), lambda Y: Y[:, 1] == 1)])


class IgnoresUpper(Count):
    def __init__(self, groups, lower=None, upper=None):
        super().__init__(groups, lower, None)


class CountsStrictly(Count):
    def compile(self, n, classes):
        program = super().compile(n, classes)
        program.counts.lower[:] = np.minimum(program.counts.lower + 1, 3)
        return program


class SeparatesInsteadOfLinking(MustLink):
    def _broken(self, n_classes):
        return np.eye(n_classes)


class Transposed(Pairwise):
    def compile(self, n, classes):
        program = super().compile(n, classes)
        turned = program.pairs.tables.swapaxes(1, 2)
        pairs = type(program.pairs)(
            program.pairs.edges, program.pairs.weight, program.pairs.table, turned
        )
        return LabelProgram(n, len(classes), pairs=pairs)


class ForgetsInfinity(Cost):
    def compile(self, n, classes):
        return LabelProgram(n, len(classes), unary=super().compile(n, classes).unary)


class DoublesSoftCosts(Cost):
    def compile(self, n, classes):
        program = super().compile(n, classes)
        return LabelProgram(n, len(classes), allowed=program.allowed, unary=2 * program.unary)


class OffByOneClass(Labels):
    def compile(self, n, classes):
        program = super().compile(n, classes)
        return LabelProgram(n, len(classes), allowed=np.roll(program.allowed, 1, axis=1))


@pytest.mark.parametrize(
    "case",
    [
        at_most_one(IgnoresUpper),
        at_most_one(CountsStrictly),
        linked(SeparatesInsteadOfLinking),
        linked(CannotLink),
        tabled(Transposed),
        costly(ForgetsInfinity),
        costly(DoublesSoftCosts),
        labelled(OffByOneClass),
        labelled(Not),
    ],
    ids=lambda case: type(case.hint).__name__,
)
def test_meaning_rejects(case):
    with pytest.raises(AssertionError, match="does not mean what it says"):
        check_meaning(case)


class SecondWins(Hints):
    def compile(self, n, classes):
        return self.parts[-1].compile(n, classes)


class AddsToSecondWins(Labels):
    def __add__(self, other):
        return SecondWins([self, other])


def test_sum_rejects_a_sum_that_drops_a_part():
    with pytest.raises(AssertionError, match="not the sum"):
        check_sum(labelled(AddsToSecondWins), at_most_one())


class DoesNotLoosen(Count):
    def restrict(self, rows, n=None):
        part = super().restrict(rows, n)
        return Count(part._groups, *self._bounds())

    def _bounds(self):
        return {"b": 1}, {"b": 1}


class LoosensEverything(Count):
    def restrict(self, rows, n=None):
        return Count([], None, None)


class KeepsOldNumbers(Labels):
    def restrict(self, rows, n=None):
        return Labels([r for r in self.rows() if r < len(rows)], "b")


class DropsChains(MustLink):
    def restrict(self, rows, n=None):
        pairs, keep = self._inside(rows, n)
        return MustLink(pairs, self._cost[keep])


class DropsCosts(Pairwise):
    def restrict(self, rows, n=None):
        part = super().restrict(rows, n)
        return Pairwise(part._pairs, np.where(np.isinf(TABLE), TABLE, 0.0))


def test_restrict_rejects_a_count_that_is_not_loosened():
    with pytest.raises(AssertionError, match="forbids what was allowed"):
        check_restrict_is_sound(at_most_one(DoesNotLoosen), [0, 1])


def test_restrict_rejects_rows_that_are_not_renumbered():
    with pytest.raises(AssertionError, match="forbids what was allowed"):
        check_restrict_is_sound(labelled(KeepsOldNumbers), [2, 0])


def test_restrict_rejects_a_lost_cost():
    with pytest.raises(AssertionError, match="changes a cost"):
        check_restrict_is_sound(tabled(DropsCosts), [2, 0])


def test_restrict_rejects_what_is_forgotten():
    with pytest.raises(AssertionError, match="forgets a statement"):
        check_restrict_forgets_nothing(at_most_one(LoosensEverything), [0, 2])
    check_restrict_forgets_nothing(at_most_one(), [0, 2])


def test_a_chain_through_a_row_left_out_is_closed():
    """Rows 0 and 2 are linked through row 1 alone; no single statement tells."""
    kept = [0, 2]
    whole = Term((0, 2), lambda Y: Y[:, 0] == Y[:, 2])
    case = linked(DropsChains)
    with pytest.raises(AssertionError, match="forgets a statement"):
        check_restrict_forgets_nothing(Case(case.hint, 3, case.classes, [*case.hard, whole]), kept)
    check_restrict_forgets_nothing(Case(linked().hint, 3, case.classes, [*case.hard, whole]), kept)


def test_permutation_rejects_rows_that_are_not_renumbered():
    with pytest.raises(AssertionError, match="no renumbering"):
        check_permutation(labelled(KeepsOldNumbers), [1, 2, 0])


class LosesInfinity(Cost):
    def to_dict(self):
        return {"costs": [[1e9 if v == np.inf else v for v in row] for row in self._table.tolist()]}


class LosesBound(Count):
    def to_dict(self):
        return super().to_dict() | {"upper": None}


class WritesArrays(Labels):
    def to_dict(self):
        return {"rows": self.rows(), "classes": ["b"]}


@pytest.mark.parametrize(
    "case", [costly(LosesInfinity), at_most_one(LosesBound)], ids=["infinity", "bound"]
)
def test_round_trip_rejects_what_is_lost(case):
    with pytest.raises(AssertionError, match="a round trip changes"):
        check_round_trip(case.hint, case.n, case.codes)


def test_round_trip_rejects_arrays():
    with pytest.raises((AssertionError, TypeError, ValueError)):
        check_round_trip(WritesArrays([1], "b"), 3, labelled().codes)


class SplitsUpperOnly(Count):
    def split(self):
        return (piece for piece in super().split() if piece.one.side == "upper")


class SaysNumbers(Count):
    def split(self):
        for piece in super().split():
            piece.describe = lambda classes=None: "class number 1"
            yield piece


def test_split_rejects_a_lost_piece():
    with pytest.raises(AssertionError, match="split changes"):
        check_split(at_most_one(SplitsUpperOnly))


def test_split_rejects_class_numbers():
    with pytest.raises(AssertionError, match="without its name"):
        check_split(at_most_one(SaysNumbers))


def test_immutable_rejects_a_writable_array():
    hint = Cost(COSTS)
    hint._table = np.array(COSTS)
    with pytest.raises(AssertionError, match=r"Cost\._table can be written"):
        check_immutable(hint)


@pytest.mark.parametrize(
    "case",
    [at_most_one(), linked(), tabled(), costly(), labelled()],
    ids=lambda case: type(case.hint).__name__,
)
def test_the_right_ones_pass(case):
    check_meaning(case)
    check_sum(case, at_most_one())
    check_round_trip(case.hint, case.n, case.codes)
    check_restrict_is_sound(case, [2, 0])
    check_restrict_is_sound(case, [])
    check_permutation(case, [1, 2, 0])
    check_split(case)
    check_immutable(case.hint)


# Structures ----------------------------------------------------------------------------------


def clique(kind=Same):
    """All three rows agree, or 1 for each of at most two that do not."""

    def rest(Y, kept):
        return clique_cost(Y, kept, 2.0, 2.0)

    soft = [Term((0, 1, 2), lambda Y: rest(Y, [0, 1, 2]), rest)]
    return Case(kind([[0, 1, 2]], 2.0, 2.0), 3, ["a", "b"], [], soft)


def triangle(kind=Partition):
    """No labeling of a triangle's pairs joins two of them alone."""
    hard = [Term((0, 1, 2), lambda Y: Y.sum(axis=1) != 2)]
    return Case(kind([[0, 1], [1, 2], [0, 2]]), 3, ["a", "b"], hard)


class ForgetsCliques(Same):
    def restrict(self, rows, n=None):
        return Same([])


class CountsMembersOnly(Same):
    def compile(self, n, classes):
        program = super().compile(n, classes)
        program.cliques.truncate[:] = 1.0
        return program


class JoinsNeighboursOnly(Partition):
    """Two pairs that share an item agree: too much."""

    def compile(self, n, classes):
        return MustLink([[0, 1], [1, 2]]).compile(n, classes)


class ForgetsItems(Partition):
    def restrict(self, rows, n=None):
        return Partition(self._items[: len(rows)])


def test_structures_that_mean_something_else():
    for case in (clique(CountsMembersOnly), triangle(JoinsNeighboursOnly)):
        with pytest.raises(AssertionError, match="does not mean what it says"):
            check_meaning(case)
    check_meaning(clique())
    check_meaning(triangle())


def test_structures_that_restrict_wrongly():
    with pytest.raises(AssertionError, match="changes a cost"):
        check_restrict_is_sound(clique(ForgetsCliques), [0, 2])
    check_restrict_is_sound(clique(), [0, 2])
    with pytest.raises(AssertionError, match="no renumbering"):
        check_permutation(star(ForgetsItems), [1, 0, 2, 3])
    check_permutation(star(), [1, 0, 2, 3])


def star(kind=Partition):
    """A triangle, then a pair apart from it."""
    hard = [Term((1, 2, 3), lambda Y: Y[:, 1:].sum(axis=1) != 2)]
    return Case(kind([[7, 8], [0, 1], [1, 2], [0, 2]]), 4, ["a", "b"], hard)
