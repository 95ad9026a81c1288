"""The one loop that all iterative solvers share: count, record, report, stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from tacit.result import History, Iteration, Status

__all__ = ["Callback", "Loop", "Measured"]


class Callback(Protocol):
    """Called after every iteration; return True to stop with the best answer so far."""

    def __call__(self, iteration: Iteration, /) -> Any:
        """Look at one iteration."""


@dataclass(frozen=True)
class Measured:
    """What a step reports of itself; the loop adds number, phase and time."""

    objective: float
    primal: float = float("nan")
    dual: float = float("nan")
    rho: float = float("nan")
    changes: int = 0
    gap: float = float("nan")


State = TypeVar("State")


@dataclass
class Loop:
    """Shared by all runs of one solve, so that time, history and callbacks span them.

    Parameters
    ----------
    time_limit : float, optional
        Seconds for everything.
    callbacks : tuple of Callback
        Called in turn after every iteration.
    """

    time_limit: float | None = None
    callbacks: tuple[Callback, ...] = ()
    history: History = field(default_factory=History)
    started: float = field(default_factory=time.monotonic)
    ended: Status | None = None
    """Set once the time is up or a callback asked to stop: no further run begins."""

    @property
    def deadline(self) -> float | None:
        """When the time is up, on the clock of `time.monotonic`."""
        return None if self.time_limit is None else self.started + self.time_limit

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def run(
        self,
        state: State,
        step: Callable[[State], tuple[State, Measured]],
        done: Callable[[State, Measured], bool],
        *,
        run: int,
        phase: str,
        max_iter: int,
    ) -> tuple[State, Status]:
        """Iterate `step` until `done`, at most `max_iter` times."""
        for number in range(max_iter):
            state, measured = step(state)
            if self._stop(Iteration(run, phase, number, *self._row(measured))):
                return state, self.ended or Status.STOPPED
            if done(state, measured):
                return state, Status.CONVERGED
        return state, Status.MAX_ITER

    def _row(self, m: Measured) -> tuple[Any, ...]:
        seconds = time.monotonic() - self.started
        return m.objective, m.primal, m.dual, m.rho, m.changes, m.gap, seconds

    def _stop(self, iteration: Iteration) -> bool:
        self.history.iterations.append(iteration)
        asked = [bool(callback(iteration)) for callback in self.callbacks]
        if any(asked):
            self.ended = Status.STOPPED
        elif self.time_limit is not None and iteration.seconds > self.time_limit:
            self.ended = Status.TIME_LIMIT
        return self.ended is not None
