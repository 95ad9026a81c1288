r"""Convex relaxation of softmax regression over label equivalence matrices.

With one-hot labels Z, :math:`q = 1 / (4 \nu)` and slopes Q on the simplex,

.. math:: \min_f \sum_i \ell(z_i, f(x_i)) + \nu |f|^2
    = \max_Q \sum_i H(q_i) - q \operatorname{tr} (Z - Q)' K (Z - Q) .

Q = Omega Z with rows of Omega on the N-simplex makes the second term linear in M = Z Z', and

.. math:: g(M) = \max_\Omega \sum_i H(\Omega_i)
    - q \operatorname{tr} (I - \Omega)' K (I - \Omega) M

is convex in M. For M = Z Z' the best Omega is constant on each class, so that H(Omega_i) is
:math:`H(q_i) + \sum_c q_{ic} \log n_c`. Then g is the least loss of a classifier without intercept
whose scores are raised by :math:`\log n_c`, the logarithm of the class counts, plus
:math:`\sum_c n_c \log n_c = N \log N - N H(n / N)`: the entropy prior, which favours balance. (With
an intercept the columns of Omega would also have to sum to one, and the raise would be free.) Where
the classes are balanced, it cancels: g is then J of the labels plus N log N - N H.

The relaxation minimises g over

.. math:: M - 11'/C \succeq 0, \quad M_{ii} = 1, \quad M_{ij} \ge 0, \quad M_{ij} = 1
    \text{ or } 0 \text{ for pairs of rows known to be alike or not.}

The shift 11'/C, valid as :math:`C Z Z' - 11' = Z (C I - 11') Z'`, is how M knows the number of
classes. Rows that are alike are one node: Omega has a column for each, with the entropy taken
relative to the nodes' sizes.

=========  ========  =======================================================================
symbol     shape     meaning
=========  ========  =======================================================================
M          (n, n)    label equivalence; P in the cone, X in the box (all but the cone)
V          (n, k)    P = 11'/C + V V'
logp       (N, n)    logarithm of Omega, rows on the simplex; see `_responses`
B          (r, n)    H' W (E - Omega), with K = H H', E the rows' nodes and W the weights
G          (n, n)    B' B; the slope of g is -q G
z          (n, n)    variable of the splitting; P - z = step S
S          (n, n)    multiplier of the cone
=========  ========  =======================================================================

References
----------
Joulin, Bach: A convex relaxation for weakly supervised classifiers, ICML 2012.
Davis, Yin: A three-operator splitting scheme and its optimization applications, 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.linalg

from tacit.linalg import ScoreSpace
from tacit.problem import Problem
from tacit.solvers._equivalence import Equivalence
from tacit.solvers._responses import Responses

__all__ = ["Relaxation", "Relaxed"]

FloatArray = npt.NDArray[np.float64]

OVER = 1.5  # over-relaxation of the splitting
FIRST = 0.1  # first step: what it moves M by, relative to M
SAFE = 1.0  # the step stays below this over the curvature of g, or the splitting may cycle
BALANCE, PATIENCE = 3.0, 10  # residuals further apart than this move the step, so often
SHARPEST = 0.1  # of the moves: before Omega follows M, the curvature met is too large
FEW = 0.1  # a share of eigenvectors below which finding the leading ones alone is faster
MORE = 8  # eigenpairs beyond those expected


@dataclass(frozen=True)
class Relaxed:
    """Where the splitting stands.

    Attributes
    ----------
    value : float
        Upper bound of g at P, which lies in the cone and in the box but for `primal`.
    bound : float
        Proven lower bound of g over all M that the relaxation admits.
    primal, dual : float
        Root mean square of X - P, and of the change of P over the step.
    """

    z: FloatArray
    V: FloatArray
    P: FloatArray
    logp: FloatArray
    B: FloatArray
    step: float
    curvature: float
    value: float = np.inf
    bound: float = -np.inf
    primal: float = np.inf
    dual: float = np.inf
    iteration: int = 0
    slope: FloatArray | None = None
    strides: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Since the step was last looked at: relative residuals summed, largest curvature of g met."""


class Relaxation:
    r"""The relaxed problem and one iteration of its solver.

    Three-operator splitting on M (cone, box, smooth g) with one eigendecomposition an iteration;
    the slope of g comes from Omega, which follows by one step of entropic mirror ascent each.

    Parameters
    ----------
    problem, space
        Rows, weights and nu; their kernel matrix.
    nodes : Equivalence
        What is known about pairs of rows.

    Notes
    -----
    For any Omega and any S with <S, M - 11'/C> >= 0 on the cone,
    :math:`\sum_i w_i H(\Omega_i) + 1'S1/C - \sup_{X} \langle q G + S, X \rangle` over the box
    bounds g below. If a row of every class is known, its nodes' columns of M sum to one, and the
    cone is replaced by its face.
    """

    def __init__(self, problem: Problem, space: ScoreSpace, nodes: Equivalence) -> None:
        self.nodes = nodes
        self.responses = Responses(problem, space, nodes)
        self.shift = 1.0 / problem.program.n_classes
        self.total = float(problem.weights.sum())
        self._normal: FloatArray | None = None
        if (nodes.anchor >= 0).all():
            normal = np.zeros(nodes.n)
            normal[nodes.anchor] = 1.0
            self._normal = normal / np.linalg.norm(normal)

    def start(self) -> Relaxed:
        """M = 1/C where nothing is known, Omega the nodes' shares."""
        n = self.nodes.n
        z = self._box(np.full((n, n), self.shift))
        logp = self.responses.start()
        B = self.responses.slopes(logp)
        pull = self.responses.q * float(np.linalg.norm(B.T @ B))
        step = FIRST * float(np.linalg.norm(z)) / max(pull, 1e-12)
        return Relaxed(z, np.empty((n, 0)), z, logp, B, step, self.responses.steepest)

    def advance(self, s: Relaxed) -> Relaxed:
        """One iteration: P, then Omega, then X and z."""
        V, P = self._cone(s.z, s.V.shape[1])
        S = (P - s.z) / s.step
        ours = self.responses
        scores, value = ours.scores(s.B, V)
        logp = ours.ascend(s.logp, scores, s.curvature)
        B = ours.slopes(logp)
        curvature = ours.curvature(logp, s.logp, B - s.B, V, s.curvature)
        slope = ours.q * (B.T @ B)
        bound = self._bound(logp, slope, S)
        X = self._box(2.0 * P - s.z + s.step * slope)
        primal, change = float(np.linalg.norm(X - P)), float(np.linalg.norm(P - s.P))
        strides = (
            s.strides[0] + primal / float(np.linalg.norm(P)),
            s.strides[1] + change / (s.step * max(float(np.linalg.norm(slope)), 1e-12)),
            max(s.strides[2], _ratio(slope, s.slope, change)),
        )
        z = s.z + OVER * (X - P)
        new = replace(
            s,
            z=z,
            V=V,
            P=P,
            logp=logp,
            B=B,
            curvature=curvature,
            value=value,
            bound=max(bound, s.bound),
            primal=primal / self.nodes.n,
            dual=change / (s.step * self.nodes.n),
            iteration=s.iteration + 1,
            slope=slope,
            strides=strides,
        )
        return self._balance(new) if new.iteration % PATIENCE == 0 else new

    def gap(self, s: Relaxed) -> float:
        """Duality gap, per unit of the rows' weight."""
        return (s.value - s.bound) / self.total

    def _box(self, Y: FloatArray) -> FloatArray:
        """Nearest matrix with all the known entries, else between 0 and 1."""
        X = np.clip(Y, 0.0, 1.0)
        X[self.nodes.apart] = 0.0
        np.fill_diagonal(X, 1.0)
        return X

    def _cone(self, z: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
        """Nearest matrix to z in the cone, and its factor."""
        A = z - self.shift
        if self._normal is not None:
            u = self._normal
            Au = A @ u
            A -= np.outer(Au, u) + np.outer(u, Au - (u @ Au) * u)
        d, U = _positive_part(A, rank)
        V = U * np.sqrt(d)
        P = V @ V.T + self.shift
        return V, P

    def _bound(self, logp: FloatArray, slope: FloatArray, S: FloatArray) -> float:
        Y = slope + S
        diagonal = float(np.trace(Y))
        np.fill_diagonal(Y, 0.0)
        Y[self.nodes.apart] = 0.0
        reach = diagonal + float(np.maximum(Y, 0.0).sum())
        return self.responses.entropy(logp) + self.shift * float(S.sum()) - reach

    def _balance(self, s: Relaxed) -> Relaxed:
        """Move the step so that M's two copies agree as fast as M settles."""
        primal, dual, bend = s.strides
        factor = 1.0
        if primal > BALANCE * dual:
            factor = 0.5
        elif dual > BALANCE * primal:
            factor = 2.0
        factor = max(SHARPEST, min(factor, SAFE / max(bend * s.step, 1e-12)))
        # P and S stay: z = P - step S.
        z = s.P + factor * (s.z - s.P) if factor != 1.0 else s.z
        return replace(s, z=z, step=factor * s.step, strides=(0.0, 0.0, 0.0))


def _ratio(new: FloatArray, old: FloatArray | None, change: float) -> float:
    """How much the slope of g has turned for a change of M of this size."""
    if old is None or change == 0.0:
        return 0.0
    return float(np.linalg.norm(new - old)) / change


def _positive_part(A: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
    """Positive eigenvalues with their vectors; `rank` guesses how many there are."""
    n = len(A)
    if 0 < rank + MORE < FEW * n:
        d, U = scipy.linalg.eigh(A, subset_by_index=[n - rank - MORE, n - 1], driver="evr")
        if d[0] <= 0.0:
            return d[d > 0.0], U[:, d > 0.0]
    d, U = scipy.linalg.eigh(A, driver="evd")
    return d[d > 0.0], U[:, d > 0.0]
