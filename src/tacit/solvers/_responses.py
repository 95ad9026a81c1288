r"""The inner maximisation of the relaxation: responses Omega to a label equivalence matrix M.

.. math:: g(M) = \max_\Omega \sum_i w_i H(\Omega_i \mid s)
    - q \operatorname{tr} (E - \Omega)' W K W (E - \Omega) M

over matrices with rows on the simplex; H(. | s) is the entropy relative to the sizes s of the
nodes. At the best Omega, row i is softmax(scores_i + log s) with the scores 2 q K W (E - Omega) M.
The quadratic term has curvature 2 q |W^1/2 K W^1/2| max M at most, relative to the entropy, so that
entropic mirror ascent converges at a rate that does not depend on the number of rows.

=========  ========  =======================================================================
symbol     shape     meaning
=========  ========  =======================================================================
Omega      (N, n)    responses; `logp` is its logarithm
H          (N, r)    kernel matrix K = H H'
B          (r, n)    H' W (E - Omega), with E the rows' nodes and W the weights
V          (n, k)    M = V V' up to a multiple of 11', which makes no difference as B 1 = 0
q          ()        1 / (4 nu)
=========  ========  =======================================================================
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.special import logsumexp

from tacit.linalg import ScoreSpace
from tacit.problem import Problem
from tacit.solvers._equivalence import Equivalence

__all__ = ["Responses"]

FloatArray = npt.NDArray[np.float64]

# The curvature along a step is estimated from above by CAREFUL times what the last step met, and
# falls by CALM a step at most.
CAREFUL, CALM = 1.2, 0.7
TINY = 1e-12  # least size of a node, relative to all: rows of weight zero


class Responses:
    """Omega's side of the saddle.

    Parameters
    ----------
    problem, space
        Weights and nu; the kernel matrix.
    nodes : Equivalence
        Rows that have one label.
    """

    def __init__(self, problem: Problem, space: ScoreSpace, nodes: Equivalence) -> None:
        self.weights, self.n_classes = problem.weights, problem.program.n_classes
        self.q = 1.0 / (4.0 * problem.nu_)
        self.H = _factor(space)
        weighted = self.weights[:, None] * self.H
        self._weighted = np.ascontiguousarray(weighted.T)
        self.known = nodes.gather(weighted).T  # H' W E
        self.log_size = np.log(np.maximum(nodes.size, TINY * nodes.size.sum()))
        inner = self._weighted @ self.H  # the eigenvalues of W^1/2 K W^1/2
        self.steepest = max(2.0 * self.q * float(scipy.linalg.eigvalsh(inner)[-1]), TINY)

    def start(self) -> FloatArray:
        """Every row the nodes' shares."""
        return np.tile(self.log_size - logsumexp(self.log_size), (len(self.weights), 1))

    def slopes(self, logp: FloatArray) -> FloatArray:
        """B for these responses."""
        return self.known - self._weighted @ np.exp(logp)

    def scores(self, B: FloatArray, V: FloatArray) -> tuple[FloatArray, float]:
        """Scores plus log s for these responses, and an upper bound of g at M = V V'.

        The bound is the maximum of the concave function with its quadratic term linearised.
        """
        BV = B @ V
        scores = 2.0 * self.q * ((self.H @ BV) @ V.T) + self.log_size
        linear = self.q * float(np.vdot(BV, BV) - 2.0 * np.vdot(self.known @ V, BV))
        return scores, float(self.weights @ logsumexp(scores, axis=1)) + linear

    def ascend(self, logp: FloatArray, scores: FloatArray, curvature: float) -> FloatArray:
        """One step of mirror ascent."""
        mixed = curvature * logp + scores
        mixed /= 1.0 + curvature
        mixed -= logsumexp(mixed, axis=1, keepdims=True)
        return mixed

    def curvature(
        self, logp: FloatArray, last: FloatArray, turned: FloatArray, V: FloatArray, before: float
    ) -> float:
        """Curvature to expect, from what the step from `last`, which moved B by `turned`, met."""
        p = np.exp(logp)
        moved = float(self.weights @ np.einsum("ij,ij->i", p, logp - last))
        change = turned @ V
        met = CAREFUL * self.q * float(np.vdot(change, change)) / moved if moved > 1e-14 else 0.0
        return min(max(met, CALM * before), self.steepest)

    def entropy(self, logp: FloatArray) -> float:
        """Entropy of the responses relative to the nodes' sizes, weighted."""
        p = np.exp(logp)
        return float(self.weights @ (p @ self.log_size - np.einsum("ij,ij->i", p, logp)))

    def classifier(self, B: FloatArray, labels: npt.NDArray[np.int32]) -> tuple[FloatArray, float]:
        """Scores K alpha of the nodes' labels with alpha = W (Z - Q) / (2 nu), and |f|^2."""
        Z = (labels[:, None] == np.arange(self.n_classes)).astype(np.float64)
        W = 2.0 * self.q * (B @ Z)
        return self.H @ W, float(np.vdot(W, W))

    def value(self, M: FloatArray, tol: float = 1e-9, max_iter: int = 100_000) -> float:
        """g(M) from above for a semidefinite M, to `tol` per unit of weight."""
        d, U = scipy.linalg.eigh(M)
        V = U * np.sqrt(np.maximum(d, 0.0))
        logp = self.start()
        for _ in range(max_iter):
            B = self.slopes(logp)
            scores, high = self.scores(B, V)
            low = self.entropy(logp) - self.q * float(np.linalg.norm(B @ V)) ** 2
            if high - low <= tol * float(self.weights.sum()):
                break
            logp = self.ascend(logp, scores, self.steepest)
        return high


def _factor(space: ScoreSpace) -> FloatArray:
    """H with K = H H': explicit features where these are fewer than the rows."""
    rows = np.arange(space.n)
    X = space.features(rows)
    if X is not None:
        return np.asarray(X, np.float64)
    K = np.asarray(space.block(rows), np.float64)
    d, U = scipy.linalg.eigh(K, driver="evd")
    keep = d >= max(d[-1] * len(d) * np.finfo(np.float64).eps, 0.0)
    return np.ascontiguousarray(U[:, keep] * np.sqrt(d[keep]))
