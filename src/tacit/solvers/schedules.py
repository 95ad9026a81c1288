"""How the penalty rho grows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Schedule", "quick", "settle", "transition"]


def transition(nu: float, top: float) -> float:
    """Penalty 2 nu / d at which the largest mode d of K becomes active."""
    return 2.0 * nu / top if top > 0 else 1.0


@dataclass(frozen=True)
class Schedule:
    """rho = first * growth^t; or given values, after which an anneal ends."""

    first: float
    growth: float = 1.0
    values: tuple[float, ...] = ()

    def rho(self, iteration: int) -> float:
        """Penalty of an iteration, counted from 0."""
        if self.values:
            return self.values[min(iteration, len(self.values) - 1)]
        return float(self.first * self.growth**iteration)

    def over(self, iteration: int) -> bool:
        """Whether given values have all been used after so many iterations."""
        return bool(self.values) and iteration >= len(self.values)


def quick(unit: float) -> Schedule:
    """Few iterations, for many rows that only their classifier couples: 1 to 2, then 5.

    `unit` is the weight of a row. Fifteen values up to 2 in place of eight took half as long again
    and were no better on digits (test error over seeds and 1 to 8 negative labels).
    """
    values = (*np.geomspace(1.0, 2.0, 8), 5.0, 5.0, 5.0)
    return Schedule(unit, values=tuple(float(unit * v) for v in values))


def settle(unit: float) -> Schedule:
    """Few iterations after the rows have become ten times as many: 0.3 to 10.

    `unit` is the weight of a row.
    """
    values = np.geomspace(0.3, 10.0, 12)
    return Schedule(unit, values=tuple(float(unit * v) for v in values))
