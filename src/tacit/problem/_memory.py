"""What a fit will need at its peak, said before any of it is taken."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tacit.backends import is_torch
from tacit.exceptions import NotEnoughMemory
from tacit.features.maps import BLOCK
from tacit.linalg.choose import EIGEN_LIMIT, GRAM_LIMIT, LANDMARKS

if TYPE_CHECKING:
    from tacit.problem._classifier import Problem

__all__ = ["Memory", "memory_estimate", "require_memory"]

# Arrays of N x C numbers of the fit's type that live at the same time, and those of float64: cost
# tables, what the oracle works on.
TABLES, DOUBLE_TABLES = 10, 4
# What labels rows once: costs, noise that breaks ties, what the oracle works on.
LABELLING = 7
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


def memory_estimate(problem: Problem, solver: str = "admm") -> Memory:
    """Estimate what fitting this problem will need, from its sizes alone.

    Parameters
    ----------
    problem : Problem
        What is to be fitted.
    solver : str
        How. "inductive" fits the labelled rows alone, and of the others needs their scores.
    """
    size = np.dtype(problem.dtype).itemsize
    if solver == "inductive":
        return _labelled_alone(problem, size)
    scores = _tables(problem, problem.n, size) + FIXED
    return Memory(_rows(problem, size), _kernel(problem, problem.n, size), scores)


def require_memory(problem: Problem, solver: str = "admm") -> Memory:
    """Return the estimate for a solver.

    Raises
    ------
    NotEnoughMemory
        If this machine has less than that left.
    """
    needed, free = memory_estimate(problem, solver), _available()
    elsewhere = is_torch(problem.X) or problem.device not in {None, "cpu"}
    if elsewhere or free is None or needed.total <= free:
        return needed
    raise NotEnoughMemory(
        f"fitting {problem.n} rows needs {needed}, but {_size(free)} are available; "
        f"{_remedy(problem, solver)}."
    )


def _remedy(problem: Problem, solver: str) -> str:
    ways = []
    if problem.approximation is None and not problem.kernel_.linear:
        ways = [] if solver == "inductive" else ["approximation='lowrank'"]
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


def _tables(problem: Problem, n: int, size: int) -> int:
    table = n * len(problem.codes)
    return TABLES * table * size + DOUBLE_TABLES * table * 8


def _labelled_alone(problem: Problem, size: int) -> Memory:
    """Return what the labelled rows need, and what it takes to score and to label all rows."""
    n, d = problem.X.shape
    m = int((problem.program.mask.sum(axis=1) == 1).sum())
    sparse, square = sp.issparse(problem.X), problem.kernel == "precomputed"
    labelled = 0 if sparse else 2 * m * (n if square else d) * size
    space = _kernel(problem, m, size, exact=True)
    if problem.approximation in {"nystroem", "fourier"}:
        scored = 2 * n * problem.components * size
    elif problem.kernel_.linear:
        scored = 0 if sparse else n * d * size * int(problem.fit_intercept)
    else:
        scored = (n * m if square else min(n * m, BLOCK)) * size
    tables = _tables(problem, m, size) + LABELLING * n * len(problem.codes) * 8
    rows = (2 if square else 1) * _rows(problem, size)  # a square matrix is put in order twice
    kernel = max(space, space // 2 + scored)  # half of it is work space of the fit
    return Memory(rows + labelled, kernel, tables + FIXED)


def _kernel(problem: Problem, n: int, size: int, exact: bool = False) -> int:
    d, count = problem.X.shape[1], problem.components
    if problem.approximation == "lowrank" and not exact:
        return _low_rank(n, min(count, n), size)
    if problem.approximation not in {None, "lowrank"}:
        # Features, and the kernel values or phases they are made of.
        return _features(n, min(count, n), size) + 2 * n * count * size
    if problem.kernel_.linear:
        return _features(n, d + int(problem.fit_intercept), size)
    if n <= EIGEN_LIMIT:
        return EIGEN * n * n * size
    rank = min(max(n // 10, LANDMARKS[0]), LANDMARKS[1], n // 2)
    return n * n * size + _low_rank(n, rank, size)


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
