"""Squared loss of a margin."""

from __future__ import annotations

from tacit.backends import Array, array_namespace
from tacit.losses.base import MarginLoss

__all__ = ["Squared"]


class Squared(MarginLoss):
    r"""One-vs-all squared loss, :math:`\varphi(z) = \tfrac{1}{2} (1 - z)^2`.

    As z = t s with t = +1 or -1, this is the least-squares fit of the scores to t.

    Notes
    -----
    The prox is 1 + (v - 1) / (1 + tau); the conjugate is s + s^2 / 2 everywhere.

    Equation: (11) in 000
    """

    name = "squared"
    smooth = True

    def phi(self, z: Array) -> Array:  # noqa: D102
        return 0.5 * (1.0 - z) ** 2

    def phi_slope(self, z: Array) -> Array:  # noqa: D102
        return z - 1.0

    def phi_prox(self, v: Array, tau: Array | float) -> Array:  # noqa: D102
        return 1.0 + (v - 1.0) / (1.0 + tau)

    def phi_prox_slope(self, v: Array, tau: Array | float) -> Array:  # noqa: D102
        return array_namespace(v).ones_like(v) / (1.0 + tau)

    def phi_conjugate(self, s: Array) -> Array:  # noqa: D102
        return s + 0.5 * s**2

    def phi_project_dual(self, s: Array) -> Array:  # noqa: D102
        return s
