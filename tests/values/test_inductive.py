"""The inductive baseline: supervised learning, and then the labels that the hints allow."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tacit import HintClassifier, Problem, hints, solve

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
Y = np.where(X @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=40) > 0, "up", "down")
ROWS = np.arange(0, 40, 3)
PART = np.where(np.isin(np.arange(40), ROWS), Y, "")


def test_is_the_support_vector_machine_of_the_labelled_rows():
    clf = HintClassifier(kernel="linear", C=3.0, solver="inductive", tol=1e-9).fit(X, PART)
    reference = LinearSVC(loss="hinge", C=3.0, fit_intercept=False, tol=1e-10, max_iter=10**6)
    reference.fit(X[ROWS], Y[ROWS])
    np.testing.assert_allclose(clf.solution_.coef[:, 0], reference.coef_[0], atol=1e-4)
    assert np.array_equal(clf.predict(X), reference.predict(X))
    others = PART == ""
    assert np.array_equal(clf.transduction_[others], clf.predict(X)[others])
    assert np.array_equal(clf.transduction_[ROWS], Y[ROWS])


def test_is_the_logistic_regression_of_the_labelled_rows():
    clf = HintClassifier(
        kernel="linear", loss="logistic", C=2.0, solver="inductive", tol=1e-10, label_weight=1.5
    ).fit(X, PART)
    reference = LogisticRegression(C=3.0, fit_intercept=False, tol=1e-10).fit(X[ROWS], Y[ROWS])
    np.testing.assert_allclose(clf.solution_.coef[:, 0], reference.coef_[0], atol=1e-5)


def test_kernel_coefficients_are_those_of_labelled_rows():
    clf = HintClassifier(gamma=0.4, C=3.0, solver="inductive").fit(X, PART)
    assert not clf.solution_.coef[PART == ""].any()
    alone = HintClassifier(gamma=0.4, C=3.0).fit(X[ROWS], Y[ROWS])
    np.testing.assert_allclose(clf.decision_function(X), alone.decision_function(X), atol=1e-6)


def test_other_rows_get_the_cheapest_labels_allowed():
    """On a line, scores rise with x; of the four rows between, exactly one may be "up"."""
    rows = np.array([[-2.0], [-1.0], [0.2], [0.5], [1.0], [2.0]])
    known = hints.Count([[1, 2, 3, 4]], {"up": 1}, {"up": 1})
    y = ["down", "", "", "", "", "up"]
    clf = HintClassifier(kernel="linear", solver="inductive").fit(rows, y, hints=known)
    assert clf.transduction_.tolist() == ["down"] * 4 + ["up"] * 2
    assert clf.predict(rows).tolist() == ["down"] * 2 + ["up"] * 4


def test_other_rows_and_hints_do_not_move_the_classifier():
    known = hints.Share({"up": 0.6}) + hints.MustLink([[1, 2]])
    clf = HintClassifier(gamma=0.4, solver="inductive", random_state=0)
    scores = clf.fit(X, PART, hints=known).decision_function(X)
    far = X.copy()
    far[PART == ""] *= 50.0
    np.testing.assert_allclose(clf.fit(far, PART).decision_function(X), scores, atol=1e-9)


def test_the_objective_is_that_of_the_whole_problem():
    problem = Problem(X, hints.Labels(ROWS, Y[ROWS]), kernel="linear", loss="logistic")
    base, joint = solve(problem, "inductive", random_state=0), solve(problem, random_state=0)
    W = base.coef[:, 0]
    margin = np.where(base.labels == 1, 1, -1) * (X @ W)
    assert base.objective == pytest.approx(np.log1p(np.exp(-margin)).sum() + 0.5 * W @ W)
    assert base.fixed_bound <= joint.objective <= base.objective


def test_without_labels_there_is_nothing_to_learn_from():
    with pytest.raises(ValueError, match="learns from labelled rows alone, and the label of no"):
        HintClassifier(solver="inductive", classes=["up", "down"]).fit(X, hints=hints.Share(0.4))
