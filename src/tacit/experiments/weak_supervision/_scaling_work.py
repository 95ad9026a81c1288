"""What `scaling` times: fits to digits of growing number, and fits beside the relaxation."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.svm import SVC, LinearSVC

from tacit.datasets import SSLSet, balanced_rows, load_mnist, load_ssl
from tacit.estimators import HintClassifier
from tacit.hints import Hint, Labels, Share
from tacit.result import Iteration

__all__ = ["SETTINGS", "compare", "growth"]

# Digits: labelled rows of each class, and the bound on each class's share around 1 / C.
# SSL sets: kernel width on rows of unit length, and the bound on the share around 1 / 2.
SETTINGS: dict[str, Any] = {
    "digits": {"2": [4, 9], "10": list(range(10))},
    "digits_labelled": 10,
    "digits_slack": 0.1,
    "digits_gamma": 0.02,
    "ssl_sigma": 0.5477,
    "ssl_slack": 0.1,
    "ssl_labelled": 10,
}


def growth(cell: dict[str, Any]) -> dict[str, Any]:
    """Time one fit to n digits.

    Parameters
    ----------
    cell : dict
        method ("tacit", "sdp" or "svc"), kernel, classes, n, and iterations of the relaxation.
    """
    X, y, known = _digits(cell["classes"], cell["n"])
    if cell["method"] == "svc":
        seconds = _timed(lambda: _supervised(cell["kernel"]).fit(X, y))
        return {"cpu_s": seconds}
    model = HintClassifier(
        range(cell["classes"]),
        kernel=cell["kernel"],
        gamma=SETTINGS["digits_gamma"],
        random_state=0,
        **_solver(cell),
    )
    _compile(cell["method"], cell["kernel"], cell["classes"])
    seconds = _timed(lambda: model.fit(X, hints=known))
    wrong = float(np.mean(model.transduction_ != y))
    return {"cpu_s": seconds, "label_error": wrong, "objective": model.objective_}


def compare(cell: dict[str, Any]) -> dict[str, Any]:
    """Time one fit to a set of the SSL benchmark, with its loss that the relaxation needs.

    Parameters
    ----------
    cell : dict
        method ("one start", "default" or "sdp"), set, kernel, split, n, and iterations.
    """
    X, y, known = _ssl(cell["set"], cell["split"], cell["n"])
    relaxing: list[float] = []  # when each iteration of the relaxation ended

    def watch(iteration: Iteration, /) -> None:
        if iteration.phase == "relax":
            relaxing.append(time.process_time())

    model = HintClassifier(
        [-1, 1],
        kernel=cell["kernel"],
        gamma=0.5 / SETTINGS["ssl_sigma"] ** 2,
        random_state=0,
        callback=watch,
        **{"loss": "softmax", **_solver(cell)},
    )
    _compile(cell["method"], cell["kernel"], 2)
    start = time.process_time()
    model.fit(X, hints=known)
    figures = {
        "cpu_s": time.process_time() - start,
        "accuracy": float(np.mean(model.transduction_ == y)),
        "objective": model.objective_,
    }
    if relaxing:
        figures["relax_iterations"] = len(relaxing)
        figures["relax_cpu_s"] = relaxing[-1] - start
    return figures


def _timed(fit: Callable[[], object]) -> float:
    start = time.process_time()
    fit()
    return time.process_time() - start


def _solver(cell: dict[str, Any]) -> dict[str, Any]:
    if cell["method"] == "sdp":
        return {"solver": "sdp", "loss": "softmax", "max_iter": cell["iterations"]}
    return {"n_init": 1, "n_reheats": 0} if cell["method"] == "one start" else {}


def _supervised(kernel: str) -> Any:
    if kernel == "linear":
        return LinearSVC(C=1.0, loss="hinge", fit_intercept=False, max_iter=10_000, random_state=0)
    return SVC(C=1.0, kernel="rbf", gamma=SETTINGS["digits_gamma"], cache_size=1000)


def _digits(classes: int, n: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], Hint]:
    """Balanced rows, their classes, and what is known: some labels, and the classes' shares."""
    X, y = _all_digits(classes)
    rng = np.random.default_rng(n)
    rows = balanced_rows(y, n, rng)
    y = y[rows]
    count, slack = SETTINGS["digits_labelled"], SETTINGS["digits_slack"]
    some = np.concatenate([np.flatnonzero(y == c)[:count] for c in range(classes)])
    share = Share(np.full(classes, (1 - slack) / classes), np.full(classes, (1 + slack) / classes))
    return X[rows].astype(np.float64), y, Labels(some, y[some]) + share


@cache
def _all_digits(classes: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    digits, names = load_mnist(), SETTINGS["digits"][str(classes)]
    chosen = np.isin(digits.y, names)
    return digits.X[chosen], np.searchsorted(names, digits.y[chosen])


def _ssl(
    name: str, split: int, n: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], Hint]:
    """Rows of unit length about their mean; labels of the split, shares within the slack."""
    found: SSLSet = load_ssl(name)
    labelled = found.splits[SETTINGS["ssl_labelled"]][split]
    rest = np.setdiff1d(np.arange(len(found.y)), labelled)
    rest = np.random.default_rng(0).permutation(rest)[: n - len(labelled)]
    rows = np.concatenate([labelled, rest])
    X = found.X[rows] - found.X[rows].mean(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y, slack = found.y[rows], SETTINGS["ssl_slack"]
    known = Labels(np.arange(len(labelled)), y[: len(labelled)])
    return X, y, known + Share({-1: 0.5 - slack, 1: 0.5 - slack}, {-1: 0.5 + slack, 1: 0.5 + slack})


@cache
def _compile(method: str, kernel: str, classes: int) -> None:
    """Compile before anything is timed, once in a process."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.arange(40) % classes
    known = Labels(np.arange(20), y[:20]) + Share(None, np.full(classes, 1.5 / classes))
    loss = "hinge" if method == "tacit" else "softmax"
    cell = {"method": method, "iterations": 3}
    HintClassifier(
        range(classes), kernel=kernel, random_state=0, **{"loss": loss, **_solver(cell)}
    ).fit(X, hints=known)
