"""Wrong losses: every conformance check must reject at least one, and each of them is rejected."""

import numpy as np
import pytest

from checks import losses as checks
from tacit.backends import array_namespace
from tacit.losses import CrammerSinger, Hinge, Logistic, Softmax, Squared, SquaredHinge


class LateThreshold(Hinge):
    """The prox compares with 1 + tau where it should compare with 1."""

    def phi_prox(self, v, tau):
        xp = array_namespace(v)
        return xp.where(v > 1.0 + tau, v, xp.clip(v + tau, max=1.0))


class IgnoresTau(SquaredHinge):
    """The prox is that of tau = 1."""

    def phi_prox(self, v, tau):
        return super().phi_prox(v, 1.0 + 0.0 * tau)


class FirstTauForAll(Squared):
    """The first row's step is used in every row."""

    def phi_prox(self, v, tau):
        return super().phi_prox(v, tau[:1] if tau.ndim else tau)


class Overshoots(Squared):
    """The prox reflects: right at tau = 0, expansive for a large tau."""

    def phi_prox(self, v, tau):
        return v + 3.0 * (super().phi_prox(v, tau) - v)


class StiffSlope(Squared):
    """The Jacobian of the prox is that of tau = 1."""

    def phi_prox_slope(self, v, tau):
        return super().phi_prox_slope(v, 1.0 + 0.0 * tau)


class OneSidedKink(Hinge):
    """The Jacobian misses that scores far below the kink move freely."""

    def phi_prox_slope(self, v, tau):
        xp = array_namespace(v)
        return xp.astype((v >= 1.0) | (tau == 0.0), v.dtype)


class UntiedScores(CrammerSinger):
    """The Jacobian forgets that tied scores move together."""

    def prox_jacobian(self, V, tau, y):
        J = super().prox_jacobian(V, tau, y)
        xp = array_namespace(J)
        return J * xp.eye(V.shape[1], dtype=J.dtype)


class ProbabilityBefore(Softmax):
    """The Jacobian is taken at V, not at the prox."""

    def prox_jacobian(self, V, tau, y):
        xp = array_namespace(V)
        p = self.predict_proba(V)[:, :, None]
        unit = xp.eye(V.shape[1], dtype=V.dtype)
        tau = tau if np.ndim(tau) == 0 else tau[:, None, None]
        return xp.linalg.inv(unit + tau * (p * unit - p * xp.matrix_transpose(p)))


class WrongConjugate(Logistic):
    """The conjugate has the sign of one entropy term wrong."""

    def phi_conjugate(self, s):
        return super().phi_conjugate(s) + 0.01 * s * (1.0 + s)


class WideDomain(Hinge):
    """The conjugate is finite on [-2, 0], and so is the projection."""

    def phi_conjugate(self, s):
        xp = array_namespace(s)
        return xp.where((s >= -2.0) & (s <= 0.0), s, xp.inf)

    def phi_project_dual(self, s):
        return array_namespace(s).clip(s, min=-2.0, max=0.0)


class EntropyEverywhere(Softmax):
    """The conjugate forgets that q sums to one."""

    def conjugate(self, dual, y):
        xp = array_namespace(dual)
        own = xp.stack([y == c for c in range(dual.shape[1])], axis=1)
        return self._conjugate_inside(dual, own)


class ProjectsOut(CrammerSinger):
    """The projected slope sums to a little more than zero."""

    def project_dual(self, dual, y):
        return super().project_dual(dual, y) + 1e-3


class WrongEnvelope(CrammerSinger):
    """The envelope is divided by tau."""

    def envelope(self, V, tau):
        return super().envelope(V, tau) / (tau if np.ndim(tau) == 0 else tau[:, None])


class EnvelopeOfZero(CrammerSinger):
    """The first label gets the second one's envelope."""

    def envelope(self, V, tau):
        cost = super().envelope(V, tau)
        xp = array_namespace(cost)
        return xp.concat((cost[:, 1:2], cost[:, 1:]), axis=1)


class WrongSign(Logistic):
    """The gradient points uphill in the margin."""

    def phi_slope(self, z):
        return -super().phi_slope(z)


class HalvedTable(Softmax):
    """The table is half the loss, and the value is not."""

    def value(self, scores, y):
        return 2.0 * super().value(scores, y)


class FirstRowCounts(Squared):
    """The prox of a row depends on the first row."""

    def phi_prox(self, v, tau):
        return super().phi_prox(v, tau) + 1e-3 * v[:1] * (1.0 - 1.0 / (1.0 + tau))


class AlwaysDouble(SquaredHinge):
    """The value is computed in float64 whatever the scores are."""

    def value(self, scores, y):
        xp = array_namespace(scores)
        return xp.astype(super().value(scores, y), xp.float64)


class LossOfDigits(Logistic):
    """log(1 + exp(-z)) as it is written."""

    def phi(self, z):
        xp = array_namespace(z)
        return xp.where(z < -50.0, -z, xp.log(1.0 + xp.exp(-xp.clip(z, min=-50.0))))


class Overflows(Softmax):
    """The prox fails for scores above the exponential's range."""

    def prox(self, V, tau, y):
        xp = array_namespace(V)
        u = super().prox(V, tau, y)
        return xp.where(xp.abs(V) > 700.0, xp.nan, u)


SINGLE = checks.Kind("numpy", "float32")
REJECTED = [
    (LateThreshold, checks.prox_minimises, checks.DOUBLE),
    (LateThreshold, checks.moreau_identity, checks.DOUBLE),
    (LateThreshold, checks.prox_is_nonexpansive, checks.DOUBLE),
    (IgnoresTau, checks.prox_minimises, checks.DOUBLE),
    (IgnoresTau, checks.moreau_identity, checks.DOUBLE),
    (IgnoresTau, checks.prox_of_step_zero, checks.DOUBLE),
    (FirstTauForAll, checks.steps_per_row, checks.DOUBLE),
    (Overshoots, checks.prox_minimises, checks.DOUBLE),
    (Overshoots, checks.prox_is_nonexpansive, checks.DOUBLE),
    (Overshoots, checks.large_arguments, checks.DOUBLE),
    (StiffSlope, checks.prox_jacobian_is_slope, checks.DOUBLE),
    (OneSidedKink, checks.prox_jacobian_is_slope, checks.DOUBLE),
    (UntiedScores, checks.prox_jacobian_is_slope, checks.DOUBLE),
    (ProbabilityBefore, checks.prox_jacobian_is_slope, checks.DOUBLE),
    (WrongConjugate, checks.moreau_identity, checks.DOUBLE),
    (WrongConjugate, checks.fenchel_young, checks.DOUBLE),
    (WideDomain, checks.fenchel_young, checks.DOUBLE),
    (EntropyEverywhere, checks.dual_projection, checks.DOUBLE),
    (ProjectsOut, checks.dual_projection, checks.DOUBLE),
    (ProjectsOut, checks.moreau_identity, checks.DOUBLE),
    (WrongEnvelope, checks.envelope_is_cost_of_prox, checks.DOUBLE),
    (EnvelopeOfZero, checks.envelope_is_cost_of_prox, checks.DOUBLE),
    (EnvelopeOfZero, checks.rows_and_classes_may_be_permuted, checks.DOUBLE),
    (WrongSign, checks.gradient_is_slope, checks.DOUBLE),
    (WrongSign, checks.fenchel_young, checks.DOUBLE),
    (HalvedTable, checks.table_is_value_of_each_label, checks.DOUBLE),
    (FirstRowCounts, checks.rows_and_classes_may_be_permuted, checks.DOUBLE),
    (AlwaysDouble, checks.dtype_is_kept, SINGLE),
    (LossOfDigits, checks.same_in_every_kind, SINGLE),
    (Overflows, checks.large_arguments, checks.DOUBLE),
]


@pytest.mark.parametrize(
    ("wrong", "check", "kind"), REJECTED, ids=lambda x: getattr(x, "__name__", None)
)
def test_check_rejects(wrong, check, kind):
    with pytest.raises(AssertionError):
        check(wrong(), 3, kind)


@pytest.mark.parametrize(("wrong", "check", "kind"), REJECTED)
def test_check_accepts_the_right_loss(wrong, check, kind):
    (right,) = wrong.__bases__
    check(right(), 3, kind)


def test_every_check_rejects_something():
    assert {check for _, check, _ in REJECTED} == set(checks.CHECKS)
