r"""Prices of counts: maximise a concave function of them that a discrete oracle evaluates.

.. math:: g(p) = \min_y \bigl(E(y) + p \cdot n(y)\bigr) - \sum_k \max(p_k l_k, p_k u_k)

is a lower bound on E(y) for all y with l <= n(y) <= u. Each labeling is a linear piece of the
first term: one price is found by intersecting pieces, several by a linear program in a box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linprog

__all__ = ["Bounds", "Piece", "charge", "search_many", "search_one"]

FloatArray = npt.NDArray[np.float64]
# A box that is no better than its centre's piece promised this often is halved.
SERIOUS = 0.1
# Pieces kept per price beside a few.
POOL, POOL_PER_PRICE = 20, 3


@dataclass(frozen=True)
class Piece:
    """A labeling found at some prices: what it costs without prices, its counts, the bound there.

    `bound` is a proven lower bound on g at `price`.
    """

    price: FloatArray
    labels: npt.NDArray[np.int32]
    energy: float
    count: FloatArray
    bound: float


# Stop when so many prices have closed less than this part of what is promised.
PATIENCE, PROGRESS = 6, 0.1
# Rises smaller than this, relative to the energies, are rounding.
ROUNDING = 1e-11

Evaluate = Callable[[FloatArray], Piece]
Enough = Callable[[list[Piece]], bool]


def charge(price: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    """Sum of max(p l, p u)."""
    return float(np.maximum(price * lower, price * upper).sum())


@dataclass(frozen=True)
class Bounds:
    """Bounds on counts and how far prices make sense."""

    lower: FloatArray
    upper: FloatArray
    far: float

    def worth(self, piece: Piece, price: FloatArray) -> float:
        """Return what a piece says of g at some price: g is at most that."""
        return piece.energy + float(price @ piece.count) - charge(price, self.lower, self.upper)

    def slope(self, piece: Piece) -> FloatArray:
        """Return a supergradient of g where the piece was found, 0 at a kink where it may be."""
        over, under = piece.count - self.upper, piece.count - self.lower
        kink = np.clip(0.0, over, under)
        return np.where(piece.price > 0, over, np.where(piece.price < 0, under, kink))


def search_one(
    evaluate: Evaluate, enough: Enough, bounds: Bounds, start: float, step: float, max_iter: int
) -> list[Piece]:
    """Best single price: exact up to rounding where the oracle is, in finitely many evaluations.

    The optimum lies between a price at which too many rows are counted and one at which too few
    are. The pieces of both meet at a price where either g has its maximum or a new piece is found.
    """
    pieces: list[Piece] = []
    low: Piece | None = None  # too many rows: the price has to rise
    high: Piece | None = None
    price, promised = start, np.inf
    while len(pieces) < max_iter:
        here = evaluate(np.array([price]))
        pieces.append(here)
        slope = float(bounds.slope(here)[0])
        if slope == 0.0 or enough(pieces) or here.energy + price * here.count[0] >= promised:
            break
        low, high = (here, high) if slope > 0 else (low, here)
        if low is None or high is None:
            if abs(price) >= bounds.far:
                break
            price = float(np.clip(price + np.sign(slope) * step, -bounds.far, bounds.far))
            step *= 4.0
            continue
        left, right = float(low.price[0]), float(high.price[0])
        if left < 0.0 < right:
            price = 0.0  # where the charge has its kink
            continue
        fewer = float(low.count[0] - high.count[0])
        price = (high.energy - low.energy) / fewer if fewer > 0 else np.inf
        promised = (low.energy + price * low.count[0]) - ROUNDING * abs(low.energy)
        if not left < price < right:  # the oracle is not exact, or rounding is all that is left
            price, promised = 0.5 * (left + right), np.inf
        if not left < price < right:
            break
    return pieces


def search_many(
    evaluate: Evaluate,
    enough: Enough,
    bounds: Bounds,
    start: FloatArray,
    step: float,
    pool: list[Piece],
    max_iter: int,
) -> tuple[list[Piece], float]:
    """Raise g over several prices; returns the pieces found, and the last size of the box.

    In a box around the best prices so far, the least of all known pieces is maximised by a linear
    program; where that promises nothing any more, g is at its maximum. `pool` are pieces known
    before, whose bounds are not used.
    """
    best = evaluate(start)
    pieces, bounds_seen = [best], [best.bound]
    while len(pieces) < max_iter and not enough(pieces):
        known = (pool + pieces)[-(POOL + POOL_PER_PRICE * len(start)) :]
        price, promised = _best_in_box(known, bounds, best.price, step)
        rise = promised - best.bound
        if not rise > ROUNDING * max(abs(best.energy), abs(promised)):
            break
        if len(bounds_seen) > PATIENCE:
            rose = best.bound - bounds_seen[-1 - PATIENCE]
            if rose <= PROGRESS * rise:
                break
        here = evaluate(price)
        pieces.append(here)
        edge = np.abs(price - best.price).max() >= 0.999 * step
        if here.bound >= best.bound + SERIOUS * rise:
            best = here
            step *= 2.0 if edge else 1.0
        else:
            step *= 0.5
        bounds_seen.append(best.bound)
    return pieces, step


def _best_in_box(
    pieces: list[Piece], bounds: Bounds, centre: FloatArray, step: float
) -> tuple[FloatArray, float]:
    """Prices within `step` of the centre at which the least piece is largest, and how large.

    Columns: prices, what is charged for each, the least piece.
    """
    n, m = len(centre), len(pieces)
    counts = np.array([piece.count for piece in pieces])
    top = np.hstack([-counts, np.zeros((m, n)), np.ones((m, 1))])
    eye, none = sp.eye_array(n), sp.coo_array((n, 1))
    charges = [
        sp.hstack([sp.diags_array(side), -eye, none]) for side in (bounds.lower, bounds.upper)
    ]
    box = [(c - step, c + step) for c in centre.tolist()] + [(None, None)] * (n + 1)
    answer = linprog(
        np.concatenate([np.zeros(n), np.ones(n), [-1.0]]),
        A_ub=sp.csr_array(sp.vstack([sp.csr_array(top), *charges])),
        b_ub=np.concatenate([[piece.energy for piece in pieces], np.zeros(2 * n)]),
        bounds=box,
        method="highs-ds",
    )
    if answer.x is None:
        return centre, -np.inf
    price = np.asarray(answer.x[:n])
    return price, min(bounds.worth(piece, price) for piece in pieces)
