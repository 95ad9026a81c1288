"""Shares estimated from labels: distribution functions by hand, forms of y, no contradictions."""

from __future__ import annotations

import re
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import HintClassifier, hints
from tacit.hints import Share


def bounds(share):
    data = share.to_dict()
    return tuple(
        {name: value[0] for name, value in data[side]["by_class"]} for side in ("lower", "upper")
    )


def binomial_tail(k, n, p):
    """P(at least k of n), which is the distribution function of Beta(k, n - k + 1) at p."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def test_one_label_of_two_classes():
    """Beta(3, 2) has the distribution function 4 x^3 - 3 x^4."""
    lower, upper = bounds(Share.from_labels(["a", *[None] * 99], classes=["a", "b"]))
    assert 4 * lower["a"] ** 3 - 3 * lower["a"] ** 4 == pytest.approx(0.1)
    assert 4 * upper["a"] ** 3 - 3 * upper["a"] ** 4 == pytest.approx(0.9)
    assert lower["b"] == pytest.approx(1 - upper["a"])
    assert upper["b"] == pytest.approx(1 - lower["a"])


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_two_classes_of_ten_labels(level):
    """3 of 10: Beta(5, 9)."""
    y = [1] * 3 + [0] * 7 + [-1] * 990
    lower, upper = bounds(Share.from_labels(y, level, unlabeled=-1))
    assert binomial_tail(5, 13, lower[1]) == pytest.approx((1 - level) / 2)
    assert binomial_tail(5, 13, upper[1]) == pytest.approx((1 + level) / 2)


def test_minus_one_beside_two_classes():
    """-1 is unknown unless something else is said; where it may be a class, a warning tells."""
    y = [1] * 3 + [0] * 7 + [-1] * 990
    with pytest.warns(UserWarning, match="-1 is read as unknown") as told:
        share = Share.from_labels(y)
    assert share == Share.from_labels(y, unlabeled=-1)
    assert {one.filename for one in told} == {__file__}


def test_three_classes():
    """3, 1 and 0 of 4 labels, two more of each: Beta(5, 5), Beta(3, 7) and Beta(2, 8)."""
    y = np.array([2, 2, 1, 2] + [-1] * 196)
    lower, upper = bounds(Share.from_labels(y, 0.6, classes=[0, 1, 2]))
    for name, n in ((2, 5), (1, 3), (0, 2)):
        assert binomial_tail(n, 9, lower[name]) == pytest.approx(0.2)
        assert binomial_tail(n, 9, upper[name]) == pytest.approx(0.8)


def test_interval_of_no_width_holds_the_mean():
    """The median of Beta(2, 11) is below its mean, 2/13; together the medians are below 1."""
    y = ["a"] * 5 + [None] * 9995
    lower, upper = bounds(Share.from_labels(y, 1e-9, classes=list("abcd")))
    assert upper["b"] == pytest.approx(2 / 13)
    assert binomial_tail(2, 12, lower["b"]) == pytest.approx(0.5)
    assert lower["a"] == pytest.approx(7 / 13)


@pytest.mark.parametrize(
    ("y", "options"),
    [
        (["x", "x", "z", "", ""], {}),
        (["x", None, "x", None, "z"], {}),
        (np.array(["x", "x", "z", "none", "none"]), {"unlabeled": "none"}),
        (np.array(["x", "x", "z", float("nan"), None], object), {"classes": ["z", "x"]}),
    ],
)
def test_forms_of_unknown(y, options):
    lower, _ = bounds(Share.from_labels(y, **options))
    assert binomial_tail(4, 6, lower["x"]) == pytest.approx(0.1)
    assert binomial_tail(3, 6, lower["z"]) == pytest.approx(0.1)


def test_minus_one_is_read_as_the_classifier_reads_it():
    y = [1, 1, -1, 1]
    lower, _ = bounds(Share.from_labels(y))
    assert set(lower) == {-1, 1}
    assert HintClassifier(random_state=0).fit(np.eye(4), y).classes_.tolist() == [-1, 1]
    lower, _ = bounds(Share.from_labels([0, 2, -1, 2]))
    assert set(lower) == {0, 2}
    lower, _ = bounds(Share.from_labels([0, 2, -1, 2], unlabeled=None))
    assert set(lower) == {-1, 0, 2}


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    counts=st.lists(st.integers(0, 9), min_size=2, max_size=6).filter(any),
    unknown=st.integers(0, 30),
    level=st.floats(0.01, 0.99),
)
def test_labels_and_shares_never_contradict(counts, unknown, level):
    y = [*np.repeat(np.arange(len(counts)), counts).tolist(), *[None] * unknown]
    classes = range(len(counts))
    share = Share.from_labels(y, level, classes=classes)
    rows = np.arange(sum(counts))
    known = share + hints.Labels(rows, np.repeat(classes, counts))
    assert hints.check(known, n=len(y), classes=classes).feasible


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 1], 1.0), "level=1.0; expected a number between 0 and 1"),
        (([0, 1], "most"), "level='most'; expected a number between 0 and 1"),
        (([None, None],), "no entry of y is a label"),
        ((["a", "", "a"],), "y names only one class, 'a'; give classes=[...]"),
    ],
)
def test_what_is_refused(arguments, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        Share.from_labels(*arguments)


def test_class_that_is_not_listed():
    with pytest.raises(ValueError, match="names the class 'c', which is not one of 'a', 'b'"):
        Share.from_labels(["a", "c"], classes=["a", "b"])
