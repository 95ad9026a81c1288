"""Convex extensions beside a conic programme; `benchmarks/extensions.py` does 1000 of each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from checks.extensions import CASES, CHECKS, case_name, instance
from tacit.convex import extension, tightest

INSTANCES = 60


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_random_instances(case):
    rng = np.random.default_rng(0)
    for _ in range(INSTANCES):
        given = instance(case, rng)
        for check in CHECKS.values():
            check(*given, rng)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize(
    ("regularizer", "box"),
    [("l2", None), ("l1", None), ("l1", (-1.0, 2.0)), ("outside", (-1.0, 2.0))],
)
def test_one_row_is_the_smallest_perspective_programme(loss, regularizer, box):
    rng, given = np.random.default_rng(1), {"C": 2.0, "class_weights": (0.5, 1.5), "box": box}
    ext = extension(loss, regularizer, **given)
    for _ in range(5):
        theta, x, y = rng.uniform(-1, 1, 2), rng.normal(size=2), rng.uniform(0.1, 0.9)
        whole = tightest(loss, [[0], [1]], theta, [y], [x], regularizer=regularizer, **given)
        # Its cones meet rounding earlier than the programme in theta0 and theta1.
        assert ext.value(theta, y, x) == pytest.approx(whole, rel=1e-6, abs=1e-6)


def perspective_by_linear_programming(labelings, theta, y, X, C, bound):
    """Hinge loss, theta in [-bound, bound], no regulariser: share, eta, gap, by labeling."""
    (k, n), d = labelings.shape, len(theta)
    n_variables = k * (1 + d + n)
    share, eta = np.arange(k), k + np.arange(k * d).reshape(k, d)
    gap = k + k * d + np.arange(k * n).reshape(k, n)
    cost, equal, right, upper = np.zeros(n_variables), [], [], []
    cost[gap] = C
    for columns, coefficients, value in (
        (share, np.ones(k), 1.0),
        *((share, labelings[:, s], y[s]) for s in range(n)),
        *((eta[:, i], np.ones(k), theta[i]) for i in range(d)),
    ):
        equal.append(np.zeros(n_variables))
        equal[-1][columns] = coefficients
        right.append(value)
    for j, i in itertools.product(range(k), range(d)):
        for sign in (1, -1):
            upper.append(np.zeros(n_variables))
            upper[-1][[eta[j, i], share[j]]] = sign, -bound
    for j, s in itertools.product(range(k), range(n)):
        upper.append(np.zeros(n_variables))
        upper[-1][eta[j]] = -(2 * labelings[j, s] - 1) * X[s]
        upper[-1][[share[j], gap[j, s]]] = 1.0, -1.0
    bounds = np.full((n_variables, 2), (0.0, np.inf))
    bounds[eta] = -np.inf, np.inf
    answer = linprog(cost, np.array(upper), np.zeros(len(upper)), equal, right, bounds)
    return answer.fun if answer.status == 0 else np.inf


def test_all_labelings_are_needed():
    """Theorem 3's |S| + 1 = 3 labelings at a time leave 28, all four 26."""
    all_four = np.array(list(itertools.product((0, 1), repeat=2)))
    X, theta, y = np.array([[1.0, -2.0], [-1.0, -2.0]]), np.array([-0.5, -1.5]), [0.5, 0.25]
    subsets = [all_four, *(np.delete(all_four, k, axis=0) for k in range(4))]
    linear = [perspective_by_linear_programming(Y, theta, y, X, 8.0, 2.0) for Y in subsets]
    options = {"regularizer": "outside", "C": 8.0, "box": (-2.0, 2.0)}
    conic = [tightest("hinge", Y, theta, y, X, **options) for Y in subsets]
    np.testing.assert_allclose(conic, linear, rtol=1e-6)
    assert linear[0] == pytest.approx(26.0)
    assert min(linear[1:]) == pytest.approx(28.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_splitting_the_norm_among_rows_is_a_bound(loss):
    """(18): the rows' extensions, each with a part of the norm, add up to at most the tightest."""
    rng = np.random.default_rng(2)
    labelings = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
    for _ in range(5):
        X, theta = rng.normal(size=(3, 2)), rng.normal(size=2)
        y = rng.dirichlet(np.ones(4)) @ labelings
        rows = extension(loss, "l2", C=3 * 0.7).value(theta, y, X)
        whole = tightest(loss, labelings, theta, y, X, C=0.7)
        assert rows.sum() / 3 <= whole + 1e-6
        corner = tightest(loss, labelings, theta, labelings[3], X, C=0.7)
        ends = extension(loss, "l2", C=3 * 0.7).value(theta, labelings[3], X)
        assert corner == pytest.approx(ends.sum() / 3, rel=1e-5)


def test_labels_outside_the_hull_have_no_value():
    assert tightest("hinge", [[1, 0], [0, 1]], [0.0], [0.9, 0.9], [[1.0], [2.0]]) == np.inf
