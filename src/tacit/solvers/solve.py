"""One front door: order the rows, choose the oracle, run the solver, report in the user's order."""

from __future__ import annotations

from typing import TypeAlias, overload

import numpy as np

from tacit.features import FeatureMap
from tacit.problem import ClusterProblem, Problem
from tacit.result import Clustering, Solution
from tacit.solvers._front import (
    Callbacks,
    Front,
    RandomState,
    check_options,
    check_reheats,
    prepare,
    quiet_threads,
)
from tacit.solvers.admm import ADMM
from tacit.solvers.alternate import Outcome, in_original_order
from tacit.solvers.consensus_admm import ConsensusADMM
from tacit.solvers.exact import Exact
from tacit.solvers.hard_em import HardEM
from tacit.solvers.inductive import Inductive
from tacit.solvers.kernel_kmeans import cluster
from tacit.solvers.sdp import SDP

__all__ = ["SOLVERS", "solve"]

JointSolver: TypeAlias = type[ADMM] | type[HardEM] | type[SDP]
# What looks for labels and classifier together; and what only fits the labelled rows.
JOINT: dict[str, JointSolver] = {
    "admm": ADMM,
    "consensus": ConsensusADMM,
    "em": HardEM,
    "sdp": SDP,
}
SOLVERS: dict[str, JointSolver | type[Inductive] | type[Exact]] = {
    **JOINT,
    "exact": Exact,
    "inductive": Inductive,
}

CLUSTER_SOLVERS = ("kmeans",)


@overload
def solve(
    problem: Problem,
    solver: str | None = None,
    *,
    n_init: int | str = "auto",
    max_iter: int = 1000,
    tol: float = 1e-4,
    polish: bool = True,
    n_reheats: int | str = "auto",
    random_state: RandomState = None,
    time_limit: float | None = None,
    callback: Callbacks = None,
) -> Solution: ...


@overload
def solve(
    problem: ClusterProblem,
    solver: str | None = None,
    *,
    n_init: int | str = "auto",
    max_iter: int = 1000,
    tol: float = 1e-4,
    polish: bool = True,
    n_reheats: int | str = "auto",
    random_state: RandomState = None,
    time_limit: float | None = None,
    callback: Callbacks = None,
) -> Clustering: ...


def solve(
    problem: Problem | ClusterProblem,
    solver: str | None = None,
    *,
    n_init: int | str = "auto",
    max_iter: int = 1000,
    tol: float = 1e-4,
    polish: bool = True,
    n_reheats: int | str = "auto",
    random_state: RandomState = None,
    time_limit: float | None = None,
    callback: Callbacks = None,
) -> Solution:
    """Learn labels and model together.

    Parameters
    ----------
    problem : Problem or ClusterProblem
        Data, model and hints.
    solver : {"admm", "consensus", "exact", "em", "sdp", "inductive"}
        "kmeans" for a ClusterProblem. Discrete-continuous ADMM by default, or its consensus form
        for linear models; branch and bound for small problems of two classes, whose answer is
        proven to be the best (`Solution.bound`), or what the time limit leaves of it; or one of
        three baselines: hard EM; a convex relaxation, rounded, for the softmax loss and strict
        hints; a fit of the labelled rows alone, after which the others get the cheapest labels
        allowed.
    n_init : int or "auto"
        Starts, or roundings of the relaxation; the best by objective is kept.
    max_iter : int
        Iterations of one run.
    tol : float
        Relative duality gap at fixed labels; for clusters, where that gap is zero, the relative
        fall of the objective at which a run ends.
    polish : bool
        Fit the classifier to the labels found until its duality gap is within `tol`. False takes
        what the last iteration left, for "admm" and "consensus": faster, with the gap it has.
    n_reheats : int or "auto"
        For those two: how often, at most, the best answer of a start is molten again in search of a
        better one. By default up to eight times where hints bound counts (twice where the
        label step is itself a search), else never; 0 is fast.
    random_state : int, Generator, RandomState or None
        Seed of everything random.
    time_limit : float, optional
        Seconds; the best answer so far is returned.
    callback : callable or tuple of callables, optional
        Called with each `Iteration`; returning True stops.

    Returns
    -------
    Solution
        In the order of the problem's rows; a `Clustering` for a ClusterProblem.

    Raises
    ------
    InfeasibleHints
        With a smallest conflicting subset of the hints.
    NoOracle
        By "exact", where it cannot solve the problem, with the reason.
    """
    if isinstance(problem, ClusterProblem):
        _known_solver(solver or "kmeans", CLUSTER_SOLVERS)
        return cluster(
            problem,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            time_limit=time_limit,
            callback=callback,
        )
    solver = solver or "admm"
    _known_solver(solver, tuple(SOLVERS))
    check_options(n_init, max_iter, tol, time_limit)
    if polish not in (False, True):
        raise ValueError(f"polish={polish!r}; expected True or False.")
    check_reheats(n_reheats)
    n_reheats = n_reheats if isinstance(n_reheats, str) else int(n_reheats)
    n_init = n_init if isinstance(n_init, str) else int(n_init)
    front = prepare(problem, random_state, time_limit, callback, solver)
    ordered, loop = front.problem, front.loop
    rng = np.random.default_rng(front.seed)
    features, bound = ordered.feature_map(rng), -np.inf
    with quiet_threads(problem.n):
        if solver == "inductive":  # needs no space of all rows
            alone = Inductive(ordered, features, front.oracle, loop, rng, max_iter, tol)
            outcome = alone.solve()
        elif solver == "exact":
            space = ordered.space(features, rng)
            exact = Exact(ordered, features, space, front.oracle, loop, max_iter, tol)
            outcome, bound = exact.solve()
        else:
            space = ordered.space(features, rng)
            given = (ordered, space, front.oracle, loop, rng, n_init, max_iter, tol)
            chosen, more = JOINT[solver], (polish, n_reheats)
            run = chosen(*given, *more) if issubclass(chosen, ADMM) else chosen(*given)
            outcome = run.solve()
    outcome = in_original_order(outcome, front.back, features.explicit)
    if not features.explicit and problem.kernel != "precomputed":
        features = problem.feature_map(np.random.default_rng(front.seed))  # rows as given
    return _solution(outcome, features, front, bound)


def _solution(
    outcome: Outcome, features: FeatureMap, front: Front[Problem], bound: float
) -> Solution:
    end, history = outcome.polished, front.loop.history
    return Solution(
        labels=outcome.labels,
        coef=end.coef,
        scores=end.F,
        objective=end.objective,
        hint_cost=end.hint_cost,
        fixed_bound=end.bound,
        status=outcome.status,
        n_iter=len(history),
        history=history,
        oracle=front.choice.explain(),
        run_objectives=outcome.run_objectives,
        collapse=outcome.collapse,
        features=features,
        seed=front.seed,
        bound=bound,
    )


def _known_solver(solver: str, names: tuple[str, ...]) -> None:
    if solver not in names:
        raise ValueError(f"solver={solver!r} is not known; choose one of {', '.join(names)}.")
