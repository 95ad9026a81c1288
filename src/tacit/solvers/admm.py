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
    """How a run begins: ridge of its soft start (times K's mean diagonal), first rho, growth."""

    ridge: float
    first: float
    growth: float


# KEEP trusts the soft start: scores and slopes of the losses are of order one, and at rho = 1 (in
# units of a row's weight) the labels it suggests survive. Without counts it is the only sensible
# way: the objective's deepest minima are then degenerate (one class takes nearly all rows), and a
# smaller rho finds them.
KEEP = Plan(ridge=10.0, first=1.0, growth=1.05)
# MELT begins near the transition 2 nu / d_max (its `first` is in that unit), where only the widest
# modes of K are active: for hints that say much together and little on average, such as counts.
MELT = Plan(ridge=1.0, first=1.5, growth=1.045)
# A reheat goes back to a few times the transition from the best answer of its start and keeps its
# multiplier: poor minima do not survive that, good ones do. On four moons from batch counts one
# start with reheats ends at the best objective known in about six of seven cases, a start alone in
# one of three; starts go on until two of them agree on the best objective.
REHEAT, SPREAD, GROWTH_REHEAT = 3.0, 0.7, 1.06
MAX_REHEATS, PATIENCE = 8, 3
MAX_STARTS, AGREE, IMPROVED = 6, 2e-3, 1e-4


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
        Soft starts. By default one, or where counts are bounded as many (up to six) as it takes
        for two of them to agree on the best objective.
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
        ends: list[State] = []
        objectives: list[float] = []
        while not self._enough(ends):
            end = self._start(len(ends), objectives)
            ends.append(end)
        best = min(ends, key=lambda s: s.objective)
        assert best.labels is not None
        return self._finish(best.labels, (best.F, best.dual), len(objectives), tuple(objectives))

    @property
    def _counted(self) -> bool:
        """Whether hints bound how many rows have a class, so that low objectives mean something."""
        program = self.problem.program
        return bool(len(program.counts) or program.n_linear)

    def _enough(self, ends: list[State]) -> bool:
        """Whether no further start is due."""
        if not ends or self.loop.ended:
            return bool(ends)
        if isinstance(self.n_init, int):
            return len(ends) >= self.n_init
        if not self._counted:
            return True
        reached = sorted(s.objective for s in ends)[:2]
        agree = len(reached) == 2 and reached[1] - reached[0] <= AGREE * abs(reached[0])
        return agree or len(ends) >= (MAX_STARTS if self.space.free_rho else 2)

    def _start(self, number: int, objectives: list[float]) -> State:
        """One soft start, annealed, and reheated as long as that helps."""
        plan = MELT if self._counted and number > 0 else KEEP
        soft = soft_labels(self.problem, self.oracle, self.rng)
        F, dual = start_from(self.problem, self.space, soft, plan.ridge)
        first = plan.first * (self._transition if plan is MELT else self.problem.unit_weight)
        best = self._anneal(State(F, dual), first, plan.growth, "start", objectives)
        idle = reheats = 0 if self._counted and self.space.free_rho else MAX_REHEATS
        while reheats < MAX_REHEATS and idle < PATIENCE and not self.loop.ended:
            first = REHEAT * self._transition * float(np.exp(self.rng.uniform(-SPREAD, SPREAD)))
            start = State(best.F, best.dual)
            end = self._anneal(start, first, GROWTH_REHEAT, "reheat", objectives)
            idle = 0 if end.objective < best.objective * (1.0 - IMPROVED) else idle + 1
            best = min(best, end, key=lambda s: s.objective)
            reheats += 1
        return best

    @property
    def _transition(self) -> float:
        return transition(self.problem.nu_, self.space.top)

    def _anneal(
        self, state: State, first: float, growth: float, phase: str, objectives: list[float]
    ) -> State:
        schedule = Schedule(first, growth, 1 if self.space.free_rho else STAGE)
        shape = (self.problem.n, self.problem.program.n_classes)
        noise = TIE_NOISE * self.problem.unit_weight * self.rng.standard_normal(shape)
        anneal = Anneal(self.problem, self.space, self.oracle, schedule, noise, self._transition)
        run = len(objectives)
        end, _ = self.loop.run(
            state, anneal.step, anneal.done, run=run, phase=phase, max_iter=self.max_iter
        )
        objectives.append(end.objective)
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
