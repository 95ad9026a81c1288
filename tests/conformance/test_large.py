"""What is done where the kernel matrix is too large to decompose, on few rows."""

import tracemalloc

import numpy as np
import pytest

from tacit import HintClassifier, Problem, hints, solve
from tacit.linalg import GramSpace, choose, lowrank


@pytest.fixture
def tight(monkeypatch):
    """Everything beyond fifty rows is large."""
    monkeypatch.setattr(choose, "EIGEN_LIMIT", 50)
    monkeypatch.setattr(choose, "LANDMARKS", (40, 60))


def negatives(n=400, seed=0):
    """Five blobs, and one class that each row does not have."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, n)
    angle = 2.0 * np.pi * y / 5
    X = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.5 * rng.standard_normal((n, 2))
    return X, y, hints.Not(np.arange(n), (y + rng.integers(1, 5, n)) % 5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_the_search_leaves_on_the_exact_kernel_is_near_the_best(tight, dtype):
    """The coefficients count, not the multiplier: few steps of conjugate gradients part them."""
    X, y, known = negatives()
    problem = Problem(X, known, gamma=0.5, classes=range(5), dtype=dtype)
    left = solve(problem, polish=False, random_state=0)
    best = solve(problem, random_state=0, tol=1e-3)
    assert "refine" in left.history.column("phase")
    assert np.mean(left.labels != y) <= 0.04
    assert left.objective <= 1.3 * best.objective  # by the multiplier 2.8 times and more
    rounding = 1e-9 if dtype == "float64" else 1e-5
    assert left.objective == pytest.approx(problem.objective(left.coef, left.labels), rel=rounding)
    assert left.fixed_bound <= left.objective
    features = left.features.rows(problem.rows)
    np.testing.assert_allclose(features @ left.coef, left.scores, atol=100 * rounding)


def test_low_rank_finds_the_same_labels(tight):
    X, y, known = negatives()
    shared = {"gamma": 0.5, "random_state": 0, "polish": False}
    exact = HintClassifier(range(5), **shared).fit(X, hints=known)
    low = HintClassifier(range(5), approximation="lowrank", n_components=60, **shared)
    low.fit(X, hints=known)
    assert np.mean(low.transduction_ != exact.transduction_) <= 0.02
    assert np.mean(low.predict(X) != y) <= 0.04


def test_few_steps_hold_until_the_next_beginning():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))
    products = []

    class Counting(np.ndarray):
        def __matmul__(self, other):
            products.append(other.shape)
            return np.asarray(self) @ other

    coarse = lowrank.low_rank(lambda rows: K[rows][:, :5], K[:5, :5], 1.0, 60)
    space = GramSpace(K.view(Counting), coarse, reduce=0.0, max_steps=4)
    T, zero = rng.standard_normal((60, 2)), np.zeros((60, 2))
    for steps, expected in ((1, 1), (2, 2), (None, 4)):
        space.begin(zero, zero, steps)
        products.clear()
        F, alpha = space.project(T, 1.0, 0.5)
        assert len(products) == expected
        np.testing.assert_allclose(F, K @ alpha, atol=1e-12)


def test_little_is_taken_beside_the_kernel_matrix(monkeypatch):
    """A rank of a tenth of the rows takes a tenth of the matrix, and parts of a few rows."""
    monkeypatch.setattr(choose, "EIGEN_LIMIT", 50)
    monkeypatch.setattr(choose, "LANDMARKS", (10, 1000))
    monkeypatch.setattr(lowrank, "CHUNK", 128)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2400, 3)).astype(np.float32)
    K = Problem(X, hints.Labels([0, 1], [0, 1]), dtype="float32").kernel_.gram(X)
    tracemalloc.start()
    space = choose.kernel_space(K, rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert space.coarse.like.shape == (2400, 240)
    # Features .1; their Gram matrix and factor .01 each; parts of 128 rows .005 each.
    assert peak <= 0.16 * K.nbytes


@pytest.mark.parametrize(
    ("n", "approximation", "given", "expected"),
    [
        (10, "lowrank", None, 1500),
        (10, "nystroem", None, 500),
        (10, "lowrank", 7, 7),
        (20_000, "lowrank", None, 2000),
        (60_000, "lowrank", None, 4000),
        (60_000, "fourier", None, 500),
    ],
)
def test_default_ranks(n, approximation, given, expected):
    X = np.zeros((n, 1), np.float32)
    known = hints.Labels([0, 1], ["a", "b"])
    problem = Problem(X, known, approximation=approximation, n_components=given)
    assert problem.components == expected
