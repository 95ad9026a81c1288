"""Squared hinge loss of a margin."""

from __future__ import annotations

from tacit.backends import Array, array_namespace, clip
from tacit.losses.base import MarginLoss

__all__ = ["SquaredHinge"]


class SquaredHinge(MarginLoss):
    r"""One-vs-all squared hinge loss, :math:`\varphi(z) = \tfrac{1}{2} \max(0, 1 - z)^2`.

    The one half is as in (29) and (36) of 001. scikit-learn's ``LinearSVC`` has none, so its C
    is half of ours for the same classifier.

    Notes
    -----
    The prox is v for v > 1, else 1 + (v - 1) / (1 + tau); the conjugate is s + s^2 / 2 for
    s <= 0.

    Equation: (11) in 000
    """

    name = "squared_hinge"
    smooth = True

    def phi(self, z: Array) -> Array:  # noqa: D102
        return 0.5 * clip(1.0 - z, min=0.0) ** 2

    def phi_slope(self, z: Array) -> Array:  # noqa: D102
        return -clip(1.0 - z, min=0.0)

    def phi_prox(self, v: Array, tau: Array | float) -> Array:  # noqa: D102
        xp = array_namespace(v)
        # Written as a distance from 1, which stays exact when tau is huge and that distance tiny.
        return xp.where(v > 1.0, v, 1.0 + (v - 1.0) / (1.0 + tau))

    def phi_prox_slope(self, v: Array, tau: Array | float) -> Array:  # noqa: D102
        xp = array_namespace(v)
        return xp.where(v > 1.0, xp.ones_like(v), 1.0 / (1.0 + tau))

    def phi_conjugate(self, s: Array) -> Array:  # noqa: D102
        xp = array_namespace(s)
        return xp.where(s <= 0.0, s + 0.5 * s**2, xp.inf)

    def phi_project_dual(self, s: Array) -> Array:  # noqa: D102
        return clip(s, max=0.0)
