"""Values of every loss worked by hand; the working is in the comments."""

import numpy as np
import pytest

from tacit.losses import LOSSES
from tacit.losses.logistic import logistic_prox
from tacit.losses.softmax import wright_omega

CLOSE = {"rtol": 1e-14, "atol": 1e-15}
LOG2, LOG3 = np.log(2.0), np.log(3.0)


# One column, two classes: label 1 sees the margin z = s, label 0 the margin z = -s.
# Values at s = 0.5, so z = 0.5 for label 1 and z = -0.5 for label 0:
#   hinge          max(0, 1 - z):         0.5,    1.5
#   squared_hinge  max(0, 1 - z)^2 / 2:   0.125,  1.125
#   squared        (1 - z)^2 / 2:         0.125,  1.125
# At s = 2: hinge 0 and 3; squared_hinge 0 and 4.5; squared 0.5 and 4.5.
# Logistic at s = log 3: log(1 + 1/3) = log(4/3) and log(1 + 3) = log 4.
@pytest.mark.parametrize(
    ("name", "score", "label_0", "label_1"),
    [
        ("hinge", 0.5, 1.5, 0.5),
        ("hinge", 2.0, 3.0, 0.0),
        ("squared_hinge", 0.5, 1.125, 0.125),
        ("squared_hinge", 2.0, 4.5, 0.0),
        ("squared", 0.5, 1.125, 0.125),
        ("squared", 2.0, 4.5, 0.5),
        ("logistic", 0.0, LOG2, LOG2),
        ("logistic", LOG3, np.log(4.0), np.log(4.0 / 3.0)),
    ],
)
def test_value_of_two_classes_in_one_column(name, score, label_0, label_1):
    loss = LOSSES[name]()
    assert loss.n_columns(2) == 1
    scores = np.array([[score], [score]])
    np.testing.assert_allclose(loss.value(scores, np.array([0, 1])), [label_0, label_1], **CLOSE)
    np.testing.assert_allclose(loss.table(scores), [[label_0, label_1]] * 2, **CLOSE)


# Three classes, scores (0, 1, -2).
# One-vs-all sums phi(s_y) and phi(-s_j) for j != y, with phi per column
#   hinge          own: 1, 0, 3        other: 1, 2, 0
#     label 0: 1 + 2 + 0 = 3; label 1: 1 + 0 + 0 = 1; label 2: 1 + 2 + 3 = 6
#   squared_hinge  own: .5, 0, 4.5     other: .5, 2, 0
#     label 0: .5 + 2 + 0 = 2.5; label 1: .5 + 0 + 0 = .5; label 2: .5 + 2 + 4.5 = 7
#   squared        own: .5, 0, 4.5     other: .5, 2, .5    (phi(-s_2) = phi(2) = .5)
#     label 0: .5 + 2 + .5 = 3; label 1: .5 + 0 + .5 = 1; label 2: .5 + 2 + 4.5 = 7
# Crammer-Singer, max_j(s_j + [j != y]) - s_y:
#   label 0: max(0, 2, -1) - 0 = 2; label 1: max(1, 1, -1) - 1 = 0; label 2: max(1, 2, -2) + 2 = 4
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hinge", [3.0, 1.0, 6.0]),
        ("squared_hinge", [2.5, 0.5, 7.0]),
        ("squared", [3.0, 1.0, 7.0]),
        ("crammer_singer", [2.0, 0.0, 4.0]),
    ],
)
def test_value_of_three_classes(name, expected):
    loss = LOSSES[name]()
    assert loss.n_columns(3) == 3
    scores = np.array([[0.0, 1.0, -2.0]])
    np.testing.assert_allclose(loss.table(scores), [expected], **CLOSE)
    for c, value in enumerate(expected):
        np.testing.assert_allclose(loss.value(scores, np.array([c])), [value], **CLOSE)


def test_value_of_softmax_and_logistic_of_three_classes():
    # exp of the scores is (1, 2, 3), which sum to 6: losses log 6, log 3, log 2.
    scores = np.array([[0.0, LOG2, LOG3]])
    np.testing.assert_allclose(
        LOSSES["softmax"]().table(scores), [[np.log(6), LOG3, LOG2]], **CLOSE
    )
    # log(1 + e^-s): own 2, 3/2, 4/3; log(1 + e^s): other 2, 3, 4. Label 0: 2 * 3 * 4 = 24,
    # label 1: 2 * 3/2 * 4 = 12, label 2: 2 * 3 * 4/3 = 8.
    np.testing.assert_allclose(LOSSES["logistic"]().table(scores), [np.log([24, 12, 8])], **CLOSE)


# Prox of a step tau at v, for label 1 (margin z = s):
#   hinge, tau = 1/2: 0 moves to 1/2; 0.75 is stopped by the kink at 1; 1.2 is beyond it and stays.
#   squared_hinge, tau = 1: (v + tau) / (1 + tau) = 1/2 from 0, 0 from -1; 3 stays.
#   squared, tau = 3: (0 + 3) / 4 = 3/4; (5 + 3) / 4 = 2.
#   logistic: u - v = tau / (1 + e^u). At u = log 3 that is tau / 4: tau = 4 comes from log 3 - 1.
#     At u = 0 it is tau / 2: tau = 2 comes from -1. At u = -log 3 it is 3 tau / 4: tau = 4 from
#     -log 3 - 3.
@pytest.mark.parametrize(
    ("name", "tau", "v", "u"),
    [
        ("hinge", 0.5, 0.0, 0.5),
        ("hinge", 0.5, 0.75, 1.0),
        ("hinge", 0.5, 1.2, 1.2),
        ("squared_hinge", 1.0, 0.0, 0.5),
        ("squared_hinge", 1.0, -1.0, 0.0),
        ("squared_hinge", 1.0, 3.0, 3.0),
        ("squared", 3.0, 0.0, 0.75),
        ("squared", 3.0, 5.0, 2.0),
        ("logistic", 4.0, LOG3 - 1.0, LOG3),
        ("logistic", 2.0, -1.0, 0.0),
        ("logistic", 4.0, -LOG3 - 3.0, -LOG3),
    ],
)
def test_prox_of_a_margin(name, tau, v, u):
    loss = LOSSES[name]()
    # Label 0 sees the margin -s: everything is mirrored.
    prox = loss.prox(np.array([[v], [-v]]), tau, np.array([1, 0]))
    np.testing.assert_allclose(prox, [[u], [-u]], **CLOSE)
    cost = tau * loss.value(np.array([[u]]), np.array([1])) + 0.5 * (u - v) ** 2
    np.testing.assert_allclose(loss.envelope(np.array([[v]]), tau)[:, 1], cost, **CLOSE)


# Crammer-Singer, label 0:
#   V = (0, 0), tau = 1/4: slope (-1, 1) at the prox, u = (1/4, -1/4); loss -1/4 + 1 - 1/4 = 1/2.
#   V = (0, 0), tau = 1: the margin 1 is reached at u = (1/2, -1/2), with less than tau; loss 0.
#   V = (0, 0, 0), tau = 1/2: both rivals give up 1/4, u = (1/2, -1/4, -1/4); loss 1/4.
#   V = (0, 0, 0), tau = 5: u_0 = m, u_j = m - 1 with 3 m - 2 = 0: u = (2/3, -1/3, -1/3); loss 0.
#   V = (0, 2, 1), tau = 1: the first rival gives up all of tau and meets the other: (1, 1, 1).
#   V = (3, 1, 0): the margin is 2, nothing moves.
@pytest.mark.parametrize(
    ("tau", "v", "u", "loss_at_u"),
    [
        (0.25, [0.0, 0.0], [0.25, -0.25], 0.5),
        (1.0, [0.0, 0.0], [0.5, -0.5], 0.0),
        (0.5, [0.0, 0.0, 0.0], [0.5, -0.25, -0.25], 0.25),
        (5.0, [0.0, 0.0, 0.0], [2 / 3, -1 / 3, -1 / 3], 0.0),
        (1.0, [0.0, 2.0, 1.0], [1.0, 1.0, 1.0], 1.0),
        (1.0, [3.0, 1.0, 0.0], [3.0, 1.0, 0.0], 0.0),
    ],
)
def test_prox_of_crammer_singer(tau, v, u, loss_at_u):
    loss, V, y = LOSSES["crammer_singer"](), np.array([v]), np.array([0])
    np.testing.assert_allclose(loss.prox(V, tau, y), [u], **CLOSE)
    cost = tau * loss_at_u + 0.5 * np.sum((np.array(u) - v) ** 2)
    np.testing.assert_allclose(loss.envelope(V, tau)[:, 0], [cost], **CLOSE)


# Softmax, label 0: V = u + tau (softmax(u) - e_0).
#   u = (0, 0), p = (1/2, 1/2), tau = 2: V = (-1, 1).
#   u = (0, log 2, log 3), p = (1/6, 1/3, 1/2), tau = 6: V = (-5, log 2 + 2, log 3 + 3).
@pytest.mark.parametrize(
    ("tau", "v", "u", "loss_at_u"),
    [
        (2.0, [-1.0, 1.0], [0.0, 0.0], LOG2),
        (6.0, [-5.0, LOG2 + 2.0, LOG3 + 3.0], [0.0, LOG2, LOG3], np.log(6.0)),
    ],
)
def test_prox_of_softmax(tau, v, u, loss_at_u):
    loss, V, y = LOSSES["softmax"](), np.array([v]), np.array([0])
    np.testing.assert_allclose(loss.prox(V, tau, y), [u], rtol=1e-14, atol=1e-14)
    cost = tau * loss_at_u + 0.5 * np.sum((np.array(u) - v) ** 2)
    np.testing.assert_allclose(loss.envelope(V, tau)[:, 0], [cost], rtol=1e-14)


# Conjugates of phi at the slope s (label 1, one column):
#   hinge: s on [-1, 0].  squared_hinge: s + s^2/2 for s <= 0.  squared: the same for every s.
#   logistic, p = -s = 1/4: (1/4) log(1/4) + (3/4) log(3/4).
@pytest.mark.parametrize(
    ("name", "slope", "expected"),
    [
        ("hinge", -0.25, -0.25),
        ("hinge", 0.25, np.inf),
        ("hinge", -1.25, np.inf),
        ("squared_hinge", -2.0, 0.0),
        ("squared_hinge", -0.5, -0.375),
        ("squared_hinge", 0.5, np.inf),
        ("squared", 2.0, 4.0),
        ("squared", -0.5, -0.375),
        ("logistic", -0.25, 0.25 * np.log(0.25) + 0.75 * np.log(0.75)),
        ("logistic", 0.0, 0.0),
        ("logistic", -1.0, 0.0),
        ("logistic", 0.1, np.inf),
    ],
)
def test_conjugate_of_a_margin(name, slope, expected):
    dual, y = np.array([[slope], [-slope]]), np.array([1, 0])
    np.testing.assert_allclose(LOSSES[name]().conjugate(dual, y), [expected] * 2, **CLOSE)


# Label 0, dual = (-3/4, 1/2, 1/4): q = dual + e_0 = (1/4, 1/2, 1/4) is on the simplex.
#   Crammer-Singer: -(1 - 1/4) = -3/4.
#   Softmax: (1/4) log(1/4) * 2 + (1/2) log(1/2) = -log 2 - (1/2) log 2 = -(3/2) log 2.
# dual = 0 is the corner q = e_0: 0 for both. (-3/4, 1/2, 1/2) sums to 1/4; (1/2, -1/4, -1/4) has
# negative q.
@pytest.mark.parametrize(
    ("name", "dual", "expected"),
    [
        ("crammer_singer", [-0.75, 0.5, 0.25], -0.75),
        ("crammer_singer", [0.0, 0.0, 0.0], 0.0),
        ("crammer_singer", [-0.75, 0.5, 0.5], np.inf),
        ("crammer_singer", [0.5, -0.25, -0.25], np.inf),
        ("softmax", [-0.75, 0.5, 0.25], -1.5 * LOG2),
        ("softmax", [0.0, 0.0, 0.0], 0.0),
        ("softmax", [-0.75, 0.5, 0.5], np.inf),
        ("softmax", [0.5, -0.25, -0.25], np.inf),
    ],
)
def test_conjugate_on_the_simplex(name, dual, expected):
    conjugate = LOSSES[name]().conjugate(np.array([dual]), np.array([0]))
    np.testing.assert_allclose(conjugate, [expected], **CLOSE)


def test_project_dual_on_the_simplex():
    # q = (1 + 0, 1, 0) is nearest to (1/2, 1/2, 0); minus e_0.
    for name in ("crammer_singer", "softmax"):
        dual = LOSSES[name]().project_dual(np.array([[0.0, 1.0, 0.0]]), np.array([0]))
        np.testing.assert_allclose(dual, [[-0.5, 0.5, 0.0]], **CLOSE)


def test_gradients():
    y, scores = np.array([1]), np.array([[0.0]])
    slopes = {"hinge": -1.0, "squared_hinge": -1.0, "squared": -1.0, "logistic": -0.5}
    for name, slope in slopes.items():
        np.testing.assert_allclose(LOSSES[name]().gradient(scores, y), [[slope]], **CLOSE)
    # Scores (0, 1, -2), label 0: class 1 is the largest rival.
    scores, y = np.array([[0.0, 1.0, -2.0]]), np.array([0])
    assert LOSSES["crammer_singer"]().gradient(scores, y).tolist() == [[-1.0, 1.0, 0.0]]
    # p = (1, 2, 3) / 6, minus e_0.
    gradient = LOSSES["softmax"]().gradient(np.array([[0.0, LOG2, LOG3]]), y)
    np.testing.assert_allclose(gradient, [[-5 / 6, 1 / 3, 1 / 2]], **CLOSE)


def test_probabilities():
    # Sigmoid of log 3 is 3/4; of 0 and log 3: 1/2 and 3/4, which sum to 5/4.
    logistic = LOSSES["logistic"]()
    np.testing.assert_allclose(logistic.predict_proba(np.array([[LOG3]])), [[0.25, 0.75]], **CLOSE)
    p = logistic.predict_proba(np.array([[0.0, LOG3], [-800.0, -800.0 + LOG3]]))
    # In the second row both sigmoids underflow; they are to each other as 1 to 3.
    np.testing.assert_allclose(p, [[0.4, 0.6], [0.25, 0.75]], rtol=1e-12)
    p = LOSSES["softmax"]().predict_proba(np.array([[0.0, LOG2, LOG3]]))
    np.testing.assert_allclose(p, [[1 / 6, 1 / 3, 1 / 2]], **CLOSE)


def test_wright_omega():
    # omega + log omega = x at omega = 1, e, 1/e, 1e8.
    omega = np.array([1.0, np.e, np.exp(-1.0), 1e8])
    np.testing.assert_allclose(wright_omega(omega + np.log(omega)), omega, rtol=4e-15)
    # Far left it is exp(x), also where that underflows.
    assert wright_omega(np.array([-1e8, -100.0])).tolist() == [0.0, np.exp(-100.0)]


def test_a_huge_step_keeps_the_digits_of_a_small_loss():
    # tau = 1e8, V = 0: u = tau / (1 + e^u) to all digits, a loss of 1.5e-7 and a cost of 133.
    u = logistic_prox(np.array([0.0]), 1e8)
    np.testing.assert_allclose(u * (1.0 + np.exp(u)), 1e8, rtol=1e-13)
    # Two classes of softmax are the logistic loss of the margin with twice the step.
    half = LOSSES["softmax"]().prox(np.array([[0.0, 0.0]]), 1e8, np.array([0]))
    margin = logistic_prox(np.array([0.0]), 2e8)
    np.testing.assert_allclose(half, [[0.5 * margin[0], -0.5 * margin[0]]], rtol=1e-14)


def test_a_large_cost_of_one_label_does_not_blur_the_others():
    # Own column right by 1e9: label 0 costs phi(-s) of the others, 1/2 each, not (1e18 + 1) - 1e18.
    scores = np.array([[1e9, 0.0, 0.0]])
    np.testing.assert_allclose(LOSSES["squared_hinge"]().table(scores)[0, 0], 1.0, rtol=1e-15)


# Jacobian of the prox, for the points of the tests above.
#   hinge, tau = 1/2: 0 moves by tau, 0.75 is held at the kink, 1.2 stays: 1, 0, 1.
#   squared_hinge and squared: 1 / (1 + tau) where the quadratic acts.
#   logistic: u - tau sigma(-u) = v gives u' = 1 / (1 + tau p (1 - p)) with p = sigma(u). At u = 0
#     and tau = 2 that is 1 / (1 + 2/4) = 2/3; at u = +-log 3 and tau = 4, p (1 - p) = 3/16 and
#     1 / (1 + 3/4) = 4/7.
@pytest.mark.parametrize(
    ("name", "tau", "v", "slope"),
    [
        ("hinge", 0.5, 0.0, 1.0),
        ("hinge", 0.5, 0.75, 0.0),
        ("hinge", 0.5, 1.2, 1.0),
        ("squared_hinge", 1.0, 0.0, 0.5),
        ("squared_hinge", 1.0, 3.0, 1.0),
        ("squared", 3.0, 5.0, 0.25),
        ("logistic", 2.0, -1.0, 2 / 3),
        ("logistic", 4.0, LOG3 - 1.0, 4 / 7),
        ("logistic", 4.0, -LOG3 - 3.0, 4 / 7),
    ],
)
def test_prox_jacobian_of_a_margin(name, tau, v, slope):
    J = LOSSES[name]().prox_jacobian(np.array([[v], [-v]]), tau, np.array([1, 0]))
    np.testing.assert_allclose(J, [[slope], [slope]], **CLOSE)


# Crammer-Singer, label 0:
#   V = (0, 0), tau = 1/4: both move by tau whatever V is nearby: the identity.
#   V = (0, 0), tau = 1: both end at their mean plus or minus 1/2.
#   V = (0, 0, 0), tau = 1/2: the own score moves by tau, the rivals to their mean.
#   V = (0, 0, 0), tau = 5: all three go to the mean of V_0, V_1 + 1, V_2 + 1.
#   V = (3, 1, 0): nothing moves.
# Softmax: (I + tau (diag p - p p'))^-1.
#   p = (1/2, 1/2), tau = 2: [[3/2, -1/2], [-1/2, 3/2]]^-1 = [[3/4, 1/4], [1/4, 3/4]].
#   p = (1/6, 1/3, 1/2), tau = 6: ([[11, -2, -3], [-2, 14, -6], [-3, -6, 15]] / 6)^-1, which is
#     [[29, 8, 9], [8, 26, 12], [9, 12, 25]] / 46: 11 * 29 - 2 * 8 - 3 * 9 = 276 = 6 * 46, ...
@pytest.mark.parametrize(
    ("name", "tau", "v", "expected"),
    [
        ("crammer_singer", 0.25, [0.0, 0.0], [[1, 0], [0, 1]]),
        ("crammer_singer", 1.0, [0.0, 0.0], [[0.5, 0.5], [0.5, 0.5]]),
        ("crammer_singer", 0.5, [0.0, 0.0, 0.0], [[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]]),
        ("crammer_singer", 5.0, [0.0, 0.0, 0.0], np.full((3, 3), 1 / 3)),
        ("crammer_singer", 1.0, [3.0, 1.0, 0.0], np.eye(3)),
        ("softmax", 2.0, [-1.0, 1.0], [[0.75, 0.25], [0.25, 0.75]]),
        (
            "softmax",
            6.0,
            [-5.0, LOG2 + 2.0, LOG3 + 3.0],
            np.array([[29, 8, 9], [8, 26, 12], [9, 12, 25]]) / 46,
        ),
    ],
)
def test_prox_jacobian_of_coupled_scores(name, tau, v, expected):
    J = LOSSES[name]().prox_jacobian(np.array([v]), tau, np.array([0]))
    np.testing.assert_allclose(J[0], expected, rtol=1e-14, atol=1e-14)
