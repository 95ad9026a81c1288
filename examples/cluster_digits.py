"""Digits grouped by class from a few links between pictures, nobody naming a class.

Run: ``python examples/cluster_digits.py``, with the environment variable ``TACIT_DATA`` set to the
folder that holds ``mnist.npz`` (docs/data.md).

Of 150 digits, 100 pairs are said to show the same digit and 100 different ones. Compared are
k-means, which does not see the links; correlation clustering by a classifier of pairs that is
learned from the links alone; and both learned together, which is what HintClusterer does.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from tacit import HintClusterer, hints
from tacit.datasets import load_mnist

EACH, LINKS, DIMENSIONS, SEEDS = 15, 100, 30, 2


def sample(seed: int) -> tuple[np.ndarray, np.ndarray, hints.Hint]:
    """Draw digits, their classes, and links between some of them."""
    rng, digits = np.random.default_rng(seed), load_mnist()
    rows = [rng.choice(np.flatnonzero(digits.y == c), EACH, replace=False) for c in range(10)]
    rows = rng.permutation(np.concatenate(rows))
    X = PCA(DIMENSIONS, random_state=seed).fit_transform(digits.X[rows].astype(float))
    y = digits.y[rows]
    pairs = np.column_stack(np.triu_indices(len(y), 1))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    must, cannot = (pairs[rng.choice(np.flatnonzero(k), LINKS, False)] for k in (same, ~same))
    return X, y, hints.MustLink(must) + hints.CannotLink(cannot)


def scores(seed: int) -> list[float]:
    """Return the adjusted Rand index of each method."""
    X, y, known = sample(seed)
    found = [KMeans(10, n_init=10, random_state=seed).fit_predict(X)]
    for solver in ("inductive", "admm"):
        model = HintClusterer(10, solver=solver, C=0.1, random_state=seed)
        found.append(model.fit(X, hints=known).labels_)
    return [float(adjusted_rand_score(y, labels)) for labels in found]


def main() -> None:
    """Print a table."""
    print(f"adjusted Rand index, {10 * EACH} digits, {LINKS} + {LINKS} links")
    print("seed   k-means   links alone   together")
    table = []
    for seed in range(SEEDS):
        table.append(scores(seed))
        print(f"{seed:4d}   {table[-1][0]:7.3f}   {table[-1][1]:11.3f}   {table[-1][2]:8.3f}")
    mean = np.mean(table, axis=0)
    print(f"mean   {mean[0]:7.3f}   {mean[1]:11.3f}   {mean[2]:8.3f}")


if __name__ == "__main__":
    main()
