"""Every score space against dense solves of its own definition."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.exceptions import NotConverged
from tacit.linalg import (
    EigenSpace,
    GramSpace,
    IterativeSpace,
    LinearSpace,
    LowRankSpace,
    WideSpace,
    choose,
    feature_space,
    kernel_space,
    low_rank,
)
from tacit.linalg.base import top_eigenvalue
from tacit.linalg.cg import conjugate_gradients


def coarse(K, step=3):
    """Low rank from every third column, plus diagonal."""
    some, n = np.arange(0, len(K), step), len(K)
    columns = K[:, some]
    return low_rank(lambda rows: columns[rows], columns[some], np.trace(K) / n, n)


def gram_space(K):
    """Products with K, to rounding."""
    return GramSpace(K, coarse(K), reduce=0.0, max_steps=200)


def whole_rank(K):
    """All columns as landmarks: the low rank is K."""
    return coarse(K, 1)


KERNEL = [EigenSpace, gram_space, whole_rank]
FEATURES = [LinearSpace, WideSpace, IterativeSpace]
RHO_NU = [(1.0, 0.5), (1e-3, 0.5), (50.0, 0.5), (1.0, 1e-3), (0.3, 20.0)]


def rows(n=15, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def spd(n=15, seed=0):
    """Full rank, eigenvalues over four decades."""
    Q, _ = np.linalg.qr(rows(n, n, seed))
    return (Q * np.logspace(-2, 2, n)) @ Q.T


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("K", [spd(), rows() @ rows().T], ids=["full", "low_rank"])
@pytest.mark.parametrize("member", KERNEL)
def test_kernel_project_is_the_dense_solve(member, K, n_columns):
    T, space = rows(15, n_columns, 1), member(K)
    for rho, nu in [*RHO_NU, RHO_NU[0]]:  # back to the first: nothing stale is kept
        alpha = np.linalg.solve(2.0 * nu * np.eye(15) + rho * K, rho * T)
        F, coef = space.project(T, rho, nu)
        np.testing.assert_allclose(coef, alpha, rtol=1e-8, atol=1e-9 * np.abs(alpha).max())
        np.testing.assert_allclose(F, K @ alpha, rtol=1e-7, atol=1e-9)
        assert space.regularizer(coef, F) == pytest.approx(np.sum(alpha * (K @ alpha)), rel=1e-7)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", [(15, 6), (6, 15), (9, 9)])
@pytest.mark.parametrize("member", FEATURES)
def test_feature_project_is_the_dense_solve(member, shape, sparse):
    X, T = rows(*shape), rows(shape[0], 2, 1)
    space = member(sp.csr_array(X) if sparse else X)
    for rho, nu in [*RHO_NU, RHO_NU[0]]:
        W = np.linalg.solve(2.0 * nu * np.eye(shape[1]) + rho * X.T @ X, rho * X.T @ T)
        F, coef = space.project(T, rho, nu)
        np.testing.assert_allclose(coef, W, rtol=1e-6, atol=1e-8 * np.abs(W).max())
        np.testing.assert_allclose(F, X @ W, rtol=1e-6, atol=1e-8)
        assert space.regularizer(coef, F) == pytest.approx(np.sum(W**2), rel=1e-6)


@pytest.mark.parametrize("member", KERNEL + FEATURES)
def test_project_minimises(member):
    """No step from the answer lowers nu R + rho/2 |F - T|^2."""
    X, T, rho, nu = rows(), rows(15, 2, 1), 0.7, 0.4
    explicit = member in FEATURES
    space, K = member(X if explicit else X @ X.T), X @ X.T
    coef = space.project(T, rho, nu)[1]

    def cost(c):
        F = (X if explicit else K) @ c
        penalty = np.sum(c * c) if explicit else np.sum(c * F)
        return nu * penalty + 0.5 * rho * np.sum((F - T) ** 2)

    rng = np.random.default_rng(2)
    for size in (1e-3, 1.0):
        for _ in range(5):
            assert cost(coef) <= cost(coef + size * rng.normal(size=coef.shape)) + 1e-12


@pytest.mark.parametrize("member", KERNEL + FEATURES)
def test_sizes_and_norms(member):
    X = rows()
    K, dual = X @ X.T, rows(15, 2, 3)
    space = member(X if member in FEATURES else K)
    assert space.n == 15
    assert space.scale == pytest.approx(np.trace(K) / 15)
    assert space.dual_norm(dual) == pytest.approx(np.trace(dual.T @ K @ dual))
    assert space.top == pytest.approx(np.linalg.eigvalsh(K)[-1], rel=0.02)


def plateau(n=60):
    """The constant vector is an eigenvector, and not the top one."""
    v = np.where(np.arange(n) % 2, 1.0, -1.0) / np.sqrt(n)
    return np.full((n, n), 1.0 / n) + 1.5 * np.outer(v, v)


def nearly_identity(n=400):
    K = np.eye(n)
    K[7, 7] = 1.5
    return K


@pytest.mark.parametrize(
    "K",
    [plateau(), nearly_identity(), spd(40), np.eye(30), 1e-9 * spd(20), np.array([[3.0]])],
    ids=["plateau", "identity+1", "decades", "identity", "tiny", "one"],
)
def test_top_eigenvalue_is_not_fooled(K):
    expected = np.linalg.eigvalsh(K)[-1]
    assert top_eigenvalue(lambda v: K @ v, len(K), K) == pytest.approx(expected, rel=0.02)
    assert IterativeSpace(np.linalg.cholesky(K + 1e-14 * np.eye(len(K)))).top == pytest.approx(
        expected, rel=0.02
    )


def test_top_eigenvalue_of_nothing_is_zero():
    zero = np.zeros((5, 5))
    assert top_eigenvalue(lambda v: zero @ v, 5, zero) == 0.0
    F, alpha = EigenSpace(np.zeros((3, 3))).project(np.ones((3, 1)), 1.0, 0.5)
    np.testing.assert_allclose(F, 0.0)
    np.testing.assert_allclose(alpha, 1.0)


def test_power_iteration_would_be_fooled():
    """The negative control: what the matrix above is for."""
    K, v = plateau(), np.ones(60) / np.sqrt(60)
    for _ in range(5):
        v = K @ v / np.linalg.norm(K @ v)
    assert v @ K @ v == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1.0, 1e-8, 1e8])
def test_negative_eigenvalues_are_refused(size):
    K = spd(8)
    K -= 1.0 * np.eye(8)
    with pytest.raises(ValueError, match="not positive semidefinite; check the kernel"):
        EigenSpace(size * K)
    with pytest.raises(ValueError, match="not positive semidefinite; check the kernel"):
        whole_rank(size * K)


def test_rounding_below_zero_is_not_refused():
    x = rows(40, 2)
    EigenSpace(x @ x.T)  # rank 2: eigenvalues of both signs around 1e-15


def test_choice_of_space(monkeypatch):
    rng = np.random.default_rng(0)
    assert type(kernel_space(spd(5), rng)) is EigenSpace
    assert type(feature_space(rows(9, 3))) is LinearSpace
    assert type(feature_space(rows(3, 9))) is WideSpace
    monkeypatch.setattr(choose, "EIGEN_LIMIT", 4)
    monkeypatch.setattr(choose, "GRAM_LIMIT", 4)
    chosen = kernel_space(spd(5), rng)
    assert type(chosen) is GramSpace
    assert type(chosen.coarse) is LowRankSpace
    assert type(feature_space(rows(9, 3))) is LinearSpace
    assert type(feature_space(rows(5, 9))) is IterativeSpace


def test_cg_solves_and_says_how_far_it_came():
    A, b = spd(30), rows(30, 2)

    def run(**limits):
        start = 0.0 * b
        scale = 1.0 / (np.diag(A) + 0.5)
        return conjugate_gradients(
            lambda v: A @ v, 0.5, b, start, start, lambda v: scale[:, None] * v, **limits
        )

    x = run(reduce=0.0, max_steps=500)
    np.testing.assert_allclose(x.x, np.linalg.solve(A + 0.5 * np.eye(30), b), rtol=1e-9)
    np.testing.assert_allclose(x.product, A @ x.x, rtol=1e-9)
    assert x.converged
    some = run(reduce=0.1, max_steps=500)
    left = np.linalg.norm(b - A @ some.x - 0.5 * some.x, axis=0)
    assert (left <= 0.1 * np.linalg.norm(b, axis=0)).all()
    assert 0 < some.steps < x.steps
    few = run(reduce=0.0, max_steps=3)
    assert (few.steps, few.converged) == (3, False)


def test_an_iterative_space_says_when_it_does_not_converge(monkeypatch):
    monkeypatch.setattr(IterativeSpace, "MAX_STEPS", 3)
    space = IterativeSpace(np.linalg.cholesky(spd(30)))
    with pytest.raises(NotConverged, match="did not reach 1e-12 in 3 steps"):
        space.project(rows(30, 1), 1.0, 1e-3)
