"""The inductive baseline: learn from labelled rows alone, then label the rest as hints allow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.backends import to_numpy
from tacit.linalg import ScoreSpace
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.solvers._loop import Loop
from tacit.solvers.alternate import Outcome
from tacit.solvers.kernel_admm import TIE_NOISE
from tacit.solvers.polish import FixedLabels, Polished, polish

__all__ = ["Inductive"]


@dataclass(frozen=True)
class Inductive:
    r"""Fit the rows whose label is known, then take the cheapest labels that the hints allow.

    .. math:: \hat f = \arg\min_f \sum_{i \in L} w_i \ell(y_i, f(x_i)) + \nu |f|^2, \qquad
        \hat y = \arg\min_y \sum_i w_i \ell(y_i, \hat f(x_i)) + S(y)

    over the labelled rows L: supervised learning, in which the other rows have no part. What it
    lacks is what every other solver adds. The objective it reports is that of the whole problem at
    its answer, which it does not minimise; `fixed_bound` is proven, but far below it. It has
    converged when the first problem is within `tol` of its optimum.

    Parameters
    ----------
    problem : Problem
        With at least one row whose label is known.
    space, oracle, loop, rng
        As for the other solvers.
    n_init : int or "auto"
        Not used: there is nothing to start from.
    max_iter : int
        Iterations of the fit.
    tol : float
        Its relative duality gap.
    """

    problem: Problem
    space: ScoreSpace
    oracle: Oracle
    loop: Loop
    rng: np.random.Generator
    n_init: int | str
    max_iter: int
    tol: float

    def __post_init__(self) -> None:
        if not self._labelled.any():
            raise ValueError(
                "solver='inductive' learns from labelled rows alone, and the label of no row of "
                "positive weight is known; give labels, or use solver='admm'."
            )

    @cached_property
    def _labelled(self) -> npt.NDArray[np.bool_]:
        return (self.problem.program.mask.sum(axis=1) == 1) & (self.problem.weights > 0)

    def solve(self) -> Outcome:
        """Fit, then label."""
        alone, labels = self._labelled_alone(), self.problem.program.mask.argmax(axis=1)
        end, status = polish(
            alone,
            self.space,
            labels.astype(np.int32),
            self.loop,
            run=0,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        labels = self._label(end)
        whole = self._measure(end, labels)
        return Outcome(whole, labels, status, (whole.objective,))

    def _labelled_alone(self) -> Problem:
        """Drop what other rows and the hints add."""
        problem = self.problem
        return replace(
            problem,
            hints=None,
            classes=problem.codes.names,
            sample_weight=np.where(self._labelled, problem.weights, 0.0),
            label_weight=1.0,
            gamma=problem.kernel_.gamma,
        )

    def _label(self, end: Polished) -> npt.NDArray[np.int32]:
        """Cheapest labels at the scores; ties go to neither class by its place."""
        problem = self.problem
        table = to_numpy(problem.loss_.table(end.F)) * problem.weights[:, None]
        noise = self.rng.standard_normal(table.shape)
        size = TIE_NOISE[problem.dtype] * problem.unit_weight
        return self.oracle.solve(table + size * noise).labels

    def _measure(self, end: Polished, labels: npt.NDArray[np.int32]) -> Polished:
        """Objective and bound of the whole problem at these labels."""
        fixed = FixedLabels(self.problem, self.space, labels, self.tol)
        objective = fixed.objective(end.F, end.coef)
        bound = min(fixed.bound(end.dual), objective)
        return replace(end, objective=objective, bound=bound, hint_cost=fixed.hint_cost)
