"""Hinge loss: both equations have a closed form."""

from __future__ import annotations

import numpy as np

from tacit.convex.pair import Floats, LossPair, Split, ratio
from tacit.losses import Hinge

__all__ = ["HingePair"]


class HingePair(LossPair):
    r""":math:`l_0(r) = C_0 \max(0, 1 + r)`, :math:`l_1(r) = C_1 \max(0, 1 - r)`.

    Notes
    -----
    L2: l0 has its kink at z = k0 = (1 + p) / m0, l1 at z = k1 = (1 - p) / m1. With kmin <= kmax
    their order, and C' the weight of the loss whose kink comes last,

    .. math:: z = \max(\min(C', \max(k_{max}, 0)), \min(k_{min}, C_0 + C_1)).

    L1: a jumps by C0 at p0 = -1 and by C1 where p1 = 1, at p0 = 1 + (p - 1) / light.

    Equation: (27), (28) in 001, corrected: which candidate it is
    Equation: (34), (35) in 001, corrected: second candidate
    """

    phi = Hinge()

    def step(  # noqa: D102
        self, p: Floats, m0: Floats, m1: Floats, c0: Floats, c1: Floats
    ) -> tuple[Floats, Floats]:
        k0, k1 = _kink(1.0 + p, m0), _kink(1.0 - p, m1)
        first, last = np.minimum(k0, k1), np.maximum(k0, k1)
        late = np.where(k0 <= k1, c1, c0)
        z = np.maximum(np.minimum(late, np.maximum(last, 0.0)), np.minimum(first, c0 + c1))
        low0, high0 = c0 * (z < k0), c0 * (z <= k0)
        # At both kinks at once, or at that of l0 only, g0 is what l1 leaves of z.
        return z, np.clip(z - c1 * (z < k1), low0, high0)

    def low(self, p0: Floats, split: Split) -> Floats:  # noqa: D102
        # By the place of the kink: p1 is rounded, and an error there would turn a slope on.
        return split.c0 * (p0 > -1.0) + split.c1 * (p0 > _other_kink(split))

    def largest(self, r: Floats, top: Floats, split: Split) -> Floats:  # noqa: D102
        k = _other_kink(split)
        first, last = np.minimum(-1.0, k), np.maximum(-1.0, k)
        jump = split.c0 * (k >= -1.0) + split.c1 * (k <= -1.0)
        p0 = np.where(r < jump, first, np.where(r < split.c0 + split.c1, last, np.inf))
        return np.minimum(p0, top)

    def own_slope(self, p0: Floats, a: Floats, split: Split) -> Floats:  # noqa: D102
        low1 = split.c1 * (p0 > _other_kink(split))
        return np.clip(a - low1, split.c0 * (p0 > -1.0), split.c0 * (p0 >= -1.0))


def _kink(gap: Floats, m: Floats) -> Floats:
    """Return the z at which a loss ends; any will do, 0 say, where a score stays at the kink."""
    return np.where((gap == 0.0) & (m == 0.0), 0.0, ratio(gap, m))


def _other_kink(split: Split) -> Floats:
    """Return the p0 at which p1 = 1."""
    return 1.0 + np.where(split.p == 1.0, 0.0, ratio(split.p - 1.0, split.light))
