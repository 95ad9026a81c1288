"""Extensions of the loss alone; the regulariser stays outside."""

from __future__ import annotations

import numpy as np

from tacit.convex.boxed import Boxed, Oriented, Stop
from tacit.convex.pair import Floats

__all__ = ["Outside"]


class Outside(Boxed):
    r"""Tightest extension of :math:`C l_y(\langle x, \theta \rangle)`, without the regulariser.

    For theta without bounds and x other than 0 it says nothing:

    .. math:: d^{**}(\theta, y) = C l_y(\langle x, \theta \rangle) \text{ at } y \in \{0, 1\},
        \quad 0 \text{ between}.

    With a box every movement inside it is free, and the value is that of the loss at the
    furthest pair.

    Notes
    -----
    Without bounds the infimum of the logistic loss is approached, not attained: the pair is
    infinite.

    Equation: (25), Cor. 7 in 001, corrected: theta unbounded along x, x not 0
    """

    regularizer = "outside"

    def _flat_end(self, o: Oriented) -> Floats:
        return np.full_like(o.T, -np.inf)

    def _regular(self, theta: Floats) -> Floats:
        return np.zeros_like(theta)

    def _face_slope(self, o: Oriented) -> Floats:
        return np.zeros_like(o.T)

    def _light_slope(self, o: Oriented, stop: Stop) -> Floats:
        return np.where(o.upper_binds, 0.0, -stop.c)
