"""Fixed labels: Newton's finish against scikit-learn and an independent solver of the dual."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from tacit import HintClassifier
from tacit.hints import Labels
from tacit.linalg import EigenSpace, GramSpace, IterativeSpace, LinearSpace, WideSpace, low_rank
from tacit.losses import LOSSES, CrammerSinger, Hinge, Logistic
from tacit.problem import Problem
from tacit.solvers import polish as polish_module
from tacit.solvers._loop import Loop
from tacit.solvers.newton import Newton
from tacit.solvers.polish import polish

SPACES = {
    "rbf": {"gamma": 1.0},
    "precomputed": {"kernel": "precomputed"},
    "linear": {"kernel": "linear"},
    "wide": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2},
    "nystroem": {"approximation": "nystroem", "n_components": 12},
    "fourier": {"approximation": "fourier", "n_components": 20, "gamma": 1.0},
}


def data(n_classes, n=60, d=4, seed=0):
    """Overlapping classes, so that all pieces of the losses are met."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, d)) + 1.2 * rng.normal(size=(n_classes, d))[y]
    return X, y, rng.normal(size=(25, d))


def fixed(X, y, **parameters):
    """A problem with every label given, its space, and the labels."""
    if parameters.get("kernel") == "precomputed":
        X = rbf_kernel(X, gamma=0.7)
    problem = Problem(X, Labels(np.arange(len(y)), y), **parameters)
    features = problem.feature_map(np.random.default_rng(0))
    return problem, problem.space(features, np.random.default_rng(0)), y.astype(np.int32)


def gram_space(K):
    """Products with K, prepared by a third of its columns."""
    some = np.arange(0, len(K), 3)
    columns, n = K[:, some], len(K)
    coarse = low_rank(lambda rows: columns[rows], columns[some], np.trace(K) / n, n)
    return GramSpace(K, coarse, reduce=0.0)


def run(problem, space, labels, tol=1e-4, max_iter=2000):
    return polish(problem, space, labels, Loop(), run=0, tol=tol, max_iter=max_iter)[0]


def compare(ours, theirs, X, X_new, objective):
    """`theirs` gives decision values of rows; objectives to 1e-8, decision values to 1e-6."""
    expected = theirs(X_new)
    np.testing.assert_allclose(ours.decision_function(X_new), expected, rtol=1e-6, atol=1e-6)
    assert ours.objective_ == pytest.approx(objective, rel=1e-8)
    assert abs(ours.solution_.fixed_gap) < 1e-12


# scikit-learn --------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_margin_losses_are_linear_svc(name, n_classes, C):
    X, y, X_new = data(n_classes)
    ours = HintClassifier(loss=name, kernel="linear", C=C, random_state=0).fit(X, y)
    # LinearSVC's squared hinge has no factor 1/2.
    half = 0.5 if name == "squared_hinge" else 1.0
    theirs = LinearSVC(
        loss=name, C=C * half, fit_intercept=False, tol=1e-11, max_iter=10_000_000, dual=True
    ).fit(X, y)
    columns = range(1) if n_classes == 2 else range(n_classes)
    t = np.stack([np.where(y == (1 if n_classes == 2 else c), 1.0, -1.0) for c in columns], axis=1)
    loss = np.maximum(0.0, 1.0 - t * (X @ theirs.coef_.T))
    loss = half * loss**2 if name == "squared_hinge" else loss
    objective = np.sum(loss) + np.sum(theirs.coef_**2) / (2.0 * C)
    compare(ours, theirs.decision_function, X, X_new, objective)


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_crammer_singer_is_linear_svc(C):
    X, y, X_new = data(3)
    ours = HintClassifier(loss="crammer_singer", kernel="linear", C=C, random_state=0).fit(X, y)
    theirs = LinearSVC(
        multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-11, max_iter=10_000_000
    ).fit(X, y)
    scores = X @ theirs.coef_.T
    rows = np.arange(len(y))
    other = scores + 1.0
    other[rows, y] -= 1.0
    loss = np.max(other, axis=1) - scores[rows, y]
    objective = np.sum(loss) + np.sum(theirs.coef_**2) / (2.0 * C)
    compare(ours, theirs.decision_function, X, X_new, objective)


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize(("name", "n_classes"), [("logistic", 2), ("softmax", 3), ("softmax", 4)])
def test_smooth_losses_are_logistic_regression(name, n_classes, C):
    X, y, X_new = data(n_classes)
    ours = HintClassifier(loss=name, kernel="linear", C=C, random_state=0).fit(X, y)
    theirs = LogisticRegression(
        C=C, fit_intercept=False, solver="newton-cg", tol=1e-12, max_iter=10_000
    ).fit(X, y)
    logp = theirs.predict_log_proba(X)[np.arange(len(y)), y]
    objective = -np.sum(logp) + np.sum(theirs.coef_**2) / (2.0 * C)
    compare(ours, theirs.decision_function, X, X_new, objective)
    np.testing.assert_allclose(
        ours.predict_proba(X_new), theirs.predict_proba(X_new), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_squared_is_ridge(C):
    X, y, X_new = data(3)
    ours = HintClassifier(loss="squared", kernel="linear", C=C, random_state=0).fit(X, y)
    t = 2.0 * (y[:, None] == np.arange(3)) - 1.0
    theirs = Ridge(alpha=1.0 / C, fit_intercept=False, solver="cholesky").fit(X, t)
    objective = 0.5 * np.sum((t - theirs.predict(X)) ** 2) + np.sum(theirs.coef_**2) / (2.0 * C)
    compare(ours, theirs.predict, X, X_new, objective)


# The dual of the hinge loss ------------------------------------------------------------------


def box_dual(K, t, C):
    """max over 0 <= a <= C of sum a - <t a, K t a> / 2, by SciPy, then exactly on its free set."""
    Q = (t[:, None] * K) * t[None, :]
    found = scipy.optimize.minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.full(len(t), 0.5 * C),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, C)] * len(t),
        options={"maxiter": 100_000, "maxfun": 100_000, "ftol": 0.0, "gtol": 1e-11},
    )
    a = found.x
    free = (a > 1e-7 * C) & (a < (1.0 - 1e-7) * C)
    a = np.where(free, a, np.round(a / C) * C)
    rest = 1.0 - Q[np.ix_(free, ~free)] @ a[~free]
    a[free] = np.linalg.solve(Q[np.ix_(free, free)], rest)
    slack = Q @ a - 1.0
    # Optimal, whatever SciPy says of itself.
    assert np.all((a >= 0.0) & (a <= C))
    assert np.all(slack[a <= 0.0] >= -1e-9)
    assert np.all(slack[a >= C] <= 1e-9)
    return a


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_hinge_with_a_kernel_solves_the_box_constrained_dual(n_classes, C):
    X, y, X_new = data(n_classes)
    K, K_new = rbf_kernel(X, gamma=1.5), rbf_kernel(X_new, X, gamma=1.5)
    ours = HintClassifier(kernel="rbf", gamma=1.5, C=C, random_state=0).fit(X, y)
    expected, objective = [], 0.0
    for c in [1] if n_classes == 2 else range(n_classes):
        t = np.where(y == c, 1.0, -1.0)
        a = box_dual(K, t, C)
        expected.append(K_new @ (t * a))
        objective += (a.sum() - 0.5 * (t * a) @ K @ (t * a)) / C
    scores = np.stack(expected, axis=1)
    scores = scores[:, 0] if n_classes == 2 else scores
    compare(ours, lambda _: scores, X, X_new, objective)


# Itself --------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("loss", LOSSES)
def test_ends_at_rounding_and_no_worse_than_admm(loss, space, C, monkeypatch):
    X, y, _ = data(3, d=80 if space == "wide" else 4)
    case = fixed(X, y, loss=loss, C=C, **SPACES[space])
    assert isinstance(case[1], WideSpace) == (space == "wide")
    ours = run(*case)
    monkeypatch.setattr(polish_module, "NEWTON_LIMIT", 0)
    admm = run(*case)
    # Losses at the kink are differences of numbers of size one.
    assert 0.0 <= ours.objective - ours.bound <= 1e-12 * (1.0 + ours.objective)
    assert admm.gap <= 1e-4
    assert ours.objective <= admm.objective * (1.0 + 1e-12)
    assert ours.bound >= admm.bound * (1.0 - 1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repeated_rows_and_zeros_are_none(loss, kernel):
    X, y, X_new = data(3, n=30)
    weights = np.random.default_rng(1).integers(0, 4, size=len(y))
    model = HintClassifier(loss=loss, kernel=kernel, gamma=0.5, C=2.0, random_state=0)
    weighted = model.fit(X, y, sample_weight=weights).decision_function(X_new)
    again = np.repeat(np.arange(len(y)), weights)
    repeated = model.fit(X[again], y[again]).decision_function(X_new)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("member", [EigenSpace, gram_space, LinearSpace, WideSpace, IterativeSpace])
def test_spaces_agree_on_their_kernel(member, sparse):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(7, 9)), 1) * (rng.random((7, 9)) < 0.6)
    K, alpha, rows = X @ X.T, rng.normal(size=(7, 2)), np.array([4, 0, 4, 2])
    explicit = member not in (EigenSpace, gram_space)
    space = member((sp.csr_array(X) if sparse else X) if explicit else K)
    F, coef = space.expand(alpha)
    np.testing.assert_allclose(F, K @ alpha, atol=1e-13)
    np.testing.assert_allclose(coef, X.T @ alpha if explicit else alpha, atol=1e-13)
    np.testing.assert_allclose(space.block(rows), K[np.ix_(rows, rows)], atol=1e-13)
    np.testing.assert_allclose(space.dual_norm(alpha), np.vdot(alpha, K @ alpha), atol=1e-12)
    features = space.features(rows)
    assert features is None or np.array_equal(features, X[rows])


def test_large_problems_keep_admm():
    X, y, _ = data(3, n=2 * polish_module.NEWTON_LIMIT // 3)
    end = run(*fixed(X, y, kernel="linear"))
    assert end.tried == np.inf
    assert end.gap <= 1e-4


@pytest.mark.parametrize("loss", LOSSES)
def test_same_to_the_last_bit(loss):
    X, y, _ = data(3)
    case = fixed(X, y, loss=loss, gamma=1.0)
    first, second = run(*case), run(*case)
    np.testing.assert_array_equal(first.coef, second.coef)
    assert first.bound == second.bound


class NoSlope(Hinge):
    """Says that the prox never moves."""

    def phi_prox_slope(self, v, tau):
        return 0.0 * v


class TurnedSlope(CrammerSinger):
    """Says that the prox is an identity where it is a mean, and the other way round."""

    def prox_jacobian(self, V, tau, y):
        return np.eye(V.shape[1]) - super().prox_jacobian(V, tau, y)


class Exploding(Logistic):
    """Jacobian of the right sign and far too large."""

    def phi_prox_slope(self, v, tau):
        return 1.0 - 1e-3 * (1.0 - super().phi_prox_slope(v, tau))


@pytest.mark.parametrize("wrong", [NoSlope, TurnedSlope, Exploding])
def test_a_wrong_jacobian_costs_time_only(wrong, monkeypatch):
    X, y, _ = data(3)
    problem, space, labels = fixed(X, y, gamma=1.0)
    end = run(replace(problem, loss=wrong()), space, labels)
    monkeypatch.setattr(polish_module, "NEWTON_LIMIT", 0)
    admm = run(replace(problem, loss=wrong()), space, labels)
    assert end.gap <= 1e-4
    assert end.objective <= admm.objective * (1.0 + 1e-4)


def test_an_answer_that_is_no_better_is_not_taken(monkeypatch):
    X, y, _ = data(3)
    case, calls = fixed(X, y, gamma=1.0), []

    def nowhere(self, alpha):
        calls.append(alpha)
        return self._point(np.zeros_like(alpha), np.zeros_like(alpha), None)

    monkeypatch.setattr(Newton, "solve", nowhere)
    end = run(*case)
    # Each time the gap has fallen tenfold, and each LATE iterations.
    assert 1 <= len(calls) <= 3 + end.iteration // polish_module.LATE
    monkeypatch.setattr(polish_module, "NEWTON_LIMIT", 0)
    admm = run(*case)
    np.testing.assert_array_equal(end.coef, admm.coef)
    assert (end.objective, end.bound) == (admm.objective, admm.bound)


@pytest.mark.parametrize("loss", LOSSES)
def test_descends_from_anywhere(loss):
    X, y, _ = data(3)
    problem, space, labels = fixed(X, y, loss=loss, gamma=1.0)
    best = run(problem, space, labels)
    start = 3.0 * np.random.default_rng(2).normal(size=best.F.shape)
    end = Newton(problem, space, labels, 1.0).solve(start)
    np.testing.assert_allclose(end.F, best.F, rtol=1e-9, atol=1e-9)
