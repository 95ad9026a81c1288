"""Hard EM: alternate labels and classifier. The baseline, prone to poor local minima."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.linalg import ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.solvers._loop import Loop
from tacit.solvers.alternate import Outcome, alternate

__all__ = ["HardEM"]

DEFAULT_STARTS = 10


@dataclass(frozen=True)
class HardEM:
    """Fit the classifier to the labels, then the labels to the classifier, until neither moves.

    Starts are optimal labelings for random costs; the best by objective is kept.
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
        """Run all starts."""
        n_init = self.n_init if isinstance(self.n_init, int) else DEFAULT_STARTS
        outcomes: list[Outcome] = []
        for run in range(n_init):
            outcomes.append(self._descend(run))
            if self.loop.ended:
                break
        best = min(outcomes, key=lambda o: o.polished.objective)
        reached = tuple(o.polished.objective for o in outcomes)
        return Outcome(best.polished, best.labels, best.status, reached)

    def _descend(self, run: int) -> Outcome:
        shape = (self.problem.n, self.problem.program.n_classes)
        labels = self.oracle.solve(self.rng.standard_normal(shape)).labels
        return alternate(
            self.problem,
            self.space,
            self.oracle,
            self.loop,
            labels,
            run=run,
            tol=self.tol,
            max_iter=self.max_iter,
        )
