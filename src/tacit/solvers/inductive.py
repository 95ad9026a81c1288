"""The inductive baseline: learn from labelled rows alone, then label the rest as hints allow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.backends import Array, as_like, is_torch, to_numpy
from tacit.features import FeatureMap, KernelMap, score
from tacit.linalg import ScoreSpace, feature_space, kernel_space
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.solvers._loop import Loop
from tacit.solvers._narrow import steady_polish
from tacit.solvers.alternate import Outcome
from tacit.solvers.kernel_admm import TIE_NOISE

__all__ = ["Inductive"]

FloatArray = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Inductive:
    r"""Fit the rows whose label is known, then take the cheapest labels that the hints allow.

    .. math:: \hat f = \arg\min_f \sum_{i \in L} w_i \ell(y_i, f(x_i)) + \nu |f|^2, \qquad
        \hat y = \arg\min_y \sum_i w_i \ell(y_i, \hat f(x_i)) + S(y)

    over the labelled rows L: supervised learning, in which the other rows have no part. What it
    lacks is what every other solver adds. The objective it reports is that of the whole problem at
    its answer, which it does not minimise; `fixed_bound` is proven, but far below it. It has
    converged when the first problem is within `tol` of its optimum.

    Only kernel values with labelled rows are computed.

    Parameters
    ----------
    problem : Problem
        With at least one row whose label is known.
    features : FeatureMap
        Its features.
    oracle, loop, rng
        As for the other solvers.
    max_iter : int
        Iterations of the fit.
    tol : float
        Its relative duality gap.
    """

    problem: Problem
    features: FeatureMap
    oracle: Oracle
    loop: Loop
    rng: np.random.Generator
    max_iter: int
    tol: float

    def __post_init__(self) -> None:
        if not len(self._rows):
            raise ValueError(
                "solver='inductive' learns from labelled rows alone, and the label of no row of "
                "positive weight is known; give labels, or use solver='admm'."
            )

    @cached_property
    def _rows(self) -> npt.NDArray[np.intp]:
        """Labelled rows."""
        problem = self.problem
        return np.flatnonzero((problem.program.mask.sum(axis=1) == 1) & (problem.weights > 0))

    @cached_property
    def _alone(self) -> Problem:
        """The labelled rows, without what other rows and the hints add."""
        problem = self.problem
        rows = as_like(self._rows, problem.X) if is_torch(problem.X) else self._rows
        X = problem.X[rows]
        return replace(
            problem,
            X=X[:, rows] if problem.kernel == "precomputed" else X,
            hints=None,
            classes=problem.codes.names,
            sample_weight=problem.weights[self._rows],
            label_weight=1.0,
            gamma=problem.kernel_.gamma,
        )

    def solve(self) -> Outcome:
        """Fit, then label."""
        known = self.problem.program.mask[self._rows].argmax(axis=1).astype(np.int32)
        space = self._space()
        end, status = steady_polish(
            self._alone, space, known, self.loop, run=0, tol=self.tol, max_iter=self.max_iter
        )
        F = self._scores(end.coef)
        labels = self._label(F)
        penalty = self.problem.nu_ * space.regularizer(end.coef, end.F)
        hint_cost = self.problem.program.value(labels)
        whole = replace(
            end,
            F=F,
            dual=self._spread(to_numpy(end.dual)),
            coef=to_numpy(end.coef) if self.features.explicit else self._spread(end.coef),
            objective=self.problem.data_loss(F, labels) + penalty + hint_cost,
            bound=end.bound + hint_cost,  # no loss of another row is negative
            hint_cost=hint_cost,
        )
        return Outcome(whole, labels, status, (whole.objective,))

    def _space(self) -> ScoreSpace:
        rows = self._alone.rows
        if self.features.explicit:
            return feature_space(self.features.rows(rows))
        return kernel_space(self.problem.kernel_.gram(rows), self.rng)

    def _scores(self, coef: Array) -> FloatArray:
        """Scores of all rows."""
        rows, known = self.problem.rows, self._alone.rows
        if self.features.explicit:
            return score(self.features, rows, coef)
        if self.problem.kernel == "precomputed":
            rows, known = rows[:, as_like(self._rows, rows)], None
        return score(KernelMap(self.problem.kernel_, known), rows, coef)

    def _label(self, F: FloatArray) -> npt.NDArray[np.int32]:
        """Cheapest labels at the scores; ties go to neither class by its place."""
        problem = self.problem
        table = problem.loss_.table(F) * problem.weights[:, None]
        noise = self.rng.standard_normal(table.shape)
        size = TIE_NOISE[problem.dtype] * problem.unit_weight
        return self.oracle.solve(table + size * noise).labels

    def _spread(self, values: Array) -> FloatArray:
        """Values of labelled rows among zeros."""
        spread = np.zeros((self.problem.n, values.shape[1]))
        spread[self._rows] = to_numpy(values)
        return spread
