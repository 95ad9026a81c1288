"""Hinge loss of a margin."""

from __future__ import annotations

from tacit.backends import Array, array_namespace, clip
from tacit.losses.base import MarginLoss

__all__ = ["Hinge"]


class Hinge(MarginLoss):
    r"""One-vs-all hinge loss, :math:`\varphi(z) = \max(0, 1 - z)`.

    Notes
    -----
    The prox is v for v > 1, else min(v + tau, 1); the conjugate is s on [-1, 0].

    Equation: (11) in 000
    """

    name = "hinge"
    kinks = (1.0,)

    def phi(self, z: Array) -> Array:  # noqa: D102
        return clip(1.0 - z, min=0.0)

    def phi_slope(self, z: Array) -> Array:  # noqa: D102
        xp = array_namespace(z)
        return -xp.astype(z < 1.0, z.dtype)

    def phi_prox(self, v: Array, tau: Array | float) -> Array:  # noqa: D102
        xp = array_namespace(v)
        return xp.where(v > 1.0, v, clip(v + tau, max=1.0))

    def phi_prox_slope(self, v: Array, tau: Array | float) -> Array:  # noqa: D102
        xp = array_namespace(v)
        return xp.astype((v >= 1.0) | (v + tau <= 1.0), v.dtype)

    def phi_conjugate(self, s: Array) -> Array:  # noqa: D102
        xp = array_namespace(s)
        return xp.where((s >= -1.0) & (s <= 0.0), s, xp.inf)

    def phi_project_dual(self, s: Array) -> Array:  # noqa: D102
        return clip(s, min=-1.0, max=0.0)
