"""Digits with negative labels and links: instances, methods, and what is measured of a model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.svm import SVC

from tacit.datasets import balanced_rows, load_mnist, make_negatives, make_tree
from tacit.estimators import HintClassifier
from tacit.features import score
from tacit.hints import Hint, Not
from tacit.problem import Problem

__all__ = ["CLASSES", "MODELS", "SETTINGS", "SUPERVISED", "Case", "measure"]

CLASSES = 10
SETTINGS: dict[str, Any] = {
    "gamma": 0.02,
    "C": 1.0,
    "cost": 5.0,  # of a broken link
    "landmarks": 1500,  # as by default
    "models": 4,  # in the mean
    "em_tol": 1e-2,
}
SUPERVISED = ("svc", "labels")
SMALL = 300  # rows on which everything is compiled
SHARE = 4  # rows for each landmark, at least
Names = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """An instance: rows with their classes, what is known, and rows to test on."""

    X: npt.NDArray[np.float32]
    y: Names
    X_test: npt.NDArray[np.float32]
    y_test: Names
    known: Hint | None
    """None: the labels."""

    @classmethod
    def make(cls, hints: str, k: int, seed: int, n: int, n_test: int) -> Case:
        """Draw everything from the seed: rows and links are the same for every k.

        Parameters
        ----------
        hints : {"labels", "negatives", "links"}
            All labels; k negative labels for each row; those and a tree of soft links.
        k, seed, n, n_test : int
            Negative labels, seed, rows, rows to test on.
        """
        digits = _digits()
        rows = balanced_rows(digits.y, n, seed)
        X, y = digits.X[rows], digits.y[rows]
        known = _known(hints, y, k, seed)
        return cls(X, y, digits.X_test[:n_test], digits.y_test[:n_test], known)


_digits = cache(load_mnist)


def _known(hints: str, y: Names, k: int, seed: int) -> Hint | None:
    if hints == "labels":
        return None
    wrong = make_negatives(y, k, CLASSES, np.random.default_rng([seed, k]))
    negatives = Not(np.arange(len(y)), wrong)
    if hints == "negatives":
        return negatives
    return negatives + make_tree(y, SETTINGS["cost"], random_state=seed)


@dataclass(frozen=True)
class Model:
    """What a method learned: classes of the training rows, and what predicts new ones."""

    labels: Names
    predict: Callable[[npt.NDArray[np.float32]], npt.NDArray[Any]]


def _machine(seed: int, **settings: Any) -> HintClassifier:
    shared = {"gamma": SETTINGS["gamma"], "C": SETTINGS["C"], "dtype": "float32"}
    return HintClassifier(range(CLASSES), random_state=seed, **shared, **settings)


def _low_rank(n: int) -> dict[str, Any]:
    rank = min(SETTINGS["landmarks"], max(n // SHARE, 1))
    return {"approximation": "lowrank", "n_components": rank}


def _fit(case: Case, machine: HintClassifier) -> HintClassifier:
    if case.known is None:
        return machine.fit(case.X, case.y)
    return machine.fit(case.X, hints=case.known)


def _fitted(case: Case, machine: HintClassifier) -> Model:
    machine = _fit(case, machine)
    return Model(machine.transduction_, machine.predict)


def _svc(case: Case, seed: int) -> Model:
    machine = SVC(gamma=SETTINGS["gamma"], C=SETTINGS["C"], cache_size=1000)
    return Model(machine.fit(case.X, case.y).predict(case.X), machine.predict)


def _labels(case: Case, seed: int) -> Model:
    machine = _fit(case, _machine(seed, tol=1e-2, **_low_rank(len(case.X))))
    return Model(machine.predict(case.X), machine.predict)


def _quick(case: Case, seed: int) -> Model:
    return _fitted(case, _machine(seed, polish=False, **_low_rank(len(case.X))))


def _exact(case: Case, seed: int) -> Model:
    return _fitted(case, _machine(seed, polish=False))


def _mean(case: Case, seed: int) -> Model:
    """Mean score of models with landmarks of their own; all predict by the same kernel."""
    count, low = SETTINGS["models"], _low_rank(len(case.X))
    models = [_fit(case, _machine(count * seed + i, polish=False, **low)) for i in range(count)]
    scores = np.mean([m.solution_.scores for m in models], axis=0)
    coef = np.mean([m.solution_.coef for m in models], axis=0)
    features = models[0].solution_.features
    labels = np.where(_allowed(case), scores, -np.inf).argmax(axis=1)
    return Model(labels, lambda X: score(features, X, coef).argmax(axis=1))


def _allowed(case: Case) -> npt.NDArray[np.bool_]:
    return np.asarray(Problem(case.X, case.known, classes=range(CLASSES)).program.mask)


def _em(case: Case, seed: int) -> Model:
    rank = _low_rank(len(case.X))
    return _fitted(case, _machine(seed, solver="em", n_init=1, tol=SETTINGS["em_tol"], **rank))


MODELS: dict[str, Callable[[Case, int], Model]] = {
    "svc": _svc,
    "labels": _labels,
    "quick": _quick,
    "exact": _exact,
    "mean": _mean,
    "em": _em,
}


def measure(cell: dict[str, Any]) -> dict[str, Any]:
    """Fit a cell's model to its instance.

    Parameters
    ----------
    cell : dict
        hints, k, seed, n, n_test and method.

    Returns
    -------
    dict
        test_error; label_error, of the labels found for the training rows (of supervised machines:
        predicted for them); cpu_s of the fit.
    """
    method = MODELS[cell["method"]]
    what = cell["hints"], cell["k"], cell["seed"]
    _compile(cell["method"], cell["hints"])
    case = Case.make(*what, cell["n"], cell["n_test"])
    start = time.process_time()
    model = method(case, cell["seed"])
    seconds = time.process_time() - start
    return {
        "test_error": float(np.mean(model.predict(case.X_test) != case.y_test)),
        "label_error": float(np.mean(model.labels != case.y)),
        "cpu_s": seconds,
    }


@cache
def _compile(method: str, hints: str) -> None:
    """Compile before anything is timed, once in a process."""
    MODELS[method](Case.make(hints, 0 if hints == "labels" else 1, 0, SMALL, 10), 0)
