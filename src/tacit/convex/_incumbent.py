"""Labelings for branch and bound: classifier and labels in turn, and J at fixed labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tacit.convex._node_kernel import raise_bound, split
from tacit.convex._two_class import TwoClass

__all__ = ["Complete", "Fixed", "descend", "label_table"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]
Complete = Callable[[FloatArray], Labels]

MAX_SWEEPS = 50
PASSES, MOST_PASSES = 200, 100_000


class Fixed:
    """J at fixed labels, between a bound and the objective of a classifier."""

    def __init__(self, problem: TwoClass) -> None:
        self.problem = problem
        n = len(problem.X)
        self.m, self.cross, self.q = np.zeros(n), np.zeros(n), np.zeros(n)
        self.P: FloatArray = np.zeros(problem.X.shape)
        split(problem.model, self.m, self.P, self.q)
        self.theta = np.zeros(problem.X.shape[1])

    def fit(
        self, labels: Labels, s: FloatArray, gap: float, target: float
    ) -> tuple[float, float, FloatArray, FloatArray]:
        """Objective, bound, scores and dual variables, once they are `gap` apart, relative to J.

        Ends early where the bound passes `target`.
        """
        problem = self.problem
        domain = (1 + labels).astype(np.int8)
        t = 2.0 * labels - 1.0
        s = np.asarray(t * np.minimum(t * s, 0.0), np.float64)
        if problem.kind != 1:
            s = np.clip(s, -problem.weights, problem.weights)
        s[problem.weights == 0] = 0.0
        hint_cost = problem.program.value(labels)
        # The unary costs are part of both; what else the hints charge is not.
        unary = float(problem.cost[np.arange(len(labels)), labels].sum())
        best, lowest = np.inf, -np.inf
        best_scores, best_s = np.zeros(len(labels)), s
        for _ in range(0, MOST_PASSES, PASSES):
            bound = raise_bound(
                problem.model,
                self.m,
                self.P,
                self.q,
                self.cross,
                domain,
                s,
                self.theta,
                target - hint_cost + unary,
                0.0,
                PASSES,
            )
            lowest = max(lowest, bound - unary + hint_cost)
            scores = problem.X @ self.theta
            table = label_table(problem, scores)
            fit = float(table[np.arange(len(labels)), labels].sum())
            objective = fit + problem.nu * float(self.theta @ self.theta) + hint_cost
            if objective < best:
                best, best_scores, best_s = objective, scores, s.copy()
            if lowest >= target or best - lowest <= gap * abs(best):
                break
        return best, min(lowest, best), best_scores, best_s


def label_table(problem: TwoClass, scores: FloatArray) -> FloatArray:
    """Weighted loss of every row for both labels, (N, 2)."""
    margins = np.stack((-scores, scores), axis=1)
    if problem.kind == 2:
        losses = np.logaddexp(0.0, -margins)
    else:
        losses = np.maximum(1.0 - margins, 0.0)
        losses = 0.5 * losses**2 if problem.kind == 1 else losses
    return np.asarray(problem.weights[:, None] * losses)


def descend(
    problem: TwoClass,
    fixed: Fixed,
    complete: Complete,
    labels: Labels,
    s: FloatArray,
    seen: set[bytes],
    target: float,
    gap: float,
) -> tuple[float, Labels, FloatArray]:
    """Classifier and labels in turn as long as J falls below `target`, and labels are new."""
    best, best_labels, best_s = target, labels, s
    for _ in range(MAX_SWEEPS):
        key = labels.tobytes()
        if key in seen:
            break
        seen.add(key)
        objective, _, scores, s = fixed.fit(labels, s, gap, best)
        if objective >= best:
            break
        best, best_labels, best_s = objective, labels, s
        labels = complete(label_table(problem, scores))
    return best, best_labels, best_s
