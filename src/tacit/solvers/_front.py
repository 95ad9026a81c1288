"""What happens before any solver: hints checked, oracle chosen, rows put in canonical order."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from tacit.backends import is_number, is_whole
from tacit.oracles import (
    Choice,
    ExpansionOracle,
    LagrangianOracle,
    Oracle,
    TRWSOracle,
    require_feasible,
    select_oracle,
)
from tacit.oracles._pair_oracle import PairOracle
from tacit.oracles.linear_program import MixedIntegerOracle
from tacit.problem import HintedRows, Problem, require_memory
from tacit.solvers._loop import Callback, Loop
from tacit.solvers._order import canonical_order

__all__ = [
    "Callbacks",
    "Front",
    "RandomState",
    "check_options",
    "check_reheats",
    "prepare",
    "quiet_threads",
]

log = logging.getLogger("tacit")
P = TypeVar("P", bound=HintedRows)
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
Callbacks: TypeAlias = Callback | tuple[Callback, ...] | None

# Inside a solver any whole labels near a fractional answer will do: the descent test decides
# whether they are used. Their search is limited in nodes: seconds would not be reproducible.
STEP_GAP, STEP_NODES = float("inf"), 5
# Where the gap never closes for certain, a small one has to do: relative to the cost of a step's
# labels above each row's least.
CLOSE_ENOUGH = 1e-3
# Products of matrices this small gain nothing from threads and lose much on a busy machine.
SMALL = 1000


@dataclass(frozen=True)
class Front(Generic[P]):
    """What a solver works with.

    Attributes
    ----------
    problem : HintedRows
        Rows in canonical order.
    order : (N,) array
        Where the row in each canonical place came from.
    oracle : Oracle
        Discrete step for the rows in canonical order.
    choice : Choice
        Why this oracle.
    loop : Loop
        History, callbacks and time.
    seed : int
        Everything random comes from it.
    """

    problem: P
    order: npt.NDArray[np.intp]
    oracle: Oracle
    choice: Choice
    loop: Loop
    seed: int

    @property
    def back(self) -> npt.NDArray[np.intp]:
        """Index that puts rows in canonical order back into the user's."""
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(self.order))
        return back


def prepare(
    problem: P,
    random_state: RandomState,
    time_limit: float | None,
    callback: Callbacks,
    solver: str = "",
) -> Front[P]:
    """Say what memory is needed, check the hints, choose the oracle, order the rows.

    Raises
    ------
    NotEnoughMemory
        Before anything large is allocated.
    InfeasibleHints
        With a smallest conflicting subset of the hints.
    """
    callbacks = _read_callbacks(callback)
    seed = _seed(random_state)
    loop = Loop(time_limit, callbacks)
    if isinstance(problem, Problem):
        log.info("%d rows: %s.", problem.n, require_memory(problem, solver))
    known = require_feasible(problem.program, problem.known, problem.codes)
    choice = select_oracle(problem.program)
    square = problem.kernel == "precomputed"
    order = canonical_order(problem.X, problem.program, problem.weights, seed, square)
    ordered = problem.take(order)
    limits: dict[str, Any] = {}
    if issubclass(choice.oracle, MixedIntegerOracle):
        limits = {"gap": STEP_GAP, "max_nodes": STEP_NODES}
        limits |= {"deadline": loop.deadline, "known": known[order]}
    elif issubclass(choice.oracle, TRWSOracle | LagrangianOracle):
        limits = {"gap": CLOSE_ENOUGH}
    elif issubclass(choice.oracle, ExpansionOracle):
        limits = {"bound_iterations": 0}  # steps compare labels, not bounds
    elif issubclass(choice.oracle, PairOracle):
        limits = {"exact": False}  # the descent test decides here, too
    oracle = choice.oracle(ordered.program, **limits)
    return Front(ordered, order, oracle, choice, loop, seed)


def quiet_threads(n: int) -> AbstractContextManager[Any]:
    """Keep BLAS to one thread where there are few rows."""
    return threadpool_limits(1 if n <= SMALL else None, "blas")


def check_options(
    n_init: int | str, max_iter: int, tol: float, limit: float | None, *, zero_tol: bool = False
) -> None:
    """Raise for options that no solver could follow."""
    if n_init != "auto" and not (is_whole(n_init) and n_init >= 1):
        raise ValueError(f"n_init={n_init!r}; expected a positive integer or 'auto'.")
    if not (is_whole(max_iter) and max_iter >= 1):
        raise ValueError(f"max_iter={max_iter!r}; expected an integer, at least 1.")
    if not is_number(tol) or not (tol > 0 or (zero_tol and tol == 0)):
        raise ValueError(f"tol={tol!r}; expected a positive number{' or 0' if zero_tol else ''}.")
    if limit is not None and not (is_number(limit) and limit > 0):
        raise ValueError(f"time_limit={limit!r}; expected a positive number of seconds.")


def _read_callbacks(callback: Any) -> tuple[Callback, ...]:
    callbacks = callback if isinstance(callback, tuple) else (callback,)
    found = tuple(one for one in callbacks if one is not None)
    for one in found:
        if not callable(one):
            raise ValueError(f"callback={one!r}; expected a function of an Iteration.")
    return found


def check_reheats(n_reheats: int | str) -> None:
    """Raise for a number of reheats that cannot be."""
    if n_reheats != "auto" and not (is_whole(n_reheats) and n_reheats >= 0):
        raise ValueError(f"n_reheats={n_reheats!r}; expected 0, a positive integer or 'auto'.")


def _seed(random_state: Any) -> int:
    """One integer from which everything random follows."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31))
    if not is_whole(random_state) or random_state < 0:
        raise ValueError(
            f"random_state={random_state!r}; expected a whole number, 0 or more, a random "
            "generator, or None."
        )
    return int(random_state)
