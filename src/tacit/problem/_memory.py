"""What a fit will need at its peak, said before any of it is taken."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tacit.backends import is_torch
from tacit.exceptions import NotEnoughMemory
from tacit.linalg.choose import EIGEN_LIMIT, GRAM_LIMIT, LANDMARKS

if TYPE_CHECKING:
    from tacit.problem._classifier import Problem

__all__ = ["Memory", "memory_estimate", "require_memory"]

# Arrays of N x C numbers of the fit's type that live at the same time, and those of float64: cost
# tables, what the oracle works on.
TABLES, DOUBLE_TABLES = 10, 4
# The eigendecomposition of an n x n matrix: itself, its vectors and the routine's own two.
EIGEN = 4
# Work space of the linear algebra, and what else does not grow with the rows.
FIXED = 20_000_000


@dataclass(frozen=True)
class Memory:
    """Bytes at the peak of a fit, beside the given data, by what they hold."""

    rows: int
    """Rows in canonical order and precision."""
    kernel: int
    """Kernel matrix or features, with what is made of them."""
    scores: int
    """Scores, multipliers, cost tables of all rows, and a fixed part."""

    @property
    def total(self) -> int:
        """Everything."""
        return self.rows + self.kernel + self.scores

    def __str__(self) -> str:
        return (
            f"about {_size(self.total)} at peak beside the data ({_size(self.rows)} rows, "
            f"{_size(self.kernel)} kernel or features, {_size(self.scores)} scores and costs)"
        )


def memory_estimate(problem: Problem) -> Memory:
    """Estimate what fitting this problem will need, from its sizes alone."""
    size = np.dtype(problem.dtype).itemsize
    table = problem.n * len(problem.codes)
    scores = TABLES * table * size + DOUBLE_TABLES * table * 8 + FIXED
    return Memory(_rows(problem, size), _kernel(problem, size), scores)


def require_memory(problem: Problem) -> Memory:
    """Return the estimate.

    Raises
    ------
    NotEnoughMemory
        If this machine has less than that left.
    """
    needed, free = memory_estimate(problem), _available()
    elsewhere = is_torch(problem.X) or problem.device not in {None, "cpu"}
    if elsewhere or free is None or needed.total <= free:
        return needed
    raise NotEnoughMemory(
        f"fitting {problem.n} rows needs {needed}, but {_size(free)} are available; "
        f"{_remedy(problem)}."
    )


def _remedy(problem: Problem) -> str:
    ways = []
    if problem.approximation is None and not problem.kernel_.linear:
        ways = ["approximation='lowrank'"]
        if problem.kernel != "precomputed":
            ways = ["approximation='nystroem'", *ways]
    elif problem.approximation is not None:
        ways = ["a smaller n_components"]
    if problem.dtype == "float64":
        ways.append("dtype='float32'")
    return f"use {' or '.join(ways)}" if ways else "use fewer rows"


def _rows(problem: Problem, size: int) -> int:
    """Bytes of the rows put in order, and of those in another precision."""
    X = problem.X
    if sp.issparse(X):
        return int(X.nnz) * (X.data.itemsize + 4) * 2
    held = int(np.prod(X.shape))
    other = 0 if X.dtype == problem.dtype else held * size
    return held * int(X.dtype.itemsize) + other


def _kernel(problem: Problem, size: int) -> int:
    n, d = problem.X.shape
    count = problem.components
    if problem.approximation == "lowrank":
        return _low_rank(n, min(count, n), size)
    if problem.approximation is not None:
        # Features, and the kernel values or phases they are made of.
        return _features(n, min(count, n), size) + 2 * n * count * size
    if problem.kernel_.linear:
        return _features(n, d + int(problem.fit_intercept), size)
    if n <= EIGEN_LIMIT:
        return EIGEN * n * n * size
    rank = min(max(n // 10, LANDMARKS[0]), LANDMARKS[1], n // 2)
    return n * n * size + _low_rank(n, rank, size) + n * rank * size


def _features(n: int, d: int, size: int) -> int:
    if d <= min(n, GRAM_LIMIT):
        return EIGEN * d * d * size
    return EIGEN * n * n * size if n <= EIGEN_LIMIT else 2 * n * d * size


def _low_rank(n: int, rank: int, size: int) -> int:
    """Bytes of features, their inner products and factors of those."""
    return (n * rank + 4 * rank * rank) * size


def _available() -> int | None:
    """Bytes that can be taken now; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
