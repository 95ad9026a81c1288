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

# Where each rho costs a factorisation, it is held for this many iterations.
STAGE = 12


@dataclass(frozen=True)
class Plan:
    """How a run begins: ridge of the soft start (in units of K's mean diagonal), first rho, growth."""

    ridge: float
    first: float
    growth: float


# KEEP trusts the soft start: scores and slopes of the losses are of order one, and at rho = 1 the
# labels it suggests survive. Without counts it is the only sensible way: the objective's deepest
# minima are then degenerate (one class takes nearly all rows), and a smaller rho finds them.
KEEP = Plan(ridge=10.0, first=1.0, growth=1.05)
# MELT begins near the transition 2 nu / d_max (its `first` is in that unit), where only the widest
# modes of K are active: for hints that say much together and little on average, such as counts.
MELT = Plan(ridge=1.0, first=1.5, growth=1.03)
# A reheat goes back to a few times the transition from the best answer and keeps its multiplier:
# poor minima do not survive that, good ones do. Eight reheats do better than eight more starts.
REHEAT, SPREAD, GROWTH_REHEAT = 3.0, 0.7, 1.04
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
        Soft starts: one by default, three where counts are bounded.
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
        if self._counted and self.space.free_rho:
            best, more = self._reheats(best, len(objectives))
            objectives += more
        assert best.labels is not None
        return self._finish(best.labels, (best.F, best.dual), len(objectives), tuple(objectives))

    @property
    def _counted(self) -> bool:
        """Whether hints bound how many rows have a class, so that low objectives mean something."""
        program = self.problem.program
        return bool(len(program.counts) or program.n_linear)

    def _starts(self) -> tuple[State, list[float]]:
        n_init = self.n_init if isinstance(self.n_init, int) else (3 if self._counted else 1)
        ends: list[State] = []
        for run in range(n_init):
            plan = MELT if self._counted and run > 0 else KEEP
            soft = soft_labels(self.problem, self.oracle, self.rng)
            F, dual = start_from(self.problem, self.space, soft, plan.ridge)
            first = plan.first * (self._transition if plan is MELT else 1.0)
            ends.append(self._anneal(State(F, dual), first, plan.growth, run, "start"))
            if self.loop.ended:
                break
        return min(ends, key=lambda s: s.objective), [s.objective for s in ends]

    @property
    def _transition(self) -> float:
        return transition(self.problem.nu_, self.space.top)

    def _reheats(self, best: State, run: int) -> tuple[State, list[float]]:
        objectives: list[float] = []
        idle = 0
        while len(objectives) < MAX_REHEATS and idle < PATIENCE and not self.loop.ended:
            first = REHEAT * self._transition * float(np.exp(self.rng.uniform(-SPREAD, SPREAD)))
            start = State(best.F, best.dual)
            number = run + len(objectives)
            end = self._anneal(start, first, GROWTH_REHEAT, number, "reheat")
            objectives.append(end.objective)
            idle = 0 if end.objective < best.objective * (1.0 - 1e-4) else idle + 1
            best = min(best, end, key=lambda s: s.objective)
        return best, objectives

    def _anneal(self, state: State, first: float, growth: float, run: int, phase: str) -> State:
        schedule = Schedule(first, growth, 1 if self.space.free_rho else STAGE)
        shape = (self.problem.n, self.problem.program.n_classes)
        noise = TIE_NOISE * self.rng.standard_normal(shape)
        anneal = Anneal(
            self.problem, self.space, self.oracle, schedule, noise, self._transition
        )
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
