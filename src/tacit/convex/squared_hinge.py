"""Squared hinge loss, with one half: piecewise linear slopes, so closed forms."""

from __future__ import annotations

import numpy as np

from tacit.convex.pair import Floats, LossPair, Split, ratio
from tacit.losses import SquaredHinge

__all__ = ["SquaredHingePair"]


class SquaredHingePair(LossPair):
    r""":math:`l_0(r) = C_0 \max(0, 1 + r)^2 / 2`, :math:`l_1(r) = C_1 \max(0, 1 - r)^2 / 2`.

    Notes
    -----
    The slopes differ by the maximum of four linear functions: of 0, either slope, and both.

    L2: z is the largest of the four solutions,

    .. math:: z = \max\left(0, \frac{C_0 (1 + p)}{1 + C_0 m_0}, \frac{C_1 (1 - p)}{1 + C_1 m_1},
        \frac{C_0 + C_1 + (C_0 - C_1) p}{1 + C_0 m_0 + C_1 m_1}\right).

    L1: the largest p0 with a(p0) <= r is the smallest of the solutions of three equations.

    Equation: (29), (30) in 001, corrected: z is the maximum of the candidates
    Equation: (36), (37) in 001, corrected: second candidate; the minimum of the candidates
    """

    phi = SquaredHinge()

    def step(  # noqa: D102
        self, p: Floats, m0: Floats, m1: Floats, c0: Floats, c1: Floats
    ) -> tuple[Floats, Floats]:
        only0 = c0 * (1.0 + p) / (1.0 + c0 * m0)
        only1 = c1 * (1.0 - p) / (1.0 + c1 * m1)
        both = (c0 * (1.0 + p) + c1 * (1.0 - p)) / (1.0 + c0 * m0 + c1 * m1)
        z = np.maximum(np.maximum(only0, only1), np.maximum(both, 0.0))
        return z, c0 * np.maximum(1.0 + p - m0 * z, 0.0)

    def largest(self, r: Floats, top: Floats, split: Split) -> Floats:  # noqa: D102
        kappa = split.kappa
        # 1 - p1 = rest + kappa p0, which needs no division by light.
        rest = (1.0 - split.p) / (1.0 - split.light) - kappa
        only0 = ratio(r - split.c0, split.c0)
        only1 = ratio(r - split.c1 * rest, split.c1 * kappa)
        both = ratio(r - split.c0 - split.c1 * rest, split.c0 + split.c1 * kappa)
        return np.minimum(np.minimum(only0, only1), np.minimum(both, top))
