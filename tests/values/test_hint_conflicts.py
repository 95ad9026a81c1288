"""Contradictions by hand: which hints are blamed, and in which words."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tacit import hints, oracles
from tacit.exceptions import InfeasibleHints
from tacit.hints import (
    AtLeast,
    CannotLink,
    Cost,
    Count,
    Labels,
    MustLink,
    Not,
    OneOf,
    Share,
    Votes,
)
from tacit.hints._classes import ClassCodes

PETS = ["cat", "dog", "eel"]


def message(hint, n, classes=PETS):
    answer = hints.check(hint, n, classes)
    assert not answer.feasible
    assert answer.labels is None
    return answer.message


# Conflicts in words --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "sentence"),
    [
        (
            Labels([17], "cat") + Not([17], "cat"),
            "row 17 has label 'cat' but Not forbids it.",
        ),
        (
            Not([3], "cat") + Labels([3], "cat"),
            "row 3 has label 'cat' but Not forbids it.",
        ),
        (
            Labels([3], "cat") + Labels([3], "dog"),
            "row 3 has label 'cat' but Labels says 'dog'.",
        ),
        (
            Labels([3], "cat") + OneOf([3], [["dog", "eel"]]),
            "row 3 has label 'cat' but OneOf allows only 'dog', 'eel'.",
        ),
        (
            Labels([3], "cat") + OneOf([3], np.array([[False, True, True]])),
            "row 3 has label 'cat' but OneOf allows only 'dog', 'eel'.",
        ),
        (
            OneOf([3], [["cat", "dog"]]) + Not([3], [["cat", "dog"]]),
            "row 3 has no label left: OneOf allows only 'cat', 'dog'; Not forbids 'cat'; "
            "Not forbids 'dog'.",
        ),
        (
            Labels([1, 3], ["cat", "dog"]) + MustLink([[1, 3]]),
            "these cannot all be true: row 1 has label 'cat'; row 3 has label 'dog'; "
            "rows 1 and 3 must have the same label.",
        ),
        (
            MustLink([[1, 3]]) + CannotLink([[3, 1]]),
            "rows 1 and 3 must have the same label but rows 3 and 1 must have different labels.",
        ),
    ],
)
def test_conflicts_of_rows_and_pairs(hint, sentence):
    assert message(hint, 20) == sentence


def test_a_cost_that_forbids_is_named():
    U = np.zeros((4, 3))
    U[2, 0] = np.inf
    assert message(Cost(U) + Labels([2], "cat"), 4) == "row 2 has label 'cat' but Cost forbids it."
    U[2] = np.inf
    assert message(Cost(U), 4) == (
        "row 2 has no label left: Cost forbids 'cat'; Cost forbids 'dog'; Cost forbids 'eel'."
    )


GROUPS = [[0], [1], [2], [4, 5, 6, 7, 8, 9]]


@pytest.mark.parametrize(
    ("hint", "sentence"),
    [
        (
            Count(GROUPS, {"dog": [0, 0, 0, 5]}) + Labels([4, 5], "cat"),
            "group 3 needs at least 5 of class 'dog' but only 4 rows allow it.",
        ),
        (
            Count(GROUPS, np.array([[0, 0, 0]] * 3 + [[0, 5, 0]])) + Not([4, 5], "dog"),
            "group 3 needs at least 5 of class 'dog' but only 4 rows allow it.",
        ),
        (
            Count(GROUPS, None, {"dog": [1, 1, 1, 2]}) + Labels([4, 5, 6, 9], "dog"),
            "group 3 may have at most 2 of class 'dog' but 4 rows must have it.",
        ),
        (
            Count(GROUPS, None, {"dog": 0}) + OneOf([2], [["dog"]]),
            "group 2 may have at most 0 of class 'dog' but 1 row must have it.",
        ),
        (
            AtLeast(GROUPS, "eel") + Labels([0], "cat"),
            "group 0 needs at least 1 of class 'eel' but no rows allow it.",
        ),
        (
            Count([GROUPS[3]], {"dog": 7}),
            "group 0 needs at least 7 of class 'dog' but has only 6 rows.",
        ),
        (
            Count([GROUPS[3]], {"dog": 1e30}),
            "group 0 needs at least 1e+30 of class 'dog' but has only 6 rows.",
        ),
        (
            Count([GROUPS[3]], {"dog": 4, "cat": 3}),
            "group 0 needs at least 4 of class 'dog' and needs at least 3 of class 'cat' "
            "but has 6 rows.",
        ),
        (
            Count([GROUPS[3]], None, 1),
            "group 0 may have at most 1 of every class, which for 3 classes adds up to 3, "
            "but has 6 rows.",
        ),
        (
            Share(0.35),
            "the set of all rows needs at least a share of 0.35 of every class, which for 3 "
            "classes adds up to 1.05 of the rows.",
        ),
        (
            Share(None, {"cat": 0.2, "dog": 0.3, "eel": 0.4}),
            "the set of all rows may have at most a share of 0.2 of class 'cat' and may have at "
            "most a share of 0.3 of class 'dog' and may have at most a share of 0.4 of class "
            "'eel', which adds up to 0.9 of the rows.",
        ),
        (
            Share(0.3, rows=[0, 1, 2, 3]),
            "the set of 4 rows needs at least a share of 0.3 of every class, which for 3 classes "
            "adds up to 6 (counts are whole numbers), but has 4 rows.",
        ),
        (
            Count([GROUPS[3]], 1.5, 1.5),
            "group 0 may have at most 1.5 of every class, which for 3 classes adds up to 3 "
            "(counts are whole numbers), but has 6 rows.",
        ),
        (
            Count([[0, 1, 2]], 0.5) + Count([[0, 1, 2]], {"cat": 2}),
            "group 0 needs at least 0.5 of every class and needs at least 2 of class 'cat', which "
            "for 3 classes adds up to 4 (counts are whole numbers), but has 3 rows.",
        ),
        (
            Count([GROUPS[3][:4]], {"dog": 1.5}, {"dog": 1.5}),
            "group 0 has at least 1.5 of class 'dog' but group 0 has at most 1.5 of class 'dog'; "
            "counts are whole numbers, and none lies between 1.5 and 1.5.",
        ),
        (
            Count([GROUPS[3]], None, {"cat": -1}),
            "group 0 may have at most -1 of class 'cat', fewer than none.",
        ),
        (
            Count([0, 2], {"dog": 1}),
            "group 1 needs at least 1 of class 'dog' but has no rows.",
        ),
        (
            Share({"dog": 0.5}) + Not(range(6), "dog"),
            "the set of all rows needs at least a share of 0.5 of class 'dog' but only 4 rows "
            "allow it.",
        ),
        (
            Share(None, [1, 0.5, 1], rows=[1, 2]) + Labels([1, 2], "dog"),
            "the set of 2 rows may have at most a share of 0.5 of class 'dog' but 2 rows must "
            "have it.",
        ),
        (
            Share({"dog": 0.3}, {"dog": 0.35}, rows=[0, 1, 2, 3]),
            "at least 0.3 of 4 rows have class 'dog' but at most 0.35 of 4 rows have class 'dog'; "
            "counts are whole numbers, and none lies between 1.2 and 1.4.",
        ),
        (
            Count([GROUPS[3]], {"dog": 2.5}, {"dog": 2.7}),
            "group 0 has at least 2.5 of class 'dog' but group 0 has at most 2.7 of class 'dog'; "
            "counts are whole numbers, and none lies between 2.5 and 2.7.",
        ),
    ],
)
def test_conflicts_of_counts(hint, sentence):
    n = 2 if hint == Count([0, 2], {"dog": 1}) else 10
    assert message(hint, n) == sentence


def test_a_share_of_thousands_of_rows_is_explained_at_once():
    n = 5000
    start = time.monotonic()
    answer = hints.check(Share({"dog": 0.5}) + Not(range(3000), "dog"), n, PETS)
    assert len(answer.conflict) == 1 + 2501
    assert "but only 2000 rows allow it" in answer.message
    assert time.monotonic() - start < 10.0


def test_the_conflict_is_part_of_the_answer():
    known = Count(GROUPS, {"dog": [0, 0, 0, 5]}) + Labels([0, 4, 5], "cat") + Votes([["cat"]] * 10)
    answer = hints.check(known, 10, PETS)
    assert len(answer.conflict) == 3
    assert answer.conflict[1:] == (Labels([4], "cat"), Labels([5], "cat"))
    assert answer.conflict[0] == Count([GROUPS[3]], {"dog": 5})
    with pytest.raises(InfeasibleHints, match="only 4 rows allow it") as caught:
        oracles.feasible_labels(known, 10, ClassCodes(PETS))
    assert caught.value.conflict == answer.conflict


def test_cycles_of_links():
    chain = MustLink([[0, 1], [1, 2], [2, 3], [5, 6]])
    assert message(chain + CannotLink([[3, 0], [4, 5]]), 8) == (
        "these cannot all be true: rows 0 and 1 must have the same label; rows 1 and 2 must have "
        "the same label; rows 2 and 3 must have the same label; rows 3 and 0 must have different "
        "labels."
    )
    odd = CannotLink([[0, 1], [1, 2], [2, 0]])
    assert message(odd, 3, ["cat", "dog"]).count("must have different labels") == 3
    assert hints.check(odd, 3, PETS)


def test_a_row_without_a_label_is_blamed_before_the_counts():
    known = AtLeast([[0]], "cat") + Not([0], "cat")
    assert hints.check(known, 2, ["cat"]).conflict == (Not([0], "cat"),)
    assert len(hints.check(known + Not([0], "dog"), 2, ["cat", "dog"]).conflict) == 2


def test_a_conflict_spares_links_that_do_not_matter():
    """Of two ways from row 0 to row 3 the conflict takes the shorter one, of twigs none."""
    links = MustLink([[0, 1], [1, 2], [2, 3], [0, 4], [4, 3], [4, 5], [1, 6]])
    answer = hints.check(links + Labels([0, 3, 6], ["cat", "dog", "cat"]), 8, PETS)
    assert set(answer.conflict) == {
        MustLink([[0, 4]]),
        MustLink([[4, 3]]),
        Labels([0], "cat"),
        Labels([3], "dog"),
    }
    assert len(hints.check(links + Not([0, 3], ["cat", "dog"]), 8, ["cat", "dog"]).conflict) == 4
    alone = hints.check(links + CannotLink([[0, 3]]), 8, ["cat"]).conflict
    assert alone == (CannotLink([[0, 3]]),)


def test_a_chain_of_thousands_of_links_is_explained_at_once():
    n = 3000
    chain = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    start = time.monotonic()
    answer = hints.check(MustLink(chain) + CannotLink([[0, n - 1]]), n, PETS)
    assert len(answer.conflict) == n
    assert time.monotonic() - start < 10.0  # one second, with room for a busy machine


def test_a_long_conflict_is_cut_short_in_words_alone():
    n = 12
    chain = MustLink([[i, i + 1] for i in range(n - 1)]) + CannotLink([[0, n - 1]])
    answer = hints.check(chain, n, PETS)
    assert len(answer.conflict) == n
    assert answer.message.endswith("; and 6 more statements.")
