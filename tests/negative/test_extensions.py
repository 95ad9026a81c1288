"""Wrong extensions, the paper's printed statements among them: each is rejected, by each check."""

from __future__ import annotations

import numpy as np
import pytest

from checks.extensions import CHECKS, instance, objective, value_error
from tacit.convex.base import Extension
from tacit.convex.boxed import Boxed
from tacit.convex.hinge import HingePair
from tacit.convex.l1 import L1
from tacit.convex.l2 import L2
from tacit.convex.squared_hinge import SquaredHingePair


class PrintedInfiniteSlopes(L1):
    """(23) and (24) as printed: +inf at y = 0, -inf at y = 1."""

    def _subgradient(self, rows):
        v, w = super()._subgradient(rows)
        return v, np.where(np.isinf(w), -w, w)


class AnyCandidate(SquaredHingePair):
    """(30) lists four candidates: the one in which both losses are active."""

    def step(self, p, m0, m1, c0, c1):
        z = (c0 * (1.0 + p) + c1 * (1.0 - p)) / (1.0 + c0 * m0 + c1 * m1)
        return z, c0 * np.maximum(1.0 + p - m0 * z, 0.0)


class SmallestCandidate(HingePair):
    """(28) lists six candidates: the smallest but 0."""

    def step(self, p, m0, m1, c0, c1):
        z, g0 = super().step(p, m0, m1, c0, c1)
        return np.minimum(z, np.minimum(c0, c1)), g0


class WeightsNotExchanged(Boxed):
    """A mirrored row keeps its class weights."""

    def _weights(self, rows):
        c0, c1 = super()._weights(rows)
        mirrored = rows.y < 0.5
        return np.where(mirrored, c1, c0), np.where(mirrored, c0, c1)


class UnevenL1(WeightsNotExchanged, L1):
    pass


class OneEnd(L2):
    """The pair is theta itself, twice."""

    def _minimisers(self, rows):
        return rows.theta, rows.theta.copy() + 0.01


class SlopeOfTheMiddle(L2):
    """The slope in y of the loss, at theta: no split."""

    def _subgradient(self, rows):
        l0, l1 = self.pair.values(rows.p, rows.p, *self._weights(rows))
        return super()._subgradient(rows)[0], self.C * (l1 - l0)


WRONG = {
    "printed infinite slopes": (lambda e: _as(PrintedInfiniteSlopes, e), ("hinge", "l1", "none")),
    "any candidate": (
        lambda e: _as(L2, e, AnyCandidate()),
        ("squared_hinge", "l2", "none"),
    ),
    "smallest candidate": (lambda e: _as(L2, e, SmallestCandidate()), ("hinge", "l2", "none")),
    "weights not exchanged": (lambda e: _as(UnevenL1, e), ("logistic", "l1", "box")),
    "one end": (lambda e: _as(OneEnd, e), ("hinge", "l2", "none")),
    "slope of the middle": (lambda e: _as(SlopeOfTheMiddle, e), ("logistic", "l2", "none")),
}


def _as(wrong: type[Extension], ext, pair=None):
    box = ext.box if wrong.boxed else None
    return wrong(pair or ext.pair, ext.C, ext.class_weights, box)


def rejecting(name):
    """Names of the checks that reject it on some of 30 instances."""
    make, case = WRONG[name]
    rng, found = np.random.default_rng(0), set()
    for _ in range(30):
        ext, theta, y, x = instance(case, rng)
        for check in CHECKS.values():
            try:
                check(make(ext), theta, y, x, rng)
            except AssertionError:
                found.add(check.__name__)
    return found


@pytest.fixture(scope="module")
def rejections():
    return {name: rejecting(name) for name in WRONG}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_extension_is_rejected(rejections, name):
    assert rejections[name]


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_rejects_something(rejections, check):
    assert [name for name, found in rejections.items() if check in found]


def test_printed_infinite_slopes_are_rejected_as_slopes(rejections):
    assert rejections["printed infinite slopes"] == {"slopes"}


def printed_algorithm_1(ext, theta, y, x):
    """(31)-(35) and Algorithm 1 as printed, for the hinge loss; the argmin read into (32)."""
    (c0, c1), C = ext.class_weights, ext.C
    b, t = (np.broadcast_to(bound, theta.shape) for bound in ext.box)

    def other(V):
        return (theta - (1 - y) * V) / y

    def low(V):
        return c0 * (x @ V > -1) + c1 * (x @ other(V) < 1)

    def enough(V):
        return low(V) * C * np.abs(x).max() <= 2

    lower = np.maximum(b, (theta - y * t) / (1 - y))
    upper = np.minimum(t, (theta - y * b) / (1 - y))
    V = np.clip(np.where((theta > 0) == (x > 0), 0.0, theta / (1 - y)), lower, upper)
    for i in np.argsort(-np.abs(x)):
        if enough(V):
            return V
        V = V.copy()
        V[i] = lower[i] if x[i] > 0 else upper[i]
        if enough(V):
            candidates = (
                (1 + x @ V) / x[i] ** 2,
                (y + x @ (theta - (1 - y) * V)) / ((1 - y) * x[i] ** 2),
            )
            tries = [V - z * x[i] * np.eye(len(x))[i] for z in candidates]
            inside = [W for W in tries if ((lower - 1e-12 <= W) & (upper + 1e-12 >= W)).all()]
            return min(inside, key=lambda W: split_value(ext, theta, y, x, W), default=V)
    return V


def split_value(ext, theta, y, x, V):
    end = (theta - (1 - y) * V) / y
    return (1 - y) * objective(ext, 0, V, x) + y * objective(ext, 1, end, x)


def test_algorithm_1_as_printed_fails():
    """Its tests compare with the largest |x_i|, not with that of the coordinate to move."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(150):
        ext, theta, y, x = instance(("hinge", "l1", "box"), rng)
        printed = split_value(ext, theta, y, x, printed_algorithm_1(ext, theta, y, x))
        ours = ext.value(theta, y, x)
        assert printed >= ours - 1e-9
        wrong += printed > ours + 1e-6
        assert value_error(ext, theta, y, x) <= 1e-7
    assert wrong >= 10
