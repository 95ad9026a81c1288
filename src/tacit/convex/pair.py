r"""What an extension asks of a loss: its two functions of the score, and two equations solved.

The label is 0 or 1; with margin loss phi and class weights C0, C1,

.. math:: l_0(r) = C_0 \varphi(-r), \qquad l_1(r) = C_1 \varphi(r).

An extension splits theta into theta0 with weight 1 - y and theta1 with weight y, whose scores are
p0 <= p <= p1. All extensions ask for the same quantity, how much the two slopes differ,

.. math:: a(p_0) \in \partial l_0(p_0) - \partial l_1(p_1),

which grows with p0, while p1 falls. Under L2 the split is a multiple of x, and a(p0) is set equal
to that multiple z; under L1 a(p0) is compared with the price of moving a coordinate.

======  =============  =============================================================
symbol  shape          meaning
======  =============  =============================================================
c0, c1  (n,)           class weights, exchanged where a row is mirrored
p       (n,)           score <x, theta>
z       (n,)           theta0 = theta - y C x z, theta1 = theta + (1 - y) C x z
m0, m1  (n,)           p0 = p - m0 z, p1 = p + m1 z
light   (n,)           the smaller one of the weights 1 - y and y
kappa   (n,)           light / (1 - light): p1 = p + kappa (p - p0)
======  =============  =============================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tacit.losses import MarginLoss

__all__ = ["Floats", "LossPair", "Split", "ratio"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """One row of scores, class weights and label weights per row of data; all (n,) or (n, 1)."""

    p: Floats
    light: Floats
    c0: Floats
    c1: Floats

    @property
    def kappa(self) -> Floats:
        """How far p1 rises when p0 falls by one."""
        return self.light / (1.0 - self.light)

    def other(self, p0: Floats) -> Floats:
        """Return p1 for p0; p where the light end has no weight."""
        fall = np.where(self.kappa > 0.0, self.p - p0, 0.0)
        return self.p + self.kappa * fall

    def columns(self) -> Split:
        """Return the same as columns, for a matrix of scores."""
        return Split(self.p[:, None], self.light[:, None], self.c0[:, None], self.c1[:, None])

    def rows(self, chosen: npt.NDArray[np.intp]) -> Split:
        """Return some of the rows."""
        return Split(self.p[chosen], self.light[chosen], self.c0[chosen], self.c1[chosen])


class LossPair(ABC):
    """The two functions of a margin loss, one for each label."""

    phi: ClassVar[MarginLoss]

    @property
    def name(self) -> str:
        """The loss's name."""
        return self.phi.name

    def values(self, p0: Floats, p1: Floats, c0: Floats, c1: Floats) -> tuple[Floats, Floats]:
        """l_0(p0) and l_1(p1)."""
        return c0 * self.phi.phi(-p0), c1 * self.phi.phi(p1)

    def slopes(self, p0: Floats, p1: Floats, c0: Floats, c1: Floats) -> tuple[Floats, Floats]:
        """Slope of l_0 at p0, the lowest one at a kink, and of l_1 at p1, the highest one."""
        return -c0 * self.phi.phi_slope(-p0), c1 * self.phi.phi_slope(p1)

    @abstractmethod
    def step(
        self, p: Floats, m0: Floats, m1: Floats, c0: Floats, c1: Floats
    ) -> tuple[Floats, Floats]:
        """Solve z in dl0(p - m0 z) - dl1(p + m1 z); return z and a slope g0 of l0 there.

        The slope is such that g0 - z is a slope of l1.
        """

    def low(self, p0: Floats, split: Split) -> Floats:
        """Return the smallest element of a(p0)."""
        g0, g1 = self.slopes(p0, split.other(p0), split.c0, split.c1)
        return g0 - g1

    @abstractmethod
    def largest(self, r: Floats, top: Floats, split: Split) -> Floats:
        """Return the largest p0 <= top with min a(p0) <= r; -inf where there is none.

        `top` is finite wherever min a(top) > r.
        """

    def own_slope(self, p0: Floats, a: Floats, split: Split) -> Floats:
        """Return a slope g0 of l0 at p0 such that g0 - a is a slope of l1, for a in a(p0)."""
        return self.slopes(p0, p0, split.c0, split.c1)[0]


def ratio(num: Floats, den: Floats) -> Floats:
    """Return num / den for den >= 0: the largest t with t den <= num; -inf if there is none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(den > 0.0, num / den, np.where(num >= 0.0, np.inf, -np.inf))
