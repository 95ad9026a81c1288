r"""Extensions with half the squared norm: the pair differs by a multiple of x."""

from __future__ import annotations

import numpy as np

from tacit.convex.base import Extension, Rows
from tacit.convex.pair import Floats

__all__ = ["L2", "L2Linear"]


class L2(Extension):
    r"""Tightest extension of :math:`\tfrac12 |\theta|^2 + C l_y(\langle x, \theta \rangle)`.

    With q = \|x\|^2 and p = <x, theta>,

    .. math:: \theta^0 = \theta - y C x z, \quad \theta^1 = \theta + (1 - y) C x z, \quad
        z \in \partial l_0(p - y C q z) - \partial l_1(p + (1 - y) C q z),

        d^{**} = \tfrac12 |\theta|^2 + \tfrac12 y (1 - y) C^2 z^2 q
        + C \, [(1 - y) l_0(p_0) + y \, l_1(p_1)].

    Notes
    -----
    For any slopes g0 of l0 at p0 and g1 = g0 - z of l1 at p1, v = theta0 + C x g0 is a subgradient
    of both ends, and w = d0*(v) - d1*(v). This holds at y = 0 and y = 1 too, where it is the end of
    the ray of subgradients.

    Equation: Cor. 9 in 001
    """

    regularizer = "l2"

    def _solve(self, rows: Rows) -> tuple[Floats, ...]:
        """z, g0, p0, p1, and q."""
        c0, c1 = self._weights(rows)
        q = np.einsum("ij,ij->i", rows.x, rows.x)
        m0, m1 = self.C * q * rows.y, self.C * q * (1.0 - rows.y)
        z, g0 = self.pair.step(rows.p, m0, m1, c0, c1)
        return z, g0, rows.p - m0 * z, rows.p + m1 * z, q

    def _value(self, rows: Rows) -> Floats:
        z, _, p0, p1, q = self._solve(rows)
        l0, l1 = self.pair.values(p0, p1, *self._weights(rows))
        y = rows.y
        spread = y * (1.0 - y) * (self.C * z) ** 2 * q
        norms = np.einsum("ij,ij->i", rows.theta, rows.theta)
        return 0.5 * (norms + spread) + self.C * ((1.0 - y) * l0 + y * l1)

    def _subgradient(self, rows: Rows) -> tuple[Floats, Floats]:
        z, g0, p0, p1, q = self._solve(rows)
        l0, l1 = self.pair.values(p0, p1, *self._weights(rows))
        v = rows.theta + (self.C * (g0 - rows.y * z))[:, None] * rows.x
        # (|theta0|^2 - |theta1|^2) / 2, without the cancellation.
        norms = -self.C * z * (rows.p + (0.5 - rows.y) * self.C * z * q)
        return v, norms + self.C * (g0 * p0 - l0 - (g0 - z) * p1 + l1)

    def _minimisers(self, rows: Rows) -> tuple[Floats, Floats]:
        move = (self.C * self._solve(rows)[0])[:, None] * rows.x
        y = rows.y[:, None]
        return rows.theta - y * move, rows.theta + (1.0 - y) * move


class L2Linear(Extension):
    r"""A looser extension with L2, for the logistic loss: only the part linear in y is extended.

    The logistic loss is log(1 + e^p) - p y, whose first part is convex and does not depend on y;
    the rest with the norm has a closed form:

    .. math:: \tfrac12 |\theta - y C x|^2 - \tfrac12 y |C x|^2 + C \log(1 + e^p).

    Notes
    -----
    The paper states it for \|theta\|^2, where C / 2 stands in place of C. The pair is that of the
    extended part, theta0 = theta - y C x and theta1 = theta + (1 - y) C x. Class weights
    must agree; otherwise the loss is not linear in y.

    Equation: Cor. 8 in 001
    """

    regularizer = "l2_linear"

    def _value(self, rows: Rows) -> Floats:
        C = self.C * self.class_weights[0]
        moved = rows.theta - C * rows.y[:, None] * rows.x
        squares = np.einsum("ij,ij->i", moved, moved)
        q = np.einsum("ij,ij->i", rows.x, rows.x)
        return 0.5 * squares - 0.5 * C**2 * rows.y * q + C * np.logaddexp(0.0, rows.p)

    def _subgradient(self, rows: Rows) -> tuple[Floats, Floats]:
        C = self.C * self.class_weights[0]
        slope = np.exp(-np.logaddexp(0.0, -rows.p)) - rows.y
        q = np.einsum("ij,ij->i", rows.x, rows.x)
        return rows.theta + C * slope[:, None] * rows.x, -C * rows.p + C**2 * (rows.y - 0.5) * q

    def _minimisers(self, rows: Rows) -> tuple[Floats, Floats]:
        move, y = self.C * self.class_weights[0] * rows.x, rows.y[:, None]
        return rows.theta - y * move, rows.theta + (1.0 - y) * move
