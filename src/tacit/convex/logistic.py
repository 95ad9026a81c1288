r"""Logistic loss: no closed form, one safeguarded root per row.

With sigma the sigmoid, the slope of l0 is C0 sigma(p0) and that of l1 is -C1 sigma(-p1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from tacit.convex._root import Residual, increasing_root
from tacit.convex.pair import Floats, LossPair, Split, ratio
from tacit.losses import Logistic

__all__ = ["LogisticPair"]

Chosen = npt.NDArray[np.intp]


class LogisticPair(LossPair):
    r""":math:`l_0(r) = C_0 \log(1 + e^r)`, :math:`l_1(r) = C_1 \log(1 + e^{-r})`.

    Notes
    -----
    L2: z = C0 sigma(p - m0 z) + C1 sigma(-p - m1 z), whose right side falls in z; the root lies
    in [0, C0 + C1].

    L1: C0 sigma(p0) + C1 sigma(-p1) = r. If each term is at most r / 2, p0 is not too large; if one
    of them is r, it is not too small; so the root is bracketed. Newton works on the logarithm,
    which is nearly linear where a term is small.

    Equation: (26) in 001, logistic loss
    Equation: (33) in 001, corrected: logistic loss, in the score x'V - z x_k^2
    """

    phi = Logistic()

    def step(  # noqa: D102
        self, p: Floats, m0: Floats, m1: Floats, c0: Floats, c1: Floats
    ) -> tuple[Floats, Floats]:
        def residual(z: Floats, rows: Chosen) -> tuple[Floats, Floats]:
            s0, s1 = expit(p[rows] - m0[rows] * z), expit(-p[rows] - m1[rows] * z)
            slope = c0[rows] * m0[rows] * s0 * (1 - s0) + c1[rows] * m1[rows] * s1 * (1 - s1)
            return z - c0[rows] * s0 - c1[rows] * s1, 1.0 + slope

        z = increasing_root(residual, np.zeros_like(p), c0 + c1)
        return z, c0 * expit(p - m0 * z)

    def largest(self, r: Floats, top: Floats, split: Split) -> Floats:  # noqa: D102
        # Slopes never vanish, so r = 0 is met at the far end only.
        p0 = np.where((r > 0.0) & (self.low(top, split) <= r), top, -np.inf)
        chosen = np.flatnonzero((p0 == -np.inf) & (r > 0.0) & np.isfinite(r) & np.isfinite(top))
        if chosen.size:
            p0[chosen] = _solve(r[chosen], top[chosen], split.rows(chosen))
        return p0


def _solve(r: Floats, top: Floats, split: Split) -> Floats:
    """Largest p0 with a(p0) <= r, where a(top) > r > 0."""
    kappa, floor = split.kappa, split.c1 * expit(-split.p)
    # Without weight at the light end p1 stays, and what is left of r is for l0 alone.
    still = kappa == 0.0
    p0 = np.where(still, _score(r - floor, split.c0), 0.0)
    moving = np.flatnonzero(~still & (split.c0 + split.c1 > 0.0))
    if moving.size:
        part = split.rows(moving)
        low, high = _bracket(r[moving], top[moving], part)
        p0[moving] = increasing_root(_logarithm(np.log(r[moving]), part), low, high)
    return p0


def _score(slope: Floats, c: Floats) -> Floats:
    """Return the score with c sigma(score) = slope: -inf below 0, +inf from c on."""
    share = np.clip(ratio(slope, c), 0.0, 1.0)
    return logit(share)


def _bracket(r: Floats, top: Floats, split: Split) -> tuple[Floats, Floats]:
    """Scores at which both terms are at most r / 2, and at which one is at least r."""

    def at(level: Floats) -> tuple[Floats, Floats]:
        return _score(level, split.c0), split.p + (split.p + _score(level, split.c1)) / split.kappa

    return np.minimum(*at(0.5 * r)), np.minimum(top, np.minimum(*at(r)))


def _logarithm(target: Floats, split: Split) -> Residual:
    """Return log a(p0) - target and its derivative, for some of the rows."""

    def residual(p0: Floats, rows: Chosen) -> tuple[Floats, Floats]:
        part = split.rows(rows)
        s0, s1 = expit(p0), expit(-part.other(p0))
        a = part.c0 * s0 + part.c1 * s1
        slope = part.c0 * s0 * (1 - s0) + part.c1 * part.kappa * s1 * (1 - s1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(a) - target[rows], slope / a

    return residual
