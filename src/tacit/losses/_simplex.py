"""What the losses with one score per class share: slopes on the simplex, shifted by the label.

Such a loss is max or log-sum-exp of the scores minus the own score; a slope d satisfies
q = d + e_y >= 0 and sum q = 1.
"""

from __future__ import annotations

from abc import abstractmethod

from array_api_compat import device

from tacit.backends import Array, array_namespace
from tacit.losses.base import Loss, one_hot

__all__ = ["SimplexLoss", "diagonal", "pick"]


class SimplexLoss(Loss):
    """A loss whose conjugate lives on the simplex; members write its value there.

    Notes
    -----
    A dual counts as feasible if no q_j is below, and the sum of q not further from 1 than,
    8 C eps (eps of the dtype): what rounding does to a slope that was computed.
    """

    @abstractmethod
    def _conjugate_inside(self, dual: Array, own: Array) -> Array:
        """Conjugate for q = dual + own >= 0, (N,); the boolean `own` marks the label."""

    def n_columns(self, n_classes: int) -> int:
        return n_classes

    def value(self, scores: Array, y: Array) -> Array:
        return pick(self.table(scores), y)

    def conjugate(self, dual: Array, y: Array) -> Array:
        xp = array_namespace(dual)
        tolerance = 8.0 * dual.shape[1] * float(xp.finfo(dual.dtype).eps)
        own = one_hot(y, dual.shape[1], dual)
        inside = xp.all(dual + own >= -tolerance, axis=1)
        inside = inside & (xp.abs(xp.sum(dual, axis=1)) <= tolerance)
        return xp.where(inside, self._conjugate_inside(dual, own > 0.0), xp.inf)

    def project_dual(self, dual: Array, y: Array) -> Array:
        """Nearest point of the shifted simplex, (N, P)."""
        xp = array_namespace(dual)
        own = one_hot(y, dual.shape[1], dual)
        q = xp.sort(dual + own, axis=1, descending=True)
        counts = xp.arange(1, q.shape[1] + 1, dtype=q.dtype, device=device(own))
        level = xp.max((xp.cumulative_sum(q, axis=1) - 1.0) / counts, axis=1, keepdims=True)
        # max(q - level, 0) - own, without taking 1 from a number close to 1.
        return xp.maximum(dual - level, -own)


def pick(table: Array, y: Array) -> Array:
    """Entry of each row's label, (N,)."""
    xp = array_namespace(table)
    own = one_hot(y, table.shape[1], table) > 0.0
    return xp.sum(xp.where(own, table, 0.0), axis=1)


def diagonal(rows: Array) -> Array:
    """Diagonal matrices of the rows, (N, P, P)."""
    xp = array_namespace(rows)
    unit = xp.eye(rows.shape[1], dtype=rows.dtype, device=device(rows))
    return rows[:, :, None] * unit[None, :, :]
