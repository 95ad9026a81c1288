"""Clusters worked by hand."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from tacit import ClusterProblem, HintKMeans, hints
from tacit.hints._classes import ClassCodes
from tacit.problem import cluster_codes
from tacit.solvers import cluster
from tacit.solvers._seeds import tells_apart

# Two pairs and a loner: {0, 1}, {10, 11}, {25}.
LINE = np.array([[0.0], [1.0], [10.0], [11.0], [25.0]])


def fit(hint=None, k=2, X=LINE, y=None, weight=None, **params):
    model = HintKMeans(k, **{"random_state": 0, "n_init": 10} | params)
    return model.fit(X, y, hints=hint, sample_weight=weight)


def groups(model):
    """Sets of rows, in the order of their first row."""
    sets = [
        frozenset(np.flatnonzero(model.labels_ == c).tolist())
        for c in range(model.labels_.max() + 1)
    ]
    return sorted((s for s in sets if s), key=min)


def test_nothing_known():
    model = fit()
    # {0, 1, 10, 11}: mean 5.5, 2 (5.5^2 + 4.5^2) = 101; {25}: 0.
    assert groups(model) == [{0, 1, 2, 3}, {4}]
    assert model.inertia_ == pytest.approx(101.0)
    assert sorted(model.cluster_centers_.ravel()) == pytest.approx([5.5, 25.0])
    assert sorted(model.transform([[5.0]]).ravel()) == pytest.approx([0.5, 20.0])
    assert model.score([[5.0], [26.0]]) == pytest.approx(-1.25)


def test_sizes():
    # At least two each: {0, 1} 0.5 and {10, 11, 25}: mean 46/3, 846 - 46^2/3 = 140 2/3.
    model = fit(hints.Count([range(5)], lower=2))
    assert groups(model) == [{0, 1}, {2, 3, 4}]
    assert model.inertia_ == pytest.approx(0.5 + 846.0 - 46.0**2 / 3.0)
    # Bounds by cluster: one row in cluster 0, four in cluster 1.
    model = fit(hints.Count([range(5)], lower=[1, 4], upper=[1, 4]))
    assert np.bincount(model.labels_).tolist() == [1, 4]
    assert groups(model) == [{0, 1, 2, 3}, {4}]


def test_links():
    # {0, 25}: 2 * 12.5^2 = 312.5, {1}: 0, {10, 11}: 0.5; a link that costs 100 is cheaper broken.
    together = fit(hints.MustLink([[0, 4]]), k=3)
    assert together.labels_[0] == together.labels_[4]
    assert together.inertia_ == pytest.approx(312.5 + 0.0 + 0.5)
    paid = fit(hints.MustLink([[0, 4]], cost=100.0), k=3)
    assert paid.inertia_ == pytest.approx(1.0)
    assert paid.objective_ == pytest.approx(101.0)
    # 0 apart from 1, one of two clusters each: {0} and the rest, 2 and 3 clusters.
    apart = fit(hints.CannotLink([[0, 1]]), k=3)
    assert apart.labels_[0] != apart.labels_[1]


def test_labels_name_clusters():
    y = ["low", "", "", "", "high"]
    model = fit(y=y, k=None)
    assert model.classes_.tolist() == ["high", "low"]
    assert model.transduction_.tolist() == ["low"] * 4 + ["high"]
    assert model.labels_.tolist() == [1, 1, 1, 1, 0]
    assert model.predict([[3.0], [30.0]]).tolist() == ["low", "high"]
    assert model.cluster_centers_.ravel().tolist() == pytest.approx([25.0, 5.5])


def test_weights():
    # 10 with weight 9 beside 0 and 1: {0, 1}, {10 x 9, 11, 25} or {.., 11}, {25}?
    model = fit(weight=[1.0, 1.0, 9.0, 1.0, 1.0])
    # {0, 1}: 0.5. {10 x 9, 11, 25}: mean 126/11, 900 + 121 + 625 - 126^2/11 = 202.73.
    # {0, 1, 10 x 9, 11}: mean 102/12 = 8.5, 0 + 1 + 900 + 121 - 102^2/12 = 155. {25}: 0.
    assert groups(model) == [{0, 1, 2, 3}, {4}]
    assert model.inertia_ == pytest.approx(155.0)


def test_rbf_kernel_of_two_points():
    X, half = np.array([[0.0], [1.0]]), np.exp(-1.0)
    model = fit(hints.MustLink([[0, 1]]), X=X, k=1, kernel="rbf", gamma=1.0)
    # |phi(0) - m|^2 = (k(0,0) - 2 k(0,1) + k(1,1)) / 4 = (1 - e^-1) / 2, twice.
    assert model.inertia_ == pytest.approx(1.0 - half)
    assert model.transform([[0.0]])[0, 0] == pytest.approx(np.sqrt((1.0 - half) / 2.0))
    assert not hasattr(model, "cluster_centers_")


def test_new_rows_under_hints():
    model = fit()
    new = [[0.0], [2.0], [4.0], [30.0]]
    low = model.predict([[0.0]])[0]
    assert (model.predict(new) == low).tolist() == [True, True, True, False]
    # Half of them each: 4 goes with 30, as the one that loses least.
    halves = model.predict(new, hints.Share(0.5, 0.5))
    assert (halves == low).tolist() == [True, True, False, False]


# --- clusters without rows ------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_cluster_that_starts_without_rows_gets_some(kernel):
    far = [[0.0], [1e3], [2e3]]  # the last two are nobody's nearest
    model = fit(k=3, init=far, kernel=kernel, gamma=0.01)
    assert np.bincount(model.labels_).min() >= 1
    if kernel == "linear":
        assert model.inertia_ == pytest.approx(1.0)  # {0, 1}, {10, 11}, {25}


def test_hints_decide_who_may_move_to_it():
    bound = hints.Not([4, 0, 1], 2) + hints.Not([3], 2)
    model = fit(bound, k=3, init=[[0.0], [1e3], [2e3]])
    assert np.flatnonzero(model.labels_ == 2).tolist() == [2]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_cluster_that_must_stay_empty_is_named_and_harmless(kernel):
    with pytest.warns(UserWarning, match="no row is in cluster 1: the hints leave it none"):
        model = fit(hints.Share(upper={1: 0.0}), k=3, kernel=kernel, gamma=0.01)
    assert sorted(set(model.labels_.tolist())) == [0, 2]
    assert np.isfinite(model.transform(LINE)).all()
    assert not np.isnan(model.solution_.coef).any()
    assert 1 not in model.predict(np.linspace(-5, 30, 50)[:, None])


def test_fewer_distinct_rows_than_clusters():
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    model = fit(k=4, X=np.repeat(rows, 5, axis=0))
    assert model.inertia_ == 0.0
    assert {tuple(c) for c in model.cluster_centers_.tolist()} == {(1.0, 2.0), (3.0, 4.0)}
    with pytest.warns(UserWarning, match="no row is in cluster .*fewer distinct rows"):
        fit(k=3, X=rows[[0, 0, 1]], y=[0, 0, 1])


def test_rows_of_no_weight_join_the_nearest_centre():
    model = fit(k=2, X=[[0.0], [1.0], [10.0], [11.0], [2.0], [9.0]], weight=[1, 1, 1, 1, 0, 0])
    assert model.labels_[4] == model.labels_[0]
    assert model.labels_[5] == model.labels_[2]
    assert model.inertia_ == pytest.approx(1.0)


# --- names and symmetry ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "classes", "hint", "names"),
    [
        (None, None, hints.Hints(), list(range(8))),
        (3, None, hints.MustLink([[0, 1]]), [0, 1, 2]),
        (3, None, hints.Labels([0], 1), [0, 1, 2]),
        (None, None, hints.Labels([0, 1], [7, 1]), [1, 7]),
        (2, None, hints.Labels([0, 1], ["b", "a"]), ["a", "b"]),
        (3, ["b", "a", "c"], hints.Labels([0, 1], ["b", "a"]), ["b", "a", "c"]),
        (None, None, hints.Cost(np.zeros((5, 3))), [0, 1, 2]),
    ],
)
def test_names_of_clusters(n, classes, hint, names):
    assert cluster_codes(n, classes, (), hint).names == names


def test_more_names_than_clusters_have_their_way():
    with pytest.warns(UserWarning, match="n_clusters=1 but y and the hints name 2 classes"):
        assert cluster_codes(1, None, ["x", "y"], hints.Hints()).names == ["x", "y"]


@pytest.mark.parametrize(
    ("hint", "apart"),
    [
        (hints.MustLink([[0, 1]]) + hints.CannotLink([[1, 2]], cost=2.0), False),
        (hints.Share(0.2, 0.5), False),
        (hints.Potts([[0, 1]], 1.0), False),
        (hints.Share({0: 0.2}), True),
        (hints.Not([0], 1), True),
        (hints.Cost([[0.0, 1.0, 0.0]] * 4), True),
        (hints.Cost([[2.0, 2.0, 2.0]] * 4), False),
        (hints.Linear(sp.csr_array(np.ones((1, 12))), 0, 12), True),
        (hints.Pairwise([[0, 1]], np.triu(np.ones((3, 3)), 1)), True),
    ],
)
def test_whether_hints_tell_classes_apart(hint, apart):
    program = hint.compile(4, ClassCodes(range(3)))
    assert tells_apart(program, np.arange(3)) == apart
    assert not tells_apart(program, np.arange(1))


def test_drawn_centres_go_to_the_classes_that_the_hints_suggest():
    """Every row of the right group but one may not be class 0: one start is enough to see it."""
    X = np.concatenate([LINE[:4] - 50.0, LINE[:4] + 50.0])
    known = hints.Count([[0, 1, 2, 3, 4]], lower={0: 3}) + hints.Count([[3, 5, 6, 7]], lower={1: 3})
    for seed in range(8):
        answer = cluster(ClusterProblem(X, known, 2), n_init=1, random_state=seed)
        assert answer.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_no_warning_where_nothing_is_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(k=3)
