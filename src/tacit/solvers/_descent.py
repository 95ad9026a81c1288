"""The descent test: an inexact discrete answer is used only if it is no worse than the last."""

from __future__ import annotations

from tacit.backends import Array, array_namespace, as_like, to_numpy
from tacit.oracles import Oracle

__all__ = ["descend"]


def descend(oracle: Oracle, table: Array, last: Array | None) -> tuple[Array, float]:
    """Labels for a cost table, no worse than `last`, and what the hints charge for them, S(y).

    The table may lie on a device; it is brought to the host for oracles that need it there.

    Notes
    -----
    Equation: (16) in 004
    """
    result = oracle.solve(table if oracle.anywhere else to_numpy(table))
    labels = as_like(result.labels, table)
    if result.exact and not oracle.program.soft:
        return labels, 0.0
    hint_cost = result.value - _paid(table, labels)
    if not result.exact and last is not None:
        last_cost = oracle.program.value(to_numpy(last))
        if _paid(table, last) + last_cost <= result.value:
            return last, last_cost
    return labels, hint_cost


def _paid(table: Array, labels: Array) -> float:
    """Sum of the table's entries at the labels."""
    xp = array_namespace(table)
    columns = xp.astype(labels, xp.int64)[:, None]
    return float(xp.sum(xp.take_along_axis(table, columns, axis=1)))
