"""MNIST with negative labels, for the benchmarks: rows in [0, 1], found through TACIT_DATA."""

from __future__ import annotations

import numpy as np

from tacit import MissingData
from tacit.datasets import balanced_rows, load_mnist, make_negatives

CLASSES, GAMMA = 10, 0.02


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and classes of the training and of the test part."""
    try:
        digits = load_mnist()
    except MissingData as error:
        raise SystemExit(str(error)) from None
    return digits.X, digits.y, digits.X_test, digits.y_test


def balanced(y: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n rows, the same number of each class, in random order."""
    return balanced_rows(y, n, rng)


def negatives(y: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return k different wrong classes of each row, (N, k)."""
    return make_negatives(y, k, CLASSES, rng)
