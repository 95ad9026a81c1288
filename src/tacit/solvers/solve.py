"""One front door: order the rows, choose the oracle, run the solver, report in the user's order."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from tacit.hints.combine import Hints
from tacit.oracles import require_feasible, select_oracle
from tacit.oracles.linear_program import MixedIntegerOracle
from tacit.problem import Problem
from tacit.result import Solution
from tacit.solvers._loop import Callback, Loop
from tacit.solvers._order import canonical_order
from tacit.solvers.admm import ADMM
from tacit.solvers.alternate import Outcome, in_original_order
from tacit.solvers.hard_em import HardEM

__all__ = ["SOLVERS", "solve"]

SolverType: TypeAlias = type[ADMM] | type[HardEM]
SOLVERS: dict[str, SolverType] = {"admm": ADMM, "em": HardEM}

# Inside a solver any whole labels near a fractional answer will do: the descent test decides
# whether they are used. Their search is limited in nodes: seconds would not be reproducible.
STEP_GAP, STEP_NODES = float("inf"), 5
# Products of matrices this small gain nothing from threads and lose much on a busy machine.
SMALL = 1000


def solve(
    problem: Problem,
    solver: str = "admm",
    *,
    n_init: int | str = "auto",
    max_iter: int = 1000,
    tol: float = 1e-4,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    time_limit: float | None = None,
    callback: Callback | tuple[Callback, ...] | None = None,
) -> Solution:
    """Learn labels and classifier together.

    Parameters
    ----------
    problem : Problem
        Data, loss, regulariser and hints.
    solver : {"admm", "em"}
        Discrete-continuous ADMM, or the hard EM baseline.
    n_init : int or "auto"
        Starts; the best by objective is kept.
    max_iter : int
        Iterations of one run.
    tol : float
        Relative duality gap at fixed labels.
    random_state : int, Generator, RandomState or None
        Seed of everything random.
    time_limit : float, optional
        Seconds; the best answer so far is returned.
    callback : callable or tuple of callables, optional
        Called with each `Iteration`; returning True stops.

    Returns
    -------
    Solution
        In the order of the problem's rows.

    Raises
    ------
    InfeasibleHints
        With a smallest conflicting subset of the hints.
    """
    _check(solver, n_init, max_iter, tol, time_limit)
    n_init = n_init if isinstance(n_init, str) else int(n_init)
    known = Hints([] if problem.hints is None else [problem.hints])
    require_feasible(problem.program, known, problem.codes)
    choice = select_oracle(problem.program)
    seed = _seed(random_state)
    square = problem.kernel == "precomputed"
    order = canonical_order(problem.X, problem.program, problem.weights, seed, square)
    ordered = problem.take(order)
    rng = np.random.default_rng(seed)
    features = ordered.feature_map(rng)
    limits: dict[str, Any] = {}
    if issubclass(choice.oracle, MixedIntegerOracle):
        limits = {"gap": STEP_GAP, "max_nodes": STEP_NODES}
    callbacks = callback if isinstance(callback, tuple) else (callback,) if callback else ()
    loop = Loop(time_limit, callbacks)
    oracle = choice.oracle(ordered.program, **limits)
    with threadpool_limits(1 if problem.n <= SMALL else None, "blas"):
        space = ordered.space(features)
        outcome = SOLVERS[solver](ordered, space, oracle, loop, rng, n_init, max_iter, tol).solve()
    outcome = in_original_order(outcome, order, features.explicit)
    return _solution(problem, outcome, features, loop, choice.explain(), seed)


def _solution(
    problem: Problem, outcome: Outcome, features: Any, loop: Loop, oracle: str, seed: int
) -> Solution:
    end = outcome.polished
    if not features.explicit and problem.kernel != "precomputed":
        features = problem.feature_map(np.random.default_rng(seed))  # training rows as given
    return Solution(
        labels=outcome.labels,
        coef=end.coef,
        scores=end.F,
        objective=end.objective,
        fixed_bound=end.bound,
        status=outcome.status,
        n_iter=len(loop.history),
        history=loop.history,
        oracle=oracle,
        run_objectives=outcome.run_objectives,
        features=features,
        seed=seed,
    )


def _check(solver: str, n_init: int | str, max_iter: int, tol: float, limit: float | None) -> None:
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is not known; choose one of {', '.join(SOLVERS)}.")
    if n_init != "auto" and not (isinstance(n_init, int | np.integer) and n_init >= 1):
        raise ValueError(f"n_init={n_init!r}; expected a positive integer or 'auto'.")
    if not (isinstance(max_iter, int | np.integer) and max_iter >= 1):
        raise ValueError(f"max_iter={max_iter!r}; expected an integer, at least 1.")
    if not tol > 0:
        raise ValueError(f"tol={tol}; expected a positive number.")
    if limit is not None and not limit > 0:
        raise ValueError(f"time_limit={limit}; expected a positive number of seconds.")


def _seed(random_state: Any) -> int:
    """One integer from which everything random follows."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None:
        return int(np.random.default_rng().integers(2**32))
    return int(random_state)
