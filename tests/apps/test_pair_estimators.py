"""Clusters from links and rankings from comparisons."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from tacit import HintClusterer, HintRanker, hints
from tacit.exceptions import InfeasibleHints
from tacit.features import pair_features


def stripes(n=45, seed=0):
    """Three groups along the first feature; the second and third are wide and say nothing."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = np.column_stack([y + 0.15 * rng.normal(size=n), *(3.0 * rng.normal(size=(2, n)))])
    return X, y


def links(y, n, seed=0):
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(len(y), 1))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    must, cannot = (pairs[rng.choice(np.flatnonzero(k), n, False)] for k in (same, ~same))
    return hints.MustLink(must) + hints.CannotLink(cannot), must, cannot


def test_links_teach_which_feature_matters():
    X, y = stripes()
    known, must, cannot = links(y, 15)
    model = HintClusterer(3, random_state=0).fit(X, hints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert (model.labels_[must[:, 0]] == model.labels_[must[:, 1]]).all()
    assert (model.labels_[cannot[:, 0]] != model.labels_[cannot[:, 1]]).all()
    assert model.n_clusters_ == len(np.unique(model.labels_))
    new, truth = stripes(seed=1)
    assert adjusted_rand_score(truth, model.predict(new)) > 0.8
    weights = np.abs(model.pair_classifier_.solution_.coef.ravel()[:3])
    assert weights[0] > 2 * weights[1:].max()


def test_row_order_changes_nothing():
    X, y = stripes(30)
    order = np.random.default_rng(1).permutation(30)
    partly = np.where(np.arange(30) < 9, y, -1)
    first = HintClusterer(random_state=0).fit(X, partly)
    second = HintClusterer(random_state=0).fit(X[order], partly[order])
    assert adjusted_rand_score(first.labels_[order], second.labels_) == 1.0


def test_labels_are_links_and_every_row_may_have_one():
    X, y = stripes(30)
    model = HintClusterer(random_state=0).fit(X, y)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    names = np.array(["a", "b", "c"], object)[y]
    names[10:] = None
    model.fit(X, names)
    assert len(np.unique(model.labels_[:10])) == 3


def test_many_rows_use_neighbours_and_random_pairs():
    X, y = stripes(90)
    known, must, _ = links(y, 40)
    model = HintClusterer(max_pairs=1000, n_neighbors=5, n_random=5, random_state=0)
    model.fit(X, hints=known + hints.CannotLink([(0, 3)], cost=0.1))
    assert len(model.pairs_) < 1200
    assert (model.labels_[must[:, 0]] == model.labels_[must[:, 1]]).all()


@pytest.mark.parametrize(
    ("y", "known", "error", "words"),
    [
        (
            None,
            hints.MustLink([(0, 1)]) + hints.CannotLink([(2, 3), (1, 0)]),
            InfeasibleHints,
            "parts rows 1 and 0,",
        ),
        (
            [0.0, 1.0, np.nan, np.nan],
            hints.MustLink([(0, 1)]),
            InfeasibleHints,
            "different classes",
        ),
        (None, hints.Share(0.5, 0.5), TypeError, "nothing about pairs"),
    ],
)
def test_what_cannot_be_is_said(y, known, error, words):
    with pytest.raises(error, match=words):
        HintClusterer().fit(np.arange(8.0).reshape(4, 2), y, hints=known)


def test_options_are_checked():
    with pytest.raises(ValueError, match="features='cosine'"):
        HintClusterer(features="cosine").fit(np.eye(4))
    with pytest.raises(ValueError, match="max_pairs=-1"):
        HintClusterer(max_pairs=-1).fit(np.eye(4))
    with pytest.raises(InfeasibleHints, match="expected_clusters=1, but"):
        HintClusterer(1).fit(np.eye(4), hints=hints.CannotLink([(0, 1)]))


def test_comparisons_teach_a_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    value = X @ np.array([2.0, -1.0, 0.0])
    pairs = rng.integers(0, 40, (60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    larger = value[pairs[:, 0]] > value[pairs[:, 1]]
    pairs = np.where(larger[:, None], pairs, pairs[:, ::-1])
    ranker = HintRanker(random_state=0).fit(X, comparisons=pairs)
    place = np.empty(40, int)
    place[ranker.ranking_] = np.arange(40)
    assert (place[pairs[:, 0]] < place[pairs[:, 1]]).all()
    assert np.corrcoef(ranker.predict(X), value)[0, 1] > 0.95
    assert sorted(ranker.rank(X[:7])) == list(range(7))


def test_values_are_comparisons_and_some_may_be_unknown():
    X = np.arange(12.0)[:, None]
    y = np.where(np.arange(12) % 3 == 0, X[:, 0], np.nan)
    ranker = HintRanker(random_state=0).fit(X, y)
    assert ranker.ranking_.tolist() == list(range(11, -1, -1))


def test_many_values_are_all_kept_whatever_the_order_of_the_rows():
    """More pairs than may be learned from, with ties: neighbouring values say all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(rng.random(60) < 0.2, np.nan, np.round(2.0 * rng.normal(size=60)))
    first = HintRanker(random_state=0, max_pairs=600, n_random=3).fit(X, y)
    place = np.empty(60, int)
    place[first.ranking_] = np.arange(60)
    a, b = np.nonzero(y[:, None] > y)
    assert len(a) > 600
    assert (place[a] < place[b]).all()
    order = rng.permutation(60)
    second = HintRanker(random_state=0, max_pairs=600, n_random=3).fit(X[order], y[order])
    assert np.array_equal(order[second.ranking_], first.ranking_)
    few = HintRanker(random_state=0, max_pairs=50, n_random=1).fit(X, np.sign(y))
    assert sorted(few.ranking_) == list(range(60))


def test_circles_are_refused_unless_they_cost():
    X, circle = np.eye(3), [(0, 1), (1, 2), (2, 0)]
    with pytest.raises(
        InfeasibleHints, match=r"row . before . before . before ., which is a cycle"
    ):
        HintRanker().fit(X, comparisons=circle)
    with pytest.raises(
        InfeasibleHints, match=r"put row (0 before 2 before 0|2 before 0 before 2),"
    ):
        HintRanker().fit(X, comparisons=[(0, 1), (0, 2), (2, 0)])
    with pytest.raises(InfeasibleHints, match="rows, or of values in y"):
        HintRanker().fit(X, [1.0, 2.0, np.nan], comparisons=[(0, 1)])
    ring = np.column_stack([np.arange(40), np.roll(np.arange(40), -1)])
    with pytest.raises(InfeasibleHints, match=r"before \.\.\. before"):
        HintRanker().fit(np.eye(40), comparisons=ring)
    ranker = HintRanker(random_state=0).fit(X, comparisons=circle, cost=[3.0, 3.0, 1.0])
    assert ranker.ranking_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("pairs", "words"),
    [([(0, 9)], "has 3 rows"), ([(1, 1)], "with itself"), ([0, 1], r"shape \(M, 2\)")],
)
def test_comparisons_are_checked(pairs, words):
    with pytest.raises(ValueError, match=words):
        HintRanker().fit(np.eye(3), comparisons=pairs)


def test_pair_features_by_hand():
    X = np.array([[0.0, 1.0], [2.0, 0.5]])
    want = {"absdiff": [2, 0.5], "sqdiff": [4, 0.25], "product": [0, 0.5], "difference": [-2, 0.5]}
    for kind, row in want.items():
        assert pair_features(X, [(0, 1)], kind).tolist() == [row]
    assert pair_features(X.astype(np.float32), [(0, 1)]).dtype == np.float32
    assert pair_features(X, []).shape == (0, 2)
    with pytest.raises(ValueError, match="kind='sum'"):
        pair_features(X, [(0, 1)], "sum")
    with pytest.raises(ValueError, match="item 2"):
        pair_features(X, [(0, 2)])
