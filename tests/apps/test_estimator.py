"""The estimator as a user of scikit-learn meets it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tacit import HintClassifier, HintKMeans, InfeasibleHints, hints
from tacit.datasets import make_batches, make_four_moons, make_links
from tacit.losses import LOSSES

X, Y = make_four_moons(120, "grid", random_state=0)
KNOWN = make_links(Y, random_state=0)
SMALL = np.random.default_rng(0).normal(size=(6, 2))


@pytest.fixture(scope="module")
def fitted():
    return HintClassifier(gamma=8, random_state=0).fit(X, hints=KNOWN)


# --- What comes out -------------------------------------------------------------------------------


def test_attributes(fitted):
    assert np.mean(fitted.transduction_ == Y) > 0.97
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    assert fitted.decision_function(X).shape == (120, 4)
    assert np.array_equal(fitted.predict(X), fitted.classes_[fitted.decision_function(X).argmax(1)])
    assert fitted.converged_
    assert fitted.n_iter_ == len(fitted.history_)
    assert fitted.objective_ == fitted.solution_.objective
    assert fitted.explain_oracle().splitlines()[-1].startswith("uses forest")
    assert fitted.plot_history() is not None


@pytest.mark.parametrize("loss", LOSSES)
def test_two_classes_cost_one_column_under_one_against_all(loss):
    clf = HintClassifier(loss=loss).fit(SMALL, ["no", "yes"] * 3)
    columns = {"crammer_singer": 2, "softmax": 2}.get(loss, 1)
    assert clf.solution_.coef.shape == (6, columns)
    scores = clf.decision_function(SMALL)
    assert scores.shape == (6,)
    assert np.array_equal(clf.predict(SMALL), np.where(scores > 0, "yes", "no"))
    assert hasattr(clf, "predict_proba") == LOSSES[loss].probabilistic
    if LOSSES[loss].probabilistic:
        proba = clf.predict_proba(SMALL)
        assert proba.shape == (6, 2)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert np.array_equal(proba[:, 1] > 0.5, scores > 0)


@pytest.mark.parametrize(
    "names", [["ant", "bee", "cat", "dog"], [10, 20, 30, 40], [(0, 1), (0, 2), (1, 0), (2, 0)]]
)
def test_class_names_of_any_hashable_kind(names, fitted):
    array = np.empty(4, object)
    array[:] = names
    wrong = (Y + 1) % 4
    known = hints.Not(range(120), array[wrong])
    plain = HintClassifier(gamma=8, random_state=0).fit(X, hints=hints.Not(range(120), wrong))
    clf = HintClassifier(names, gamma=8, random_state=0).fit(X, hints=known)
    assert clf.transduction_.tolist() == [names[c] for c in plain.transduction_]
    assert clf.predict(X[:3]).tolist() == [names[c] for c in plain.predict(X[:3])]


def test_what_was_fitted_counts_and_not_what_was_set_since():
    y = ["no", "yes"] * 3
    clf = HintClassifier(loss="hinge").fit(SMALL, y).set_params(loss="logistic")
    assert not hasattr(clf, "predict_proba")
    assert clf.loss_.name == "hinge"
    clf = HintClassifier(loss="logistic").fit(SMALL, y)
    before = clf.predict_proba(SMALL)
    for loss in ("softmax", "hinge"):
        np.testing.assert_array_equal(clf.set_params(loss=loss).predict_proba(SMALL), before)
    assert not hasattr(clf.fit(SMALL, y), "predict_proba")


def test_classes_give_the_order():
    y = ["low", "high", "", "low", "high", None]
    clf = HintClassifier(["low", "high"]).fit(SMALL, y)
    assert clf.classes_.tolist() == ["low", "high"]
    by_name = HintClassifier().fit(SMALL, y)
    assert by_name.classes_.tolist() == ["high", "low"]
    np.testing.assert_allclose(
        clf.decision_function(SMALL), -by_name.decision_function(SMALL), atol=1e-6
    )


# --- What goes in ---------------------------------------------------------------------------------


def test_frames_and_sparse_rows(fitted):
    frame = pd.DataFrame(X, columns=["east", "north"])
    clf = HintClassifier(gamma=8, random_state=0).fit(frame, hints=KNOWN)
    assert clf.feature_names_in_.tolist() == ["east", "north"]
    assert np.array_equal(clf.transduction_, fitted.transduction_)
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[["north", "east"]])
    for kernel in ("linear", "rbf"):
        dense = HintClassifier(kernel=kernel, random_state=0).fit(X, Y)
        sparse = HintClassifier(kernel=kernel, random_state=0).fit(sp.csr_matrix(X), Y)
        np.testing.assert_allclose(
            sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-5
        )


MODELS = [
    {"kernel": "linear"},
    {"kernel": "linear", "fit_intercept": True},
    {"kernel": "rbf"},
    {"approximation": "lowrank"},
    {"approximation": "nystroem"},
    {"approximation": "fourier"},
]
TENSORS = [
    torch.from_numpy(SMALL),
    torch.from_numpy(SMALL).requires_grad_(),
    torch.from_numpy(SMALL.astype(np.float32)),
]


@pytest.mark.parametrize("params", MODELS, ids=str)
def test_tensors_and_arrays_at_every_turn(params):
    """Whichever the model was learned from, it takes the other."""
    clf = HintClassifier(random_state=0, n_components=4, **params)
    y, scores = ["no", "yes"] * 3, {}
    for name, given in {"array": SMALL, "plain": TENSORS[0], "grad": TENSORS[1]}.items():
        clf.fit(given, y)
        scores[name] = clf.decision_function(SMALL)
        for rows in TENSORS:
            np.testing.assert_allclose(clf.decision_function(rows), scores[name], atol=1e-5)
    # Both are within a duality gap of 1e-4, reached by different roundings.
    np.testing.assert_allclose(scores["plain"], scores["array"], atol=0.02)
    np.testing.assert_array_equal(scores["grad"], scores["plain"])


def test_a_model_of_tensors_takes_no_sparse_rows():
    clf = HintClassifier().fit(TENSORS[0], ["no", "yes"] * 3)
    with pytest.raises(ValueError, match=r"takes no sparse rows; use X\.toarray\(\)"):
        clf.predict(sp.csr_array(SMALL))


def test_tensors_have_no_feature_names():
    frame = pd.DataFrame(SMALL, columns=["east", "north"])
    clf = HintClassifier().fit(frame, ["no", "yes"] * 3).fit(TENSORS[0], ["no", "yes"] * 3)
    assert not hasattr(clf, "feature_names_in_")
    clf.predict(SMALL)  # a warning would be an error here


def test_unknown_entries_of_y():
    for unknown in (np.nan, -1.0):
        y = np.array([0.0, 2.0, unknown, 0.0, 2.0, unknown])
        clf = HintClassifier(random_state=0).fit(SMALL, y)
        assert clf.classes_.tolist() == [0.0, 2.0]
    series = pd.Series(["a", None, "b", pd.NA, np.nan, ""])
    assert HintClassifier(random_state=0).fit(SMALL, series).classes_.tolist() == ["a", "b"]


def test_labels_in_y_and_hints_are_both_hard():
    y = np.where(np.arange(120) < 20, Y, -1)
    known = make_batches(Y, 10, 20, 2, random_state=0)
    clf = HintClassifier(gamma=8, random_state=0).fit(X, y, hints=known)
    assert np.array_equal(clf.transduction_[:20], Y[:20])
    assert known.compile(120, _codes(4)).violation(clf.solution_.labels) == 0
    with pytest.raises(InfeasibleHints, match=r"row 0 has label \d but Not forbids it\."):
        HintClassifier().fit(X, y, hints=hints.Not([0], Y[0]))


def _codes(n):
    from tacit.hints._classes import ClassCodes

    return ClassCodes(range(n))


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 4, 120).astype(float)
    weighted = HintClassifier(gamma=8).fit(X, Y, sample_weight=weight)
    repeated = HintClassifier(gamma=8).fit(
        np.repeat(X, weight.astype(int), axis=0), np.repeat(Y, weight.astype(int))
    )
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-3)
    assert np.mean(weighted.predict(X) == repeated.predict(X)) > 0.99


# --- Where -1 is a class --------------------------------------------------------------------------


def test_minus_one_and_one_alone_are_two_classes():
    clf = HintClassifier().fit(SMALL, [-1, 1, -1, 1, -1, 1])
    assert clf.classes_.tolist() == [-1, 1]
    assert clf.transduction_.tolist() == [-1, 1, -1, 1, -1, 1]
    assert clf.solution_.coef.shape[1] == 1


def test_minus_one_beside_other_classes_is_unknown():
    for y in ([-1, 1, 2, 1, -1, 2], [-1, 0, 1, 2, -1, 0], [-1, "a", "b"] * 2):
        clf = HintClassifier(random_state=0).fit(SMALL, y)
        assert clf.classes_.tolist() == sorted(set(y) - {-1})


@pytest.mark.parametrize("estimator", [HintClassifier, HintKMeans])
@pytest.mark.parametrize("y", [[-1, 1, 0, 1, -1, 0], [-1.0, 1, 0, 1, -1, 0], [-1, -2, -1, 0, 2, 0]])
@pytest.mark.parametrize("known", [None, hints.MustLink([[0, 1]]) + hints.Not([0], 0)])
def test_minus_one_that_may_well_be_a_class_warns(estimator, y, known):
    """Signs, or two classes and unlabelled rows: nothing in y tells; nor beside -2."""
    said = "y holds -1 beside .*0.*: -1 is read as unknown. Say unlabeled=-1 if it means"
    with pytest.warns(UserWarning, match=said) as record:
        model = estimator(random_state=0).fit(SMALL, y, hints=known)
    assert record[0].filename == __file__
    assert model.classes_.tolist() == sorted(set(y) - {-1})
    # No warning, which would be an error here, once it is settled.
    settled = estimator(unlabeled=-1, random_state=0).fit(SMALL, y, hints=known)
    assert np.array_equal(settled.transduction_, model.transduction_)
    known = None if known is None else hints.Not([0], 0)  # row 0 is -1 now, and row 1 is not
    named = estimator(unlabeled=None, random_state=0).fit(SMALL, y, hints=known)
    assert named.transduction_.tolist() == y
    width = len(set(y)) - 1
    sized = estimator(random_state=0).fit(SMALL, y, hints=hints.Cost(np.zeros((6, width))))
    assert len(sized.classes_) == width


@pytest.mark.parametrize(
    ("parameters", "classes"),
    [
        ({"unlabeled": None}, [-1, 0, 1]),
        ({"classes": [-1, 0, 1]}, [-1, 0, 1]),
        ({"unlabeled": 0}, [-1, 1]),
        ({"classes": [0, 1]}, [0, 1]),
    ],
)
def test_the_user_settles_it(parameters, classes):
    y = [-1, 1, 0, 1, -1, 0]
    assert HintClassifier(**parameters).fit(SMALL, y).classes_.tolist() == classes


def test_what_is_ambiguous_warns_in_the_users_file():
    y, known = [-1, 1, -1, 1, -1, 1], hints.Share(upper=0.6)
    with pytest.warns(UserWarning, match="-1 is read as a class. Say unlabeled=-1") as record:
        clf = HintClassifier().fit(SMALL, y, hints=known)
    assert record[0].filename == __file__
    assert clf.classes_.tolist() == [-1, 1]
    with pytest.warns(UserWarning, match="-1 is read as unknown"):
        clf = HintClassifier().fit(SMALL, y, hints=hints.Labels([0], 2))
    assert clf.classes_.tolist() == [1, 2]
    # No warning, which would be an error here, once the parameter says it.
    assert HintClassifier([0, 1], unlabeled=-1).fit(SMALL, y, hints=known).classes_.tolist() == [
        0,
        1,
    ]
    assert HintClassifier(unlabeled=None).fit(SMALL, y, hints=known).classes_.tolist() == [-1, 1]


# --- Errors: one sentence each --------------------------------------------------------------------


def _with(row, column, value):
    rows = SMALL.copy()
    rows[row, column] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "y", "known", "words"),
    [
        (_with(3, 1, np.nan), [0, 1] * 3, None, r"X contains NaN \(row 3, column 1; 1 such entry"),
        (_with(0, 0, np.inf), [0, 1] * 3, None, r"X contains infinity \(row 0, column 0"),
        (sp.csr_array(_with(2, 0, np.nan)), [0, 1] * 3, None, r"X contains NaN \(row 2, column 0"),
        (np.empty((0, 2)), [], None, "0 sample"),
        (SMALL, [0, 1], None, "X has 6 rows but y has 2"),
        (SMALL, [0] * 6, None, "y and the hints name only one class, 0; a classifier needs at"),
        (SMALL, [-1] * 6, None, "y and the hints name no class"),
        (SMALL, None, None, "give at least one of them"),
        (SMALL, [0, 1] * 3, hints.Labels([9], 0), "Labels: row 9 is out of range; there are 6"),
        (SMALL, [0, 1] * 3, hints.Count([[0]], {1: 1}, {1: 0}), "lower 1 above upper 0 for class"),
        (SMALL, [0, 1, np.inf, 0, 1, 0], None, "y contains infinity"),
        (SMALL, np.array([0.5, 0.7, np.nan] * 2), None, "Unknown label type: continuous"),
        (SMALL, [0.5, 0.7, None] * 2, None, "Unknown label type: continuous"),
        (SMALL, np.array([0.5, 1, None] * 2, object), None, "Unknown label type: continuous"),
    ],
)
def test_bad_input(rows, y, known, words):
    with pytest.raises(ValueError, match=words) as error:
        HintClassifier().fit(rows, y, hints=known)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (
            hints.MustLink([[0, 1], [1, 2]]) + hints.CannotLink([[2, 0]]),
            "rows 0 and 1 must have the same label; rows 1 and 2 must have the same label; rows 2",
        ),
        (hints.Share({0: 0.6, 1: 0.6}), r"needs at least a share of 0.6 of class 0 and needs at"),
        (
            hints.Count([[0, 1, 2]], {1: 3}) + hints.Not([1], 1),
            "group 0 needs at least 3 of class 1 but only 2 rows allow it",
        ),
    ],
)
def test_contradictions(known, words):
    with pytest.raises(InfeasibleHints, match=words) as error:
        HintClassifier([0, 1]).fit(SMALL, hints=known)
    assert error.value.conflict
    found = hints.check(known, 6, [0, 1])
    assert not found
    assert found.message == str(error.value)


def test_a_class_that_appears_nowhere_is_named():
    with pytest.warns(UserWarning, match="no row can have the class 'c' by the labels") as record:
        HintClassifier(["a", "b", "c"]).fit(SMALL, ["a", "b"] * 3)
    assert record[0].filename == __file__
    # An unlabelled row may have it: nothing to warn of.
    HintClassifier(["a", "b", "c"]).fit(SMALL, ["a", "b", "a", "b", "a", ""])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"loss": "hing"}, "loss='hing' is not known; choose one of"),
        ({"kernel": "rbff"}, "kernel='rbff' is not known; choose one of"),
        ({"solver": "amdm"}, "solver='amdm' is not known; choose one of"),
        ({"C": 0.0}, "C=0.0; expected a positive number"),
        ({"nu": -1.0}, "nu=-1.0; expected a positive number"),
        ({"gamma": "wide"}, "gamma='wide'; expected a positive number, 'scale' or 'auto'"),
        ({"approximation": "magic"}, "approximation='magic'; expected None, 'lowrank', 'nystroem'"),
        ({"approximation": "fourier", "kernel": "poly"}, "approximation='fourier' needs"),
        ({"kernel": "precomputed"}, "square"),
    ],
)
def test_wrong_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        HintClassifier(**parameters).fit(SMALL, [0, 1] * 3)


def test_weights_that_are_wrong_are_named():
    for weight, words in [([1, 1, -2, 1, 1, 1], r"sample_weight\[2\] is -2"), ([1, 1], "6 rows")]:
        with pytest.raises(ValueError, match=words):
            HintClassifier().fit(SMALL, [0, 1] * 3, sample_weight=weight)
    with pytest.raises(ValueError, match="zero for every row"):
        HintClassifier().fit(SMALL, [0, 1] * 3, sample_weight=np.zeros(6))


def test_other_errors():
    with pytest.raises(TypeError, match=r"hints must be made of tacit\.hints, got dict"):
        HintClassifier().fit(SMALL, hints={})
    with pytest.raises(NotFittedError):
        HintClassifier().explain_oracle()
    with pytest.raises(AttributeError) as error:
        HintClassifier().fit(SMALL, [0, 1] * 3).predict_proba(SMALL)
    assert "use loss='logistic' or 'softmax'" in str(error.value.__cause__)


# --- In scikit-learn's tools ----------------------------------------------------------------------


def test_pipeline_with_hints():
    wide = X * [1.0, 1000.0]
    plain = make_pipeline(StandardScaler(), HintClassifier(gamma=8, random_state=0))
    plain.fit(wide, None, hintclassifier__hints=KNOWN)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(
            StandardScaler(),
            HintClassifier(gamma=8, random_state=0).set_fit_request(hints=True),
        ).fit(wide, hints=KNOWN)
    assert np.array_equal(plain.predict(wide), routed.predict(wide))
    assert np.mean(routed[-1].transduction_ == Y) > 0.95


@pytest.mark.parametrize("routing", [False, True])
def test_search_restricts_hints_to_the_training_fold(routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        clf = HintClassifier(gamma=8, random_state=0)
        clf = clf.set_fit_request(hints=True) if routing else clf
        search = GridSearchCV(clf, {"C": [0.1, 10.0]}, cv=3, error_score="raise")
        search.fit(X, Y, hints=KNOWN.over(len(X)))
    assert search.best_score_ > 0.95


@pytest.mark.parametrize("routing", [False, True])
def test_hints_that_no_fold_could_read_are_refused(routing):
    """In a fold row i is another row, so hints by position must be wrapped first."""
    known = hints.Labels(range(80), Y[:80])
    with sklearn.config_context(enable_metadata_routing=routing):
        clf = HintClassifier(range(4), gamma=8, random_state=0)
        clf = clf.set_fit_request(hints=True) if routing else clf
        for bare in (known, known + hints.Share(0.2)):
            with pytest.raises(TypeError, match=r"wrap them with hints\.over\(n\)"):
                cross_validate(clf, X, Y, params={"hints": bare}, cv=3)
            with pytest.raises(TypeError, match=r"wrap them with hints\.over\(n\)"):
                GridSearchCV(clf, {"C": [1.0]}, cv=3).fit(X, Y, hints=bare)
        wrapped = {"hints": known.over(120)}
        scores = cross_validate(clf, X, Y, params=wrapped, cv=3, error_score="raise")
    assert scores["test_score"].min() > 0.8


def test_hints_over_other_rows_are_refused():
    known = hints.Labels([0, 1, 2], [0, 1, 0])
    with pytest.raises(ValueError, match=r"wrapped with \.over\(9\) but there are 6 rows"):
        HintClassifier().fit(SMALL, hints=known.over(9))
    with pytest.raises(ValueError, match=r"wrapped with \.over\(9\) but there are 6 rows"):
        HintClassifier([0, 1]).fit(SMALL, [0, 1] * 3, hints=hints.Share(0.2).over(9))
    assert HintClassifier().fit(SMALL, hints=known.over(6)).transduction_[:3].tolist() == [0, 1, 0]


def test_scores_of_folds_with_partly_known_labels():
    scores = cross_val_score(HintClassifier(gamma=8), X, Y, cv=3, error_score="raise")
    assert scores.min() > 0.9


def test_clone_and_representation(fitted):
    twin = clone(fitted).fit(X, hints=KNOWN)
    assert np.array_equal(twin.transduction_, fitted.transduction_)
    assert repr(HintClassifier(loss="softmax", C=3.0)) == "HintClassifier(C=3.0, loss='softmax')"
    assert "HintClassifier" in HintClassifier()._repr_html_()


def test_refitting_forgets(fitted):
    clf = HintClassifier(gamma=8, random_state=0).fit(SMALL, ["a", "b"] * 3)
    clf.fit(X, hints=KNOWN)
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    assert np.array_equal(clf.transduction_, fitted.transduction_)
