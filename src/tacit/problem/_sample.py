"""A sample of a large problem's rows, with hints that say about the same of them.

Rows are drawn after they have been put in canonical order, so that no sample depends on the order
in the file. Weights and costs grow by what was left out: objectives of sample and whole compare.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tacit.backends import as_like
from tacit.hints._program import Counts, LabelProgram
from tacit.problem._classifier import Problem

__all__ = ["draw_rows", "sample"]

IntArray = npt.NDArray[np.intp]

# A tree of nested groups is kept whole, or thinned to this share of the sample.
LARGEST_TREE = 0.05


def draw_rows(program: LabelProgram, size: int, rng: np.random.Generator) -> IntArray:
    """Draw about `size` rows, every row equally likely: rows alone, whole groups, parts of large.

    Groups nested in each other are one tree; a tree is kept with some probability, and of a large
    one a part. The program's groups must be nested or disjoint.
    """
    share = size / program.n
    alone, among = rng.random(program.n), rng.random(program.n)
    counts, home, above = program.counts, program.home, program.parent
    if not len(counts) or home is None or above is None:
        return np.flatnonzero(alone < share)
    root = np.where(above < 0, np.arange(len(counts)), above)
    while not np.array_equal(root, root[root]):
        root = root[root]
    root = np.where(counts.sizes > 0, root, -1)
    within = np.maximum(share, LARGEST_TREE * size / np.maximum(counts.sizes, 1))
    within = np.minimum(within, 1.0)
    # What decides about a tree is drawn for its first row: groups have no order of their own.
    first = counts.members[np.minimum(counts.indptr[:-1], len(counts.members) - 1)]
    whole = alone[first] < share / within
    tree = root[home]
    kept = whole[tree] & (among < within[tree])
    return np.flatnonzero(np.where(home < 0, alone < share, kept))


def sample(problem: Problem, rows: IntArray) -> Problem:
    """Return the problem of these rows only; the rows not drawn count through the others."""
    weights = problem.weights[rows]
    growth = float(problem.weights.sum()) / float(weights.sum())
    part = replace(
        problem,
        X=problem.X[as_like(rows, problem.like)],
        hints=None,
        classes=problem.codes.names,
        sample_weight=growth * weights,
        label_weight=1.0,
        nu=problem.nu_,
        gamma=problem.kernel_.gamma,
    )
    part.__dict__["program"] = _program(problem.program, rows, growth)
    return part


def _program(program: LabelProgram, rows: IntArray, growth: float) -> LabelProgram:
    """Return these rows' hints: count bounds in proportion, loosened by what chance may do.

    Nothing else may couple rows of a program that is sampled.
    """
    return LabelProgram(
        len(rows),
        program.n_classes,
        allowed=None if program.allowed is None else program.allowed[rows],
        unary=None if program.unary is None else growth * program.unary[rows],
        counts=_counts(program.counts, rows, program.n),
    )


def _counts(counts: Counts, rows: IntArray, n: int) -> Counts:
    new = np.full(n, -1)
    new[rows] = np.arange(len(rows))
    members = new[counts.members]
    group = np.repeat(np.arange(len(counts)), counts.sizes)[members >= 0]
    sizes = np.bincount(group, minlength=len(counts))
    stay = sizes > 0
    part, all_rows = sizes[stay, None], counts.sizes[stay, None]
    lower, upper = counts.lower[stay], counts.upper[stay]
    share = part / all_rows
    # One standard deviation of a count in a sample without replacement: zero for whole groups.
    low = lower * share - _deviation(lower / all_rows, part, share)
    high = upper * share + _deviation(upper / all_rows, part, share)
    return Counts(
        np.concatenate([[0], np.cumsum(sizes[stay])]).astype(np.intp),
        members[members >= 0],
        np.clip(np.floor(low + 1e-9), 0, part).astype(np.int64),
        np.clip(np.ceil(high - 1e-9), 0, part).astype(np.int64),
    )


def _deviation(
    p: npt.NDArray[np.float64], part: IntArray, share: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    return np.asarray(np.sqrt(np.clip(p * (1.0 - p) * part * (1.0 - share), 0.0, None)))
