"""Convex extensions: values worked by hand, faces, degenerate rows, messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tacit
from tacit.convex import extension, tightest
from tacit.losses import CrammerSinger, Hinge

LOG3 = np.log(3.0)

# One parameter; theta, y, value, theta0, theta1.
BY_HAND = [
    # L2. Both kinks are reached: no loss is left, the norms are 1/2.
    ("hinge", "l2", 1.0, None, 0.0, 0.5, 0.5, -1.0, 1.0),
    # All slopes are on, z = 2: theta0 = -1/4; 1/32 and a quarter of 3/4.
    ("hinge", "l2", 0.25, None, 0.0, 0.5, 7 / 32, -0.25, 0.25),
    # y = 1/4: z = k1 = (1 - 0) / (3/4): theta1 = 1, theta0 = -1/3; 1/8 + 1/24 + 3/4 * 2/3.
    ("hinge", "l2", 1.0, None, 0.0, 0.25, 2 / 3, -1 / 3, 1.0),
    # z = (1 + 1) / (1 + 1/2 + 1/2) = 1: theta0 = -1/2; 1/8 + 1/8.
    ("squared_hinge", "l2", 1.0, None, 0.0, 0.5, 0.25, -0.5, 0.5),
    # Only l0 is active: z = 3 / (1 + 1/2) = 2, theta0 = 1, theta1 = 3; (1 + 9) / 4 + 4 / 4.
    ("squared_hinge", "l2", 1.0, None, 2.0, 0.5, 3.5, 1.0, 3.0),
    # z = 1/2 solves z = 2 sigma(-log 3): theta0 = -log 3.
    (
        "logistic",
        "l2",
        4 * LOG3,
        None,
        0.0,
        0.5,
        LOG3**2 / 2 + 4 * LOG3 * np.log(4 / 3),
        -LOG3,
        LOG3,
    ),
    # L1. a(0) = 2 is below the price 2 / C = 8, or above 1/2: then to both kinks.
    ("hinge", "l1", 0.25, None, 0.0, 0.5, 0.25, 0.0, 0.0),
    ("hinge", "l1", 4.0, None, 0.0, 0.5, 1.0, -1.0, 1.0),
    # Free as far as theta0 = 0, where a = 1 is not above the price 2.
    ("hinge", "l1", 1.0, None, 0.5, 0.5, 1.0, 0.0, 1.0),
    # The box stops the movement: 1/2 + 4 * 1/2.
    ("hinge", "l1", 4.0, (-0.5, 0.5), 0.0, 0.5, 2.5, -0.5, 0.5),
    # Half bounded: theta0 >= -1/2 leaves theta1 = 3/2: 3/4 + 4 * 3/4 * 1/2.
    ("hinge", "l1", 4.0, (-0.5, np.inf), 0.0, 0.25, 2.25, -0.5, 1.5),
    # theta1 <= 1/2 leaves theta0 = -1/6: 1/4 + 4 (3/4 * 5/6 + 1/4 * 1/2).
    ("hinge", "l1", 4.0, (-np.inf, 0.5), 0.0, 0.25, 3.25, -1 / 6, 0.5),
    # a(p0) = 2 (1 + p0) meets the price 2 / 4 at p0 = -3/4: 3/4 + 4 * (1/4)^2 / 2.
    ("squared_hinge", "l1", 4.0, None, 0.0, 0.5, 0.875, -0.75, 0.75),
    # a(p0) = 2 sigma(p0) meets the price 2 / 4 at p0 = -log 3.
    ("logistic", "l1", 4.0, None, 0.0, 0.5, LOG3 + 4 * np.log(4 / 3), -LOG3, LOG3),
    # Outside: as far as the box allows.
    ("hinge", "outside", 1.0, (-0.5, 0.5), 0.0, 0.5, 0.5, -0.5, 0.5),
    ("hinge", "outside", 1.0, None, 0.0, 0.5, 0.0, -1.0, 1.0),
]


@pytest.mark.parametrize("row", BY_HAND)
def test_values_by_hand(row):
    loss, regularizer, C, box, theta, y, value, theta0, theta1 = row
    ext = extension(loss, regularizer, C=C, box=box)
    assert ext.value([theta], y, [1.0]) == pytest.approx(value, rel=1e-13)
    ends = np.concatenate(ext.minimisers([theta], y, [1.0]))
    np.testing.assert_allclose(ends, [theta0, theta1], rtol=1e-12, atol=1e-13)


def test_class_weights_by_hand():
    # z = min(C1 = 2, k1 = 1) and k0 = 1: both kinks at z = 1; with C1 = 0 only z <= C0 = 1/4.
    assert extension("hinge", C=2.0, class_weights=(0.25, 2.0)).value([0.0], 0.5, [1.0]) == 0.5
    ext = extension("hinge", C=2.0, class_weights=(0.25, 0.0))
    # theta0 = -1/4, theta1 = 1/4: 1/32 and 2 * 1/2 * 1/4 * 3/4.
    assert ext.value([0.0], 0.5, [1.0]) == pytest.approx(1 / 32 + 3 / 16)


def test_subgradient_by_hand():
    # theta0 = -1/4, theta1 = 1/4, both slopes on: v = -1/4 + 1/4, w = 0 by symmetry.
    v, w = extension("hinge", C=0.25).subgradient([0.0], 0.5, [1.0])
    assert (v.tolist(), w) == ([0.0], 0.0)
    # At y = 1, theta = 2: no slope at theta1; theta0 = 2 - z with z = 1: v = 2, w = 2 - 1/2 - 2.
    v, w = extension("hinge", C=1.0).subgradient([2.0], 1.0, [1.0])
    assert v.tolist() == [2.0]
    assert w == pytest.approx(2.0 * (1.0 - 2.0) + 2.0 - (0.5 + 2.0))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_unbounded_l1_jumps_at_the_faces(loss):
    """The loss of theta = -1 at y = 1 falls to that of theta1 = 0, with an infinite slope."""
    ext = extension(loss, "l1")
    phi = {"hinge": (2, 1), "squared_hinge": (2, 0.5), "logistic": (np.log1p(np.e), np.log(2))}
    on, near = phi[loss]
    assert ext.value([-1.0], 1.0, [1.0]) == pytest.approx(1 + on)
    assert ext.value([-1.0], 1 - 1e-8, [1.0]) == pytest.approx(1 + near, abs=1e-6)
    assert ext.subgradient([-1.0], 1.0, [1.0])[1] == np.inf
    assert ext.subgradient([1.0], 0.0, [1.0])[1] == -np.inf
    boxed = extension(loss, "l1", box=(-3.0, 3.0))
    assert np.isfinite(boxed.subgradient([-1.0], 1.0, [1.0])[1])
    assert boxed.value([-1.0], 1 - 1e-8, [1.0]) == pytest.approx(1 + on, abs=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_outside_without_bounds_is_zero_between_the_labels(loss):
    ext = extension(loss, "outside", C=3.0, class_weights=(1.0, 2.0))
    values = ext.value([0.3, -0.2], [0.0, 0.2, 0.5, 1.0], [1.0, 2.0])
    p, phi = -0.1, tacit.losses.get_loss(loss).phi
    np.testing.assert_allclose(values[[0, 3]], [3 * phi(np.array(-p)), 6 * phi(np.array(p))])
    np.testing.assert_allclose(values[1:3], 0.0, atol=1e-14)
    v, w = ext.subgradient([0.3, -0.2], 0.5, [1.0, 2.0])
    assert (v.tolist(), w) == ([0.0, 0.0], 0.0)
    # A row of zeros has the same loss for every theta.
    zero = ext.value([0.3, -0.2], 0.25, [0.0, 0.0])
    assert zero == pytest.approx(3 * (0.75 + 0.25 * 2) * float(phi(np.array(0.0))))


def test_linear_part_alone_is_looser():
    ext = extension("logistic", "l2_linear")
    assert ext.value([0.0], 0.5, [1.0]) == pytest.approx(np.log(2) - 1 / 8)
    tight, rng = extension("logistic", "l2", C=3.0), np.random.default_rng(0)
    loose = extension("logistic", "l2_linear", C=3.0)
    theta, x, y = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)), rng.random(200)
    assert (loose.value(theta, y, x) <= tight.value(theta, y, x) + 1e-12).all()
    np.testing.assert_allclose(loose.value(theta, y > 0.5, x), tight.value(theta, y > 0.5, x))
    v, w = loose.subgradient(theta, y, x)
    step = rng.normal(size=(200, 3))
    rise = np.einsum("ij,ij->i", v, step) + w * (1 - 2 * y)
    assert (loose.value(theta + step, 1 - y, x) >= loose.value(theta, y, x) + rise - 1e-10).all()
    ends = loose.minimisers(theta, y, x)
    np.testing.assert_allclose((1 - y)[:, None] * ends[0] + y[:, None] * ends[1], theta, atol=1e-12)


FAMILIES = [
    ("l2", None),
    ("l2_linear", None),
    ("l1", None),
    ("l1", (-2.0, 1.0)),
    ("l1", (-2.0, np.inf)),
    ("outside", (-2.0, 1.0)),
]
EXTENSIONS = [
    extension(loss, regularizer, C=2.0, class_weights=weights, box=box)
    for loss in ("hinge", "squared_hinge", "logistic")
    for regularizer, box in FAMILIES
    for weights in ((1.0, 1.0), (0.3, 2.0))
    if regularizer != "l2_linear" or (loss == "logistic" and weights == (1.0, 1.0))
]
coordinates = st.lists(st.floats(-3, 3), min_size=3, max_size=3)
NEAR = 1e-12
labels = st.one_of(st.sampled_from([0.0, 1.0, NEAR]), st.floats(NEAR, 1 - NEAR))


@pytest.mark.parametrize("ext", EXTENSIONS, ids=str)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    ends=st.tuples(coordinates, coordinates), y=st.tuples(labels, labels), x=coordinates,
    share=st.floats(0, 1),
)  # fmt: skip
def test_convex_along_segments(ext, ends, y, x, share):
    theta, y = np.clip(ends, *ext.box), np.array(y)
    weights = np.array([1.0 - share, share])
    middle = np.clip(weights @ theta, *ext.box)
    values = ext.value(theta, y, x)
    label = float(np.clip(weights @ y, 0.0, 1.0))
    # The extension may jump at a face: a label rounded onto it is none between the two.
    assume(y[0] == y[1] or share in (0.0, 1.0) or min(label, 1.0 - label) >= 0.5 * NEAR)
    between = ext.value(middle, label, x)
    assert between <= weights @ values + 1e-9 * (1.0 + np.abs(values).max())


@pytest.mark.parametrize("ext", EXTENSIONS, ids=str)
def test_rows_do_not_see_each_other(ext):
    rng = np.random.default_rng(0)
    theta = np.clip(rng.normal(size=(40, 3)), *ext.box)
    x, y = rng.normal(size=(40, 3)), np.concatenate(([0.0, 1.0, 0.5], rng.random(37)))
    x[5] = 0.0
    together = (ext.value(theta, y, x), *ext.subgradient(theta, y, x), *ext.minimisers(theta, y, x))
    for i in (0, 1, 2, 5, 17):
        alone = (
            ext.value(theta[i], y[i], x[i]),
            *ext.subgradient(theta[i], y[i], x[i]),
            *ext.minimisers(theta[i], y[i], x[i]),
        )
        for whole, single in zip(together, alone, strict=True):
            np.testing.assert_array_equal(whole[i], single)
    np.testing.assert_array_equal(ext.value(theta[0], y, x), ext.value(theta[:1], y, x))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("regularizer", ["l2", "l1", "outside"])
def test_extreme_sizes(loss, regularizer):
    """Weights and scales of all sizes, labels a hair from 0 and 1: never NaN, never a warning."""
    rng = np.random.default_rng(0)
    near = [0.0, 1.0, 1e-300, 1e-20, 1e-9, 0.5, 1 - 1e-16, 1 - 1e-9]
    for _ in range(200):
        box = None
        if regularizer != "l2" and rng.random() < 0.6:
            box = (rng.choice([-np.inf, -1.0, 0.0]), rng.choice([np.inf, 0.0, 1e6]))
        weights = rng.choice([0.0, 1e-6, 1.0, 1e3], 2)
        ext = extension(loss, regularizer, rng.choice([0.0, 1e-12, 1.0, 1e8]), weights, box)
        theta = np.clip(rng.normal(size=(8, 2)) * rng.choice([0.0, 1e-9, 1.0, 1e5]), *ext.box)
        x = rng.normal(size=(8, 2)) * rng.choice([0.0, 1e-320, 1e-9, 1.0, 1e4], (8, 2))
        v, w = ext.subgradient(theta, near, x)
        assert (ext.value(theta, near, x) >= -1e-9).all()
        assert np.isfinite(v).all()
        assert not np.isnan(w).any()
        assert np.isfinite(w[3:]).all()
        assert not np.isnan(ext.minimisers(theta, near, x)).any()


def test_names():
    assert repr(tacit.convex.extension(Hinge(), "l1", 2, (1, 3))) == (
        "extension(loss='hinge', regularizer='l1', C=2, class_weights=(1, 3))"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("squared",), "loss='squared' has no convex extension here"),
        ((CrammerSinger(),), "loss='crammer_singer' has no convex extension here"),
        (("hinge", "l3"), "regularizer='l3' is not known; choose one of l1, l2"),
        (("hinge", "l2_linear"), "needs loss='logistic' and equal class weights"),
        (("hinge", "l2", -1.0), "C=-1.0 is not a weight"),
        (("hinge", "l2", 1.0, (1.0, np.inf)), "C1=inf is not a weight"),
        (("hinge", "l2", 1.0, (1.0,)), "class_weights has 1 entries"),
        (("hinge", "l2", 1.0, (1, 1), (0, 1)), "takes theta unbounded"),
        (("hinge", "l1", 1.0, (1, 1), (1, 0)), "is no box"),
    ],
)
def test_wrong_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        extension(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0], 1.5, [1.0]), "y holds 1.5"),
        (([0.0], np.nan, [1.0]), "y holds NaN"),
        (([0.0, 1.0], 0.5, [1.0, 2.0, 3.0]), "disagree in the number of rows or features"),
        ((np.zeros((2, 1)), [0.5] * 3, [1.0]), "disagree in the number of rows or features"),
        (([[[0.0]]], 0.5, [1.0]), r"expected \(d,\) or \(n, d\)"),
        (([2.0], 0.5, [1.0]), "theta of row 0 has 2 at feature 0, outside the box"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        extension("hinge", "l1", box=(-1.0, 1.0)).value(*arguments)


def test_box_of_another_width_is_refused():
    with pytest.raises(ValueError, match="box has 3 bounds; theta has 2 features"):
        extension("hinge", "l1", box=([-1.0] * 3, 1.0)).value([0.0, 0.0], 0.5, [1.0, 1.0])


def test_wrong_labelings_are_refused():
    with pytest.raises(ValueError, match="labelings must hold 0 and 1 only"):
        tightest("hinge", [[0], [2]], [0.0], [0.5], [[1.0]])
    with pytest.raises(ValueError, match="expected one of hinge"):
        tightest("softmax", [[0], [1]], [0.0], [0.5], [[1.0]])
    with pytest.raises(ValueError, match=r"labelings \(2, 1\), theta \(1,\)"):
        tightest("hinge", [[0], [1]], [0.0], [0.5], [[1.0, 2.0]])
