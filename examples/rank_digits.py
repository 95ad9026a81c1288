"""Digits put in order by their value, from comparisons of some pairs of pictures.

Run: ``python examples/rank_digits.py``, with the environment variable ``TACIT_DATA`` set to the
folder that holds ``mnist.npz`` (docs/data.md).

Of 60 digits, some pairs are compared: this one shows the larger digit. A linear ranker on random
Fourier features is learned from the comparisons alone, and together with an order of all 60; both
then rank 2000 other digits. Learning together gains nothing here: see the notes of `HintRanker`.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import kendalltau
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler

from tacit import HintRanker
from tacit.datasets import load_mnist

ROWS, OTHERS, SEEDS = 60, 2000, 3


def features(train: np.ndarray, new: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random Fourier features of the main components."""
    reduce = PCA(30, random_state=seed).fit(new)
    a, b = reduce.transform(train), reduce.transform(new)
    size = b.std()
    draw = RBFSampler(gamma=0.02, n_components=200, random_state=seed).fit(b)
    return draw.transform(a / size), draw.transform(b / size)


def scores(seed: int, n_comparisons: int) -> list[float]:
    """Return Kendall's tau on the other digits, of both rankers."""
    rng, digits = np.random.default_rng(seed), load_mnist()
    rows = rng.choice(len(digits.y), ROWS + OTHERS, replace=False)
    X, y = digits.X[rows].astype(float), digits.y[rows]
    A, B = features(X[:ROWS], X[ROWS:], seed)
    pairs = np.column_stack(np.triu_indices(ROWS, 1))
    pairs = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]]
    pairs = pairs[rng.choice(len(pairs), n_comparisons, replace=False)]
    larger = y[pairs[:, 0]] > y[pairs[:, 1]]
    comparisons = np.where(larger[:, None], pairs, pairs[:, ::-1])
    found = []
    for solver in ("inductive", "admm"):
        ranker = HintRanker(solver=solver, C=1.0, random_state=seed)
        ranker.fit(A, comparisons=comparisons)
        found.append(float(kendalltau(ranker.predict(B), y[ROWS:])[0]))
    return found


def main() -> None:
    """Print a table."""
    print(f"Kendall's tau on {OTHERS} other digits, mean of {SEEDS} seeds")
    print("comparisons   alone   together")
    for count in (50, 200):
        mean = np.mean([scores(seed, count) for seed in range(SEEDS)], axis=0)
        print(f"{count:11d}   {mean[0]:5.3f}   {mean[1]:8.3f}")


if __name__ == "__main__":
    main()
