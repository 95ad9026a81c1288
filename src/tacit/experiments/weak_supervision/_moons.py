"""Four moons from weak hints: instances, methods, and what is measured of an answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit import oracles
from tacit.datasets import make_batches, make_four_moons, make_links
from tacit.estimators import HintClassifier, HintKMeans
from tacit.hints import Hint, Labels
from tacit.hints._program import LabelProgram
from tacit.problem import Problem
from tacit.solvers import solve

__all__ = ["CLASSES", "LAYOUTS", "SETTINGS", "Moons", "fitted_to", "labels_of", "measure"]

CLASSES = 4
LAYOUTS = ("chain", "grid")
# Of the default solver nothing but the kernel width is set.
SETTINGS: dict[str, Any] = {"noise": 0.08, "gamma": 8.0, "baseline_starts": 20, "cost": 5.0}
# Rows in a batch; fewer for few rows.
SIZE, PART = 25, 8
LabelArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Moons:
    """An instance: rows, hidden classes, and what is known."""

    X: npt.NDArray[np.float64]
    y: LabelArray
    known: Hint

    @classmethod
    def make(cls, kind: str, layout: str, seed: int, n: int) -> Moons:
        """Draw everything from the seed.

        Parameters
        ----------
        kind : {"batches", "links"}
            Class counts of 25 batches within 3; or negative labels and a tree of soft links.
        layout : {"chain", "grid"}
            Where the moons lie.
        seed, n : int
            Seed, and number of rows.
        """
        X, y = make_four_moons(n, layout, SETTINGS["noise"], random_state=seed)
        if kind == "batches":
            size = max(4, min(SIZE, n // PART))
            return cls(X, y, make_batches(y, size=size, random_state=seed))
        return cls(X, y, make_links(y, SETTINGS["cost"], random_state=seed))

    @property
    def program(self) -> LabelProgram:
        """The hints, compiled."""
        return Problem(self.X, self.known, classes=range(CLASSES)).program


@dataclass(frozen=True)
class Answer:
    """What a method returns."""

    labels: npt.NDArray[np.integer]
    objective: float | None = None
    course: tuple[tuple[str, list[float]], ...] = ()
    """Phase and objectives of every run."""


def _ours(case: Moons, seed: int) -> Answer:
    model = HintClassifier(range(CLASSES), gamma=SETTINGS["gamma"], random_state=seed)
    model.fit(case.X, hints=case.known)
    history = model.history_
    run, phase = history.column("run"), history.column("phase")
    objective = history.column("objective")
    course = tuple((str(phase[run == r][0]), objective[run == r].tolist()) for r in history.runs)
    return Answer(model.transduction_, model.objective_, course)


def _em(case: Moons, seed: int) -> Answer:
    model = HintClassifier(
        range(CLASSES),
        gamma=SETTINGS["gamma"],
        solver="em",
        n_init=SETTINGS["baseline_starts"],
        random_state=seed,
    ).fit(case.X, hints=case.known)
    return Answer(model.transduction_, model.objective_)


def _kmeans(case: Moons, seed: int) -> Answer:
    model = HintKMeans(
        CLASSES,
        kernel="rbf",
        gamma=SETTINGS["gamma"],
        n_init=SETTINGS["baseline_starts"],
        random_state=seed,
    )
    return Answer(model.fit(case.X, hints=case.known).labels_)


def _hints_alone(case: Moons, seed: int) -> Answer:
    """Labels by the hints alone: the best labeling for random costs, hard EM's first step."""
    cost = np.random.default_rng(seed).standard_normal((len(case.X), CLASSES))
    return Answer(oracles.solve(cost, case.known).labels)


def _truth(case: Moons, seed: int) -> Answer:
    return Answer(case.y)


def _supervised(case: Moons, seed: int) -> Answer:
    # Its labels need not satisfy the hints; its objective is that of the true labels.
    return Answer(fitted_to(case, case.y)(case.X), _objective(case, case.y))


METHODS: dict[str, Callable[[Moons, int], Answer]] = {
    "tacit": _ours,
    "em": _em,
    "kmeans": _kmeans,
    "hints": _hints_alone,
    "truth": _truth,
    "supervised": _supervised,
}


def fitted_to(
    case: Moons, labels: npt.NDArray[np.integer], centres: bool = False
) -> Callable[[npt.NDArray[np.float64]], npt.NDArray[np.integer]]:
    """Fit a classifier, or centres, to labels; returns what predicts new rows."""
    if centres:
        model = HintKMeans(CLASSES, range(CLASSES), kernel="rbf", gamma=SETTINGS["gamma"])
        return partial(model.fit(case.X, labels).predict)
    svm = HintClassifier(range(CLASSES), gamma=SETTINGS["gamma"], random_state=0)
    return partial(svm.fit(case.X, labels).predict)


def measure(kind: str, cell: dict[str, Any], course: bool) -> dict[str, Any]:
    """Run a cell's method on its instance.

    Parameters
    ----------
    kind : {"batches", "links"}
        What is known.
    cell : dict
        layout, seed, n and method.
    course : bool
        Whether to keep the objective of every iteration.

    Returns
    -------
    dict
        label_error; objective of the labels with a classifier fitted to them; cpu_s; labels as a
        string of digits; and the course.
    """
    method = METHODS[cell["method"]]
    _compile(kind, cell["method"])
    case = Moons.make(kind, cell["layout"], cell["seed"], cell["n"])
    start = time.process_time()
    answer = method(case, cell["seed"])
    seconds = time.process_time() - start
    objective = answer.objective
    if objective is None:
        objective = _objective(case, answer.labels)
    figures = {
        "label_error": float(np.mean(answer.labels != case.y)),
        "objective": objective,
        "cpu_s": seconds,
        "labels": "".join(str(c) for c in answer.labels.tolist()),
    }
    return figures | ({"course": answer.course} if course and answer.course else {})


def _objective(case: Moons, labels: npt.NDArray[np.integer]) -> float:
    fixed = Labels(np.arange(len(labels)), labels) + case.known
    return float(solve(Problem(case.X, fixed, gamma=SETTINGS["gamma"]), random_state=0).objective)


@cache
def _compile(kind: str, method: str) -> None:
    """Compile before anything is timed, once in a process."""
    METHODS[method](Moons.make(kind, "grid", 0, 40), 0)


def labels_of(row: dict[str, Any]) -> LabelArray:
    """Read the string of digits."""
    return np.array([int(c) for c in row["labels"]], np.int64)
