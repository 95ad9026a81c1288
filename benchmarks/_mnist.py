"""MNIST with negative labels, for the benchmarks: rows in [0, 1], found through TACIT_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

CLASSES, GAMMA = 10, 0.02
FOLDER = Path(os.environ.get("TACIT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and classes of the training and of the test part."""
    path = FOLDER / "mnist.npz"
    if not path.exists():
        raise SystemExit(f"{path} is missing; set TACIT_DATA to the folder with mnist.npz.")
    z = np.load(path)

    def rows(name: str) -> np.ndarray:
        return (z[name].reshape(len(z[name]), -1) / 255.0).astype(np.float32)

    return rows("X_train"), z["y_train"].astype(int), rows("X_test"), z["y_test"].astype(int)


def balanced(y: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n rows, the same number of each class, in random order."""
    size = n // CLASSES
    parts = [rng.choice(np.flatnonzero(y == c), size, replace=False) for c in range(CLASSES)]
    return rng.permutation(np.concatenate(parts))


def negatives(y: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return k different wrong classes of each row, (N, k)."""
    shift = np.argsort(rng.random((len(y), CLASSES - 1)), axis=1)[:, :k] + 1
    return (y[:, None] + shift) % CLASSES
