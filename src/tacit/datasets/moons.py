"""Four moons in the plane, and the weak knowledge that the papers give about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from tacit.hints import CannotLink, Count, Hints, MustLink, Not

__all__ = ["make_batches", "make_four_moons", "make_links", "make_tree"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


def make_four_moons(
    n: int = 600,
    layout: str = "chain",
    noise: float = 0.08,
    random_state: Any = None,
) -> tuple[FloatArray, Labels]:
    """Four half circles, one per class, in random row order.

    Half circle c is (cos t, sin t) for even c and (cos t, 0.5 - sin t) for odd c, with t evenly
    spaced in [0, pi], shifted and blurred.

    Parameters
    ----------
    n : int
        Number of rows; the classes differ by at most one.
    layout : {"chain", "grid"}
        Shift by (1.25 c, 0), or by (c mod 2, 2.5 (c div 2)).
    noise : float
        Standard deviation of Gaussian noise on both coordinates.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    X : array of shape (n, 2)
    y : array of shape (n,)
        Classes 0..3.

    Notes
    -----
    Equation: (16) in 000, the data of section 3.1
    """
    if layout not in {"chain", "grid"}:
        raise ValueError(f"layout={layout!r}; expected 'chain' or 'grid'.")
    if n < 4:
        raise ValueError(f"n={n}; four moons need at least 4 rows.")
    rng = check_random_state(random_state)
    sizes = [n // 4 + (c < n % 4) for c in range(4)]
    X = np.concatenate([_moon(c, size, layout) for c, size in enumerate(sizes)])
    y = np.repeat(np.arange(4), sizes)
    X += noise * rng.standard_normal(X.shape)
    order = rng.permutation(n)
    return X[order], y[order]


def _moon(c: int, size: int, layout: str) -> FloatArray:
    t = np.linspace(0.0, np.pi, size)
    height = np.sin(t) if c % 2 == 0 else 0.5 - np.sin(t)
    shift = (1.25 * c, 0.0) if layout == "chain" else (c % 2, 2.5 * (c // 2))
    return np.column_stack([np.cos(t), height]) + np.array(shift)


def make_batches(
    y: npt.NDArray[np.integer],
    n_batches: int = 25,
    size: int = 25,
    slack: int = 3,
    random_state: Any = None,
) -> Count:
    """Class counts of random batches of rows, known up to `slack`.

    Batches may overlap; rows in none of them stay unknown altogether.

    Notes
    -----
    Equation: (17) in 000, supervision by class counts
    """
    rng = check_random_state(random_state)
    groups = [np.sort(rng.choice(len(y), size, replace=False)) for _ in range(n_batches)]
    n_classes = int(np.max(y)) + 1
    truth = np.array([np.bincount(y[g], minlength=n_classes) for g in groups])
    return Count(groups, np.maximum(truth - slack, 0), np.minimum(truth + slack, size))


def make_links(y: npt.NDArray[np.integer], cost: float = 5.0, random_state: Any = None) -> Hints:
    """One negative label for every row, and a random spanning tree of soft links.

    Parameters
    ----------
    y : array of shape (n,)
        True classes 0..C-1.
    cost : float
        T, the cost of a broken link.
    random_state : int, RandomState or None
        Seed.

    Notes
    -----
    Equation: (16) in 000, unary and pairwise supervision
    """
    rng = check_random_state(random_state)
    n, n_classes = len(y), int(np.max(y)) + 1
    wrong = (y + rng.randint(1, n_classes, n)) % n_classes
    return Hints([Not(np.arange(n), wrong), make_tree(y, cost, rng)])


def make_tree(y: npt.NDArray[np.integer], cost: float = 5.0, random_state: Any = None) -> Hints:
    """Soft links along a random spanning tree.

    Each row but the first is joined to a random earlier one (in a random order): by a should-link
    where the true classes agree, by a should-not-link where they differ.

    Parameters
    ----------
    y : array of shape (n,)
        True classes 0..C-1.
    cost : float
        T, the cost of a broken link.
    random_state : int, RandomState or None
        Seed.

    Notes
    -----
    Equation: Sec. 3.2 in 000, pairwise constraints of the digits
    """
    rng, n = check_random_state(random_state), len(y)
    order = rng.permutation(n)
    earlier = (rng.random_sample(n - 1) * np.arange(1, n)).astype(np.intp)
    pairs = np.column_stack([order[earlier], order[1:]])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Hints([MustLink(pairs[same], cost), CannotLink(pairs[~same], cost)])
