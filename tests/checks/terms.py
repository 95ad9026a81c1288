"""What random hints are made of, and their meaning as functions of all labelings at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from tacit import hints
from tacit.hints._classes import ClassCodes

CLASS_NAMES = (
    ["cat", "dog", "eel", "fox"],
    [0, 1, 2, 3],
    [("a", 1), ("b", 2), ("c", ("d", 3)), ("a", 2)],
    ["a", 1, (2, 3), 1.5],
    [False, True],
)
# Kinds of hints that need two classes.
TWO_CLASSES = ("matching", "partition", "order")
# Costs are multiples of 1/8: their sums are exact, so values are compared with ==.
EIGHTHS = st.integers(-24, 24).map(lambda v: v / 8)


@dataclass(frozen=True)
class Term:
    """A statement (bool per labeling) or a cost (float per labeling) about some rows.

    `rest` is what remains of a cost on some of its rows, given the labelings and those rows;
    nothing by default.
    """

    rows: tuple[int, ...]
    of: Callable[[np.ndarray], np.ndarray]
    rest: Callable[[np.ndarray, list[int]], np.ndarray] | None = None

    def on(self, Y, kept):
        """What is left of a cost on some of the rows."""
        if self.rest is not None:
            return self.rest(Y, kept)
        return self.of(Y) if set(self.rows) <= set(kept) else np.zeros(len(Y))


@dataclass(frozen=True)
class Case:
    """A hint, what it is about, and what it means."""

    hint: hints.Hint
    n: int
    classes: list
    hard: list[Term] = field(default_factory=list)
    soft: list[Term] = field(default_factory=list)

    @property
    def codes(self):
        return ClassCodes(self.classes)

    def program(self):
        return self.hint.compile(self.n, self.codes)

    def labelings(self):
        return all_labelings(self.n, len(self.classes))

    def value(self, Y):
        """S(y) of each labeling, by definition."""
        total = np.zeros(len(Y))
        for term in self.soft:
            total += term.of(Y)
        for term in self.hard:
            total[~term.of(Y)] = np.inf
        return total


def all_labelings(n, n_classes):
    return np.array(list(itertools.product(range(n_classes), repeat=n)), np.int32).reshape(-1, n)


# Strategies ----------------------------------------------------------------------------------


@st.composite
def shapes(draw, max_rows=4, max_classes=3, kind=None):
    """Rows and classes, such as a hint of the given kind is about."""
    names = draw(st.sampled_from(CLASS_NAMES))
    few = 2 if kind in TWO_CLASSES else 1
    most = 2 if kind in TWO_CLASSES else min(max_classes, len(names))
    n_classes = draw(st.integers(few, most))
    return draw(st.integers(1, max_rows)), names[:n_classes]


def some_rows(n, min_size=0):
    return st.lists(st.integers(0, n - 1), min_size=min_size, max_size=n, unique=True)


def pairs_of(n):
    if n == 1:
        return st.just([])
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    return st.lists(pair, max_size=n + 1)


def as_given(draw, rows, n):
    """Rows as a user may give them: the same positions in several forms."""
    form = draw(st.sampled_from(["list", "array", "uint8", "mask"]))
    if form == "mask" and rows == sorted(rows):
        mask = np.zeros(n, bool)
        mask[rows] = True
        return mask
    return {"list": list(rows), "uint8": np.array(rows, np.uint8)}.get(form, np.array(rows, int))


def fitting(kinds, classes):
    """Kinds that can be about so many classes."""
    return [k for k in kinds if k not in TWO_CLASSES or len(classes) == 2]
