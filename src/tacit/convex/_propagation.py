"""What the hints say about a partial labeling: labels that cannot be, and costs that must be.

=======  =========  ===========================================================================
symbol   shape      meaning
=======  =========  ===========================================================================
domain   (N,)       labels that are left: bit 1 for class 0, bit 2 for class 1
rows     R          lower <= sum a_i [y_i = 1] <= upper, in compressed rows: indptr, members, a
ends     (M, 2)     rows of each pair; `table` (M, 2, 2) its cost, +inf for what must not be
=======  =========  ===========================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["BOTH", "pair_bound", "propagate"]

BOTH = 3


@njit(cache=True, nogil=True)
def propagate(domain: Any, rows: Any, pairs: Any) -> bool:
    """Remove labels that no completion can have, as rows and pairs show; False if none is left."""
    indptr, members, coef, lower, upper = rows
    ends, table = pairs
    moved = True
    while moved:
        moved = False
        for r in range(len(lower)):
            low = 0.0
            high = 0.0
            for k in range(indptr[r], indptr[r + 1]):
                a, d = coef[k], domain[members[k]]
                low += a if d == 2 else (min(a, 0.0) if d == BOTH else 0.0)
                high += a if d == 2 else (max(a, 0.0) if d == BOTH else 0.0)
            if low > upper[r] or high < lower[r]:
                return False
            for k in range(indptr[r], indptr[r + 1]):
                i, a = members[k], coef[k]
                if domain[i] != BOTH:
                    continue
                # A label that moves the row's reach by |a| beyond a bound cannot be.
                if low + abs(a) > upper[r]:
                    domain[i] = 1 if a > 0.0 else 2
                elif high - abs(a) < lower[r]:
                    domain[i] = 2 if a > 0.0 else 1
                else:
                    continue
                moved = True
                break  # low and high are those of before
        for e in range(len(ends)):
            i, j = ends[e, 0], ends[e, 1]
            for side in range(2):
                for c in range(2):
                    if not domain[i] >> c & 1:
                        continue
                    first = table[e, c, 0] if side == 0 else table[e, 0, c]
                    second = table[e, c, 1] if side == 0 else table[e, 1, c]
                    can = (domain[j] & 1 and first < np.inf) or (domain[j] & 2 and second < np.inf)
                    if not can:
                        domain[i] ^= 1 << c
                        moved = True
                if domain[i] == 0:
                    return False
                i, j = j, i
    return True


@njit(cache=True, nogil=True)
def pair_bound(domain: Any, pairs: Any) -> float:
    """Sum over the pairs of the least cost that their labels still allow."""
    ends, table = pairs
    total = 0.0
    for e in range(len(ends)):
        least = np.inf
        for a in range(2):
            for b in range(2):
                if domain[ends[e, 0]] >> a & 1 and domain[ends[e, 1]] >> b & 1:
                    least = min(least, table[e, a, b])
        total += least
    return total
