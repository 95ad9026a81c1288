"""Random programs of pairs of rows, for the oracles that accept them."""

from __future__ import annotations

import numpy as np

from tacit.hints._program import LabelProgram, Pairs


def random_edges(rng, n, m):
    """Up to m edges without loops; the same two rows may occur again, either way round."""
    edges = rng.integers(0, n, (3 * m + 3, 2))
    return edges[edges[:, 0] != edges[:, 1]][:m]


def allowed_labels(rng, n, n_classes, share):
    """Forbid this share of the labels, never all of a row."""
    mask = rng.random((n, n_classes)) >= share
    mask[np.arange(n), rng.integers(0, n_classes, n)] = True
    return mask


def program_of(rng, n, n_classes, edges, tables, forbidden=0.2):
    """A program with its own costs; tables (M, C, C)."""
    mask = allowed_labels(rng, n, n_classes, forbidden) if forbidden else None
    unary = rng.integers(-2, 3, (n, n_classes)) / 2.0
    if mask is not None:
        unary[~mask] = 0.0
    m = len(edges)
    pairs = Pairs(np.asarray(edges, np.intp), np.ones(m), np.arange(m), np.asarray(tables, float))
    return LabelProgram(n, n_classes, allowed=mask, unary=unary, pairs=pairs)


def submodular_tables(rng, m, infinite=0.2):
    """Two labels; some entries +inf so that the table stays submodular, must-links included."""
    t = rng.integers(-3, 4, (m, 2, 2)) / 2.0
    slope = t[:, 0, 1] + t[:, 1, 0] - t[:, 0, 0] - t[:, 1, 1]
    t[:, 0, 1] += np.maximum(-slope, 0.0)
    kinds = [(), ((0, 1),), ((1, 0),), ((0, 1), (1, 0)), ((0, 0), (0, 1)), ((1, 1), (0, 1))]
    for table in t:
        if rng.random() < infinite:
            for entry in kinds[rng.integers(len(kinds))]:
                table[entry] = np.inf
    return t
