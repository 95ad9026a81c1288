r"""Softmax loss (multinomial logistic regression).

The prox of a step tau at V, for the label y, from one unknown per row:

=======  =======  =========================================================================
symbol   shape    meaning
=======  =======  =========================================================================
logp     (N, 1)   the unknown, log of the own class's probability at the prox
s        (N, 1)   log-sum-exp of the prox minus V_y: s = R - logp
R        (N, 1)   what the own score gains, tau (1 - p_y) = -tau expm1(logp)
drop     (N, C)   what the other scores lose, omega(D - s), 0 in the own column
D        (N, C)   V_j - V_y + log tau, -inf in the own column
=======  =======  =========================================================================

omega is Wright's function, omega(x) + log omega(x) = x; R = sum of the drops determines logp.
"""

from __future__ import annotations

from tacit.backends import Array, array_namespace, clip
from tacit.losses._simplex import SimplexLoss, diagonal
from tacit.losses.base import one_hot, per_row
from tacit.losses.logistic import logistic_prox, softplus

__all__ = ["Softmax", "wright_omega"]

# Seven are enough for scores up to 1e6, 1e-8 <= tau <= 1e8 and 50 classes.
MAX_STEPS = 30


class Softmax(SimplexLoss):
    r"""Softmax loss, :math:`\ell(y, s) = \log \sum_j e^{s_j} - s_y`.

    Notes
    -----
    The prox satisfies u = V - tau (p - e_y) with p = softmax(u); every score is then a Wright
    omega of log-sum-exp(u), which one scalar equation per row determines ("Exploit duality" in
    000). The conjugate is sum_j q_j log q_j for q = dual + e_y on the simplex.

    Equation: (11) in 000
    """

    name = "softmax"
    smooth = True
    probabilistic = True

    def table(self, scores: Array) -> Array:  # noqa: D102
        xp = array_namespace(scores)
        shifted = scores - xp.max(scores, axis=1, keepdims=True)
        first = one_hot(xp.argmax(scores, axis=1), scores.shape[1], scores)
        # The largest term of the sum is 1: log1p of the others keeps the digits of a small loss.
        rest = xp.sum(xp.exp(shifted) * (1.0 - first), axis=1, keepdims=True)
        return xp.log1p(rest) - shifted

    def gradient(self, scores: Array, y: Array) -> Array:  # noqa: D102
        xp = array_namespace(scores)
        own = one_hot(y, scores.shape[1], scores) > 0.0
        others = xp.where(own, 0.0, self.predict_proba(scores))
        return xp.where(own, -xp.sum(others, axis=1, keepdims=True), others)

    def prox(self, V: Array, tau: Array | float, y: Array) -> Array:  # noqa: D102
        xp = array_namespace(V)
        own = one_hot(y, V.shape[1], V) > 0.0
        gain, drop, _ = _solve(V, per_row(tau, V), own)
        return xp.where(own, V + gain, V - drop)

    def prox_jacobian(self, V: Array, tau: Array | float, y: Array) -> Array:
        """(I + tau (diag p - p p'))^-1 with p = softmax of the prox, by Sherman and Morrison."""
        xp = array_namespace(V)
        p = self.predict_proba(self.prox(V, tau, y))
        shrink = 1.0 / (1.0 + per_row(tau, V) * p)
        pull = shrink * p
        # 1 - tau p' diag(shrink) p, as p sums to one.
        rest = xp.sum(pull, axis=1, keepdims=True)
        spread = (per_row(tau, V) * pull / rest)[:, :, None] * pull[:, None, :]
        return diagonal(shrink) + spread

    def envelope(self, V: Array, tau: Array | float) -> Array:  # noqa: D102
        xp = array_namespace(V)
        tau = per_row(tau, V)
        columns = []
        # One label at a time: all at once would need an (N, C, C) array.
        for c in range(V.shape[1]):
            own = one_hot(xp.full_like(V[:, 0], c), V.shape[1], V) > 0.0
            gain, drop, logp = _solve(V, tau, own)
            cost = 0.5 * gain**2 - tau * logp
            columns.append(cost[:, 0] + 0.5 * xp.sum(drop**2, axis=1))
        return xp.stack(columns, axis=1)

    def predict_proba(self, scores: Array) -> Array:
        """Softmax of the scores, (N, C)."""
        xp = array_namespace(scores)
        p = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
        return p / xp.sum(p, axis=1, keepdims=True)

    def _conjugate_inside(self, dual: Array, own: Array) -> Array:
        xp = array_namespace(dual)
        q = clip(xp.where(own, dual + 1.0, dual), min=0.0, max=1.0)
        # 0 log 0 = 0: the factor 0 meets log 1. The own class uses dual = q - 1, which is exact.
        log_other = xp.log(xp.where(own | (q <= 0.0), 1.0, q))
        log_own = xp.log1p(xp.where(own & (q > 0.0), clip(dual, max=0.0), 0.0))
        return xp.sum(q * (log_other + log_own), axis=1)


def wright_omega(x: Array) -> Array:
    """Solve omega + log omega = x for omega > 0, elementwise.

    Notes
    -----
    Winitzki's guess is within 2 % everywhere, and each of the two steps cubes the error. Below
    -50, omega is exp(x) to rounding.
    """
    xp = array_namespace(x)
    inside = clip(x, min=-50.0)
    log = softplus(inside)
    w = log * (1.0 - xp.log1p(log) / (2.0 + log))
    for _ in range(2):
        w = _shift(w, inside - w - xp.log(w))
    return xp.where(x < -50.0, xp.exp(clip(x, max=0.0)), w)


def _shift(w: Array, change: Array) -> Array:
    """Return omega(x + change) for w = omega(x), by Taylor's series up to the second derivative."""
    slope = 1.0 / (1.0 + w)
    relative = change * slope
    return w + w * relative * (1.0 + 0.5 * relative * slope)


def _solve(V: Array, tau: Array, own: Array) -> tuple[Array, Array, Array]:
    """Return gain R (N, 1), drop (N, C) and logp (N, 1) at the prox; `own` marks the label."""
    xp = array_namespace(V)
    moves = xp.astype(tau > 0.0, V.dtype)
    tau = xp.where(tau > 0.0, tau, 1.0)
    D = V - xp.sum(xp.where(own, V, 0.0), axis=1, keepdims=True)
    D = xp.where(own, -xp.inf, D)
    # With the largest other class alone this is the prox of a logistic loss of the margin.
    margin = logistic_prox(-xp.max(D, axis=1, keepdims=True), 2.0 * tau)
    logp = -softplus(-margin)
    if V.shape[1] == 2:  # what the own score gains, the other loses
        gain = -xp.expm1(logp) * (moves * tau)
        return gain, xp.where(own, 0.0, gain), logp
    logp, drop = _newton(logp, D + xp.log(tau), tau)
    return -xp.expm1(logp) * (moves * tau), drop * moves, logp


def _newton(logp: Array, D: Array, tau: Array) -> tuple[Array, Array]:
    """Solve sum omega(D - s) = R(s) for s from below, where the convex difference is positive."""
    xp = array_namespace(D)
    eps = float(xp.finfo(D.dtype).eps)
    # More classes only raise the root, so the start from one of them is a lower bound.
    lowest = -tau * xp.expm1(logp) - logp
    for _ in range(MAX_STEPS):
        gain = -tau * xp.expm1(logp)
        s = gain - logp
        drop = wright_omega(D - s)
        step = _step(xp.sum(drop, axis=1, keepdims=True) - gain, drop, tau * xp.exp(logp))
        step = xp.maximum(step, lowest - s)
        logp = _logp(s + step, tau)
        # What a step leaves is below its cube; and s is known to its rounding only.
        if xp.all(xp.abs(step) <= 0.5 * eps ** (1.0 / 3.0) + 16.0 * eps * s):
            return logp, _shift(drop, -clip(step, min=-0.1, max=0.1))
    raise RuntimeError("the softmax prox did not converge; are the scores and tau finite?")


def _step(surplus: Array, drop: Array, left: Array) -> Array:
    """Newton's step in s, or Halley's near the root; `left` is tau p_y, also an omega of s."""
    xp = array_namespace(drop)
    h = 1.0 / (1.0 + drop)
    slope = xp.sum(drop * h, axis=1, keepdims=True) + left / (1.0 + left)
    bend = xp.sum(drop * h * h * h, axis=1, keepdims=True) + left / (1.0 + left) ** 3
    newton = surplus / slope
    # Curvature changes over lengths of about one; a long step stays Newton's, which never passes
    # the root.
    halley = newton / (1.0 - clip(0.5 * newton * bend / slope, max=0.5))
    return xp.where(xp.abs(newton) < 2.0, halley, newton)


def _logp(s: Array, tau: Array) -> Array:
    """Invert s = -tau expm1(logp) - logp."""
    xp = array_namespace(s)
    left = wright_omega(tau + xp.log(tau) - s)
    # Either form is exact where it is used, up to the rounding of tau - s.
    logp = xp.where(left > 1.0, xp.log(clip(left, min=1.0) / tau), tau - s - left)
    # log(left / tau) near 0 is rounding only; a Newton step restores the digits.
    residual = -tau * xp.expm1(logp) - logp - s
    return logp + residual / (1.0 + tau * xp.exp(logp))
