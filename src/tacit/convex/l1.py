"""Extensions with the 1-norm, theta in a box: the corrected Algorithm 1."""

from __future__ import annotations

import numpy as np

from tacit.convex.boxed import Boxed, Oriented, Stop
from tacit.convex.pair import Floats

__all__ = ["L1"]


class L1(Boxed):
    r"""Tightest extension of :math:`|\theta|_1 + C l_y(\langle x, \theta \rangle)` on a box.

    .. math:: d^{**} = |\theta|_1 + 2 \min(y, 1 - y) \sum_i \text{paid}_i
        + C \, [(1 - y) l_0(p_0) + y \, l_1(p_1)].

    Notes
    -----
    Splitting theta_i costs nothing as long as theta0_i and theta1_i do not differ in sign: theta0_i
    between 0 and theta_i / (1 - y). Beyond that it costs 2 (1 - y) a unit, and gains
    C (1 - y) a(p0) \|x_i\|.

    Without bounds the extension jumps at y = 0 and y = 1: next to a face the loss can be had for
    nothing. On the face the value is that of the loss; the largest lower semicontinuous convex
    function is lower there.

    Equation: (31), (32), (33), Alg. 1, Cor. 12 in 001, corrected: start, order, overshoot
    """

    regularizer = "l1"

    def _flat_end(self, o: Oriented) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(o.T >= 0.0, 0.0, o.T / o.split.light[:, None])

    def _regular(self, theta: Floats) -> Floats:
        return np.abs(theta)

    def _face_slope(self, o: Oriented) -> Floats:
        return np.sign(o.T)

    def _light_slope(self, o: Oriented, stop: Stop) -> Floats:
        """Choose s where either end leaves a choice: at 0, or at a bound that binds.

        With theta_i >= 0 theta1_i stays there and has slope 1, unless its upper bound holds it;
        with theta_i < 0 theta0_i stays below 0 and has slope -1, unless its lower bound does.
        """
        c, truncated, upper = stop.c, o.floor > self._flat_end(o), o.upper_binds
        positive = np.where(upper, np.where(truncated, 1.0, np.maximum(1.0 - c, -1.0)), 1.0 - c)
        held = np.where(truncated, -1.0 - c, np.minimum(-1.0, 1.0 - c))
        s = np.where(o.T >= 0.0, positive, np.where(upper, -1.0, held))
        return np.where(o.X > 0.0, s, np.sign(o.T))
