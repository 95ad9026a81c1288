"""How the penalty rho grows."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Schedule", "transition"]


def transition(nu: float, top: float) -> float:
    """Penalty 2 nu / d at which the largest mode d of K becomes active."""
    return 2.0 * nu / top if top > 0 else 1.0


@dataclass(frozen=True)
class Schedule:
    """rho = first * growth^t, changed every `hold` iterations only, at most `last`.

    Holding serves spaces where a new rho costs a new factorisation.
    """

    first: float
    growth: float
    hold: int = 1
    last: float = float("inf")

    def rho(self, iteration: int) -> float:
        """Penalty of an iteration, counted from 0."""
        return min(self.first * self.growth ** (iteration - iteration % self.hold), self.last)
