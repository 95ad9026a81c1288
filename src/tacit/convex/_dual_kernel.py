"""One row of the dual: prox, conjugate and best slope, for a known and for an unknown label.

=========  ====================================================================================
symbol     meaning
=========  ====================================================================================
phi        the margin loss, by its number in `LOSSES`
z, t       margin t f of the score f; t = +1 for class 1, -1 for class 0
w, m       weight of the row's loss; its share of the regulariser, m f^2
s          the row's dual variable, a slope in f
q, away    x' Q^-1 x of the row, and the score with the row's own part taken out
=========  ====================================================================================

A known label gives the row's function h(f) = w phi(t f) + m f^2 + c_t. An unknown label gives the
convex hull of both: its conjugate is the larger of the two conjugates, hence exact and cheap.
"""

from __future__ import annotations

import math

from numba import njit

__all__ = [
    "LOSSES",
    "conjugate",
    "crossing",
    "hull_conjugate",
    "hull_step",
    "label_step",
    "loss",
    "spread",
]

LOSSES = {"hinge": 0, "squared_hinge": 1, "logistic": 2}
TINY = 1e-200
STEPS = 100


@njit(cache=True, nogil=True)
def loss(kind: int, z: float) -> float:
    """phi(z)."""
    if kind == 0:
        return max(0.0, 1.0 - z)
    if kind == 1:
        return 0.5 * max(0.0, 1.0 - z) ** 2
    return max(-z, 0.0) + math.log1p(math.exp(-abs(z)))


@njit(cache=True, nogil=True)
def _prox(kind: int, c: float, tau: float) -> float:
    """argmin_z tau phi(z) + (z - c)^2 / 2."""
    if kind == 0:
        return c if c > 1.0 else min(c + tau, 1.0)
    if kind == 1:
        return c if c > 1.0 else 1.0 + (c - 1.0) / (1.0 + tau)
    low, high = c, c + tau
    z = 0.5 * (low + high)
    for _ in range(STEPS):  # Newton, or half the bracket where that would gain more
        p = 1.0 / (1.0 + math.exp(min(z, 700.0)))
        r = z - c - tau * p
        width = high - low
        if r > 0.0:
            high = z
        else:
            low = z
        new = z - r / (1.0 + tau * p * (1.0 - p))
        if not low < new < high or high - low > 0.5 * width:
            new = 0.5 * (low + high)
        if abs(new - z) <= 1e-15 * (1.0 + abs(z)):
            return new
        z = new
    return z


@njit(cache=True, nogil=True)
def _plain(kind: int, w: float, u: float) -> float:
    """Conjugate of w phi at -u, for u in the domain."""
    if kind == 0:
        return -u
    if kind == 1:
        return u * u / (2.0 * w) - u
    p = u / w
    first = p * math.log(p) if p > 0.0 else 0.0
    return w * (first + ((1.0 - p) * math.log1p(-p) if p < 1.0 else 0.0))


@njit(cache=True, nogil=True)
def conjugate(kind: int, w: float, m: float, s: float) -> float:
    """sup_z s z - w phi(z) - m z^2, in the margin; s must lie in the domain where m = 0.

    Never below that: the conjugate of a sum is the least of (w phi)*(-u) + (s + u)^2 / (4 m), and
    any u gives a value that is proven, however well the prox was solved.
    """
    if w <= 0.0:
        return s * s / (4.0 * m) if m > 0.0 else 0.0
    if m > 0.0:
        z = _prox(kind, s / (2.0 * m), w / (2.0 * m))
        u = max(2.0 * m * z - s, 0.0)
        u = u if kind == 1 else min(u, w)
        return _plain(kind, w, u) + (s + u) ** 2 / (4.0 * m)
    u = max(-s, 0.0)
    return _plain(kind, w, u if kind == 1 else min(u, w))


@njit(cache=True, nogil=True)
def _inside(kind: int, w: float, m: float, s: float) -> float:
    """Nearest slope, in the margin, at which the conjugate is finite."""
    if m > 0.0:
        return s
    if kind == 1:
        return min(s, 0.0) if w > 0.0 else 0.0
    return min(max(s, -w), 0.0)


@njit(cache=True, nogil=True)
def label_step(
    kind: int, w: float, m: float, q: float, away: float, t: float
) -> tuple[float, float]:
    """Best slope of a row with label t, and max_s -h*(s) + away s - q s^2 / 4 without c_t."""
    if w <= 0.0:
        return 0.0, 0.0
    if q <= TINY:
        half = 0.5 if kind == 2 else 1.0
        return -t * w * half, w * loss(kind, 0.0)
    shrink = 1.0 + m * q
    z = _prox(kind, t * away / shrink, 0.5 * q * w / shrink)
    s = _inside(kind, w, m, 2.0 * (t * away - z) / q)
    return t * s, -conjugate(kind, w, m, s) + t * s * away - 0.25 * q * s * s


@njit(cache=True, nogil=True)
def crossing(kind: int, w: float, m: float, c0: float, c1: float) -> float:
    """Slope s at which both labels' conjugates, less their costs, are the same; bisection."""
    if m <= 0.0 or w <= 0.0 or c0 == c1:
        return 0.0
    size = 1.0
    for _ in range(STEPS):  # class 1 is the larger for large s
        up = conjugate(kind, w, m, size) - c1 - conjugate(kind, w, m, -size) + c0
        down = conjugate(kind, w, m, -size) - c1 - conjugate(kind, w, m, size) + c0
        if up >= 0.0 >= down:
            break
        size *= 2.0
    low, high = -size, size
    for _ in range(STEPS):
        mid = 0.5 * (low + high)
        if conjugate(kind, w, m, mid) - c1 - conjugate(kind, w, m, -mid) + c0 >= 0.0:
            high = mid
        else:
            low = mid
    return 0.5 * (low + high)


@njit(cache=True, nogil=True)
def hull_conjugate(kind: int, w: float, m: float, s: float, c0: float, c1: float) -> float:
    """Conjugate of the hull of both labels: the larger of both, at any s (m = 0: at s = 0)."""
    one = conjugate(kind, w, m, s) - c1
    zero = conjugate(kind, w, m, -s) - c0
    return max(one, zero)


@njit(cache=True, nogil=True)
def hull_step(kind: int, w: float, m: float, q: float, away: float, cross: float) -> float:
    """Best slope of a row whose label is unknown."""
    if m <= 0.0 or w <= 0.0 or q <= TINY:
        return 0.0
    up = label_step(kind, w, m, q, away, 1.0)[0]
    if up >= cross:
        return up
    down = label_step(kind, w, m, q, away, -1.0)[0]
    return down if down <= cross else cross


@njit(cache=True, nogil=True)
def spread(kind: int, w: float, m: float, s: float, cross: float, f: float) -> float:
    """(f1 - f) (f - f0) for the two points that the hull mixes at slope s; 0 where it does not.

    This is the slope of the bound in m, less that of the regulariser.
    """
    if m <= 0.0 or w <= 0.0 or s != cross:
        return 0.0
    up = _prox(kind, s / (2.0 * m), w / (2.0 * m))
    down = -_prox(kind, -s / (2.0 * m), w / (2.0 * m))
    return max(up - f, 0.0) * max(f - down, 0.0)
