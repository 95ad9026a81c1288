"""The default solver: soft starts, anneals, reheats from the best, polish."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.linalg import ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.solvers._loop import Loop
from tacit.solvers.alternate import Outcome, alternate
from tacit.solvers.kernel_admm import TIE_NOISE, Anneal, State
from tacit.solvers.schedules import Schedule, transition
from tacit.solvers.starts import soft_labels, start_from

__all__ = ["ADMM"]

FloatArray = npt.NDArray[np.float64]

# Penalties are in units of the transition 2 nu / d_max. From a soft start the first anneal begins
# just above it. A reheat goes back to a few times that from the best answer and keeps its
# multiplier: poor minima do not survive it, good ones do. On 40 two-dimensional problems with
# overlapping counts, eight reheats found the best known objective every time, where eight
# independent starts found it in two of three.
START, REHEAT, SPREAD = 1.5, 3.0, 0.7
GROWTH_START, GROWTH_REHEAT = 1.03, 1.04
# Where each rho costs a factorisation: few stages, long enough to settle in.
STAGE_GROWTH, STAGE_LENGTH = 1.15, 12
MAX_REHEATS, PATIENCE = 8, 4


@dataclass(frozen=True)
class ADMM:
    """Kernel DC-ADMM with restarts chosen by objective.

    Parameters
    ----------
    problem, space, oracle
        Rows in canonical order, their scores, their discrete step.
    loop : Loop
        History, callbacks and time.
    rng : Generator
        Everything random.
    n_init : int or "auto"
        Soft starts.
    max_iter : int
        Iterations of one run.
    tol : float
        Relative duality gap at fixed labels.
    """

    problem: Problem
    space: ScoreSpace
    oracle: Oracle
    loop: Loop
    rng: np.random.Generator
    n_init: int | str
    max_iter: int
    tol: float

    def solve(self) -> Outcome:
        """Run everything."""
        mask = self.problem.program.mask
        if mask.shape[1] == 1 or (mask.sum(axis=1) == 1).all():
            return self._finish(mask.argmax(axis=1).astype(np.int32), None, 0, ())
        best, objectives = self._starts()
        if self.space.free_rho:
            best, more = self._reheats(best, len(objectives))
            objectives += more
        assert best.labels is not None
        return self._finish(best.labels, (best.F, best.dual), len(objectives), tuple(objectives))

    def _starts(self) -> tuple[State, list[float]]:
        n_init = self.n_init if isinstance(self.n_init, int) else (2 if self._coupled else 1)
        ends = []
        for run in range(n_init):
            soft = soft_labels(self.problem, self.oracle, self.rng)
            F, dual = start_from(self.problem, self.space, soft)
            ends.append(self._anneal(State(F, dual), START, GROWTH_START, run, "start"))
            if self.loop.ended:
                break
        return min(ends, key=lambda s: s.objective), [s.objective for s in ends]

    @property
    def _coupled(self) -> bool:
        """Whether soft starts differ: they are drawn only where hints couple rows."""
        return not self.problem.program.separable

    def _reheats(self, best: State, run: int) -> tuple[State, list[float]]:
        objectives: list[float] = []
        idle = 0
        while len(objectives) < MAX_REHEATS and idle < PATIENCE and not self.loop.ended:
            first = REHEAT * float(np.exp(self.rng.uniform(-SPREAD, SPREAD)))
            start = State(best.F, best.dual)
            number = run + len(objectives)
            end = self._anneal(start, first, GROWTH_REHEAT, number, "reheat")
            objectives.append(end.objective)
            idle = 0 if end.objective < best.objective * (1.0 - 1e-4) else idle + 1
            best = min(best, end, key=lambda s: s.objective)
        return best, objectives

    def _anneal(self, state: State, first: float, growth: float, run: int, phase: str) -> State:
        unit = transition(self.problem.nu_, self.space.top)
        schedule = Schedule(first * unit, growth)
        if not self.space.free_rho:
            schedule = Schedule(first * unit, STAGE_GROWTH, STAGE_LENGTH)
        shape = (self.problem.n, self.problem.program.n_classes)
        noise = TIE_NOISE * self.rng.standard_normal(shape)
        anneal = Anneal(self.problem, self.space, self.oracle, schedule, noise, unit)
        end, _ = self.loop.run(
            state, anneal.step, anneal.done, run=run, phase=phase, max_iter=self.max_iter
        )
        return end

    def _finish(
        self,
        labels: npt.NDArray[np.int32],
        start: tuple[FloatArray, FloatArray] | None,
        run: int,
        objectives: tuple[float, ...],
    ) -> Outcome:
        """Polish, and take label steps at the polished scores as long as they lower J."""
        return alternate(
            self.problem,
            self.space,
            self.oracle,
            self.loop,
            labels,
            start=start,
            run=run,
            tol=self.tol,
            max_iter=self.max_iter,
            run_objectives=objectives,
        )
