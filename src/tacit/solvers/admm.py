"""The default solver: soft starts, anneals, reheats from the best, polish."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.backends import Array, as_like, to_numpy
from tacit.linalg import GramSpace, LowRankSpace, ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.result import Status
from tacit.solvers._levels import Level, level_below, lift
from tacit.solvers._loop import Loop
from tacit.solvers.alternate import Outcome, alternate
from tacit.solvers.kernel_admm import TIE_NOISE, Anneal, Annealing, State
from tacit.solvers.polish import unpolished
from tacit.solvers.schedules import Schedule, quick, settle, transition
from tacit.solvers.starts import soft_labels, start_from

__all__ = ["ADMM"]

# Iterations in the exact space after those in a coarse one.
REFINE = 10


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
# A sample of many rows has far more rows than weights, and starts there differ little.
MAX_STARTS_PART = 3


@dataclass(frozen=True)
class ADMM:
    """DC-ADMM with restarts chosen by objective.

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
    polish : bool
        Whether to reach it.
    updates : type of Annealing
        The iteration: of the kernel form by default.
    part : bool
        Whether the rows are a sample of more.
    """

    problem: Problem
    space: ScoreSpace
    oracle: Oracle
    loop: Loop
    rng: np.random.Generator
    n_init: int | str
    max_iter: int
    tol: float
    polish: bool = True
    updates: type[Annealing] = Anneal
    part: bool = False

    def solve(self) -> Outcome:
        """Run everything."""
        mask = self.problem.program.mask
        if mask.shape[1] == 1 or (mask.sum(axis=1) == 1).all():
            return self._finish(mask.argmax(axis=1).astype(np.int32), None, 0, ())
        if self.polish:
            below = level_below(self.problem, self.space, self.rng, self.part)
            if below is not None:
                return self._climb(below)
        ends: list[State] = []
        objectives: list[float] = []
        while not self._enough(ends):
            end = self._start(len(ends), objectives)
            ends.append(end)
        best = self._refine(min(ends, key=lambda s: s.objective), objectives)
        start = (best.F, best.dual)
        coef = best.coef if self.part else None
        labels = _numbers(best)
        if not self.polish:
            left = unpolished(self.problem, self.space, labels, start)
            status = self.loop.ended or Status.UNPOLISHED
            return Outcome(left, labels, status, tuple(objectives))
        return self._finish(labels, start, len(objectives), tuple(objectives), coef)

    def _climb(self, below: Level) -> Outcome:
        """Learn from fewer rows, then descend with all of them."""
        inner = replace(
            self, problem=below.problem, space=below.space, oracle=below.oracle, part=True
        )
        found = inner.solve()
        labels, start = lift(self.problem, self.space, self.oracle, found)
        reached, coef = list(found.run_objectives), found.polished.coef
        if not self.loop.ended:
            schedule = settle(self.problem.unit_weight)
            end = self._anneal(State(*start, labels, coef), schedule, "refine", reached)
            labels, start, coef = _numbers(end), (end.F, end.dual), end.coef
        return self._finish(labels, start, len(reached), tuple(reached), coef)

    @property
    def _coarse(self) -> ScoreSpace:
        return self.space.coarse

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
        first, *others = sorted(ends, key=lambda s: s.objective)
        agree = bool(others) and others[0].objective - first.objective <= AGREE * first.fit
        return agree or len(ends) >= (MAX_STARTS_PART if self.part else MAX_STARTS)

    def _start(self, number: int, objectives: list[float]) -> State:
        """One soft start, annealed, and reheated as long as that helps."""
        plan = MELT if self._counted and number > 0 else KEEP
        soft = soft_labels(self.problem, self.oracle, self.rng)
        F, dual = start_from(self.problem, self._coarse, soft, plan.ridge)
        unit = self.problem.unit_weight
        schedule = Schedule(plan.first * (self._transition if plan is MELT else unit), plan.growth)
        if isinstance(self._coarse, LowRankSpace) and not self._counted:
            schedule = quick(unit)
        best = self._anneal(State(F, dual), schedule, "start", objectives)
        idle = reheats = 0 if self._counted else MAX_REHEATS
        while reheats < MAX_REHEATS and idle < PATIENCE and not self.loop.ended:
            first = REHEAT * self._transition * float(np.exp(self.rng.uniform(-SPREAD, SPREAD)))
            again = Schedule(first, GROWTH_REHEAT)
            end = self._anneal(State(best.F, best.dual), again, "reheat", objectives)
            idle = 0 if end.objective < best.objective - IMPROVED * best.fit else idle + 1
            best = min(best, end, key=lambda s: s.objective)
            reheats += 1
        return best

    @property
    def _transition(self) -> float:
        return transition(self.problem.nu_, self._coarse.top)

    def _anneal(
        self,
        state: State,
        schedule: Schedule,
        phase: str,
        objectives: list[float],
        space: ScoreSpace | None = None,
    ) -> State:
        space = self._coarse if space is None else space
        shape = (self.problem.n, self.problem.program.n_classes)
        size = TIE_NOISE[self.problem.dtype] * self.problem.unit_weight
        noise = as_like(size * self.rng.standard_normal(shape), space.like)
        anneal = self.updates(self.problem, space, self.oracle, schedule, noise, self._transition)
        run = len(objectives)
        end, _ = self.loop.run(
            state, anneal.step, anneal.done, run=run, phase=phase, max_iter=self.max_iter
        )
        objectives.append(end.objective)
        return end

    def _refine(self, best: State, objectives: list[float]) -> State:
        """Take an answer of the coarse space to the exact one, a few iterations at its last rho."""
        if not isinstance(self.space, GramSpace) or self.loop.ended:
            return best
        alpha = best.dual / (-2.0 * self.problem.nu_)
        F = self.space.expand(alpha)[0]
        self.space.begin(F, alpha)
        schedule = Schedule(best.rho, values=(best.rho,) * REFINE)
        start = State(F, best.dual, best.labels)
        return self._anneal(start, schedule, "refine", objectives, self.space)

    def _finish(
        self,
        labels: npt.NDArray[np.int32],
        start: tuple[Array, Array] | None,
        run: int,
        objectives: tuple[float, ...],
        coef: Array | None = None,
    ) -> Outcome:
        """Polish, and take label steps at the polished scores as long as they lower J."""
        return alternate(
            self.problem,
            self.space,
            self.oracle,
            self.loop,
            labels,
            start=start,
            coef=coef,
            run=run,
            tol=self.tol,
            max_iter=self.max_iter,
            run_objectives=objectives,
        )


def _numbers(state: State) -> npt.NDArray[np.int32]:
    """Labels of a state on the host."""
    assert state.labels is not None
    return np.asarray(to_numpy(state.labels), np.int32)
