r"""Logistic loss of a margin.

The prox of a step tau at v solves u = v + tau sigma(-u), sigma the sigmoid.

======  ===========================================================================
symbol  meaning
======  ===========================================================================
a, b    positive and negative part of v: v = a - b
x       the unknown, x = u - a >= 0; then u - v = x + b, both sums of two numbers >= 0
q       tau exp(-a), a bound of u - v
======  ===========================================================================
"""

from __future__ import annotations

from tacit.backends import Array, array_namespace, clip
from tacit.losses.base import MarginLoss

__all__ = ["Logistic", "logistic_prox", "softplus"]

# Five are enough on a grid of |v| <= 1e8 and 1e-8 <= tau <= 1e8, kinks v = -tau included.
MAX_STEPS = 20


class Logistic(MarginLoss):
    r"""One-vs-all logistic loss, :math:`\varphi(z) = \log(1 + e^{-z})`.

    Notes
    -----
    The prox has no closed form; `logistic_prox` finds it to rounding. With p = -s the conjugate
    is p log p + (1 - p) log(1 - p) on 0 <= p <= 1.

    Equation: (11) in 000
    """

    name = "logistic"
    smooth = True
    probabilistic = True

    def phi(self, z: Array) -> Array:  # noqa: D102
        return softplus(-z)

    def phi_slope(self, z: Array) -> Array:  # noqa: D102
        xp = array_namespace(z)
        return -xp.exp(-softplus(z))

    def phi_prox(self, v: Array, tau: Array | float) -> Array:  # noqa: D102
        return logistic_prox(v, tau)

    def phi_prox_slope(self, v: Array, tau: Array | float) -> Array:  # noqa: D102
        xp = array_namespace(v)
        u = logistic_prox(v, tau)
        return 1.0 / (1.0 + tau * xp.exp(-softplus(u) - softplus(-u)))

    def phi_conjugate(self, s: Array) -> Array:  # noqa: D102
        xp = array_namespace(s)
        p = clip(-s, min=0.0, max=1.0)
        # 0 log 0 = 0: the factor 0 meets log 1.
        entropy = p * xp.log(xp.where(p > 0.0, p, 1.0))
        entropy = entropy + (1.0 - p) * xp.log1p(-xp.where(p < 1.0, p, 0.0))
        return xp.where((s >= -1.0) & (s <= 0.0), entropy, xp.inf)

    def phi_project_dual(self, s: Array) -> Array:  # noqa: D102
        return clip(s, min=-1.0, max=0.0)

    def predict_proba(self, scores: Array) -> Array:
        """Return sigmoids of the scores, over their sum if there are several columns, (N, C)."""
        xp = array_namespace(scores)
        if scores.shape[1] == 1:
            return xp.exp(-xp.concat((softplus(scores), softplus(-scores)), axis=1))
        # Normalised in logarithms: the sigmoids of a row may all underflow.
        logs = -softplus(-scores)
        p = xp.exp(logs - xp.max(logs, axis=1, keepdims=True))
        return p / xp.sum(p, axis=1, keepdims=True)


def softplus(z: Array) -> Array:
    """log(1 + exp(z)), with full relative precision at both ends."""
    xp = array_namespace(z)
    return clip(z, min=0.0) + xp.log1p(xp.exp(-xp.abs(z)))


def logistic_prox(v: Array, tau: Array | float) -> Array:
    r"""Solve :math:`u = v + \tau / (1 + e^u)`, elementwise; `tau` broadcasts against `v`.

    Notes
    -----
    The equation reads the same in (-u, -v - tau), so u >= 0 may be assumed. There the residual
    x + b - tau sigma(-a - x) is increasing and concave in x: Newton approaches the root from
    below, from any start, and needs a bound only where its first step would leave x >= 0.
    """
    xp = array_namespace(v)
    flip = v < -0.5 * tau
    v = xp.where(flip, -(v + tau), v)
    a, b = clip(v, min=0.0), clip(-v, min=0.0)
    x = _newton(_start(a, b, tau), a, b, tau)
    return xp.where(flip, -(a + x), a + x)


def _start(a: Array, b: Array, tau: Array | float) -> Array:
    """Guess x, at most about one too high or low: a fixed-point step of x + b = q exp(-x)."""
    xp = array_namespace(a)
    q = clip(tau * xp.exp(-a), min=1.0)
    return clip(xp.log(q / (b + xp.log1p(q / (1.0 + b)))), min=0.0)


def _newton(x: Array, a: Array, b: Array, tau: Array | float) -> Array:
    """Newton's method until one more step could not change x beyond rounding."""
    xp = array_namespace(x)
    # The error after a step is below half the step squared.
    tolerance = float(xp.finfo(x.dtype).eps) ** 0.5
    for _ in range(MAX_STEPS):
        e = xp.exp(-(a + x))
        pull = tau * e / (1.0 + e)
        new = clip(x - (x + b - pull) / (1.0 + pull / (1.0 + e)), min=0.0)
        done = xp.all(xp.abs(new - x) <= tolerance)
        x = new
        if done:
            return x
    raise RuntimeError("the logistic prox did not converge; are the scores and tau finite?")
