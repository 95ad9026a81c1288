"""What hints and their files refuse in words: numbers that are none, names that are none."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml

from tacit import DamagedFile, HintClassifier, hints
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

NO_NAMES = {"None": None, "nan": np.nan, "<NA>": pd.NA, "NaT": pd.NaT, "empty text": ""}


def refuses(text, error=ValueError):
    return pytest.raises(error, match=re.escape(text))


def written(tmp_path, text, suffix=".yaml"):
    path = tmp_path / f"known{suffix}"
    path.write_text(text, encoding="utf-8")
    return path


# --- what is no name ------------------------------------------------------------------------------


@pytest.mark.parametrize("said", NO_NAMES)
@pytest.mark.parametrize(
    "make",
    [
        lambda v: Labels(range(3), ["a", v, "b"]),
        lambda v: Labels([0], v),
        lambda v: Not([0], [["a", v]]),
        lambda v: OneOf([0], [["a", v]]),
        lambda v: Count([[0]], {v: 1}),
        lambda v: Share({"a": 0.5, v: 0.1}),
        lambda v: AtLeast([[0]], v),
        lambda v: hints.check(Labels([0], "a"), 1, ["a", v]),
        lambda v: HintClassifier(["a", v]).fit([[0.0], [1.0]], ["a", "b"]),
    ],
)
def test_what_is_missing_is_no_class(make, said):
    with refuses(f"{said} is not a class name"):
        make(NO_NAMES[said])


def test_arrays_and_files_name_no_class_by_nothing(tmp_path):
    with refuses("empty text is not a class name"):
        Labels([0, 1], np.array(["a", ""]))
    path = written(tmp_path, "tacit_hints: 1\nhints: [{kind: labels, rows: [0, 1], classes: "
                             "[null, a]}]")  # fmt: skip
    with refuses(f"{path}: hint 0 (labels): None is not a class name; leave out rows"):
        hints.load(path)


def test_votes_abstain_in_words():
    with refuses("Votes: empty text is not a class name"):
        Votes([["a", ""]])
    known = Votes([["a", ""], [None, "b"]], abstain="")
    assert sorted(known.names()) == ["a", "b"]
    assert hints.from_dict(hints.to_dict(known)).parts == (known,)


@pytest.mark.parametrize(
    ("votes", "text"),
    [
        (["ham", "egg"], "Votes: row 0 is 'ham'; expected a list with the vote of each function"),
        ([0, 1, -1], "Votes: row 0 is 0; expected a list with the vote of each function"),
        ("ham", "Votes: expected a list of rows, got 'ham'."),
        (3, "Votes: expected a list of rows, got 3."),
    ],
)
def test_votes_are_rows(votes, text):
    with refuses(text, TypeError):
        Votes(votes)


# --- what is no number ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: MustLink([[0, 1], [2]]), "MustLink: pairs: row 0 has 2 entries but row 1 has 1 "),
        (lambda: MustLink([[0, 1], 2]), "MustLink: pairs: row 0 has 2 entries but row 1 has a "),
        (lambda: CannotLink([[0, 1]], "abc"), "CannotLink: cost must hold numbers, got 'abc'."),
        (lambda: Potts([[0, 1], [2]]), "Potts: edges: row 0 has 2 entries but row 1 has 1 entry."),
        (lambda: Potts([[0, 1]], ["abc"]), "Potts: weight must hold numbers, got 'abc'."),
        (lambda: Pairwise([[0, 1]], [[0, 1], [2]]), "Pairwise: tables: row 0 has 2 entries but"),
        (lambda: Cost([[0, 1], [2]]), "Cost: costs: row 0 has 2 entries but row 1 has 1 entry."),
        (lambda: Cost([[0, {}]]), "Cost: costs must hold numbers, got {}."),
        (lambda: Votes([["a"]], "abc"), "Votes: weight must hold numbers, got 'abc'."),
        (lambda: Labels([[0], [1, 2]], "a"), "Labels: rows must be one-dimensional, got lists"),
        (lambda: Count([[0]], "two"), "Count: lower must hold numbers, got 'two'."),
        (lambda: Count([[0], [1]], None, [[1, 2], [3]]), "Count: upper: row 0 has 2 entries but"),
        (lambda: Share({"a": "one"}), "Share: lower['a'] must hold numbers, got 'one'."),
        (lambda: Share(None, {"a": "20%"}), "Share: upper['a'] must hold numbers, got '20%' (20%"),
        (lambda: AtLeast([[0]], "a", "two"), "AtLeast: n must hold numbers, got 'two'."),
        (lambda: AtLeast([[0]], "a", None), "AtLeast: n must hold whole numbers, got None."),
        (lambda: AtLeast([[0]], "a", 1.5), "AtLeast: n must hold whole numbers, got 1.5."),
        (lambda: AtLeast([[0]], "a", -3), "AtLeast: n=-3; expected whole numbers, 0 or more."),
        (lambda: AtLeast([[0], [1]], "a", [1, -1]), "AtLeast: n=[1, -1]; expected whole numbers"),
        (lambda: Linear("abc"), "Linear: A must hold numbers, got 'abc'."),
        (lambda: Linear([[1, 2], [3]]), "Linear: A: row 0 has 2 entries but row 1 has 1 entry."),
        (lambda: Linear([[1, 2]], "one"), "Linear: lower must hold numbers, got 'one'."),
        (lambda: hints.check(Hints(), 5, 3), "classes=3; expected a list of class names."),
        (lambda: hints.check(Hints(), 5, "ab"), "classes='ab'; expected a list of class names."),
        (lambda: hints.check(Hints(), "5", ["a"]), "check: n='5'; expected the number of rows."),
        (lambda: hints.check(Hints(), 1.5, ["a"]), "check: n=1.5; expected the number of rows."),
        (lambda: hints.check(Hints(), -1, ["a"]), "check: n=-1; expected the number of rows."),
    ],
)
def test_what_is_no_number(make, text):
    with refuses(text):
        make()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: AtLeast([[0]], ["a", "b"]), "AtLeast: cls must be one class, got ['a', 'b']; "),
        (lambda: hints.check([Labels([0], "a")], 5), "check: expected hints, got list; join "),
    ],
)
def test_one_thing_where_a_list_is_given(make, text):
    with refuses(text, TypeError):
        make()


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        ({"kind": "must_link", "pairs": [[0, 1], [2]]}, "MustLink: pairs: row 0 has 2 entries"),
        ({"kind": "must_link", "pairs": [[0, 1]], "cost": "abc"}, "cost must hold numbers, got"),
        ({"kind": "votes", "votes": [["a"], ["a", "b"]]}, "'votes': row 0 has 1 entry but row 1"),
        ({"kind": "votes", "votes": ["a", "b"]}, "Votes: expected an array (rows, functions)"),
        ({"kind": "not", "rows": [0, 1], "classes": [["a"], ["a", "b"]]}, "'classes': row 0 has"),
        ({"kind": "one_of", "rows": [0], "mask": [[1, 2]]}, "'mask' must be a list of rows of 0"),
        ({"kind": "one_of", "rows": [0, 1], "mask": [[1], [1, 0]]}, "'mask': row 0 has 1 entry"),
        ({"kind": "share", "lower": {"a": "20%"}}, "lower['a'] must hold numbers, got '20%'"),
        ({"kind": "at_least", "bags": [[0]], "cls": "a", "n": "two"}, "n must hold numbers, got"),
        ({"kind": "count", "groups": [[0]], "lower": {"by_class": [["a", 1], ["a", 2]]}},
            "'by_class' names 'a' twice."),
        ({"kind": "count", "groups": [[0]], "lower": {"by_class": 3}}, "'by_class' must be a list"),
        ({"kind": "linear", "shape": 16, "entries": []}, "'shape' must be [rows, N * C], got 16."),
        ({"kind": "linear", "shape": [1, 4], "entries": [[0, 4, 1]]},
            "entry 0 of 'entries' is in row 0, column 4, outside the shape [1, 4]"),
        ({"kind": "linear", "shape": [1, 4], "entries": [[0, -1, 1]]}, "column -1, outside"),
        ({"kind": "linear", "shape": [1, 4], "entries": [[0, 1.5, 1]]}, "must hold whole numbers"),
        ({"kind": "linear", "shape": [1, 4], "entries": [[0, 1]]}, "[row, column, coefficient]"),
    ],
)  # fmt: skip
def test_files_say_which_hint_and_which_key(tmp_path, hint, text):
    data = {"tacit_hints": 1, "hints": [{"kind": "labels", "rows": [0], "classes": "a"}, hint]}
    path = written(tmp_path, json.dumps(data), ".json")
    with refuses(text) as error:
        hints.load(path)
    assert str(error.value).startswith(f"{path}: hint 1 ({hint['kind']}): ")


# --- files ----------------------------------------------------------------------------------------

START = "tacit_hints: 1\nhints:\n"


def test_yes_and_no_are_text(tmp_path):
    words = "yes, no, Yes, NO, on, off, y, n"
    path = written(tmp_path, START + f"- {{kind: one_of, rows: [0], sets: [[{words}]]}}\n"
                   "- {kind: share, upper: {no: 0.5}}\n")  # fmt: skip
    known = hints.load(path)
    assert sorted(set(known.names())) == sorted(words.split(", "))
    again = tmp_path / "again.yaml"
    hints.save(known, again)
    assert hints.load(again) == known


def test_dates_times_and_other_near_numbers_are_text(tmp_path):
    words = "2001-01-01, 2001-01-01 10:00:00, 1:30, 190:20:30.15, 010, 08, 1_0, 0b1, 1.5.1, +-1"
    path = written(tmp_path, START + f"- {{kind: one_of, rows: [0], sets: [[{words}]]}}\n"
                   "- {kind: share, upper: {1:30: 0.5, 2001-01-01: .25}}\n")  # fmt: skip
    known = hints.load(path)
    assert sorted(set(known.names())) == sorted(words.split(", "))
    assert known.parts[1] == Share(None, {"1:30": 0.5, "2001-01-01": 0.25})
    again = tmp_path / "again.yaml"
    hints.save(known, again)
    assert hints.load(again) == known


def test_numbers_stay_numbers(tmp_path):
    words = "0, 7, -12, +3, 0x1F, 1.5, -2., .25, 6.02e+23, 1.0e-05, .inf"
    path = written(tmp_path, START + f"- {{kind: one_of, rows: [0], sets: [[{words}]]}}\n")
    numbers = [0, 7, -12, 3, 31, 1.5, -2.0, 0.25, 6.02e23, 1e-5, np.inf]
    assert sorted(set(hints.load(path).names())) == sorted(numbers)


def test_true_and_false_are_truth_values(tmp_path):
    path = written(tmp_path, START + "- {kind: labels, rows: [0, 1], classes: [true, FALSE]}\n")
    assert hints.load(path).names() == [False, True]
    more = "- {kind: labels, rows: [2], classes: maybe}\n"
    path = written(tmp_path, path.read_text() + more)
    text = "named by the truth value False and by the text 'maybe'; write 'false' in quotes"
    with refuses(f"{path}: the classes are {text}"):
        hints.load(path)
    with refuses(text):
        hints.check(Labels([0], False) + Labels([1], "maybe"), 2)


@pytest.mark.parametrize(
    ("suffix", "text", "line", "key"),
    [
        (".yaml", START + "- kind: count\n  groups: [[0]]\n  upper: 1\n  upper: 2\n", 6, "upper"),
        (".yaml", START + "- {kind: share, upper: {a: 0.5,\n a: 0.6}}\n", 4, "a"),
        (".yaml", START + "hints: []\n", 3, "hints"),
        (".json", '{"tacit_hints": 1,\n "hints": [],\n\n "hints": []}', 4, "hints"),
        (".json", '{"tacit_hints": 1, "hints": [{"kind": "share",\n'
            '"upper": {"a": 0.5, "b": 0.1,\n"\\u0061": 0.6}}]}', 3, "a"),
    ],
)  # fmt: skip
def test_a_key_given_twice_is_refused(tmp_path, suffix, text, line, key):
    path = written(tmp_path, text, suffix)
    with refuses(f"{path}, line {line}: the key '{key}' appears twice in one mapping") as error:
        hints.load(path)
    assert not isinstance(error.value, DamagedFile)


def test_keys_of_different_mappings_may_be_the_same(tmp_path):
    data = {"tacit_hints": 1, "hints": [
        {"kind": "share", "lower": {"a": 0.1, ":": 0.0, "{": 0.0}, "upper": {"a": 0.9}},
        {"kind": "share", "lower": {"a": 0.2, '"': 0.1}},
        {"kind": "labels", "rows": [0, 1], "classes": ["a", "a"]},
    ]}  # fmt: skip
    assert hints.load(written(tmp_path, json.dumps(data), ".json")) == hints.from_dict(data)
    assert hints.load(written(tmp_path, yaml.safe_dump(data, sort_keys=False))) == hints.from_dict(
        data
    )
    anchors = "- &one {kind: share, upper: {a: 0.5}}\n- {<<: *one, lower: {a: 0.1}}\n"
    known = hints.load(written(tmp_path, START + anchors))
    assert known.parts[1] == Share({"a": 0.1}, {"a": 0.5})


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("{kind: labels, rows: [9], classes: a}", "hint 1 (labels): Labels: row 9 is out of range"),
        ("{kind: share, lower: {a: 0.6}, upper: {a: 0.5}}", "hint 1 (share): Share: lower 0.6 is"),
        ("{kind: count, groups: [0, 0], upper: 1}", "hint 1 (count): Count: the group ids or"),
        ("{kind: labels, rows: [true, false], classes: a}", "hint 1 (labels): Labels: the mask"),
        ("{kind: not, rows: [0], classes: c}", "hint 1 (not): Not names the class 'c', which"),
        ("{kind: cost, costs: [[1, 2]]}", "hint 1 (cost): Cost: the array has shape (1, 2)"),
    ],
)
def test_what_does_not_fit_the_data_says_where_it_was_read(tmp_path, line, text):
    path = written(tmp_path, START + f"- {{kind: labels, rows: [0], classes: b}}\n- {line}\n")
    with refuses(f"{path}: {text}"):
        hints.check(hints.load(path) + Labels([1], "a"), 3, ["a", "b"])


def test_arrays_that_disagree_say_where_they_were_read(tmp_path):
    lines = "- {kind: cost, costs: [[1, 2]]}\n- {kind: cost, costs: [[1, 2, 3]]}\n"
    path = written(tmp_path, START + lines)
    with refuses(f"{path}: hint 0 (cost): Cost(1 rows) speaks of 2 classes but {path}: hint 1"):
        hints.check(hints.load(path), 1)
