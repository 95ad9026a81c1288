"""Branch and bound as a solver: the best labels of two classes, then the classifier for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.backends import as_like
from tacit.convex import BranchAndBound
from tacit.features import FeatureMap
from tacit.linalg import ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.result import Status
from tacit.solvers._loop import Loop, Measured
from tacit.solvers._narrow import steady_polish
from tacit.solvers.alternate import Outcome

__all__ = ["Exact"]

# The search ends once no labeling can be better by this part of the objective, or by tol if that is
# smaller.
GAP = 1e-6
# Nodes between two calls of the callbacks.
NODES = 20
MOST_STEPS = 10**12


@dataclass(frozen=True)
class Exact:
    """Labels by `BranchAndBound`, then the classifier at these labels by `polish`.

    Parameters
    ----------
    problem : Problem
        Two classes and one of hinge, squared hinge and logistic loss.
    features : FeatureMap
        Its features.
    space : ScoreSpace
        Its scores.
    oracle, loop
        As for the other solvers.
    max_iter : int
        Iterations of the last fit; the search ends by its gap, the time limit or a callback.
    tol : float
        Relative duality gap of the last fit.
    """

    problem: Problem
    features: FeatureMap
    space: ScoreSpace
    oracle: Oracle
    loop: Loop
    max_iter: int
    tol: float

    def solve(self) -> tuple[Outcome, float]:
        """Search, then fit; the answer, and the bound on J of every labeling."""
        gap = min(GAP, self.tol)
        search = BranchAndBound(self.problem, gap=gap, oracle=self.oracle, features=self.features)
        _, status = self.loop.run(search, _step, _done, run=0, phase="branch", max_iter=MOST_STEPS)
        labels = search.labels
        assert labels is not None  # `prepare` has found the hints to be satisfiable
        s = as_like(search.slopes[:, None], self.space.like)
        F, _ = self.space.expand(-s / (2.0 * self.problem.nu_))
        end, fitted = steady_polish(
            self.problem,
            self.space,
            labels,
            self.loop,
            run=0,
            tol=gap,
            max_iter=self.max_iter,
            start=(F, s),
        )
        end = replace(end, bound=min(end.bound, end.objective))
        lower = min(search.lower, end.objective)
        if status is Status.CONVERGED:
            near = end.objective - lower <= 2.0 * gap * max(abs(end.objective), 1e-300)
            status = Status.EXACT if near else _weakest(fitted)
        return Outcome(end, labels, status, (search.upper,)), lower


def _weakest(fitted: Status) -> Status:
    return Status.ROUNDING if fitted is Status.CONVERGED else fitted


def _step(search: BranchAndBound) -> tuple[BranchAndBound, Measured]:
    search.step(NODES)
    scale = max(abs(search.upper), 1e-300)
    gap = (search.upper - search.lower) / scale if np.isfinite(search.upper) else np.nan
    return search, Measured(search.upper, gap=gap)


def _done(search: BranchAndBound, measured: Measured) -> bool:
    return search.done
