"""Settings chosen by hiding labels: what is hidden, what stays, and what the search reports."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import KFold, LeaveOneOut

from tacit import HintClassifier, HintKMeans, InfeasibleHints, hints
from tacit.hints import Labels, Share
from tacit.model_selection import (
    HintFolds,
    HintSearchCV,
    calibrated_likelihood,
    cross_val_hints,
)

RNG = np.random.default_rng(3)
Y = np.repeat(["ant", "bee"], [30, 20])
X = RNG.normal(size=(50, 2)) + np.where(Y == "ant", 1.5, -1.5)[:, None]
ROWS = np.array([0, 4, 9, 14, 31, 36, 40])
PART = np.where(np.isin(np.arange(50), ROWS), Y, "")
FAST = HintClassifier(kernel="linear", loss="logistic", solver="inductive", random_state=0)


class Recorder(HintClassifier):
    """Remembers what it was fitted to, in place of learning."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y=None, *, hints=None, sample_weight=None):
        assert y is None
        self.seen.append(hints)
        self.classes_ = np.array(self.classes)
        self.transduction_ = np.full(len(X), self.classes[0])
        return self


# --- What is hidden -------------------------------------------------------------------------------


def test_only_labels_are_hidden():
    """Every other hint stays as it is, also about rows whose label is hidden."""
    other = hints.MustLink([[0, 31]], cost=2.0) + Share(0.2) + hints.Not([4], ["bee"])
    known = other + Labels([2, 3], ["bee", "ant"])
    Recorder.seen.clear()
    cross_val_hints(Recorder(), X, PART, hints=known, cv=3)
    hidden = []
    for seen in Recorder.seen:
        labels = [h for h in seen if isinstance(h, Labels)]
        assert [h for h in seen if not isinstance(h, Labels)] == list(other)
        named = dict(zip(labels[0].rows().tolist(), labels[0].classes.tolist(), strict=True))
        truth = {**{int(r): str(Y[r]) for r in ROWS}, 2: "bee", 3: "ant"}
        assert len(labels) == 1
        assert named.items() <= truth.items()
        hidden += sorted(truth.keys() - named.keys())
    assert sorted(hidden) == sorted([*ROWS.tolist(), 2, 3])


def test_folds_hold_their_share_of_each_class():
    folds = list(HintFolds(PART, None, 50).split(3, X))
    assert sorted(np.concatenate(folds)) == ROWS.tolist()
    assert sorted(len(rows) for rows in folds) == [2, 2, 3]
    assert all((Y[rows] == "ant").sum() in (1, 2) for rows in folds)
    assert all((Y[rows] == "bee").sum() == 1 for rows in folds)


def test_no_more_folds_than_labels():
    folds = list(HintFolds(PART, None, 50).split(100, X))
    assert [len(rows) for rows in folds] == [1] * 7


@pytest.mark.parametrize("square", [False, True])
def test_folds_do_not_depend_on_the_order_of_rows(square):
    data = X @ X.T if square else X
    order = RNG.permutation(50)
    moved = data[order][:, order] if square else data[order]
    folds = HintFolds(PART, None, 50).split(3, data, seed=1, square=square)
    other = HintFolds(PART[order], None, 50).split(3, moved, seed=1, square=square)
    same = [sorted(order[rows].tolist()) for rows in other]
    assert same == [sorted(rows.tolist()) for rows in folds]


def test_splitters_and_lists_of_folds():
    scores = cross_val_hints(FAST, X, PART, cv=LeaveOneOut())
    assert scores.shape == (7,)
    folds = HintFolds(PART, None, 50)
    assert [r.tolist() for r in folds.split(KFold(2), X)] == [[0, 4, 9, 14], [31, 36, 40]]
    given = [([0, 1, 2], [3, 4]), ([3, 4], [0, 6])]
    assert [r.tolist() for r in folds.split(given, X)] == [[14, 31], [0, 40]]


def test_functions_make_hints_from_the_labels_left():
    got = []

    def make(labels):
        got.append(labels)
        return Share.from_labels(labels, classes=["ant", "bee"])

    Recorder.seen.clear()
    cross_val_hints(Recorder(), X, PART, hints=make, cv=7)
    for labels, seen in zip(got, Recorder.seen, strict=True):
        known = next(h for h in seen if isinstance(h, Labels))
        assert np.flatnonzero(labels != None).tolist() == known.rows().tolist()  # noqa: E711
        assert len(known.rows()) == 6
        assert Share.from_labels(labels, classes=["ant", "bee"]) in list(seen)


# --- Scores ---------------------------------------------------------------------------------------


def test_default_score_is_the_share_of_hidden_labels_found():
    scores = cross_val_hints(Recorder(), X, PART, cv=[([1], [0, 1, 4]), ([0], [6])])
    assert scores.tolist() == [2 / 3, 0.0]


def test_likelihood_of_few_labels():
    """Odds of 3 to 1, right: the slope of log q is log(3) / (3^s + 1), that of the belief t / .09.

    With t = log s the best s solves s log(3) / (3^s + 1) = t / .09: s = 1.0251 to four digits.
    """
    s = 1.0251
    assert s * np.log(3) / (3**s + 1) == pytest.approx(np.log(s) / 0.09, rel=1e-2)
    logits = (np.log([[0.75, 0.25]]), np.array([0]))
    assert calibrated_likelihood([logits]) == pytest.approx([-np.log1p(3**-s)], abs=1e-4)


@pytest.mark.parametrize("odds", [1.5, 4.0, 20.0])
def test_likelihood_of_many_labels_takes_the_scale_out(odds):
    """Odds of a to 1, right in three of four rows: calibrated odds are 3 to 1, for any a."""
    P, n = np.array([odds, 1.0]) / (odds + 1.0), 20_000
    three = (np.log(np.tile(P, (3 * n, 1))), np.zeros(3 * n, np.intp))
    one = (np.log(np.tile(P, (n, 1))), np.ones(n, np.intp))
    expected = [np.log(0.75), np.log(0.25)]
    assert calibrated_likelihood([three, one]) == pytest.approx(expected, abs=1e-2)


def test_likelihood_of_a_fold_without_fit():
    logits = (np.log([[0.9, 0.05, 0.05]]), np.array([2]))
    assert np.isnan(calibrated_likelihood([logits, float("nan")])).all()


def test_likelihood_prefers_what_is_right():
    grid = {"C": [1.0], "hints": [Share({"ant": 0.5}, {"ant": 0.7})]}
    search = HintSearchCV(FAST, grid, cv=3, scoring="likelihood").fit(X, PART)
    assert -np.log(2) < search.best_score_ < 0.0
    scores = cross_val_hints(FAST, X, PART, cv=3, scoring="likelihood")
    np.testing.assert_allclose(scores.mean(), search.best_score_)


def test_scorers_see_the_hidden_rows():
    by_name = cross_val_hints(FAST, X, PART, cv=3, scoring="accuracy")
    assert set(by_name) <= {0.0, 0.5, 2 / 3, 1.0}
    sizes = []

    def count(estimator, rows, labels):
        assert estimator.classes_.tolist() == ["ant", "bee"]
        for row, label in zip(rows, labels, strict=True):
            assert Y[np.flatnonzero((row == X).all(axis=1))] == label
        sizes.append(len(rows))
        return 1.0

    cross_val_hints(FAST, X, PART, cv=3, scoring=count)
    assert sorted(sizes) == [2, 2, 3]


def test_a_class_may_lose_all_its_labels():
    few = np.where(np.isin(np.arange(50), [0, 4, 31]), Y, "")
    assert cross_val_hints(FAST, X, few, cv=3).shape == (3,)


# --- The search -----------------------------------------------------------------------------------

GRID = {"C": [0.01, 1.0], "hints": [Share.from_labels, Share({"ant": 0.6}, {"ant": 0.6})]}


def test_search_finds_what_hidden_labels_ask_for():
    """Bounds that put nearly all rows into one class lose."""
    wrong, right = Share({"bee": 0.9}), Share({"ant": 0.5}, {"ant": 0.7})
    search = HintSearchCV(FAST, {"hints": [wrong, right]}, cv=7).fit(X, PART)
    assert search.best_params_ == {"hints": right}
    assert search.best_index_ == 1
    assert search.best_score_ == search.cv_results_["mean_test_score"][1]
    assert search.n_splits_ == 7
    share = np.mean(search.transduction_ == "ant")
    assert 0.5 <= share <= 0.7
    assert np.mean(search.transduction_ == Y) > 0.9


def test_results_have_the_names_of_grid_search():
    search = HintSearchCV(FAST, [GRID, {"loss": ["hinge"]}], cv=3).fit(X, PART)
    results = pd.DataFrame(search.cv_results_)
    scores = results[[f"split{i}_test_score" for i in range(3)]].to_numpy()
    np.testing.assert_allclose(results["mean_test_score"], scores.mean(axis=1))
    np.testing.assert_allclose(results["std_test_score"], scores.std(axis=1))
    assert [p.get("C") for p in results["params"]] == [0.01, 0.01, 1.0, 1.0, None]
    assert search.cv_results_["param_C"].mask.tolist() == [False] * 4 + [True]
    best = results["rank_test_score"].idxmin()
    assert search.best_index_ == best
    single = cross_val_hints(FAST.set_params(C=0.01), X, PART, hints=Share.from_labels, cv=3)
    np.testing.assert_array_equal(scores[0], single)
    FAST.set_params(C=1.0)


def test_of_equals_the_first_is_taken():
    search = HintSearchCV(FAST, {"max_iter": [500, 400, 600]}, cv=3).fit(X, PART)
    assert search.cv_results_["rank_test_score"].tolist() == [1, 1, 1]
    assert search.best_params_ == {"max_iter": 500}


def test_refit_is_fitted_to_all_labels():
    search = HintSearchCV(FAST, {"C": [1.0]}, cv=3).fit(X, PART)
    clf = HintClassifier(kernel="linear", loss="logistic", solver="inductive", random_state=0)
    clf.fit(X, PART)
    np.testing.assert_allclose(search.decision_function(X), clf.decision_function(X))
    np.testing.assert_allclose(search.predict_proba(X), clf.predict_proba(X))
    assert np.array_equal(search.predict(X), clf.predict(X))
    assert search.score(X, Y) == clf.score(X, Y)
    assert search.classes_.tolist() == ["ant", "bee"]
    unfitted = HintSearchCV(FAST, {"C": [1.0]}, cv=3, refit=False).fit(X, PART)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


def test_a_function_may_choose():
    search = HintSearchCV(FAST, {"C": [1.0, 2.0]}, cv=3, refit=lambda results: 1).fit(X, PART)
    assert search.best_params_ == {"C": 2.0}


def test_processes_and_frames_make_no_difference():
    frame = pd.DataFrame(X, columns=["a", "b"])
    one = HintSearchCV(FAST, {"C": [0.1, 1.0]}, cv=3).fit(X, PART)
    two = HintSearchCV(FAST, {"C": [0.1, 1.0]}, cv=3, n_jobs=2).fit(frame, PART)
    means = [search.cv_results_["mean_test_score"].tolist() for search in (one, two)]
    assert means[0] == means[1]
    for scoring in ("accuracy", "likelihood"):  # scorers get rows in the form they came in
        scores = [
            cross_val_hints(FAST, rows, PART, cv=3, scoring=scoring).tolist()
            for rows in (X, frame, X.tolist())
        ]
        np.testing.assert_allclose(scores[1:], [scores[0]] * 2, rtol=1e-6)  # frames sum by columns


@pytest.mark.parametrize("form", [sp.coo_array, sp.coo_matrix, sp.dia_array, sp.csc_array])
def test_sparse_rows_of_every_form(form):
    rows = form(X)
    for scoring in (None, "accuracy", "likelihood"):
        scores = [cross_val_hints(FAST, x, PART, cv=3, scoring=scoring) for x in (X, rows)]
        np.testing.assert_allclose(*scores, rtol=1e-6)
    search = HintSearchCV(FAST, {"C": [0.1, 1.0]}, cv=3, scoring="accuracy").fit(rows, PART)
    assert np.array_equal(search.predict(rows), search.predict(X))
    for cv in (3, KFold(3)):
        folds = [list(HintFolds(PART, None, 50).split(cv, x)) for x in (X, rows)]
        assert [r.tolist() for r in folds[0]] == [r.tolist() for r in folds[1]]


def test_clusters_can_be_searched_too():
    search = HintSearchCV(HintKMeans(2, random_state=0), {"kernel": ["linear"]}, cv=3)
    assert search.fit(X, PART).best_score_ > 0.8
    assert not hasattr(search, "predict_proba")


# --- What is refused ------------------------------------------------------------------------------

NEVER = hints.Count([range(50)], {"ant": 45}) + hints.Count([range(50)], {"bee": 45})


def test_contradicting_hints_score_nothing():
    with pytest.warns(FitFailedWarning, match="needs at least"):
        search = HintSearchCV(FAST, {"hints": [NEVER, Share(0.2)]}, cv=2).fit(X, PART)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [True, False]
    assert search.cv_results_["rank_test_score"].tolist() == [2, 1]
    assert search.best_index_ == 1
    with pytest.warns(FitFailedWarning), pytest.raises(InfeasibleHints, match="no settings could"):
        HintSearchCV(FAST, {"hints": [NEVER]}, cv=2).fit(X, PART)
    with pytest.raises(InfeasibleHints, match="needs at least"):
        HintSearchCV(FAST, {"hints": [NEVER]}, cv=2, error_score="raise").fit(X, PART)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y": None}, "the number of known labels is 0; cross-validation hides some"),
        ({"y": np.where(np.arange(50) == 3, Y, "")}, "the number of known labels is 1"),
        ({"y": PART[:7]}, "X has 50 rows but y has 7"),
        ({"y": PART, "cv": 1}, "cv=1; expected at least 2 folds"),
        ({"y": PART, "hints": lambda labels: "none"}, "such hints from labels; got str"),
        ({"y": PART, "hints": "none"}, "such hints from labels; got str"),
    ],
)
def test_wrong_arguments(arguments, words):
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        cross_val_hints(FAST, X, **arguments)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (hints.Not([4], "ant"), "row 4 has label 'ant' but Not forbids it."),
        (Labels([4], "bee"), "row 4 has label 'bee' but y says 'ant'."),
        (Share({"bee": 0.95}), None),
        (hints.MustLink([[4, 31]]), None),
    ],
)
def test_labels_that_contradict_the_hints_are_refused_before_any_fit(more, words):
    with pytest.raises(InfeasibleHints) as expected:
        FAST.fit(X, PART, hints=more)
    assert words is None or str(expected.value) == words
    Recorder.seen.clear()
    for refused in (
        lambda: HintFolds(PART, more, 50),
        lambda: cross_val_hints(Recorder(), X, PART, hints=more),
        lambda: HintSearchCV(Recorder(), {"C": [1.0]}).fit(X, PART, hints=more),
    ):
        with pytest.raises(InfeasibleHints) as error:
            refused()
        assert str(error.value) == str(expected.value)
    assert Recorder.seen == []


@pytest.mark.parametrize("unknown", [-1, np.nan])
def test_scorers_take_labels_that_are_numbers(unknown):
    y = np.where(np.arange(len(X)) % 3 == 0, unknown, (X[:, 0] > np.median(X[:, 0])).astype(int))
    numbers = HintClassifier(kernel="linear", unlabeled=-1, n_init=1, random_state=0)
    own = cross_val_hints(numbers, X, y, cv=3)
    assert cross_val_hints(numbers, X, y, cv=3, scoring="accuracy") == pytest.approx(own, abs=0.2)
