"""The default solver: starts, anneals, reheats from the best, polish.

What an anneal leaves is no measure of the labels it found: its penalty freezes labels long before
the classifier has followed. Ends are therefore compared after a rough fit to their labels and the
label steps that follow from it; a reheat goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.backends import Array, as_like, to_numpy
from tacit.linalg import GramSpace, LowRankSpace, ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.result import Status
from tacit.solvers._balance import Balance
from tacit.solvers._levels import Level, level_below, lift
from tacit.solvers._loop import Loop
from tacit.solvers.alternate import Outcome, alternate
from tacit.solvers.kernel_admm import TIE_NOISE, Anneal, Annealing, State
from tacit.solvers.polish import unpolished
from tacit.solvers.schedules import Schedule, quick, settle, transition
from tacit.solvers.starts import Guess, random_labels, smooth_labels, soft_labels, start_from

__all__ = ["ADMM"]

# A balanced start is released from its bounds at a tenth of its last rho, in steps of a fifth.
BACK, GROWTH_RELEASE = 0.1, 1.2
# Iterations in the exact space after those in a coarse one, their largest rho (in units of a row's
# weight) and the steps of conjugate gradients in each: larger penalties freeze what the coarse
# space got wrong, and more steps change test errors by less than another seed does.
REFINE, FIRM, REFINE_STEPS = 6, 2.0, 1


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
# Where few reheats may follow, the first start melts, too: kept labels of counted rows are far from
# the best until then (one reheat leaves 2 to 5 % of the objective, a melt without any 0.3 %).
MELT = Plan(ridge=1.0, first=1.5, growth=1.045)
# Counted rows are started in turn from soft labels, twice, and from guesses: the cheapest labels
# for smooth random scores, and for random costs. What one of them never finds another does. A guess
# costs a fraction of an anneal, so that the best of a few of both is taken; of more where rows are
# few: with ten rows there are many minima of nearly the same depth, none of them far from a guess.
PLANS = (KEEP, MELT)
GUESSES, MORE_GUESSES, GUESSED_ROWS = 5, 30, 1200
# A reheat goes back to a few times the transition from the best answer of its start and keeps its
# multiplier: poor minima do not survive that, good ones do.
REHEAT, SPREAD, GROWTH_REHEAT = 3.0, 0.7, 1.06
MAX_REHEATS, PATIENCE = 8, 3
# Starts go on until two of them agree on the best objective, once there are MIN_STARTS.
MIN_STARTS, MAX_STARTS, AGREE, IMPROVED = 3, 6, 2e-3, 1e-4
# Where a label step is a search of its own, fewer of both.
SLOW_STARTS, SLOW_REHEATS = 2, 2
# A sample of many rows has far more rows than weights, and starts there differ little.
MAX_STARTS_PART = 3
# Ends are compared after a fit to this gap, in at most so many iterations a label step.
ROUGH, ROUGH_STEPS = 1e-2, 300


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
        Starts. By default one, or where counts are bounded as many (three to six) as it takes for
        two of them to agree on the best objective.
    max_iter : int
        Iterations of one run.
    tol : float
        Relative duality gap at fixed labels.
    polish : bool
        Whether to reach it.
    n_reheats : int or "auto"
        Reheats of a start, at most. By default none, or eight where counts are bounded; two, and
        two starts at most, where the label step is a search of its own.
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
    n_reheats: int | str = "auto"
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
        held = np.inf if self._counted else self._hold(ends, objectives)
        found = _lowest(ends)
        best = self._refine(found, objectives)
        labels = _labels(best)
        if self.polish:
            start, coef = (best.F, best.dual), best.coef if self.part else None
            outcome = self._finish(labels, start, len(objectives), tuple(objectives), coef)
            if found.status is Status.MAX_ITER and outcome.status is Status.CONVERGED:
                outcome = replace(outcome, status=found.status)
        else:
            exact = self.space.exact and self.updates is Anneal
            left = unpolished(self.problem, self.space, labels, best.dual, best.coef, exact)
            status = self.loop.ended or Status.UNPOLISHED
            outcome = Outcome(left, labels, status, tuple(objectives))
        if self._counted:
            return outcome
        balance = Balance(self.problem.program)
        balanced = (best.objective, held, self.problem.n)
        told = balance.report(outcome.labels, self.problem.codes, *balanced)
        return replace(outcome, collapse=told, balanced=balanced)

    def _hold(self, ends: list[State], objectives: list[float]) -> float:
        """Where the best answer is lopsided, as many balanced starts; the least of them, or inf."""
        balance = Balance(self.problem.program)
        if self.loop.ended or not balance.lopsided(_labels(_lowest(ends))):
            return np.inf
        oracle = balance.oracle()
        if oracle is None:
            return np.inf
        if self._alone and self.polish:
            ends[:] = [self._fit(end, objectives) for end in ends]
        bounded = replace(self, oracle=oracle)
        held = _lowest([bounded._start(number, objectives) for number in range(len(ends))])
        again = Schedule(BACK * held.rho, GROWTH_RELEASE)
        free = self._anneal(State(held.F, held.dual), again, "release", objectives)
        ends += [held, self._fit(free, objectives) if self.polish else free]
        return held.objective

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
            labels, start, coef = _labels(end), (end.F, end.dual), end.coef
        outcome = self._finish(labels, start, len(reached), tuple(reached), coef)
        if self._counted:
            return outcome
        balance = Balance(self.problem.program)
        told = balance.report(outcome.labels, self.problem.codes, *found.balanced)
        return replace(outcome, collapse=told, balanced=found.balanced)

    @property
    def _coarse(self) -> ScoreSpace:
        return self.space.coarse

    @property
    def _counted(self) -> bool:
        """Whether hints bound how many rows have a class, so that low objectives mean something."""
        program = self.oracle.program
        return bool(len(program.counts) or program.n_linear or program.flow is not None)

    def _enough(self, ends: list[State]) -> bool:
        """Whether no further start is due."""
        if not ends or self.loop.ended:
            return bool(ends)
        if isinstance(self.n_init, int):
            return len(ends) >= self.n_init
        if not self._counted:
            return True
        first, *others = sorted(ends, key=lambda s: s.objective)
        if len(ends) >= self._most_starts:
            return True
        agree = bool(others) and others[0].objective - first.objective <= AGREE * first.fit
        return agree and len(ends) >= MIN_STARTS

    @property
    def _most_starts(self) -> int:
        if self.oracle.slow:
            return SLOW_STARTS
        return MAX_STARTS_PART if self.part else MAX_STARTS

    def _start(self, number: int, objectives: list[float]) -> State:
        """One start, and reheats as long as they help."""
        best = self._begin(number, objectives)
        reheats, idle = self._reheats, 0
        while reheats > 0 and idle < PATIENCE and not self.loop.ended:
            first = REHEAT * self._transition * float(np.exp(self.rng.uniform(-SPREAD, SPREAD)))
            again = Schedule(first, GROWTH_REHEAT)
            end = self._anneal(State(best.F, best.dual), again, "reheat", objectives)
            end = self._fit(end, objectives)
            idle = 0 if end.objective < best.objective - IMPROVED * best.fit else idle + 1
            best = _lowest([best, end])
            reheats -= 1
        return best

    def _begin(self, number: int, objectives: list[float]) -> State:
        """First answer of a start: an anneal from soft labels, or a fit to guessed ones."""
        turn = number % (len(PLANS) + 1)
        if self._counted and turn == len(PLANS):
            count = min(max(GUESSES, GUESSED_ROWS // self.problem.n), MORE_GUESSES)
            guesses = count * (smooth_labels, random_labels)
            return _lowest([self._guess(guess, objectives) for guess in guesses])
        melts = self._counted and (turn > 0 or self._reheats < PATIENCE)
        plan = PLANS[int(melts)]
        soft = soft_labels(self.problem, self.oracle, self.rng, self.loop, sampled=number > 0)
        F, dual = start_from(self.problem, self._coarse, soft, plan.ridge)
        unit = self.problem.unit_weight
        schedule = Schedule(plan.first * (self._transition if plan is MELT else unit), plan.growth)
        if isinstance(self._coarse, LowRankSpace) and not self._counted:
            schedule = quick(unit)
        end = self._anneal(State(F, dual), schedule, "start", objectives)
        return end if self._alone else self._fit(end, objectives)

    def _guess(self, kind: Guess, objectives: list[float]) -> State:
        """Fit to random labels, and take the labels that follow from it."""
        labels = kind(self.problem, self._coarse, self.oracle, self.rng)
        zero = as_like(np.zeros((self.problem.n, self.problem.n_columns)), self._coarse.like)
        objectives.append(np.inf)
        return self._fit(State(zero, zero, labels, rho=self.problem.unit_weight), objectives)

    @property
    def _alone(self) -> bool:
        """Whether a start has nothing to be compared with."""
        one = self.n_init == 1 or (self.n_init == "auto" and not self._counted)
        return one and self._reheats == 0

    def _fit(self, end: State, objectives: list[float]) -> State:
        """Fit the classifier to the labels of the last run, roughly, and the labels to it."""
        if self.loop.ended and np.isfinite(end.objective):
            return end
        found = alternate(
            self.problem,
            self._coarse,
            self.oracle,
            self.loop,
            _labels(end),
            run=len(objectives) - 1,
            tol=max(self.tol, ROUGH),
            max_iter=min(self.max_iter, ROUGH_STEPS),
            start=(end.F, end.dual),
            coef=end.coef if self.part else None,
        )
        p = found.polished
        objectives[-1] = p.objective
        state = State(p.F, p.dual, found.labels, p.coef)
        cost = p.hint_cost
        return replace(state, objective=p.objective, hint_cost=cost, rho=end.rho, status=end.status)

    @property
    def _reheats(self) -> int:
        if isinstance(self.n_reheats, int):
            return self.n_reheats
        if not self._counted:
            return 0
        return SLOW_REHEATS if self.oracle.slow else MAX_REHEATS

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
        end, status = self.loop.run(
            state, anneal.step, anneal.done, run=run, phase=phase, max_iter=self.max_iter
        )
        objectives.append(end.objective)
        return replace(end, status=status)

    def _refine(self, best: State, objectives: list[float]) -> State:
        """Take an answer of the coarse space to the exact one, a few iterations at its last rho."""
        if not isinstance(self.space, GramSpace) or self.loop.ended:
            return best
        alpha = best.dual / (-2.0 * self.problem.nu_)
        F = self.space.expand(alpha)[0]
        self.space.begin(F, alpha, REFINE_STEPS)
        rho = min(best.rho, FIRM * self.problem.unit_weight)
        schedule = Schedule(rho, values=(rho,) * REFINE)
        end = self._anneal(
            State(F, best.dual, best.labels), schedule, "refine", objectives, self.space
        )
        self.space.begin(end.F, end.coef)
        return end

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


def _lowest(ends: list[State]) -> State:
    return min(ends, key=lambda s: s.objective)


def _labels(state: State) -> npt.NDArray[np.int32]:
    """Labels of a state on the host."""
    assert state.labels is not None
    return np.asarray(to_numpy(state.labels), np.int32)
