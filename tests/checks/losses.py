"""What every loss must satisfy; each check raises AssertionError for a loss that does not.

A check takes a loss, a number of classes and a `Kind` (array library and dtype), and runs over
`TAUS` itself. Tolerances are multiples of the dtype's rounding at the size of the row: a prox of a
row of size 1e8 is not known better than 1e8 eps, and a kink that is missed by one rounding costs
tau times that.
"""

from __future__ import annotations

from dataclasses import dataclass

import array_api_compat
import numpy as np

from checks.loss_minima import DEFINITIONS, REFERENCES
from tacit.backends import to_numpy
from tacit.losses import MarginLoss

TAUS = (1e-8, 0.1, 1.0, 7.0, 1e8)


@dataclass(frozen=True)
class Kind:
    """An array library with a dtype."""

    library: str
    dtype: str

    @property
    def eps(self):
        return float(np.finfo(self.dtype).eps)

    def scores(self, values):
        array = np.ascontiguousarray(values, dtype=self.dtype)
        return array if self.library == "numpy" else _torch().from_numpy(array.copy())

    def labels(self, values, dtype="int32"):
        array = np.ascontiguousarray(values, dtype=dtype)
        return array if self.library == "numpy" else _torch().from_numpy(array.copy())


def _torch():
    import torch

    return torch


DOUBLE = Kind("numpy", "float64")
KINDS = (DOUBLE, Kind("numpy", "float32"), Kind("torch", "float64"), Kind("torch", "float32"))


# Samples -------------------------------------------------------------------------------------


def sample(loss, n_classes, tau, kind, n_random=12):
    """Scores around every kink, on a lattice (ties, margins of exactly 1), and scattered."""
    rng = np.random.default_rng(n_classes)
    offsets = np.array([0.0, 1e-3, tau / 2, tau, 2 * tau])
    points = np.concatenate(
        [k + s * offsets for k in {0.0, 1.0, -1.0, *loss.kinks} for s in (1, -1)]
    )
    n_columns = loss.n_columns(n_classes)
    around = rng.choice(points, size=(len(points), n_columns))
    around[:, 0] = points
    lattice = rng.integers(-2, 3, size=(3 * n_random, n_columns)) / 2.0
    scattered = 3.0 * rng.normal(size=(n_random, n_columns))
    V = np.concatenate([around, lattice, scattered])
    y = rng.integers(n_classes, size=len(V))
    # Rounded first: float32 and float64 then see the same numbers.
    return V.astype(kind.dtype).astype(np.float64), y


def size_of(*arrays):
    """Largest entry of each row, at least 1."""
    return np.maximum(1.0, np.max([np.max(np.abs(a), axis=1) for a in arrays], axis=0))


def slack(loss, tau, size, eps):
    """Rounding of tau * loss + |u - V|^2 / 2 for a row of this size."""
    kink = 0.0 if loss.smooth else 8.0 * tau * eps * size
    return 200.0 * eps * size**2 + kink + 8.0 * tau * (eps * size) ** 2


def assert_within(actual, expected, tolerance, what):
    actual, expected = to_numpy(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, not {expected.shape}"
    excess = np.abs(actual.astype(np.float64) - expected) - tolerance
    # NaN must not pass.
    assert np.all(excess <= 0.0), f"{what}: off by {np.nanmax(excess):.3g} more than allowed"


def objective(loss, u, V, tau, y):
    """tau * loss + |u - V|^2 / 2 in float64 numpy, (N,)."""
    return tau * loss.value(u, y) + 0.5 * np.sum((u - V) ** 2, axis=1)


# The prox ------------------------------------------------------------------------------------


def prox_minimises(loss, n_classes, kind):
    """The prox is as good as what an independent minimiser finds."""
    for tau in TAUS:
        V, y = sample(loss, n_classes, tau, kind)
        u = to_numpy(loss.prox(kind.scores(V), tau, kind.labels(y))).astype(np.float64)
        if isinstance(loss, MarginLoss):
            _margin_prox_minimises(loss, u, V, tau, y, kind.eps)
        else:
            rows = np.linspace(0, len(V) - 1, 10).astype(int)
            best = np.array([REFERENCES[loss.name](V[i], tau, y[i]) for i in rows])
            own = DEFINITIONS[loss.name]
            cost = [tau * own(u[i], y[i]) + 0.5 * np.sum((u[i] - V[i]) ** 2) for i in rows]
            # The definitions subtract scores, which costs tau roundings even where loss is smooth.
            size = size_of(V, u)[rows]
            allowed = slack(loss, tau, size, kind.eps) + 1e-12 * np.abs(best)
            allowed = allowed + 8.0 * tau * kind.eps * size
            # Both ways: a minimiser that stops early would make the check vacuous.
            missed = 1e-6 * (1.0 + np.abs(best)) + 8 * allowed
            assert np.all(cost <= best + allowed), f"tau={tau}: the prox is not the minimum"
            assert np.all(cost >= best - missed), f"tau={tau}: the reference is not the minimum"


def _margin_prox_minimises(loss, u, V, tau, y, eps):
    """Golden-section search on each column, with the loss of two classes as the scalar loss."""
    label = (y[:, None] == np.arange(V.shape[1])) if V.shape[1] > 1 else (y[:, None] == 1)
    v, label, u = V.reshape(-1, 1), label.astype(int).reshape(-1), u.reshape(-1, 1)
    reach = 2.0 * tau * np.abs(loss.gradient(v, label)) + 1.0
    low, high = v - reach, v + reach
    ratio = (np.sqrt(5.0) - 1.0) / 2.0
    for _ in range(90):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        f_left = objective(loss, left, v, tau, label)[:, None]
        f_right = objective(loss, right, v, tau, label)[:, None]
        low, high = np.where(f_left > f_right, left, low), np.where(f_left > f_right, high, right)
    best = objective(loss, 0.5 * (low + high), v, tau, label)
    allowed = slack(loss, tau, size_of(v, u), eps) + 4.0 * eps * best
    cost = objective(loss, u, v, tau, label)
    assert np.all(cost <= best + allowed), f"tau={tau}: the prox is not the minimum"


def prox_is_nonexpansive(loss, n_classes, kind):
    for tau in TAUS:
        V, y = sample(loss, n_classes, tau, kind)
        other = np.roll(V, 1, axis=0).copy()
        moved = loss.prox(kind.scores(V), tau, kind.labels(y))
        moved = to_numpy(moved - loss.prox(kind.scores(other), tau, kind.labels(y)))
        before = np.linalg.norm(V - other, axis=1)
        after = np.linalg.norm(moved.astype(np.float64), axis=1)
        allowed = 30.0 * kind.eps * size_of(V, other)
        assert np.all(after <= before + allowed), f"tau={tau}: two points move apart"


def prox_of_step_zero(loss, n_classes, kind):
    """tau = 0 changes nothing, alone or in some of the rows."""
    V, y = sample(loss, n_classes, 1.0, kind)
    allowed = 4.0 * kind.eps * size_of(V)[:, None]
    scores, labels = kind.scores(V), kind.labels(y)
    assert_within(loss.prox(scores, 0.0, labels), V, allowed, "prox at tau=0")
    assert_within(loss.envelope(scores, 0.0), np.zeros((len(V), n_classes)), allowed**2, "envelope")
    tau = np.where(np.arange(len(V)) % 2, 3.0, 0.0)
    u = to_numpy(loss.prox(scores, kind.scores(tau), labels))
    assert_within(u[::2], V[::2], allowed[::2], "prox in rows with tau=0")
    full = to_numpy(loss.prox(scores, 3.0, labels)).astype(np.float64)
    assert_within(u[1::2], full[1::2], 10.0 * allowed[1::2], "prox in the other rows")


def steps_per_row(loss, n_classes, kind):
    """A step per row gives what calls row by row give."""
    V, y = sample(loss, n_classes, 1.0, kind, n_random=4)
    tau = np.resize(TAUS, len(V)).astype(kind.dtype).astype(np.float64)
    scores, labels, steps = kind.scores(V), kind.labels(y), kind.scores(tau)
    u, envelope = to_numpy(loss.prox(scores, steps, labels)), to_numpy(loss.envelope(scores, steps))
    one = [slice(i, i + 1) for i in range(len(V))]
    alone = [loss.prox(scores[i], float(t), labels[i]) for i, t in zip(one, tau, strict=True)]
    alone = np.concatenate([to_numpy(a) for a in alone]).astype(np.float64)
    size = size_of(V, alone)[:, None]
    assert_within(u, alone, 30.0 * kind.eps * size, "prox")
    alone = [to_numpy(loss.envelope(scores[i], float(t))) for i, t in zip(one, tau, strict=True)]
    alone = np.concatenate(alone).astype(np.float64)
    assert_within(envelope, alone, 30.0 * kind.eps * (size**2 + np.abs(alone)), "envelope")


def prox_jacobian_is_slope(loss, n_classes, kind):
    """Central differences of the prox away from kinks; symmetric, within [0, 1], I at tau = 0."""
    h = 1e-6
    for tau in (0.1, 1.0, 7.0):
        V, y = sample(loss, n_classes, tau, kind)
        J = _jacobian(loss, V, tau, y, kind)
        rounding = 60.0 * kind.eps * size_of(V)[:, None, None] * (1.0 + tau)
        assert_within(J, J.swapaxes(1, 2), rounding, f"tau={tau}: symmetry")
        spectrum = np.linalg.eigvalsh(0.5 * (J + J.swapaxes(1, 2)))
        assert_within(spectrum, np.clip(spectrum, 0.0, 1.0), rounding[:, 0], f"tau={tau}: spectrum")
        difference, smooth = np.empty_like(J), np.empty(V.shape, dtype=bool)
        for j, unit in enumerate(np.eye(V.shape[1])):
            up, here, down = (loss.prox(V + s * h * unit, tau, y) for s in (1, 0, -1))
            difference[:, :, j] = (up - down) / (2 * h)
            smooth[:, j] = np.max(np.abs(up - 2 * here + down), axis=1) < 1e-3 * h
        if not isinstance(loss, MarginLoss):
            smooth[:] = np.all(smooth, axis=1, keepdims=True)
        assert np.mean(smooth) > 0.25, "too few points away from kinks"
        # Rounding of the prox over h, and h times the second derivative.
        allowed = rounding[:, 0] + 1e-8 * size_of(V)[:, None] + h
        for j, known in enumerate(smooth.T):
            got, expected = J[known, :, j], difference[known, :, j]
            assert_within(got, expected, allowed[known], f"tau={tau}: Jacobian")
    steps = np.where(np.arange(len(V)) % 2, 7.0, 0.0)
    mixed = _jacobian(loss, V, kind.scores(steps), y, kind)
    unit = np.broadcast_to(np.eye(V.shape[1]), mixed[::2].shape)
    assert_within(mixed[::2], unit, 8.0 * kind.eps, "Jacobian in rows with tau=0")
    assert_within(mixed[1::2], J[1::2], rounding[1::2], "Jacobian in the other rows")


def _jacobian(loss, V, tau, y, kind):
    """Full Jacobians in float64, (N, P, P)."""
    J = to_numpy(loss.prox_jacobian(kind.scores(V), tau, kind.labels(y))).astype(np.float64)
    if isinstance(loss, MarginLoss):
        assert J.shape == V.shape, "a margin loss gives the diagonal"
        return J[:, :, None] * np.eye(V.shape[1])
    assert J.shape == (*V.shape, V.shape[1])
    return J


# Envelope and table --------------------------------------------------------------------------


def envelope_is_cost_of_prox(loss, n_classes, kind):
    for tau in TAUS:
        V, _ = sample(loss, n_classes, tau, kind)
        envelope = to_numpy(loss.envelope(kind.scores(V), tau))
        assert envelope.shape == (len(V), n_classes)
        for c in range(n_classes):
            labels = np.full(len(V), c)
            u = loss.prox(kind.scores(V), tau, kind.labels(labels))
            u = to_numpy(u).astype(np.float64)
            cost = objective(loss, u, V, tau, labels)
            allowed = slack(loss, tau, size_of(V, u), kind.eps) + 50.0 * kind.eps * cost
            assert_within(envelope[:, c], cost, allowed, f"tau={tau}, label {c}: envelope")


def table_is_value_of_each_label(loss, n_classes, kind):
    for scale in (1.0, 1e3):
        V, _ = sample(loss, n_classes, 1.0, kind)
        scores = kind.scores(scale * V)
        table = loss.table(scores)
        assert tuple(table.shape) == (len(V), n_classes)
        for c in range(n_classes):
            labels = np.full(len(V), c)
            value = to_numpy(loss.value(scores, kind.labels(labels))).astype(np.float64)
            assert value.shape == (len(V),)
            assert_within(table[:, c], value, 30.0 * kind.eps * np.abs(value), f"label {c}: table")
            if loss.name in DEFINITIONS:
                defined = [DEFINITIONS[loss.name](s, c) for s in scale * V]
                allowed = 30.0 * kind.eps * size_of(scale * V)
                assert_within(value, defined, allowed, f"label {c}: definition")


# Conjugate -----------------------------------------------------------------------------------


def moreau_identity(loss, n_classes, kind, scale=1.0):
    """d = (V - u) / tau is a slope at u, by the conjugate's own formula: the gap is zero."""
    for tau in TAUS:
        V, y = sample(loss, n_classes, tau, kind)
        V = (scale * V).astype(kind.dtype).astype(np.float64)
        u = to_numpy(loss.prox(kind.scores(V), tau, kind.labels(y))).astype(np.float64)
        assert np.all(np.isfinite(u)), f"tau={tau}: the prox is not finite"
        raw = (V - u) / tau
        d = loss.project_dual(raw, y)
        size = size_of(V, u)
        # A kink in u that is missed by a rounding moves the slope by rounding over tau.
        assert_within(raw, d, 100.0 * kind.eps * (1.0 + size[:, None] / tau), f"tau={tau}: slope")
        gap = tau * (loss.value(u, y) + loss.conjugate(d, y) - np.sum(d * u, axis=1))
        terms = tau * np.abs(loss.value(u, y)) + np.sum(np.abs(V - u) * np.abs(u), axis=1)
        allowed = 5.0 * slack(loss, tau, size, kind.eps) + 50.0 * kind.eps * terms
        # `project_dual` rounds slopes at eps, where q log q has a slope of log eps.
        allowed = allowed + 40.0 * tau * np.finfo(float).eps
        assert_within(gap, np.zeros(len(V)), allowed, f"tau={tau}: gap")


def large_arguments(loss, n_classes, kind):
    """Scores of size 1e6, and beyond where the sample follows tau."""
    moreau_identity(loss, n_classes, kind, scale=1e6)
    envelope = to_numpy(
        loss.envelope(kind.scores(1e6 * sample(loss, n_classes, 1.0, kind)[0]), 1.0)
    )
    assert np.all(np.isfinite(envelope))
    assert np.all(envelope >= 0.0), "these losses are not negative, so neither is the envelope"


def fenchel_young(loss, n_classes, kind):
    """<d, u> <= loss(u) + conjugate(d), with equality where d is the gradient at u."""
    V, y = sample(loss, n_classes, 1.0, kind)
    rng = np.random.default_rng(0)
    scores, labels = kind.scores(V), kind.labels(y)
    value = to_numpy(loss.value(scores, labels)).astype(np.float64)
    for spread in (0.1, 1.0, 5.0):
        d = loss.project_dual(kind.scores(spread * rng.normal(size=V.shape)), labels)
        conjugate = to_numpy(loss.conjugate(d, labels)).astype(np.float64)
        d = to_numpy(d).astype(np.float64)
        inner = np.sum(d * V, axis=1)
        allowed = 50.0 * kind.eps * (size_of(V, d) ** 2 * V.shape[1])
        assert np.all(value + conjugate >= inner - allowed), "Fenchel-Young inequality"
    d = loss.gradient(scores, labels)
    conjugate = to_numpy(loss.conjugate(d, labels)).astype(np.float64)
    d = to_numpy(d).astype(np.float64)
    allowed = 50.0 * kind.eps * (size_of(V, d) ** 2 * V.shape[1])
    assert_within(value + conjugate, np.sum(d * V, axis=1), allowed, "Fenchel-Young equality")


def dual_projection(loss, n_classes, kind):
    """The projection lands in the conjugate's domain, moves nothing in it, and marks its border."""
    V, y = sample(loss, n_classes, 1.0, kind)
    labels = kind.labels(y)
    rng = np.random.default_rng(1)
    for spread in (1e-3, 1.0, 1e3, 1e6):
        raw = (spread * rng.normal(size=V.shape)).astype(kind.dtype).astype(np.float64)
        d = loss.project_dual(kind.scores(raw), labels)
        assert np.all(np.isfinite(to_numpy(loss.conjugate(d, labels)))), "projected, not feasible"
        inside = to_numpy(d).astype(np.float64)
        again = loss.project_dual(d, labels)
        allowed = 10.0 * kind.eps * size_of(inside)[:, None]
        assert_within(again, inside, allowed, "projecting twice")
        outside = np.max(np.abs(raw - inside), axis=1) > 1e-2
        conjugate = to_numpy(loss.conjugate(kind.scores(raw), labels))
        assert np.all(np.isinf(conjugate[outside])), "finite outside the domain"
    slope = loss.gradient(kind.scores(V), labels)
    at_slope = to_numpy(slope).astype(np.float64)
    allowed = 10.0 * kind.eps * size_of(at_slope)[:, None]
    assert_within(loss.project_dual(slope, labels), at_slope, allowed, "projection of a gradient")


# Gradient ------------------------------------------------------------------------------------


def gradient_is_slope(loss, n_classes, kind):
    """Central differences away from kinks; the subgradient inequality everywhere."""
    V, y = sample(loss, n_classes, 1.0, kind)
    scores, labels = kind.scores(V), kind.labels(y)
    g = to_numpy(loss.gradient(scores, labels)).astype(np.float64)
    h, differentiable = 1e-6, np.ones(len(V), dtype=bool)
    difference = np.empty_like(V)
    for j in range(V.shape[1]):
        step = h * np.eye(V.shape[1])[j]
        up, here, down = (loss.value(V + s * step, y) for s in (1, 0, -1))
        difference[:, j] = (up - down) / (2 * h)
        differentiable &= loss.smooth | (np.abs(up - 2 * here + down) < 1e-3 * h)
    assert np.mean(differentiable) > 0.25, "too few points away from kinks"
    # Differences are good to eps / h, and to h times the second derivative.
    allowed = 1e-8 * size_of(V)[:, None] ** 2 + 50.0 * kind.eps * size_of(V)[:, None]
    allowed = allowed + h
    assert_within(
        g[differentiable], difference[differentiable], allowed[differentiable], "gradient"
    )
    value = loss.value(V, y)
    for shift in range(1, len(V), 7):
        W = np.roll(V, shift, axis=0)
        bound = value + np.sum(g * (W - V), axis=1)
        rounding = 50.0 * kind.eps * size_of(V, W) ** 2 * V.shape[1]
        assert np.all(loss.value(W, y) >= bound - rounding), "subgradient inequality"


# Arrays --------------------------------------------------------------------------------------


def same_in_every_kind(loss, n_classes, kind):
    """Each method agrees with numpy in float64 to the rounding of its own dtype."""
    for tau in TAUS:
        V, y = sample(loss, n_classes, tau, kind)
        tau = float(np.asarray(tau, dtype=kind.dtype))
        u = loss.prox(V, tau, y)
        size = size_of(V, u)[:, None]
        scores, labels = kind.scores(V), kind.labels(y)
        prox = loss.prox(scores, tau, labels)
        assert_within(prox, u, 30.0 * kind.eps * size, f"tau={tau}: prox")
        cost = loss.envelope(V, tau)
        allowed = 60.0 * kind.eps * (np.abs(cost) + size**2)
        assert_within(loss.envelope(scores, tau), cost, allowed, f"tau={tau}: envelope")
        allowed = 30.0 * kind.eps * (size**2 + np.abs(loss.table(V)))
        assert_within(loss.table(scores), loss.table(V), allowed, f"tau={tau}: table")
    if loss.probabilistic:
        p = loss.predict_proba(scores)
        assert_within(p, loss.predict_proba(V), 60.0 * kind.eps * size, "probabilities")
        assert_within(p.sum(1), np.ones(len(V)), 30.0 * kind.eps, "sum of the probabilities")


def dtype_is_kept(loss, n_classes, kind):
    """The scores decide the dtype, not the step: a float64 scalar or array must not widen it."""
    V, y = sample(loss, n_classes, 1.0, kind)
    scores = kind.scores(V)
    wide = Kind(kind.library, "float64").scores(np.full(len(V), 0.5))
    for labels in (kind.labels(y), kind.labels(y, "int64")):
        results = {
            "value": loss.value(scores, labels),
            "table": loss.table(scores),
            "gradient": loss.gradient(scores, labels),
            "conjugate": loss.conjugate(scores, labels),
            "project_dual": loss.project_dual(scores, labels),
        }
        for tau in (1, 0.5, np.float64(0.5), wide):
            results[f"prox, tau={type(tau)}"] = loss.prox(scores, tau, labels)
            results[f"envelope, tau={type(tau)}"] = loss.envelope(scores, tau)
            results[f"prox_jacobian, tau={type(tau)}"] = loss.prox_jacobian(scores, tau, labels)
        if loss.probabilistic:
            results["predict_proba"] = loss.predict_proba(scores)
        for what, array in results.items():
            assert array.dtype == scores.dtype, f"{what} turned {scores.dtype} into {array.dtype}"
            same = array_api_compat.array_namespace(array) is array_api_compat.array_namespace(
                scores
            )
            assert same, f"{what} left the array library"


def rows_and_classes_may_be_permuted(loss, n_classes, kind):
    for tau in TAUS:
        V, y = sample(loss, n_classes, tau, kind)
        rng = np.random.default_rng(3)
        rows, classes = rng.permutation(len(V)), np.roll(np.arange(n_classes), 1)
        scores = kind.scores(V)
        u = to_numpy(loss.prox(scores, tau, kind.labels(y))).astype(np.float64)
        cost = to_numpy(loss.envelope(scores, tau)).astype(np.float64)
        size = size_of(V, u)[:, None]
        again = loss.prox(kind.scores(V[rows]), tau, kind.labels(y[rows]))
        assert_within(again, u[rows], 10.0 * kind.eps * size[rows], "rows permuted: prox")
        allowed = 30.0 * kind.eps * (np.abs(cost) + size**2)
        again = loss.envelope(kind.scores(V[rows]), tau)
        assert_within(again, cost[rows], allowed[rows], "rows permuted: envelope")
        if V.shape[1] == n_classes:
            again = loss.envelope(kind.scores(V[:, classes]), tau)
            assert_within(
                again, cost[:, classes], allowed[:, classes], "classes permuted: envelope"
            )


CHECKS = (
    prox_minimises,
    prox_is_nonexpansive,
    prox_of_step_zero,
    prox_jacobian_is_slope,
    steps_per_row,
    envelope_is_cost_of_prox,
    table_is_value_of_each_label,
    moreau_identity,
    large_arguments,
    fenchel_young,
    dual_projection,
    gradient_is_slope,
    same_in_every_kind,
    dtype_is_kept,
    rows_and_classes_may_be_permuted,
)
