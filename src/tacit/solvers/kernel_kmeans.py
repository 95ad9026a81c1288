r"""Constrained k-means, plain and in a kernel's space: labels and centres in turn.

.. math:: \min_{y, m} \sum_i w_i |\phi(x_i) - m_{y_i}|^2 + S(y)

Without hints the label step is the nearest centre and this is Lloyd's algorithm; with hints it is
the oracle on the table of weighted squared distances. Neither step can raise the objective.

=========  =======  =======================================================
symbol     shape    meaning
=========  =======  =======================================================
coef       (M, C)   centres as columns, see `_centers`
D          (N, C)   squared distances of rows and centres
table      (N, C)   cost of every label: weight times D, and noise for ties
=========  =======  =======================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._classes import ClassCodes
from tacit.hints.base import Hint
from tacit.oracles import require_feasible, select_oracle
from tacit.oracles.linear_program import MixedIntegerOracle
from tacit.problem import ClusterProblem
from tacit.result import Clustering, Status
from tacit.solvers._centers import Geometry, geometry_of
from tacit.solvers._descent import descend
from tacit.solvers._front import (
    Callbacks,
    Front,
    RandomState,
    check_options,
    prepare,
    quiet_threads,
)
from tacit.solvers._loop import Measured
from tacit.solvers._order import canonical_order
from tacit.solvers._seeds import Seeds, read_init

__all__ = ["assign", "cluster"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

# Ties are broken by noise of this size, in units of the mean squared distance from the mean. Rows
# of no weight take the nearest centre that the hints leave them: they weigh this much in the table.
TIE_NOISE = 1e-10
# Starts where hints or random centres make poor local answers likely.
DEFAULT_STARTS = 10
# Places that are tried for a cluster without rows before it stays empty.
MAX_RESEEDS = 10
# A row this close to its centre, in units of the mean, is no place for an empty cluster.
COINCIDES = 1e-12


@dataclass(frozen=True)
class State:
    """Where a descent stands."""

    D: FloatArray
    coef: FloatArray | None = None
    labels: Labels | None = None
    objective: float = np.inf
    inertia: float = np.inf
    own: FloatArray | None = None  # squared distance of each row from its centre
    tries: int = 0  # iterations without progress
    settled: bool = False


@dataclass(frozen=True)
class Descent:
    """Labels, then centres; a cluster that lost its rows starts again from a far row.

    Parameters
    ----------
    problem : ClusterProblem
        Rows in canonical order.
    geometry : Geometry
        Its distances.
    front : Front
        Its oracle.
    noise : array of shape (N, C)
        Breaks ties; the same throughout a run.
    tol : float
        Relative fall of the objective at which to end; 0: when the labels no longer change.

    Notes
    -----
    Equation: Sec. 3.1 in 000, constrained kernel k-means
    """

    front: Front[ClusterProblem]
    geometry: Geometry
    noise: FloatArray
    tol: float

    def step(self, s: State) -> tuple[State, Measured]:
        """Update labels, then centres."""
        problem = self.front.problem
        weights = np.maximum(problem.weights, TIE_NOISE * problem.unit_weight)
        table = weights[:, None] * s.D + self.noise
        labels, _ = descend(self.front.oracle, table, s.labels)
        changes = len(labels) if s.labels is None else int(np.sum(labels != s.labels))
        new = self._fit(labels) if changes else s
        if new.objective > s.objective:  # by rounding or noise: the labels before were as good
            new, changes = s, 0
        fall = s.objective - new.objective
        new = replace(new, tries=0 if fall > 0 else s.tries + 1)
        new, moved = self._reseed(new)
        small = s.labels is not None and fall <= self.tol * abs(new.objective)
        new = replace(new, settled=not moved and (changes == 0 or small))
        return new, Measured(new.objective, changes=changes, gap=0.0)

    def done(self, s: State, measured: Measured) -> bool:
        """Whether nothing changes any more."""
        return s.settled

    def _fit(self, labels: Labels) -> State:
        """Centres for the labels."""
        problem, geometry = self.front.problem, self.geometry
        coef = geometry.means(labels, problem.program.n_classes, problem.weights)
        D = geometry.distances(coef)
        own = geometry.paired(coef, D, labels)
        inertia = float(problem.weights @ own)
        return State(D, coef, labels, inertia + problem.program.value(labels), inertia, own)

    def _reseed(self, s: State) -> tuple[State, bool]:
        """Put the centre of each empty cluster on the row that costs most where it is.

        This costs nothing; whether the row moves there is for the next label step to say, which
        knows the hints. If none did, the next best row is tried. Returns whether that may help.
        """
        assert s.labels is not None
        assert s.own is not None
        assert s.coef is not None
        problem = self.front.problem
        empty = np.flatnonzero(np.bincount(s.labels, minlength=problem.program.n_classes) == 0)
        if len(empty) == 0:
            return s, False
        cost = problem.weights * s.own
        rank = np.argsort(-cost, kind="stable")
        least = COINCIDES * problem.unit_weight * self.geometry.scatter
        D, coef, used, hope = s.D.copy(), s.coef.copy(), set[int](), False
        for c in empty:
            free = rank[problem.program.mask[rank, c] & (cost[rank] > least)]
            left = [int(i) for i in free[: s.tries + len(used) + 1] if int(i) not in used]
            places = left[s.tries :]
            row = places[0] if places else int(rank[0])
            used.add(row)
            hope |= bool(places)
            coef[:, c] = self.geometry.at(row)
            D[:, c] = self.geometry.from_rows(np.array([row]))[:, 0]
        return replace(s, D=D, coef=coef), hope and s.tries < MAX_RESEEDS


def cluster(
    problem: ClusterProblem,
    *,
    init: Any = "k-means++",
    n_init: int | str = "auto",
    max_iter: int = 300,
    tol: float = 0.0,
    random_state: RandomState = None,
    time_limit: float | None = None,
    callback: Callbacks = None,
) -> Clustering:
    """Learn labels and centres together.

    Parameters
    ----------
    problem : ClusterProblem
        Rows, kernel and hints.
    init : {"k-means++", "random"} or array of shape (C, d)
        First centres. Classes with labelled rows start from their mean, except where an array is
        given.
    n_init : int or "auto"
        Starts; the best by objective is kept. By default one from an array, or for k-means++
        without hints; ten otherwise.
    max_iter : int
        Iterations of one start.
    tol : float
        Relative fall of the objective at which a start ends; 0: when the labels stay.
    random_state, time_limit, callback
        As in `solve`.

    Returns
    -------
    Clustering
        In the order of the problem's rows.
    """
    check_options(n_init, max_iter, tol, time_limit, zero_tol=True)
    init = read_init(init, problem)
    front = prepare(problem, random_state, time_limit, callback)
    with quiet_threads(problem.n):
        geometry = geometry_of(front.problem)
        best, status, reached = _best(front, geometry, init, n_init, max_iter, tol)
        assert best.coef is not None
        coef, scores, norms = geometry.export(best.coef)
    assert best.labels is not None
    features, back = problem.feature_map(), front.back
    return Clustering(
        labels=best.labels[back],
        coef=coef if features.explicit else coef[back],
        scores=scores[back],
        objective=best.objective,
        hint_cost=best.objective - best.inertia,
        fixed_bound=best.objective,
        status=status,
        n_iter=len(front.loop.history),
        history=front.loop.history,
        oracle=front.choice.explain(),
        run_objectives=reached,
        collapse="",
        features=features,
        seed=front.seed,
        norms=norms,
        inertia=best.inertia,
    )


def _best(
    front: Front[ClusterProblem],
    geometry: Geometry,
    init: str | FloatArray,
    n_init: int | str,
    max_iter: int,
    tol: float,
) -> tuple[State, Status, tuple[float, ...]]:
    """Run all starts; the best by objective, how it ended, and what each reached."""
    problem = front.problem
    # Two streams, since how much noise is drawn depends on how often rows are repeated.
    draws, ties = np.random.default_rng(front.seed).spawn(2)
    seeds = Seeds(problem, geometry, init, front.oracle, front.loop, front.seed)
    if isinstance(n_init, str):
        plain = isinstance(init, str) and init == "k-means++" and problem.hints is None
        n_init = 1 if plain else DEFAULT_STARTS
    if not seeds.random:
        n_init = 1
    shape = (problem.n, problem.program.n_classes)
    size = TIE_NOISE * problem.unit_weight * geometry.scatter
    ends: list[tuple[State, Status]] = []
    for run in range(n_init):
        descent = Descent(front, geometry, size * ties.standard_normal(shape), tol)
        start = State(seeds.start(draws))
        ends.append(
            front.loop.run(
                start, descent.step, descent.done, run=run, phase="start", max_iter=max_iter
            )
        )
        if front.loop.ended:
            break
    best, status = min(ends, key=lambda end: end[0].objective)
    return best, front.loop.ended or status, tuple(state.objective for state, _ in ends)


def assign(
    X: Any,
    D: FloatArray,
    hints: Hint,
    classes: ClassCodes,
    seed: int,
    time_limit: float | None = None,
) -> Labels:
    """Labels of new rows for fixed centres, under hints about these rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (N, d)
        The rows; they are put in an order that depends on their content.
    D : array of shape (N, C)
        Squared distances, up to a constant per row.
    hints : Hint
        What is known about these rows.
    classes : ClassCodes
        Names of the columns of `D`.
    seed : int
        Breaks ties.
    time_limit : float, optional
        Seconds for branch and bound, where it is needed.
    """
    program = hints.compile(len(D), classes)
    require_feasible(program, hints, classes)
    order = canonical_order(X, program, np.ones(len(D)), seed, False)
    chosen = select_oracle(program).oracle
    limits = {"time_limit": time_limit} if issubclass(chosen, MixedIntegerOracle) else {}
    size = TIE_NOISE * float(np.ptp(D, axis=1).mean()) if D.size else 0.0
    noise = size * np.random.default_rng(seed).standard_normal(D.shape)
    labels = np.empty(len(D), np.int32)
    labels[order] = chosen(program.take(order), **limits).solve(D[order] + noise).labels
    return labels
