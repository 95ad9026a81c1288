r"""Consensus DC-ADMM: one copy of the weights per row, none of which is ever stored.

.. math:: \min_{y, W, W_i} \sum_i w_i \ell(y_i, W_i^\top x_i) + \nu |W|^2 + S(y)
    \quad\text{s.t.}\quad W_i = W

The prox at :math:`V_i = W - \Lambda_i / \rho` moves the copy W_i along x_i only, so that every
multiplier is :math:`\Lambda_i = D + x_i m_i^\top` with D common to all rows: O(N C + d C) numbers.
With q_i = |x_i|^2, one iteration reads

.. math:: s_i = (W - D / \rho)^\top x_i - q_i m_i / \rho, \qquad
    u_i = \operatorname{prox}_{(w_i q_i / \rho)\, \ell(y_i, \cdot)}(s_i), \qquad
    m_i \leftarrow \rho (u_i - s_i) / q_i,

.. math:: W^+ = \frac{N \rho W + \sum_i x_i m_i^\top}{2 \nu + N \rho}, \qquad
    D \leftarrow \rho (W - W^+).

=========  =======  ==========================================================  =============
symbol     shape    meaning                                                     paper symbol
=========  =======  ==========================================================  =============
W          (d, P)   consensus; `coef` of the state                              W
m          (N, P)   multiplier along x_i, minus the slope of the loss; `dual`   lambda_i
                    of the state is -m, as in the kernel form
lag        (N, P)   X D, what the common part of the multipliers adds to scores
F          (N, P)   scores X W
s, u       (N, P)   scores of V_i, and of the copy W_i
q          (N,)     squared lengths of the rows
rho        ()       penalty in units of scores; that of |W_i - W|^2 is rho      rho
                    times the mean of q
=========  =======  ==========================================================  =============
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tacit.backends import Array, array_namespace
from tacit.solvers._descent import descend
from tacit.solvers._loop import Measured
from tacit.solvers.admm import ADMM
from tacit.solvers.kernel_admm import Annealing, State, rms

__all__ = ["Consensus", "ConsensusADMM", "ConsensusState"]


@dataclass(frozen=True)
class ConsensusState(State):
    """Where an anneal stands, with the common part of the multipliers."""

    lag: Array = None


@dataclass(frozen=True)
class Consensus(Annealing):
    """The updates of labels and copies, of the consensus, of the multipliers.

    Notes
    -----
    Equation: (7), (10), (11), (12) in 000, corrected: W = mean of W_i + lambda_i / rho, shrunk by
    the regulariser, which is on W; the prox of label j takes y_j; (12) is an argmin
    """

    @cached_property
    def square(self) -> Array:
        """Squared lengths of the rows; a row of zeros, which moves nothing, counts as tiny."""
        q = self.problem.kernel_.diagonal(self.problem.rows)
        xp = array_namespace(q)
        return xp.clip(q, min=float(xp.finfo(q.dtype).eps) * max(self.space.scale, 1e-12))

    def step(self, state: State) -> tuple[State, Measured]:
        """Update labels and copies, then the consensus, then the multipliers."""
        problem, now = self.problem, self._begin(state)
        unit = self.schedule.rho(state.iteration)
        rho = unit * max(self.space.scale, 1e-12)
        q = self.square[:, None]
        s = now.F - now.lag / rho + q * now.dual / rho
        tau = problem.weights_there * self.square / rho
        table = (rho / q) * problem.loss_.envelope(s, tau) + self.noise
        labels, hint_cost = descend(self.oracle, table, state.labels)
        u = problem.loss_.prox(s, tau, labels)
        m = (rho / q) * (u - s)
        F, W = self._consensus(now, m, rho)
        changes = len(labels) if state.labels is None else int((labels != state.labels).sum())
        penalty = problem.nu_ * self.space.regularizer(W, F)
        objective = problem.data_loss(F, labels) + penalty + hint_cost
        new = ConsensusState(
            F,
            -m,
            labels,
            W,
            state.iteration + 1,
            state.unchanged + 1 if changes == 0 else 0,
            objective,
            hint_cost,
            unit,
            lag=rho * (now.F - F),
        )
        return new, Measured(objective, rms(F - u), unit * rms(F - now.F), unit, changes)

    def _consensus(self, now: State, m: Array, rho: float) -> tuple[Array, Array]:
        """Scores and weights of the new consensus."""
        pulled, pull = self.space.expand(m)
        assert now.coef is not None
        kept = self.problem.n * rho
        total = kept + 2.0 * self.problem.nu_
        return (kept * now.F + pulled) / total, (kept * now.coef + pull) / total

    def _begin(self, state: State) -> ConsensusState:
        """Weights where a run begins, from the multipliers unless they are given.

        All multipliers together are 2 nu W, so that D = (2 nu W - X' m) / N.
        """
        if isinstance(state, ConsensusState):
            return state
        pulled, pull = self.space.expand(-state.dual)
        twice = 2.0 * self.problem.nu_
        if state.coef is None:
            F, W = pulled / twice, pull / twice
            return ConsensusState(F, state.dual, coef=W, lag=0.0 * F)
        lag = (twice * state.F - pulled) / self.problem.n
        return ConsensusState(state.F, state.dual, state.labels, state.coef, lag=lag)


@dataclass(frozen=True)
class ConsensusADMM(ADMM):
    """Consensus DC-ADMM for linear models: starts, reheats and polish are those of `ADMM`.

    An iteration solves no linear system. It moves W no faster than a gradient step, so modes of the
    data that are much weaker than the widest need more iterations than in the kernel form.

    Notes
    -----
    Equation: Alg. 1, Alg. 2 in 000, corrected
    """

    updates: type[Annealing] = Consensus

    def __post_init__(self) -> None:
        if not self.problem.kernel_.linear or self.problem.approximation is not None:
            raise ValueError(
                f"solver='consensus' is for linear models, got kernel={self.problem.kernel!r} with "
                f"approximation={self.problem.approximation!r}; use kernel='linear' with "
                "approximation=None, or solver='admm'."
            )
