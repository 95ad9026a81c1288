"""What a solver returns: the answer, how it was reached, and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.exceptions import NotConverged

__all__ = ["Certificate", "Clustering", "History", "Iteration", "Solution", "Status"]


class Status(Enum):
    """How a solver ended, as a sentence."""

    CONVERGED = "The labels settled and the duality gap at these labels is within tol."
    EXACT = (
        "No labeling has a lower objective, but for the gap asked for: branch and bound is done."
    )
    MAX_ITER = "max_iter was reached first; raise max_iter, or loosen tol."
    ROUNDING = "Rounding keeps the duality gap above tol; use dtype='float64', or loosen tol."
    TIME_LIMIT = "The time limit was reached first; the best answer so far is returned."
    STOPPED = "The callback asked to stop; the best answer so far is returned."
    UNPOLISHED = "The labels are found; the classifier was not polished, as asked (polish=False)."

    @property
    def good(self) -> bool:
        """Whether the solver met its own stopping rule."""
        return self in {Status.CONVERGED, Status.EXACT}


@dataclass(frozen=True)
class Iteration:
    """One iteration, as callbacks and `History` see it.

    Attributes
    ----------
    run : int
        Which start or reheat, from 0.
    phase : str
        "start", "reheat", "release", "refine", "relax", "branch" or "polish".
    iteration : int
        From 0 within the run.
    objective : float
        J(y, alpha) at this iteration's labels and scores; of many rows, while only a sample of them
        is looked at, that of the sample, whose rows then weigh as much as all.
    primal, dual : float
        Root mean square of the difference between the two copies that the phase makes agree
        (K alpha and beta; of a relaxation, two of M), and of rho times the change of the first.
    rho : float
        Penalty of that difference.
    changes : int
        Labels that differ from the iteration before.
    gap : float
        Duality gap of the convex problem that the phase solves, NaN where it was not computed: at
        fixed labels relative to the objective; of a relaxation per unit of the rows' weight. Of
        "branch": the objective less the bound on every labeling, relative to the objective.
    seconds : float
        Since the solver started.
    """

    run: int
    phase: str
    iteration: int
    objective: float
    primal: float
    dual: float
    rho: float
    changes: int
    gap: float
    seconds: float


@dataclass
class History:
    """Every iteration of a solver, in order."""

    iterations: list[Iteration] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.iterations)

    def column(self, name: str) -> npt.NDArray[Any]:
        """One field of all iterations, as an array."""
        return np.array([getattr(i, name) for i in self.iterations])

    @property
    def runs(self) -> list[int]:
        """Numbers of the runs, in order."""
        return list(dict.fromkeys(i.run for i in self.iterations))


@dataclass(frozen=True)
class Certificate:
    """How far an answer is, at most, from the best one.

    Attributes
    ----------
    upper : float
        Objective of the answer.
    lower : float
        Proven bound: no labeling with any classifier has a lower objective.
    gap : float
        upper - lower, relative to the size of upper.
    exact : bool
        Whether the gap is within the tolerance of the search, 1e-6 by default.
    how : str
        What proves it, in words.
    """

    upper: float
    lower: float
    gap: float
    exact: bool
    how: str


@dataclass(frozen=True)
class Solution:
    """Answer of a solver, in the order of the problem's rows.

    Attributes
    ----------
    labels : (N,) int32 array
        Class codes.
    coef : (M, P) array
        Weights of the feature map's rows (alpha for kernels).
    scores : (N, P) array
        Scores of the training rows.
    objective : float
        J(labels, coef), recomputed from the problem.
    hint_cost : float
        S(labels), the part of the objective that the hints charge.
    fixed_bound : float
        Lower bound on J(labels, .) over all coefficients: a duality gap for these labels, not for
        other labelings.
    status : Status
        How the solver ended.
    n_iter : int
        Iterations of all runs together.
    history : History
        Every iteration.
    oracle : str
        Which oracle made the discrete steps, and why.
    run_objectives : tuple of float
        Objective that each run reached before the final polish.
    collapse : str
        Which classes others have swallowed, why, and what helps; empty where all is well.
    features : FeatureMap
        Turns new rows into the rows that `coef` applies to.
    seed : int
        Everything random came from it.
    bound : float
        Proven lower bound on J of every labeling with its best classifier; -inf where the solver
        proves none. See `certify`.
    """

    labels: npt.NDArray[np.int32]
    coef: npt.NDArray[np.floating]
    scores: npt.NDArray[np.floating]
    objective: float
    hint_cost: float
    fixed_bound: float
    status: Status
    n_iter: int
    history: History
    oracle: str
    run_objectives: tuple[float, ...]
    collapse: str
    features: Any
    seed: int
    bound: float = field(default=-np.inf, kw_only=True)

    @property
    def fixed_gap(self) -> float:
        """Duality gap at the returned labels, relative to loss and regulariser."""
        return (self.objective - self.fixed_bound) / max(self.objective - self.hint_cost, 1e-12)

    def raise_for_status(self) -> None:
        """Raise `NotConverged` unless the solver met its own stopping rule."""
        if not self.status.good:
            raise NotConverged(self.status.value)


@dataclass(frozen=True)
class Clustering(Solution):
    """Answer of k-means: the model is one centre per class, best for the labels found.

    `coef` are the centres as columns, in the coordinates of `features`, and `scores` the inner
    products of rows and centres. The centres are optimal for the labels, so `fixed_bound` equals
    the objective.

    Attributes
    ----------
    norms : (C,) array
        Squared norms of the centres: |phi(x) - m_c|^2 = k(x, x) - 2 (rows @ coef)_c + norms_c.
    inertia : float
        Weighted sum of squared distances: the objective without the costs of the hints.
    """

    norms: npt.NDArray[np.float64]
    inertia: float

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """Which clusters have no row, (C,); their centres lie on a training row."""
        return np.bincount(self.labels, minlength=len(self.norms)) == 0
