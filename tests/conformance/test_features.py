"""Kernels and feature maps against their formulas and scikit-learn's conventions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from tacit.features import (
    FourierMap,
    Kernel,
    KernelMap,
    LinearMap,
    NystroemMap,
    make_map,
    paired_distances,
    square_distances,
)


def rows(n=12, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) + 0.5


def by_formula(name, X, Z, gamma=1.0, degree=3, coef0=0.0):
    K = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            K[i, j] = {
                "linear": x @ z,
                "rbf": np.exp(-gamma * np.sum((x - z) ** 2)),
                "poly": (gamma * (x @ z) + coef0) ** degree,
            }[name]
    return K


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_kernels_are_their_formulas(name, sparse):
    X, Z = rows(), rows(5, seed=1)
    X[np.abs(X) < 0.3] = 0.0
    form = sp.csr_array if sparse else np.asarray
    kernel = Kernel.read(name, form(X), 0.7, 2, 1.5)
    expected = by_formula(name, X, Z, 0.7, 2, 1.5)
    np.testing.assert_allclose(kernel(form(X), form(Z)), expected, rtol=1e-12)
    gram = kernel.gram(form(X))
    np.testing.assert_allclose(gram, by_formula(name, X, X, 0.7, 2, 1.5), rtol=1e-12)
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_gamma_means_what_svc_means(gamma, sparse):
    X, y = 3.0 * rows(), np.arange(12) % 2
    form = sp.csr_matrix if sparse else np.asarray
    svc = SVC(gamma=gamma).fit(form(X), y)
    assert Kernel.read("rbf", form(X), gamma).gamma == pytest.approx(svc._gamma, rel=1e-12)


def test_gamma_scale_counts_weights_as_repeated_rows():
    X, weights = rows(), np.arange(12) % 4
    weighted = Kernel.read("rbf", X, "scale", weights=weights.astype(float)).gamma
    assert weighted == pytest.approx(Kernel.read("rbf", np.repeat(X, weights, axis=0)).gamma)


def test_gamma_scale_of_constant_rows_is_one():
    assert Kernel.read("rbf", np.full((5, 2), 3.0)).gamma == 1.0


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_gamma_scale_is_the_same_bits_in_any_order(sparse):
    X = rows(200)
    form = sp.csr_array if sparse else np.asarray
    first = Kernel.read("rbf", form(X)).gamma
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(200)
        assert Kernel.read("rbf", form(X[order])).gamma == first


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"name": "rbff"}, "kernel='rbff' is not known; choose one of linear, rbf, poly, precomp"),
        ({"gamma": -1.0}, "gamma=-1.0; expected a positive number, 'scale' or 'auto'"),
        ({"gamma": 0}, "gamma=0; expected a positive number"),
        ({"gamma": None}, "gamma=None; expected a positive number"),
        ({"gamma": np.nan}, "gamma=nan; expected a positive number"),
        ({"gamma": np.inf}, "gamma=inf; expected a positive number"),
        ({"gamma": "wide"}, "gamma='wide'; expected a positive number"),
    ],
)
def test_wrong_parameters(parameters, text):
    with pytest.raises(ValueError, match=text.replace("(", r"\(")):
        Kernel.read(**{"name": "rbf", "X": rows()} | parameters)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda X, Z: np.ones(3), r"returned shape \(3,\) for 12 and 12 rows; expected \(12, 12\)"),
        (lambda X, Z: np.ones((len(X), 1)), r"returned shape \(12, 1\) for 12 and 12 rows"),
        (lambda X, Z: X @ np.diag([1, 2, 3, 4]) @ np.roll(Z, 1, axis=1).T, "not symmetric"),
        (lambda X, Z: np.full((len(X), len(Z)), np.nan), "NaN or infinity; check the kernel"),
    ],
)
def test_callables_are_checked(function, text):
    X = rows()
    with pytest.raises(ValueError, match=text):
        Kernel.read(function, X).gram(X)


def test_callable_sees_training_rows_second():
    seen = []

    def kernel(X, Z):
        seen.append((X.shape, Z.shape))
        return X @ Z.T

    X, Z = rows(), rows(5, seed=1)
    features = make_map(Kernel.read(kernel, X), X, None, 10, np.random.default_rng(0))
    np.testing.assert_allclose(features.rows(Z), Z @ X.T)
    assert seen == [((5, 4), (12, 4))]


def test_precomputed_must_be_square_and_symmetric():
    K = rows() @ rows().T
    kernel = Kernel.read("precomputed", K)
    np.testing.assert_allclose(kernel.gram(K), K)
    with pytest.raises(ValueError, match=r"square matrix, got \(12, 5\)"):
        kernel.gram(K[:, :5])
    K[0, 1] += 1e-3
    with pytest.raises(ValueError, match="not symmetric"):
        kernel.gram(K)


def make(X, name="rbf", approximation=None, n_components=10, seed=0, **parameters):
    kernel = Kernel.read(name, X, **parameters)
    return kernel, make_map(kernel, X, approximation, n_components, np.random.default_rng(seed))


def test_choice_of_map():
    X = rows()
    assert type(make(X, "linear")[1]) is LinearMap
    assert type(make(X)[1]) is KernelMap
    assert make(X, "linear")[1].rows(X) is X
    assert type(make(X, approximation="nystroem")[1]) is NystroemMap
    assert type(make(X, approximation="fourier")[1]) is FourierMap
    with pytest.raises(
        ValueError, match="approximation='nystrom'; expected None, 'lowrank', 'nystroem'"
    ):
        make(X, approximation="nystrom")
    with pytest.raises(ValueError, match="'fourier' needs kernel='rbf', got 'poly'"):
        make(X, "poly", "fourier")
    with pytest.raises(ValueError, match="precomputed kernel has no rows to approximate"):
        make(X @ X.T, "precomputed", "nystroem")


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_nystroem_reproduces_the_kernel_at_landmarks(name, sparse):
    X, Z = rows(40), rows(9, seed=1)
    form = sp.csr_array if sparse else np.asarray
    kernel, features = make(form(X), name, "nystroem", 15)
    L = features.landmarks.toarray() if sparse else features.landmarks
    assert L.shape == (15, 4)
    assert {tuple(r) for r in L} <= {tuple(r) for r in X}
    assert len(np.unique(L, axis=0)) == 15
    at, new = features.rows(form(L)), features.rows(form(Z))
    np.testing.assert_allclose(at @ at.T, kernel(L, L), atol=1e-7)
    # Between a landmark and any row too, by its formula k(x, L) K_LL^-1 k(L, l).
    np.testing.assert_allclose(new @ at.T, kernel(Z, L), atol=1e-7)
    # Never more than the kernel says a row has.
    assert np.all(np.sum(new**2, axis=1) <= np.diag(kernel(Z, Z)) + 1e-8)


def test_nystroem_with_all_rows_is_the_kernel():
    X = rows(20)
    kernel, features = make(X, "rbf", "nystroem", 500)
    Phi = features.rows(X)
    np.testing.assert_allclose(Phi @ Phi.T, kernel.gram(X), atol=1e-9)


def test_nystroem_drops_modes_below_rounding():
    X = np.repeat(rows(5), 8, axis=0)
    kernel, features = make(X, "rbf", "nystroem", 40)
    Phi = features.rows(X)
    assert Phi.shape == (40, 5)
    np.testing.assert_allclose(Phi @ Phi.T, kernel.gram(X), atol=1e-7)


def test_fourier_features_approach_the_kernel():
    """Mean over D frequencies of cos(w'(x - z)), each with variance at most 1: 6 sigma bounds."""
    X = rows(15)
    kernel = Kernel.read("rbf", X, 0.4)
    for D in (100, 10_000):
        Phi = make(X, "rbf", "fourier", 2 * D, gamma=0.4)[1].rows(X)
        assert Phi.shape == (15, 2 * D)
        error = Phi @ Phi.T - kernel.gram(X)
        assert np.abs(error).max() < 6.0 / np.sqrt(D)
        np.testing.assert_allclose(np.sum(Phi**2, axis=1), 1.0, rtol=1e-12)
    # The same bound rejects frequencies of the wrong width.
    wrong = make(X, "rbf", "fourier", 20_000, gamma=0.8)[1].rows(X)
    assert np.abs(wrong @ wrong.T - kernel.gram(X)).max() > 6.0 / np.sqrt(D)


def test_fourier_sparse_is_dense():
    X = rows(10)
    X[np.abs(X) < 0.5] = 0.0
    dense = make(X, "rbf", "fourier", 20, gamma=1.0)[1].rows(X)
    sparse = make(sp.csr_array(X), "rbf", "fourier", 20, gamma=1.0)[1].rows(sp.csr_array(X))
    np.testing.assert_allclose(sparse, dense, rtol=1e-12)


def test_maps_repeat_with_the_generator():
    X = rows(30)
    for approximation in ("nystroem", "fourier"):
        a, b, c = (make(X, "rbf", approximation, 8, seed)[1].rows(X) for seed in (0, 0, 1))
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["linear", "rbf", "poly", "callable"])
def test_diagonal_of_a_kernel(name, sparse):
    X = rows(150)
    X = sp.csr_array(X) if sparse else X
    kernel = Kernel(lambda A, B: (A @ B.T) ** 2 if not sparse else (A @ B.T).toarray() ** 2)
    if name != "callable":
        kernel = Kernel(name, 0.7, 2, 1.5)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel.gram(X)), rtol=1e-12)


def test_a_precomputed_kernel_has_no_diagonal_of_new_rows():
    with pytest.raises(ValueError, match=r"does not hold the new rows' own k\(x, x\)"):
        Kernel("precomputed").diagonal(np.ones((2, 3)))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_distances_by_subtraction(form):
    X, Z = rows(40), rows(5, seed=1)
    Z[:3] = X[:3] + np.array([0.0, 1e-9, 1e-4])[:, None]  # close ones keep their digits too
    expected = ((X[:, None] - Z) ** 2).sum(axis=2)
    D = square_distances(form(X), Z)
    np.testing.assert_allclose(D, expected, rtol=1e-6)  # an offset rounds 1e-9 beside 1
    labels = np.arange(40) % 5
    paired = paired_distances(form(X), Z, labels)
    np.testing.assert_allclose(paired, expected[np.arange(40), labels], rtol=1e-6)
    assert paired[0] == 0.0


def test_an_offset_of_all_dense_rows_costs_no_digits():
    X, Z = np.round(rows(40), 3), np.round(rows(5, seed=1), 3)
    shifted = square_distances(X + 2.0**30, Z + 2.0**30)
    near = square_distances((X + 2.0**30) - 2.0**30, (Z + 2.0**30) - 2.0**30)
    np.testing.assert_allclose(shifted, near, rtol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 10.0, 1e6])
@pytest.mark.parametrize("kind", ["dense", "sparse", "torch"])
def test_the_variance_in_gamma_does_not_see_a_shift(kind, shift):
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[X < -0.5] = 0.0
    there = {"dense": np.asarray, "sparse": sp.csr_array, "torch": as_tensor}[kind](X + shift)
    weights = np.arange(40.0)
    found = Kernel.read("rbf", there, "scale", weights=weights).gamma
    assert found == pytest.approx(1.0 / (3 * np.var(np.repeat(X, np.arange(40), axis=0))), rel=1e-9)


@pytest.mark.parametrize(
    ("dtype", "shift", "tol"), [("float32", 64.0, 1e-5), ("float64", 2e6, 1e-9)]
)
def test_rbf_does_not_see_a_shift(dtype, shift, tol):
    X = (np.random.default_rng(0).integers(0, 64, (30, 2)) / 32.0).astype(dtype)  # exact, shifted
    kernel = Kernel("rbf", 2.0)
    near, far = kernel(X, X[:7]), kernel(X + dtype_of(shift, dtype), X[:7] + dtype_of(shift, dtype))
    np.testing.assert_allclose(far, near, atol=tol)


def dtype_of(value, dtype):
    return np.dtype(dtype).type(value)


def as_tensor(X):
    return pytest.importorskip("torch").from_numpy(np.array(X))
