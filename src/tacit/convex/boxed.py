r"""Extensions with theta in a box: one coordinate after the other moves apart, cheapest first.

Where y < 1/2 the row is mirrored, (y, x, C0, C1) -> (1 - y, -x, C1, C0), so that theta0 is the
light end, with weight `light` <= 1/2; and a coordinate is oriented so that x_i >= 0. Let V be
theta0, and

    p0 = <x, V>,    theta1 = theta + kappa (theta - V),    kappa = light / (1 - light).

Lowering V_i never raises a loss. It is free first (`flat`), then has a price (`steep`): lowering
p0 through coordinate i pays as long as a(p0) > price_i, price 0 or 2 / (C |x_i|). So p0 falls along
the segments in the order of their prices, and stops in the first one whose end has min a <= price.

=========  =========  ======================================================================
symbol     shape      meaning
=========  =========  ======================================================================
T, X       (n, d)     theta and x, oriented: X >= 0
low, high  (n, d)     the box, oriented
floor      (n, d)     the lowest V_i at which theta0 and theta1 both lie in the box
flat_end   (n, d)     where moving ceases to be free
length     (n, 2 d)   how far p0 falls along a segment: all flat ones, then the steep ones
=========  =========  ======================================================================
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.convex.base import Extension, Rows
from tacit.convex.pair import Floats, Split

__all__ = ["Boxed", "Oriented", "Stop"]

Mask = npt.NDArray[np.bool_]

# Nearer to 0 or 1 a label counts as 0 or 1: theta / light would overflow.
NEGLIGIBLE = 1e-100


@dataclass(frozen=True)
class Oriented:
    """Rows with theta0 the light end and x >= 0; symbols as in the table above."""

    T: Floats
    X: Floats
    sign: Floats
    low: Floats
    high: Floats
    mirrored: Mask
    split: Split
    floor: Floats
    upper_binds: Mask
    """Where `floor` is due to the upper bound of theta1, not to the lower one of theta0."""


@dataclass(frozen=True)
class Stop:
    """Where the movement ends.

    Attributes
    ----------
    V : (n, d) array
        The light end, oriented.
    p0, a : (n,) arrays
        Its score, and the element of a(p0) that belongs to a subgradient.
    c : (n, d) array
        C X a, the difference of the two ends' slopes; exactly 2 in a steep segment left halfway.
    paid : (n,) array
        Sum of the steep movements.
    vertical : (n,) mask
        The end without weight would run away: no finite subgradient.
    """

    V: Floats
    p0: Floats
    a: Floats
    c: Floats
    paid: Floats
    vertical: Mask


@dataclass(frozen=True)
class Halt:
    """The last segment used, its price, whether it was left halfway, p0 there, and how far."""

    last: npt.NDArray[np.intp]
    price: Floats
    halfway: Mask
    p0: Floats
    within: Floats


class Boxed(Extension):
    """Extension with theta in a box; members say what moving costs."""

    boxed = True

    @abstractmethod
    def _flat_end(self, o: Oriented) -> Floats:
        """Lowest V_i that costs nothing, bounds aside, (n, d)."""

    @abstractmethod
    def _regular(self, theta: Floats) -> Floats:
        """Regulariser's part, entry by entry."""

    @abstractmethod
    def _light_slope(self, o: Oriented, stop: Stop) -> Floats:
        """Slope s of regulariser and box at the light end, such that s + c is one at theta1."""

    @abstractmethod
    def _face_slope(self, o: Oriented) -> Floats:
        """Slope of the regulariser at theta."""

    def _value(self, rows: Rows) -> Floats:
        o = self._orient(rows)
        stop = self._descend(o)
        light, split = o.split.light, o.split
        l0, l1 = self.pair.values(stop.p0, split.other(stop.p0), split.c0, split.c1)
        loss = np.where(light > 0.0, light * l0, 0.0) + (1.0 - light) * l1
        # Exactly the two ends' weighted norms: only steep movements add to that of theta.
        return self._regular(o.T).sum(axis=1) + 2.0 * light * stop.paid + self.C * loss

    def _subgradient(self, rows: Rows) -> tuple[Floats, Floats]:
        o = self._orient(rows)
        stop, split = self._descend(o), o.split
        p1 = split.other(stop.p0)
        g0 = self.pair.own_slope(stop.p0, stop.a, split)
        s = self._light_slope(o, stop)
        w = self._conjugate(
            s, stop.V, g0, stop.p0, self.pair.values(stop.p0, p1, split.c0, split.c1)[0]
        )
        w -= self._conjugate(
            s + stop.c,
            self._other_end(o, stop.V),
            g0 - stop.a,
            p1,
            self.pair.values(stop.p0, p1, split.c0, split.c1)[1],
        )
        v = s + self.C * o.X * g0[:, None]
        g1 = self.pair.slopes(split.p, split.p, split.c0, split.c1)[1]
        steep = self._face_slope(o) + self.C * o.X * g1[:, None]
        v = o.sign * np.where(stop.vertical[:, None], steep, v)
        w = np.where(stop.vertical, np.inf, w)
        return v, np.where(o.mirrored, -w, w)

    def _minimisers(self, rows: Rows) -> tuple[Floats, Floats]:
        o = self._orient(rows)
        stop = self._descend(o)
        light, heavy = o.sign * stop.V, o.sign * self._other_end(o, stop.V)
        swap = o.mirrored[:, None]
        return np.where(swap, heavy, light), np.where(swap, light, heavy)

    def _conjugate(self, s: Floats, end: Floats, g: Floats, p: Floats, loss: Floats) -> Floats:
        """<v, end> - d(end) for v = s + C x g; a slope 0 leaves 0, however large an end."""
        end = np.where(np.isfinite(end), end, 0.0)  # infinite only where s keeps up with the norm
        regular = (s * end - self._regular(end)).sum(axis=1)
        return regular + self.C * (np.multiply(g, p, out=np.zeros_like(p), where=g != 0.0) - loss)

    def _orient(self, rows: Rows) -> Oriented:
        mirrored = rows.y < 0.5
        light = np.where(mirrored, rows.y, 1.0 - rows.y)
        light = np.where(light < NEGLIGIBLE, 0.0, light)
        c0, c1 = self._weights(rows)
        split = Split(
            np.where(mirrored, -rows.p, rows.p),
            light,
            np.where(mirrored, c1, c0),
            np.where(mirrored, c0, c1),
        )
        sign = np.where((rows.x < 0.0) != mirrored[:, None], -1.0, 1.0)
        T, X = sign * rows.theta, np.abs(rows.x)
        low = np.where(sign > 0.0, self.box[0], -self.box[1])
        high = np.where(sign > 0.0, self.box[1], -self.box[0])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            reach = T - (high - T) * ((1.0 - light) / light)[:, None]
        reach = np.where(high == T, T, reach)
        return Oriented(
            T, X, sign, low, high, mirrored, split, np.maximum(low, reach), reach >= low
        )

    def _other_end(self, o: Oriented, V: Floats) -> Floats:
        """theta1; exactly at a bound or at 0 where rounding would leave it beside."""
        kappa = o.split.kappa[:, None]
        fall = np.where(kappa > 0.0, o.T - V, 0.0)
        end = np.clip(o.T + kappa * fall, o.low, o.high)
        at_zero = (self._flat_end(o) == V) & (o.T < 0.0) & (kappa > 0.0)
        return np.where(at_zero, 0.0, end)

    def _descend(self, o: Oriented) -> Stop:
        """Move down along the segments, in the order of their prices, as far as it pays."""
        start = np.maximum(self._flat_end(o), o.floor)
        rooms = np.stack((_minus(o.T, start), _minus(start, o.floor)))
        length = np.multiply(o.X, rooms, out=np.zeros_like(rooms), where=o.X > 0.0)
        price = _prices(self.C * o.X)
        order = np.argsort(np.hstack(price), axis=1, kind="stable")
        halt = self._halt(o.split, *(_sorted(a, order) for a in (length, price)))
        p0, paying = halt.p0, halt.price
        vertical = (o.split.light == 0.0) & (p0 == -np.inf)
        p0 = np.where(vertical, o.split.p, p0)
        a = np.where(halt.halfway & ~vertical, paying, self.pair.low(p0, o.split))
        moves = np.where(vertical[:, None], 0.0, _moves(halt, order, rooms, o.X))
        V = np.where(moves[0] == rooms[0], start - moves[1], o.T - moves[0])
        V = np.where((moves[1] == rooms[1]) & (rooms[1] > 0.0), o.floor, V)
        c = self.C * o.X * a[:, None]
        c = np.where((price[1] == paying[:, None]) & halt.halfway[:, None], 2.0, c)
        return Stop(V, p0, a, c, moves[1].sum(axis=1), vertical)

    def _halt(self, split: Split, length: Floats, prices: Floats) -> Halt:
        """Find the segment in which the movement ends, and where in it."""
        before = np.cumsum(np.pad(length, ((0, 0), (1, 0))), axis=1)
        prices = np.pad(prices, ((0, 0), (0, 1)), constant_values=np.inf)
        points = split.p[:, None] - before
        low = self.pair.low(points, split.columns())
        # The price beyond all segments is infinite, so the last column is always a stop.
        stops = np.pad(low[:, 1:], ((0, 0), (0, 1)), constant_values=-np.inf) <= prices
        rows, last = np.arange(len(points)), np.argmax(stops, axis=1)
        top, price = points[rows, last], prices[rows, last]
        halfway = low[rows, last] > price
        # Never beyond the segment's end: there slopes may underflow to 0, which has no largest p0.
        end = points[rows, np.minimum(last + 1, points.shape[1] - 1)]
        p0 = np.where(halfway, np.maximum(self.pair.largest(price, top, split), end), top)
        return Halt(last, price, halfway, p0, _minus(top, p0))


def _sorted(parts: Any, order: npt.NDArray[np.intp]) -> Floats:
    """Both parts' columns beside each other, in that order."""
    return np.take_along_axis(np.concatenate(tuple(parts), axis=1), order, axis=1)


def _prices(slope: Floats) -> tuple[Floats, Floats]:
    """0 for what is free, 2 / (C |x_i|) beyond it."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.zeros_like(slope), np.where(slope > 0.0, 2.0 / slope, np.inf)


def _minus(a: Floats, b: Floats) -> Floats:
    """Return a - b, where equal infinities leave 0."""
    return np.subtract(a, b, out=np.zeros_like(a), where=a != b)


def _moves(halt: Halt, order: npt.NDArray[np.intp], rooms: Floats, X: Floats) -> Floats:
    """Free and paid movement of every coordinate, (2, n, d)."""
    n, k = order.shape
    # By number, not by length: behind a long segment a short one would be lost in rounding.
    column, last = np.arange(k), halt.last[:, None]
    taken = np.where(column < last, np.inf, np.where(column == last, halt.within[:, None], 0.0))
    moved = np.empty((n, k))
    np.put_along_axis(moved, order, taken, axis=1)
    moved = np.stack(np.hsplit(moved, 2))
    with np.errstate(over="ignore"):
        shift = np.divide(moved, X, out=np.zeros_like(moved), where=X > 0.0)
    return np.minimum(shift, rooms)
