"""A two-class problem as arrays for branch and bound, and the reasons why one is refused.

=========  ========  ======================================================================
symbol     shape     meaning
=========  ========  ======================================================================
X          (N, r)    rows whose inner products are the kernel matrix, up to `error`
weights    (N,)      weight of each row's loss
cost       (N, 2)    unary cost of each label, 0 where forbidden
domain     (N,)      labels allowed: bit 1 for class 0, bit 2 for class 1
rows                 lower <= sum a_i [y_i = 1] <= upper, compressed
pairs                ends (M, 2) and table (M, 2, 2)
=========  ========  ======================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.backends import to_numpy
from tacit.convex._dual_kernel import LOSSES
from tacit.exceptions import NoOracle
from tacit.features import FeatureMap
from tacit.hints._program import LabelProgram
from tacit.losses import Hinge, Logistic, SquaredHinge
from tacit.oracles.base import untreated
from tacit.problem import Problem

__all__ = ["TwoClass", "refuse"]

FloatArray = npt.NDArray[np.float64]
# Every visit of a node costs products with a factor of the kernel matrix; and far fewer rows than
# these are hopeless unless most labels are known.
MOST_ROWS = 2000
# Counts are whole: between the bounds and the next whole number nothing is lost.
HALF = 0.5


def refuse(problem: Problem) -> str:
    """Why branch and bound cannot take a problem, as half a sentence; empty if it can."""
    if len(problem.codes) != 2:
        return f"there are {len(problem.codes)} classes, and labels are branched on two at a time"
    if type(problem.loss_) not in (Hinge, SquaredHinge, Logistic):
        return (
            f"loss={problem.loss_.name!r} is no margin loss with a bound; use one of "
            f"{', '.join(LOSSES)}"
        )
    if problem.approximation == "lowrank":
        return "approximation='lowrank' has no explicit rows; use None, 'nystroem' or 'fourier'"
    if problem.n > MOST_ROWS:
        return f"{problem.n} rows are too many; {MOST_ROWS} are the limit"
    return untreated(problem.program, "pairs", "counts", "linear")


@dataclass(frozen=True, eq=False)
class TwoClass:
    """What the search works on; the arrays of the table above."""

    program: LabelProgram
    kind: int
    X: FloatArray
    weights: FloatArray
    nu: float
    cost: FloatArray
    domain: npt.NDArray[np.int8]
    rows: tuple[npt.NDArray[Any], ...]
    pairs: tuple[npt.NDArray[Any], ...]
    error: float
    """Norm of what X X' leaves of the kernel matrix."""

    @classmethod
    def read(cls, problem: Problem, features: FeatureMap | None = None) -> TwoClass:
        """Read a problem.

        Raises
        ------
        NoOracle
            With the reason, where the problem is of another kind.
        """
        reason = refuse(problem)
        if reason:
            raise NoOracle(f"branch and bound cannot solve this problem: {reason}.")
        program = problem.program
        X, error = _explicit(problem, features)
        cost = np.zeros((problem.n, 2)) if program.unary is None else program.unary
        domain = (program.mask @ np.array([1, 2])).astype(np.int8)
        pairs = program.pairs
        table = pairs.weight[:, None, None] * pairs.tables[pairs.table]
        return cls(
            program=program,
            kind=LOSSES[problem.loss_.name],
            X=X,
            weights=np.ascontiguousarray(problem.weights, np.float64),
            nu=problem.nu_,
            cost=np.ascontiguousarray(cost, np.float64),
            domain=domain,
            rows=_statements(program),
            pairs=(pairs.edges.astype(np.int64), np.ascontiguousarray(table, np.float64)),
            error=error,
        )

    @property
    def margin(self) -> float:
        """How much too high a bound may be because X X' is not quite the kernel matrix.

        At the best dual variables the bound falls by at most error |s|^2 / (4 nu), and |s|^2 is at
        most sum w^2, or for the squared hinge max w sum w.
        """
        w = self.weights
        length = float(w.max() * w.sum()) if self.kind == 1 else float(w @ w)
        return self.error * length / (4.0 * self.nu)

    @property
    def model(self) -> tuple[Any, ...]:
        """What the kernels take."""
        return self.kind, self.X, self.weights, self.cost, self.nu


def _explicit(problem: Problem, features: FeatureMap | None) -> tuple[FloatArray, float]:
    """Rows with the problem's inner products, no more columns than rows, and the error."""
    if features is None:
        features = problem.feature_map(np.random.default_rng(0))
    if features.explicit:
        found = features.rows(problem.rows)
        dense = found.toarray() if sp.issparse(found) else to_numpy(found)
        X = np.ascontiguousarray(dense, np.float64)
        if X.shape[1] <= X.shape[0]:
            return X, 0.0
        return _factor(X @ X.T)
    return _factor(np.asarray(to_numpy(problem.kernel_.gram(problem.rows)), np.float64))


def _factor(K: FloatArray) -> tuple[FloatArray, float]:
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    rounding = len(K) * np.finfo(np.float64).eps * max(values[-1], 1e-300)
    keep = values > rounding
    X = np.ascontiguousarray(vectors[:, keep] * np.sqrt(values[keep]))
    if not keep.any():
        X = np.zeros((len(K), 1))
    return X, float(np.linalg.norm(K - X @ X.T)) + rounding


def _statements(program: LabelProgram) -> tuple[npt.NDArray[Any], ...]:
    """Return counts and linear rows as lower <= sum a_i [y_i = 1] <= upper."""
    counts, n = program.counts, program.n
    sizes = counts.sizes
    lower = np.maximum(counts.lower[:, 1], sizes - counts.upper[:, 0]) - HALF
    upper = np.minimum(counts.upper[:, 1], sizes - counts.lower[:, 0]) + HALF
    data = np.ones(len(counts.members))
    blocks = [sp.csr_array((data, counts.members, counts.indptr), shape=(len(counts), n))]
    if program.linear is not None:
        A = sp.csr_array(program.linear)
        zero, one = A[:, 0::2], A[:, 1::2]
        constant = np.asarray(zero.sum(axis=1)).ravel()
        slack = 1e-8 * (1e-300 + np.asarray(abs(A).sum(axis=1)).ravel())
        blocks.append(sp.csr_array(one - zero))
        lower = np.concatenate((lower, program.linear_lower - constant - slack))
        upper = np.concatenate((upper, program.linear_upper - constant + slack))
    whole = sp.csr_array(sp.vstack(blocks))
    return (
        whole.indptr.astype(np.int64),
        whole.indices.astype(np.int64),
        whole.data.astype(np.float64),
        lower.astype(np.float64),
        upper.astype(np.float64),
    )
