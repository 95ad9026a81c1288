"""What an exact answer must satisfy, and a reference by enumeration that shares no code with it."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import minimize

from tacit import Problem, hints

# The reference fits each labeling by L-BFGS, which ends within this of the optimum.
REFERENCE = 2e-5
# What rounding may put between a bound and an optimum that the reference has overestimated.
ROUNDING = 1e-9


def fit(K, w, nu, t, loss):
    """Least sum_i w_i phi(t_i (K a)_i) + nu a' K a, by L-BFGS on rows of a factor of K."""
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0.0))
    M = t[:, None] * Z

    if loss == "hinge":  # the dual: a box, and a quadratic
        G = M @ M.T / (4.0 * nu)
        end = minimize(
            lambda a: (a @ G @ a - a.sum(), 2.0 * G @ a - 1.0),
            0.5 * w,
            jac=True,
            bounds=[(0.0, v) for v in w],
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000},
        )
        theta = M.T @ end.x / (2.0 * nu)
        return np.sum(w * np.maximum(0.0, 1.0 - M @ theta)) + nu * theta @ theta

    def primal(theta):
        z = M @ theta
        if loss == "squared_hinge":
            short = np.maximum(0.0, 1.0 - z)
            value, slope = 0.5 * short**2, -short
        else:
            value, slope = np.logaddexp(0.0, -z), -1.0 / (1.0 + np.exp(z))
        return w @ value + nu * theta @ theta, M.T @ (w * slope) + 2.0 * nu * theta

    start = np.zeros(Z.shape[1])
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000}
    return minimize(primal, start, jac=True, method="L-BFGS-B", options=options).fun


def optimum(problem, K):
    """Least objective over all labelings that the hints allow."""
    best = np.inf
    for labels in itertools.product((0, 1), repeat=problem.n):
        y = np.array(labels)
        cost = problem.program.value(y)
        if np.isfinite(cost):
            t = 2.0 * y - 1.0
            found = fit(K, problem.weights, problem.nu_, t, problem.loss_.name) + cost
            best = min(best, found)
    return best


def random_problem(seed):
    """A problem of 5 to 9 rows with labels, bounds on counts, links and costs; and its kernel."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 10))
    X = rng.standard_normal((n, int(rng.integers(1, 4))))
    y = rng.integers(0, 2, n)
    X[:, 0] += rng.uniform(0.0, 2.0) * (2 * y - 1)
    rows = rng.permutation(n)
    known = hints.Labels(rows[:1], y[rows[:1]])
    known += hints.Count([np.arange(n)], None, [int(np.sum(y == c)) + 1 for c in (0, 1)])
    if rng.random() < 0.5:
        a, b, c, d = rows[:4]
        pair = hints.MustLink if y[a] == y[b] else hints.CannotLink
        known += pair([(a, b)]) + hints.Potts([(c, d)], float(rng.uniform(0.1, 1.0)))
    if rng.random() < 0.5:
        known += hints.Cost(rng.uniform(-0.5, 0.5, (n, 2)))
    if rng.random() < 0.5:
        bag = rows[: n // 2]
        known += hints.AtLeast([bag], int(y[bag[0]]))
    if rng.random() < 0.3:
        A = np.zeros((1, 2 * n))
        A[0, 1::2] = rng.uniform(-1.0, 1.0, n)
        level = float(A[0, 1::2] @ y)
        known += hints.Linear(A, level - 0.7, level + 0.7)
    kernel = ("linear", "rbf")[int(rng.integers(2))]
    problem = Problem(
        X,
        known,
        loss=("hinge", "squared_hinge", "logistic")[int(rng.integers(3))],
        kernel=kernel,
        gamma=0.7,
        C=float(10.0 ** rng.uniform(-1.5, 1.5)),
        classes=[0, 1],
        sample_weight=rng.uniform(0.5, 2.0, n) if rng.random() < 0.5 else None,
    )
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return problem, X @ X.T if kernel == "linear" else np.exp(-0.7 * squares)


def check_search(search, best):
    """Never a bound above the optimum, at any time; and the optimum in the end."""
    size = max(abs(best), 1.0)
    while True:
        assert search.lower <= best + ROUNDING * size
        if search.done:
            break
        search.step(3)
    assert search.upper >= best - REFERENCE * size
    assert search.upper <= best + 2e-6 * size
    assert search.upper - search.lower <= 2e-6 * size
