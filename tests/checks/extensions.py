"""Convex extensions: random instances, a conic programme for their values, and what must hold.

The programme is (20) of 001 as it stands, in theta0 and theta1, and knows no closed form.
"""

from __future__ import annotations

import itertools

import clarabel
import numpy as np
import scipy.sparse as sp

from tacit.convex import extension

__all__ = [
    "CASES",
    "CHECKS",
    "case_name",
    "conic_value",
    "instance",
    "slope_violation",
    "value_error",
]

# What is asked for; the solver itself is good to about 1e-9.
VALUE_TOLERANCE = 1e-7
# Rounding in sums of some ten numbers of size 100.
SLOPE_SLACK = 1e-10
BOXES = {
    "none": None,
    "box": (-2.0, 1.5),
    "below": (-1.5, np.inf),
    "above": (-np.inf, 1.5),
    "mixed": "mixed",  # each coordinate bounded, half bounded or free
}

CASES = [
    (loss, regularizer, box)
    for loss in ("hinge", "squared_hinge", "logistic")
    for regularizer, boxes in (("l2", ["none"]), ("l1", list(BOXES)), ("outside", ["box"]))
    for box in boxes
]


def case_name(case):
    return "-".join(case)


def instance(case, rng):
    """An extension with theta, y, x: kinks, zeros, bounds and weights of all sizes among them."""
    loss, regularizer, box = case
    d = int(rng.integers(1, 7))
    bounds = BOXES[box]
    if box == "mixed":
        bounds = (
            np.where(rng.random(d) < 0.5, -rng.uniform(0, 2, d), -np.inf),
            np.where(rng.random(d) < 0.5, rng.uniform(0, 2, d), np.inf),
        )
    weights = (1.0, 1.0) if rng.random() < 0.3 else tuple(rng.uniform(0.2, 3.0, 2))
    ext = extension(loss, regularizer, 10.0 ** rng.uniform(-1.5, 1.5), weights, bounds)
    theta = rng.normal(size=d) * (rng.random(d) < 0.8) * 10.0 ** rng.uniform(-1, 0.5)
    theta = np.clip(theta, *ext.box)
    for bound in ext.box:
        at = (rng.random(d) < 0.15) & np.isfinite(bound)
        theta = np.where(at, bound, theta)
    x = rng.normal(size=d) * (rng.random(d) < 0.9)
    if rng.random() < 0.15:
        x = np.round(x)  # equal prices
    p = x @ theta
    if abs(p) > 0.1 and rng.random() < 0.15:
        x = x / p * rng.choice([-1, 1])  # on a kink
    return ext, theta, float(rng.uniform(0.02, 0.98)), x


def loss_at(ext, label, score):
    """C l_y(score), written out."""
    margin = score if label else -score
    phi = {
        "hinge": lambda m: max(0.0, 1.0 - m),
        "squared_hinge": lambda m: 0.5 * max(0.0, 1.0 - m) ** 2,
        "logistic": lambda m: float(np.logaddexp(0.0, -m)),
    }[ext.pair.name]
    return ext.C * ext.class_weights[label] * phi(margin)


def conic_value(ext, theta, y, x):
    """min (1 - y) d0(theta0) + y d1(theta1) by Clarabel."""
    d = len(theta)
    share, blocks = np.array([1.0 - y, y]), [np.arange(d), np.arange(d, 2 * d)]
    P, cost = [], []
    zero, plus, cones = [], [], []  # rows: (coefficients by column, right-hand side)
    n = itertools.count(2 * d)
    for block_0, block_1, t in zip(*blocks, theta, strict=True):
        zero.append(({block_0: share[0], block_1: share[1]}, t))
    for label in (0, 1):
        block, sign = blocks[label], 2 * label - 1
        for i, column in enumerate(block):
            for bound, s in zip(ext.box, (-1.0, 1.0), strict=True):
                b = np.broadcast_to(bound, d)[i]
                if np.isfinite(b):
                    plus.append(({column: s}, s * b))
            if ext.regularizer == "l2":
                P.append((column, share[label]))
            if ext.regularizer == "l1":
                size = next(n)
                cost.append((size, share[label]))
                plus += [({column: 1.0, size: -1.0}, 0.0), ({column: -1.0, size: -1.0}, 0.0)]
        weight = share[label] * ext.C * ext.class_weights[label]
        margin = {c: sign * v for c, v in zip(block, x, strict=True)}
        gap = next(n)
        if ext.pair.name == "logistic":
            first, second = next(n), next(n)
            cost.append((gap, weight))
            cones.append([(margin | {gap: 1.0}, 0.0), ({}, 1.0), ({first: -1.0}, 0.0)])
            cones.append([({gap: 1.0}, 0.0), ({}, 1.0), ({second: -1.0}, 0.0)])
            plus.append(({first: 1.0, second: 1.0}, 1.0))
        else:
            plus += [({gap: -1.0}, 0.0), ({c: -v for c, v in margin.items()} | {gap: -1.0}, -1.0)]
            (cost if ext.pair.name == "hinge" else P).append((gap, weight))
    return _solve(next(n), P, cost, zero, plus, cones)


def _solve(n, P, cost, zero, plus, cones):
    rows = [*zero, *plus, *(row for cone in cones for row in cone)]
    A = sp.lil_matrix((len(rows), n))
    for r, (coefficients, _) in enumerate(rows):
        for column, value in coefficients.items():
            A[r, column] = value
    q, diagonal = np.zeros(n), np.zeros(n)
    for vector, entries in ((q, cost), (diagonal, P)):
        for column, value in entries:
            vector[column] += value
    kinds = [clarabel.ZeroConeT(len(zero)), clarabel.NonnegativeConeT(len(plus))]
    kinds += [clarabel.ExponentialConeT()] * len(cones)
    right = np.array([b for _, b in rows], dtype=float)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    # Full steps sometimes stall just before the last digits; shorter ones do not.
    for eps, fraction in itertools.product((1e-11, 1e-10, 1e-9), (0.99, 0.9)):
        settings.max_step_fraction = fraction
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = eps
        problem = (sp.diags(diagonal).tocsc(), q, sp.csc_matrix(A), right, kinds, settings)
        answer = clarabel.DefaultSolver(*problem).solve()
        if str(answer.status) == "Solved":
            return answer.obj_val
    raise AssertionError(f"the reference was not solved: {answer.status}")


def slope_violation(ext, theta, y, x, rng, n_points=40):
    """How far the tangent plane at (theta, y) rises above the extension at random points."""
    value, (v, w) = ext.value(theta, y, x), ext.subgradient(theta, y, x)
    spread = 10.0 ** rng.uniform(-2, 1, (n_points, 1))
    others = np.clip(theta + spread * rng.normal(size=(n_points, len(theta))), *ext.box)
    labels = rng.random(n_points)
    labels[::4] = np.round(labels[::4])
    labels[1::4] = y
    moved = labels != y
    rise = np.zeros(n_points)
    rise[moved] = w * (labels[moved] - y)
    return float(np.max(value + (others - theta) @ v + rise - ext.value(others, labels, x)))


def objective(ext, label, theta, x):
    """d(theta, label), written out."""
    norm = {"l2": lambda t: 0.5 * t @ t, "l1": lambda t: np.abs(t).sum(), "outside": lambda t: 0.0}
    return norm[ext.regularizer](theta) + loss_at(ext, label, x @ theta)


def value_error(ext, theta, y, x):
    """Difference to the conic programme, relative above 1."""
    reference = conic_value(ext, theta, y, x)
    return abs(ext.value(theta, y, x) - reference) / max(1.0, abs(reference))


def value(ext, theta, y, x, rng):
    assert value_error(ext, theta, y, x) <= VALUE_TOLERANCE


def slopes(ext, theta, y, x, rng):
    for label in (y, 0.0, 1.0):
        assert slope_violation(ext, theta, label, x, rng) <= SLOPE_SLACK


def slopes_near_a_face(ext, theta, y, x, rng):
    for label in (1e-9, 1.0 - 1e-9):
        slack = SLOPE_SLACK * (1.0 + abs(ext.subgradient(theta, label, x)[1]))
        assert slope_violation(ext, theta, label, x, rng) <= slack


def faces(ext, theta, y, x, rng):
    for label in (0, 1):
        expected = objective(ext, label, theta, x)
        assert abs(ext.value(theta, label, x) - expected) <= 1e-12 * max(1.0, expected)


def pair(ext, theta, y, x, rng):
    """The two ends lie in the box, average to theta, and attain the value."""
    ends = ext.minimisers(theta, y, x)
    for end in ends:
        assert ((ext.box[0] <= end) & (end <= ext.box[1])).all()
    scale = 1.0 + max(np.abs(end).max() for end in ends)
    assert np.abs((1 - y) * ends[0] + y * ends[1] - theta).max() <= 1e-13 * scale
    attained = (1 - y) * objective(ext, 0, ends[0], x) + y * objective(ext, 1, ends[1], x)
    assert abs(ext.value(theta, y, x) - attained) <= 1e-11 * max(1.0, attained)


def mirror(ext, theta, y, x, rng):
    """Exchanging the labels and turning x around changes nothing."""
    turned = extension(ext.pair.name, ext.regularizer, ext.C, ext.class_weights[::-1], None)
    turned.box = ext.box
    (v, w), value = ext.subgradient(theta, y, x), ext.value(theta, y, x)
    assert abs(turned.value(theta, 1.0 - y, -x) - value) <= 1e-12 * max(1.0, value)
    other_v, other_w = turned.subgradient(theta, 1.0 - y, -x)
    np.testing.assert_allclose(other_v, v, rtol=1e-9, atol=1e-9)
    assert abs(other_w + w) <= 1e-9 * (1.0 + abs(w))


CHECKS = {f.__name__: f for f in (value, slopes, slopes_near_a_face, faces, pair, mirror)}
