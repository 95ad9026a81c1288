"""Rows that fractional columns of a complete graph's partition break, compiled."""

from __future__ import annotations

import numpy as np

from tacit.oracles._partition_heap import jit

__all__ = ["find_stars", "find_triangles"]


@jit
def find_triangles(X, broken):  # type: ignore[no-untyped-def]
    """For each edge (i, j) the node k that breaks x_ij <= x_ik + x_kj most, if any does."""
    n = len(X)
    found = np.empty((n * (n - 1) // 2, 3), np.int64)
    amount = np.empty(len(found))
    count = 0
    for i in range(n):
        for j in range(i + 1, n):
            if X[i, j] <= broken:
                continue
            best, least = -1, X[i, j] - broken
            for k in range(n):
                if k != i and k != j and X[i, k] + X[k, j] < least:
                    best, least = k, X[i, k] + X[k, j]
            if best >= 0:
                found[count, 0], found[count, 1], found[count, 2] = i, j, best
                amount[count] = X[i, j] - least
                count += 1
    return found[:count], amount[:count]


@jit
def find_stars(Y, broken, salt):  # type: ignore[no-untyped-def]
    """Items i and sets T with sum_T y_ij - sum over pairs in T of y_jk > 1; y = 1: joined.

    Sets grow greedily from every first leaf. Returns i and T back to back, their places, by how
    much they break it, and a number that is the same for the same i and T.
    """
    n = len(Y)
    stars, used = np.empty(64, np.int64), 0
    indptr, amount, count = np.zeros(n * n + 1, np.int64), np.empty(n * n), 0
    name = np.empty(n * n, np.uint64)
    leaves, gain = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        for first in range(n):
            if first == i or Y[i, first] <= broken or Y[i, first] >= 1.0 - broken:
                continue
            leaves[0], size, total = first, 1, Y[i, first]
            for j in range(n):
                gain[j] = Y[i, j] - Y[j, first]
            gain[i] = gain[first] = -np.inf
            while True:
                j = int(np.argmax(gain))
                if gain[j] <= broken:
                    break
                leaves[size] = j
                size += 1
                total += gain[j]
                for k in range(n):
                    gain[k] -= Y[j, k]
                gain[j] = -np.inf
            # With two leaves it is a triangle.
            if size < 3 or total <= 1.0 + broken:
                continue
            while used + size + 1 > len(stars):
                stars = np.concatenate((stars, np.empty(len(stars), np.int64)))
            stars[used] = i
            stars[used + 1 : used + 1 + size] = leaves[:size]
            name[count] = salt[i] * np.uint64(3)
            for k in range(size):
                name[count] += salt[leaves[k]]
            used += size + 1
            amount[count] = total - 1.0
            count += 1
            indptr[count] = used
    return stars[:used], indptr[: count + 1], amount[:count], name[:count]
