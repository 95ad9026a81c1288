"""Wrong hints and hints files: each is refused with one clear sentence."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tacit import hints
from tacit.exceptions import DamagedFile
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


def refuses(text, error=ValueError):
    return pytest.raises(error, match=re.escape(text))


# What is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Labels([-1], "a"), "Labels: row -1 is negative; rows are positions from 0"),
        (lambda: Labels([[0, 1]], "a"), "Labels: rows must be one-dimensional"),
        (lambda: Labels([0, 1], ["a"]), "Labels: 2 rows but classes of shape (1,)."),
        (lambda: Labels([0], [np.nan]), "nan is not a class name"),
        (lambda: Labels([0], np.array([np.nan])), "nan is not a class name"),
        (lambda: Not([0, 1], [["a", "b"], ["c"]]), "Not: rows name 1 to 2 classes each"),
        (lambda: Not([0], ["a", "b"]), "Not: 1 rows but classes for 2."),
        (lambda: OneOf([4, 7], [["a"], []]), "OneOf: the candidate set of row 7 is empty"),
        (lambda: OneOf([4], np.zeros((1, 3), bool)), "candidate set of row 4 is empty"),
        (lambda: OneOf([0], [["a"], ["b"]]), "OneOf: 1 rows but 2 candidate sets."),
        (lambda: Cost([[0.0, np.nan]]), "Cost: entry (0, 1) is nan; use numbers or +inf."),
        (lambda: Cost([[0.0, -np.inf]]), "Cost: entry (0, 1) is -inf"),
        (lambda: Cost([0.0, 1.0]), "Cost: expected an array (rows, classes), got shape (2,)."),
        (lambda: Votes([["a"], ["a", "b"]]), "Votes: every row needs one entry per"),
        (lambda: Votes([["a"]], [1, 2]), "Votes: weight has shape (2,)"),
        (lambda: Votes([["a"]], -1), "Votes: weights must be finite and not negative."),
        (lambda: Votes([["a"]], np.inf), "Votes: weights must be finite and not negative."),
        (lambda: Votes(np.array([[0.5]])), "Votes: entries must be class names"),
        (lambda: MustLink([[0, 1], [3, 3]]), "MustLink: pair 1 joins row 3 with itself."),
        (lambda: CannotLink([[0, -2]]), "CannotLink: row -2 is negative"),
        (lambda: CannotLink([[0, 1, 2]]), "CannotLink: expected pairs of rows, shape (M, 2)"),
        (lambda: MustLink([0, 1]), "MustLink: expected pairs of rows, shape (M, 2)"),
        (lambda: MustLink([[0, 1]], -1.0), "MustLink: costs must be 0 or more, got -1;"),
        (lambda: MustLink([[0, 1]], np.nan), "MustLink: costs must be 0 or more, got nan;"),
        (lambda: MustLink([[0, 1]], [1, 2]), "MustLink: cost has shape (2,)"),
        (lambda: Potts([[0, 1]], np.inf), "for each of the 1 edges, got inf; MustLink"),
        (lambda: Potts([[0, 1]], [1.0, 2.0]), "1 edges, got shape (2,); MustLink"),
        (lambda: Pairwise([[0, 1]], np.zeros((2, 3))), "Pairwise: tables must have shape (C, C)"),
        (lambda: Pairwise([[0, 1]], [[0, np.nan]] * 2), "entries must be numbers or +inf"),
        (lambda: Count([[0], []], 1), "Count: group 1 is empty"),
        (lambda: Count([np.zeros(3, bool)], 1), "Count: group 0 is empty"),
        (lambda: Count([[0, 1, 0]], 1), "Count: group 0 lists a row twice."),
        (lambda: Count([[0, -1]], 1), "Count: group 0: row -1 is negative"),
        (lambda: Count([0, -2], 1), "Count: group id -2; ids are 0, 1, ... and -1 for none."),
        (lambda: Count([10**9, 0], 1), "Count: group id 1000000000 for 2 rows; number the groups"),
        (lambda: Count([[0]], np.nan), "Count: lower contains NaN"),
        (lambda: Count([[0]], np.inf), "Count: lower contains inf, which nothing can meet"),
        (lambda: Count([[0]], None, {"a": -np.inf}), "Count: upper contains -inf, which nothing"),
        (lambda: Count([[0]], np.zeros((2, 2))), "Count: lower has shape (2, 2); expected one"),
        (lambda: Count([[0]], {"a": [1, 2]}), "Count: lower['a'] has shape (2,); expected one"),
        (lambda: Share(1.5), "Share: lower is 1.5; shares are fractions, 0 to 1."),
        (lambda: Share(None, {"a": -0.1}), "Share: upper is -0.1; shares are fractions, 0 to 1."),
        (lambda: Share(0.5, rows=[]), "Share: rows is empty; a share of no rows says nothing."),
        (lambda: Linear(np.ones(4), 1), "Linear: A must have shape (R, N * C), got (4,)."),
        (lambda: Linear(np.ones((1, 4)), 2, 1), "Linear: row 0 has lower 2 above upper 1."),
        (lambda: Linear([[np.nan, 1]], 1), "Linear: the coefficients must be finite."),
        (lambda: Linear(np.ones((1, 4)), [1, 2]), "Linear: lower must be None, a number, or one"),
        (lambda: Labels([7], "a").over(7), "over(7): row 7 is out of range; there are 7 rows"),
        (lambda: Votes([["a"]]).over(2), "over(2): Votes(1 rows) is about 1 rows."),
        (lambda: Share(0.1).over(-1), "over(-1): expected the number of rows, such as len(X)."),
        (lambda: Share(0.1).over(2) + Share(0.1).over(3), "over 2 rows and over 3 rows cannot be"),
    ],
)
def test_wrong_values(make, text):
    with refuses(text):
        make()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Labels([0.0], "a"), "Labels: rows must be positions (integers) or a boolean mask"),
        (lambda: Labels(["0"], "a"), "Labels: rows must be positions (integers) or a boolean mask"),
        (lambda: Labels([0], [["a"]]), "a class name must be hashable"),
        (lambda: Labels([0], {"a", "b"}), "a class name must be hashable"),
        (lambda: OneOf([0], ["ab"]), "OneOf: each candidate set must be a list or set of classes"),
        (lambda: OneOf([0, 1], [0, 1]), "OneOf: each candidate set must be a list or set"),
        (lambda: MustLink([[0.0, 1.0]]), "MustLink: pairs must hold row positions, got float64."),
        (lambda: Count(np.array([0.0, 1.0]), 1), "Count: group ids must be integers, -1 for none"),
        (lambda: Count([0.0, np.nan], 1), "Count: group ids must be integers, -1 for none"),
        (lambda: Count(np.array([True, False]), 1), "Count: group ids must be integers"),
        (
            lambda: Count(None, 1),
            "Count: groups must be a list of row arrays or a group id per row",
        ),
        (lambda: Count("abc", 1), "Count: groups must be a list of row arrays"),
        (lambda: Hints(["Labels"]), "expected hints, got str: 'Labels'. Join several"),
        (lambda: Labels([0], "a") + 3, "unsupported operand"),
    ],
)
def test_wrong_types(make, text):
    with refuses(text, TypeError):
        make()


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (Labels([5], "cat"), "Labels: row 5 is out of range; there are 5 rows, 0 to 4."),
        (Labels(np.ones(4, bool), "cat"), "Labels: the mask has 4 entries but there are 5 rows."),
        (Labels([0], "kat"), "Labels names the class 'kat', which is not one of 'cat', 'dog', "
            "'eel'. Did you mean 'cat'?"),
        (Not([0], 7), "Not names the class 7, which is not one of 'cat', 'dog', 'eel'."),
        (OneOf([0], np.ones((1, 2), bool)), "OneOf: the mask has 2 columns but there are 3"),
        (Cost(np.zeros((4, 3))), "Cost: the array has shape (4, 3) but there are 5 rows and 3"),
        (Votes([["cat"]]), "Votes: 1 rows of votes but there are 5 rows."),
        (MustLink([[0, 9]]), "MustLink: row 9 is out of range; there are 5 rows, 0 to 4."),
        (Potts([[0, 9]]), "Potts: row 9 is out of range"),
        (Pairwise([[0, 1]], np.eye(2)), "Pairwise: tables are for 2 classes but there are 3."),
        (Count([[0, 5]], 1), "Count: row 5 is out of range"),
        (Count([0, 0, 1], 1), "Count: the group ids or masks are for 3 rows but there are 5 rows."),
        (Count([[0]], [1, 2]), "Count: lower has bounds for 2 classes but there are 3."),
        (Count([[0], [1, 2]], {"dog": 2}, {"dog": [2, 1]}),
            "Count: group 1 has lower 2 above upper 1 for class 'dog'."),
        (Share({"dog": 0.5}, {"dog": 0.4}), "Share: lower 0.5 is above upper 0.4 for class 'dog'."),
        (AtLeast([[0]], "dgo"), "AtLeast: lower names the class 'dgo'"),
        (Share(0.1, rows=[5]), "Share: row 5 is out of range"),
        (Share(0.1).over(4), "the hints were wrapped with .over(4) but there are 5 rows"),
        (Linear(np.ones((1, 8)), 1), "Linear: A has 8 columns; 5 rows of 3 classes need 15."),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit_the_problem(hint, text):
    with refuses(text):
        hint.compile(5, ClassCodes(PETS))


def test_a_near_name_is_suggested_as_it_is():
    with refuses("names the class '1', which is not one of 0, 1, 2. Did you mean 1?"):
        hints.check(Labels([0], "1"), 1, [0, 1, 2])
    with refuses("classes names 'a' twice"):
        hints.check(Labels([0], "a"), 1, ["a", "b", "a"])
    with refuses("the classes are not known: no hint names any; give classes=[...]."):
        hints.check(Hints(), 3)
    with refuses("the hints have 2"):
        hints.check(Cost(np.zeros((1, 2))), 1, PETS)


@pytest.mark.parametrize(
    ("hint", "rows", "n", "text"),
    [
        (Labels([7], "a"), [0], 3, "restrict: the hint speaks of row 7 but n=3."),
        (Cost(np.zeros((2, 2))), [4], 5, "restrict: Cost(2 rows) is about 2 rows but n=5."),
        (Labels([0], "a"), [0, 0], 3, "restrict: a row is listed twice"),
        (Labels([0], "a"), [3], 3, "restrict: row 3 is out of range"),
        (Labels([0], "a"), [-1], 3, "restrict: row -1 is negative"),
        (Labels([0], "a"), np.ones(4, bool), 3, "restrict: the mask has 4 entries but n=3."),
        (Share(0.5), [0], None, "Share speaks of all rows, so restrict must know how many"),
        (Linear(np.ones((1, 4)), 1), [0], None, "Linear fixes only rows x classes, so restrict"),
    ],
)
def test_what_cannot_be_restricted(hint, rows, n, text):
    with refuses(text):
        hint.restrict(rows, n)


def test_infeasible_counts_stay_a_conflict_when_restricted():
    """Lower 5 of a group of 4, and an upper bound below zero, are conflicts, never a ValueError."""
    known = Count([[0, 1, 2, 3]], [5, -np.inf], [np.inf, -1])
    for rows in ([0, 1], [3, 2, 1, 0], [2]):
        part = known.restrict(rows, 4)
        assert not hints.check(part, len(rows), ["a", "b"])


# Files ---------------------------------------------------------------------------------------


def known_as_dict(**hint):
    return {"tacit_hints": 1, "hints": [hint]}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([], "not a set of hints: expected a mapping with 'tacit_hints: 1'"),
        ({"hints": []}, "not a set of hints"),
        ({"tacit_hints": 2, "hints": []}, "hints of version 2; this release reads version 1."),
        ({"tacit_hints": 1, "hint": []}, "has the unknown key 'hint'. Did you mean 'hints'?"),
        ({"tacit_hints": 1}, "'hints' must be a list of hints, got NoneType."),
        ({"tacit_hints": 1, "hints": [3]}, "hint 0 must be a mapping with a 'kind', got 3."),
        (known_as_dict(rows=[0]), "hint 0 must be a mapping with a 'kind'"),
        (known_as_dict(kind="lables"), "the unknown kind 'lables'. Did you mean 'labels'?"),
        (known_as_dict(kind="labels", rows=[0], clases="a"),
            "hint 0 (labels) has the unknown key 'clases'. Did you mean 'classes'?"),
        (known_as_dict(kind="count", groups=[[0]], uper=1), "Did you mean 'upper'?"),
        (known_as_dict(kind="labels", rows=[0]), "hint 0 (labels) lacks the key 'classes'."),
        (known_as_dict(kind="labels", rows=[-3], classes="a"), "hint 0 (labels): Labels: row -3"),
        (known_as_dict(kind="labels", rows="all", classes="a"), "hint 0 (labels): Labels: rows"),
        (known_as_dict(kind="labels", rows=[0], classes=[{"a": 1}]), "a class name must be a"),
        (known_as_dict(kind="cost", costs=[["x"]]),
            "hint 0 (cost): Cost: costs must hold numbers, got 'x'."),
        (known_as_dict(kind="count", groups=[[0], []], lower=1), "hint 0 (count): Count: group 1"),
        (known_as_dict(kind=["labels"], rows=[0]), "hint 0 has the unknown kind ['labels']."),
        (known_as_dict(kind="linear", shape=[1, 2], entries=[[0, 5, 1]], lower=1),
            "hint 0 (linear):"),
        (known_as_dict(kind="linear", shape=[1], entries=[[0, 1]]), "hint 0 (linear):"),
        (known_as_dict(kind="all", hints=[]), "hint 0 has the unknown kind 'all'."),
    ],
)  # fmt: skip
def test_wrong_files(data, text, tmp_path):
    with refuses(text):
        hints.from_dict(data)
    path = tmp_path / "known.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=re.escape(str(path))):
        hints.load(path)


def test_a_file_written_by_hand(tmp_path):
    path = tmp_path / "known.yaml"
    path.write_text(
        """
tacit_hints: 1
hints:
- {kind: labels, rows: [0, 3], classes: [cat, dog]}
- {kind: labels, rows: [1], classes: cat}
- {kind: not, rows: [2, 3], classes: [eel, eel]}
- {kind: one_of, rows: [2], sets: [[cat, dog]]}
- {kind: must_link, pairs: [[0, 1]]}
- {kind: cannot_link, pairs: [[0, 3], [1, 3]], cost: [.inf, 2]}
- kind: count
  groups: [[0, 1, 2], [2, 3]]
  lower: {cat: [1, 0], dog: [null, 1]}
  upper: [null, 2, null]
- {kind: count, groups: [0, 0, 1, 1], upper: [[3, null, 0], [null, 2, .inf]]}
- {kind: share, upper: {dog: 0.5}}
- {kind: at_least, bags: [[0, 1]], cls: cat}
"""
    )
    known = hints.load(path)
    assert len(known.parts) == 10
    assert value(known, ["cat", "cat", "dog", "dog"]) == 0.0
    assert value(known, ["cat", "cat", "cat", "dog"]) == 0.0
    assert value(known, ["cat", "cat", "eel", "dog"]) == np.inf
    again = tmp_path / "again.yml"
    hints.save(known, again)
    assert hints.load(again) == known


def test_files_that_are_damaged(tmp_path):
    for name, text in {"a.json": '{"tacit_hints": 1, "hin', "b.yaml": "hints: [1, {"}.items():
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(DamagedFile, match=f"{name} is not valid"):
            hints.load(path)
    binary = tmp_path / "c.json"
    binary.write_bytes(b"\xff\xfe\x00PK")
    with pytest.raises(DamagedFile, match=r"c\.json is not valid"):
        hints.load(binary)
    with refuses("hints files end in .yaml, .yml or .json."):
        hints.load(tmp_path / "known.txt")
    with refuses("hints files end in .yaml, .yml or .json."):
        hints.save(Hints(), tmp_path / "known")


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_names_that_files_could_mistake(suffix, tmp_path):
    names = ["1", 1, "yes", "null", "1e5", 1e20, 0.1, " a: b", "-", "é", ("x", (1,)), "=",
             "2001-01-01", "0x10", "~", "#", "a\nb", "'", '"']  # fmt: skip
    hint = Labels(range(len(names)), names) + AtLeast([[0]], "null") + Count([[0]], {1: 1, "1": 0})
    path = tmp_path / f"known{suffix}"
    hints.save(hint, path)
    again = hints.load(path)
    assert again == hint
    assert [type(v) for v in again.parts[0]._classes] == [type(v) for v in names]


def test_a_name_that_no_file_can_hold_is_refused():
    with refuses("the class name b'a' (bytes) cannot be written to a file", TypeError):
        hints.to_dict(Labels([0], b"a"))


def test_numbers_come_back_exactly(tmp_path):
    U = np.array([[0.1, 1 / 3, 1e-300, -2.5], [np.inf, 1e22, 2.0**60 + 2**10, 5.0]])
    for suffix in (".json", ".yaml"):
        hints.save(Cost(U), tmp_path / f"known{suffix}")
        again = hints.load(tmp_path / f"known{suffix}").parts[0]
        np.testing.assert_array_equal(again._table, U)
