"""Swallowed classes: expected rows by hand, and what is said and done about them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tacit import CollapseWarning, HintClassifier, hints
from tacit.hints._classes import ClassCodes
from tacit.hints._program import LabelProgram
from tacit.hints.combine import Hints
from tacit.solvers._balance import Balance


def balance(*known, n=40, classes=("a", "b")):
    return Balance(Hints(known).compile(n, ClassCodes(classes)))


def labels(*counts):
    return np.repeat(np.arange(len(counts)), counts)


def test_expected_rows_by_hand():
    # 10 rows are a, 20 may be both, 10 are e^-log 3 = 1/3 times as likely b as a.
    costs = np.zeros((40, 2))
    costs[30:, 1] = np.log(3.0)
    found = balance(hints.Labels(range(10), "a"), hints.Cost(costs)).expected
    np.testing.assert_allclose(found, [10 + 10 + 7.5, 0 + 10 + 2.5], rtol=1e-12)


@pytest.mark.parametrize(
    ("counts", "lopsided"), [((20, 20), False), ((30, 10), False), ((31, 9), True), ((0, 40), True)]
)
def test_half_more_or_less_is_within_reason(counts, lopsided):
    assert balance().lopsided(labels(*counts)) is lopsided


def test_a_held_answer_is_not_lopsided():
    held = balance(hints.Not(range(15), "b"))
    answer = held.oracle().solve(np.tile([1.0, 0.0], (40, 1)))
    assert not held.lopsided(answer.labels)
    assert np.bincount(answer.labels).tolist() == [21, 19]  # expected 27.5, 12.5: b at most 19


def test_nothing_fast_beside_pairs():
    assert balance(hints.MustLink([[0, 1]], cost=1.0)).oracle() is None


def test_report_names_classes_and_remedy():
    codes, found = ClassCodes(("a", "b")), balance()
    assert found.report(labels(38, 2), codes, 5.0, 7.0, 40) == ""  # a tenth of 20 is not below it
    told = found.report(labels(39, 1), codes, 5.0, 7.0, 40)
    assert "'a' took 39 of 40 rows" in told
    assert "next to none to 'b'" in told
    assert "(7 against 5)" in told
    assert "hints.Share(" in told
    assert "no start with balanced classes was made" in found.report(
        labels(40, 0), codes, 5.0, np.inf, 40
    )
    coupled = balance(hints.MustLink([[0, 1]], cost=1.0))
    assert "couple rows" in coupled.report(labels(40, 0), codes, 5.0, np.inf, 40)


def test_report_of_a_sample_names_it():
    told = balance().report(labels(39, 1), ClassCodes(("a", "b")), 5.0, 7.0, 30)
    assert "'a' took 39 of 40 rows" in told
    assert "(7 against 5, in a sample of 30 rows)" in told


def test_few_rows_expected_are_not_missed():
    few = Balance(LabelProgram(8, 2))  # 4 of each
    assert few.report(labels(8, 0), ClassCodes(("a", "b")), 5.0, np.inf, 8) == ""


@pytest.fixture(scope="module")
def digits():
    """One class that each row does not have."""
    X, y = load_digits(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:500]
    X, y = X[chosen] / 16.0, y[chosen]
    wrong = (y + np.random.default_rng(1).integers(1, 10, len(y))) % 10
    return X, y, hints.Not(np.arange(len(y)), wrong)


def model(**settings):
    return HintClassifier(range(10), gamma=0.05, random_state=0, **settings)


def test_a_preferred_collapse_is_reported(digits):
    X, _, known = digits
    with pytest.warns(CollapseWarning, match=r"so the objective itself prefers this.*Share"):
        fit = model(C=1.0).fit(X, hints=known)
    assert "took" in fit.solution_.collapse
    assert "release" in fit.history_.column("phase")  # the balanced start was made


def test_the_remedy_helps(digits):
    X, _, known = digits
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = model(C=1.0, n_init=1).fit(X, hints=known + hints.Share(0.05, 0.15))
    assert fit.solution_.collapse == ""
    assert np.bincount(fit.transduction_, minlength=10).min() >= 25


def test_a_collapse_that_is_not_preferred_is_escaped(digits):
    X, y, known = digits
    fit = model(C=10.0).fit(X, hints=known)
    runs = fit.solution_.run_objectives
    assert min(runs) < 0.9 * runs[0]  # the first run is the start without bounds
    assert fit.solution_.collapse == ""
    assert np.mean(fit.transduction_ != y) < 0.3
