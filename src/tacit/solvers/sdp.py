"""Relaxation over label equivalence matrices, then rounding: the baseline of Joulin and Bach.

=========  ========  =======================================================================
symbol     shape     meaning
=========  ========  =======================================================================
M          (n, n)    relaxed Z Z' of the nodes, see `_relaxation`
points     (N, C-1)  each row's place by the leading eigenvectors of M - 11'/C
Z          (n, C)    one-hot labels of the nodes
=========  ========  =======================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.linalg import ScoreSpace
from tacit.losses import Softmax
from tacit.oracles import Oracle
from tacit.problem import Problem
from tacit.result import Status
from tacit.solvers._equivalence import Equivalence, soft_costs
from tacit.solvers._loop import Loop, Measured
from tacit.solvers._relaxation import Relaxation, Relaxed
from tacit.solvers.alternate import Outcome, alternate
from tacit.solvers.kernel_admm import TIE_NOISE

__all__ = ["SDP"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

# The relaxation has settled at this duality gap per unit of weight, and this root mean square
# distance between M's two copies: far below what moves a label in the rounding.
GAP, AGREE = 1e-3, 1e-3
ROUNDINGS = 6
MAX_MOVES = 30  # of centres and labels in one rounding
LIMIT = 6000  # rows: about ten dense matrices of that size are held, and decomposed each iteration


@dataclass(frozen=True)
class State:
    """Where the relaxation stands, with the labels that follow it."""

    relaxed: Relaxed
    labels: Labels


@dataclass(frozen=True)
class SDP:
    r"""Convex relaxation of softmax regression with an entropy prior, rounded; the best by J.

    .. math:: \min_M \max_\Omega \sum_i H(\Omega_i)
        - \frac{1}{4 \nu} \operatorname{tr} (I - \Omega)' K (I - \Omega) M

    over label equivalence matrices M relaxed to a convex set, and matrices Omega with rows on the
    simplex. At M = Z Z' its value is N log N - N H(class shares) plus the least regularised
    softmax loss of the labels Z for scores raised by the logarithm of the class shares: as the
    problem has no intercept, the raise is fixed. It is the problem's own J plus a constant where
    the classes are balanced; elsewhere the prior H favours balance.

    M is then rounded: constrained k-means on its leading eigenvectors, with the labels from the
    oracle so that all hints hold, from the rows with known labels and from Gaussian projections
    of M. Each rounding goes to `alternate`, which fits the classifier and lowers the problem's own
    J; there is no prior any more. The best is kept.

    Parameters
    ----------
    problem : Problem
        With softmax loss, and no soft costs in its hints. Labels and strict links are in the
        relaxation too; all other hints in the rounding only.
    space, oracle, loop, rng
        As for the other solvers.
    n_init : int or "auto"
        Roundings.
    max_iter : int
        Iterations of the relaxation, each with an eigendecomposition of the size of all rows; and
        of each fit.
    tol : float
        Relative duality gap at fixed labels.

    Notes
    -----
    Equation: Sec. 3.3 in 000, the SDP relaxation compared with
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
        if not isinstance(self.problem.loss_, Softmax):
            raise ValueError(
                f"solver='sdp' relaxes the softmax loss only; got loss={self.problem.loss_.name!r}."
            )
        if soft_costs(self.problem.program):
            raise ValueError(
                "solver='sdp' relaxes strict hints only; these hints have soft costs (Cost, "
                "Votes, or pairs, cliques or flows that cost something): use solver='admm'."
            )
        if self.problem.n > LIMIT:
            raise ValueError(
                f"solver='sdp' decomposes a matrix of the size of all rows in every iteration and "
                f"takes at most {LIMIT} rows; got {self.problem.n}."
            )

    def solve(self) -> Outcome:
        """Relax, round, fit."""
        labels = self.oracle.solve(self._noise(1.0)).labels
        if len(self._nodes.size) == (self._nodes.anchor >= 0).sum():
            return self._fit(labels, 0)  # nothing is left to relax
        state = State(self._relaxation.start(), labels)
        state, status = self.loop.run(
            state, self._step, self._done, run=0, phase="relax", max_iter=self.max_iter
        )
        outcomes: list[Outcome] = []
        for labels in self._roundings(state):
            outcomes.append(self._fit(labels, len(outcomes)))
            if self.loop.ended:
                break
        best = min(outcomes, key=lambda o: o.polished.objective)
        reached = tuple(o.polished.objective for o in outcomes)
        if status is Status.MAX_ITER and best.status is Status.CONVERGED:
            best = replace(best, status=status)
        return replace(best, run_objectives=reached)

    @cached_property
    def _nodes(self) -> Equivalence:
        return Equivalence.of(self.problem)

    @cached_property
    def _relaxation(self) -> Relaxation:
        return Relaxation(self.problem, self.space, self._nodes)

    def _step(self, state: State) -> tuple[State, Measured]:
        """Advance M, and move the labels once towards it."""
        relaxed = self._relaxation.advance(state.relaxed)
        labels = self._nearest(self._points(relaxed), state.labels)
        F, norm = self._relaxation.responses.classifier(relaxed.B, self._of_nodes(labels))
        problem = self.problem
        objective = problem.data_loss(F, labels) + problem.nu_ * norm
        changes = int(np.sum(labels != state.labels))
        measured = Measured(
            objective + problem.program.value(labels),
            relaxed.primal,
            relaxed.dual,
            1.0 / relaxed.step,
            changes,
            self._relaxation.gap(relaxed),
        )
        return State(relaxed, labels), measured

    def _done(self, state: State, measured: Measured) -> bool:
        return abs(measured.gap) <= GAP and measured.primal <= AGREE

    def _roundings(self, state: State) -> Iterator[Labels]:
        """Different feasible labelings near M; the first does not need the others."""
        count = self.n_init if isinstance(self.n_init, int) else ROUNDINGS
        points, seen = self._points(state.relaxed), set()
        for number in range(count):
            labels = state.labels
            if number == 0 and (self._nodes.anchor >= 0).all():
                first = state.relaxed.V[self._nodes.anchor, -points.shape[1] :]
                labels = self._label(points, first)
            elif number > 0:
                V = state.relaxed.V[self._nodes.node]
                sides = self.rng.standard_normal((V.shape[1], self.problem.program.n_classes))
                labels = self.oracle.solve(V @ sides + self._noise(TIE_NOISE["float64"])).labels
            for _ in range(MAX_MOVES):
                last, labels = labels, self._nearest(points, labels)
                if np.array_equal(last, labels):
                    break
            if labels.tobytes() not in seen:
                seen.add(labels.tobytes())
                yield labels

    def _points(self, relaxed: Relaxed) -> FloatArray:
        """Places of the rows; for M = Z Z', the corners of a simplex."""
        width = min(self.problem.program.n_classes - 1, relaxed.V.shape[1])
        return relaxed.V[:, relaxed.V.shape[1] - width :][self._nodes.node]

    def _nearest(self, points: FloatArray, labels: Labels) -> Labels:
        """One step of constrained k-means; a class without rows has its centre in the middle."""
        Z = labels[:, None] == np.arange(self.problem.program.n_classes)
        return self._label(points, (Z.T @ points) / np.maximum(Z.sum(axis=0), 1)[:, None])

    def _label(self, points: FloatArray, centres: FloatArray) -> Labels:
        cost = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
        return self.oracle.solve(cost + self._ties).labels

    def _of_nodes(self, labels: Labels) -> Labels:
        of = np.empty(self._nodes.n, np.int32)
        of[self._nodes.node] = labels
        return of

    @cached_property
    def _ties(self) -> FloatArray:
        return self._noise(TIE_NOISE["float64"])

    def _noise(self, size: float) -> FloatArray:
        shape = (self.problem.n, self.problem.program.n_classes)
        return np.asarray(size * self.rng.standard_normal(shape))

    def _fit(self, labels: Labels, run: int) -> Outcome:
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
