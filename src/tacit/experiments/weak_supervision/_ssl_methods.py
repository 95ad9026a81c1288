"""Semi-supervised learning: one rule for all sets, which sees labelled rows and hints alone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import eigsh
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import KernelCenterer, normalize
from sklearn.svm import SVC

from tacit import HintClassifier
from tacit.datasets import load_ssl
from tacit.experiments.base import Cell
from tacit.experiments.weak_supervision._ssl_blend import average, cheapest, try_settings
from tacit.hints import Share
from tacit.model_selection import HintFolds

__all__ = ["SETTINGS", "measure"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

CLASSES = [-1, 1]
# Marks inputs with an intercept.
LIFTED = ", intercept"
# Rows are centred and have unit norm; the RBF kernel is centred, too, so that both kernels are
# blind to a shift of all rows. Then nothing but the bounds decides how large the classes are, as
# few labels ask for. Many labels tell more: unequal classes need an intercept, see `_lifted`.
SETTINGS: dict[str, Any] = {
    # Widths of the RBF kernel: the papers', and about the median distance of the rows.
    "sigma": {"narrow": 0.5477, "wide": 2.0**0.5},
    "level": 0.8,
    "folds": 5,
    # How often the hidden labels are weighted anew.
    "draws": 4000,
    # Many fits: one start each, in single precision, its classifier as it is left.
    "quick": {"n_init": 1, "n_reheats": 3, "polish": False, "dtype": "float32"},
    # C, weight of the labelled rows, width (of the RBF kernel), intercept.
    "joint": [
        [1.0, 3.0, "narrow", False],
        [1.0, 30.0, "narrow", False],
        [10.0, 30.0, "wide", False],
        [10.0, 300.0, "wide", False],
        [10.0, 30.0, "narrow", True],
    ],
    "inductive_C": [10.0, 100.0, 1000.0],
    "svm_C": [0.1, 1.0, 10.0, 100.0, 1000.0],
    # The regulariser of 004 for the relaxation, for the mean of the losses.
    "sdp_nu": {"linear": 0.05, "rbf": 0.0025},
    "sdp_roundings": 3,
}


@dataclass(frozen=True)
class Task:
    """One split of one set, with its rows in random order.

    Attributes
    ----------
    inputs : dict of arrays
        By the kernel's width: its (N, N) matrix; for the linear kernel the rows, (N, d). The same
        with an intercept under the width's name and `LIFTED`.
    y : (N,) array
        True classes.
    rows : (l,) array
        Labelled rows.
    part : (N,) object array
        Their labels, None elsewhere.
    """

    inputs: dict[str, FloatArray]
    y: Labels
    rows: npt.NDArray[np.intp]
    part: npt.NDArray[Any]
    kernel: str

    @classmethod
    def make(cls, cell: Cell) -> Task:
        """Read the cell's set, shuffled by the split's number."""
        name, kernel, split = str(cell["set"]), str(cell["kernel"]), int(cell["split"] or 0)
        data = load_ssl(name)
        order = np.random.default_rng(split).permutation(len(data.y))
        place = np.argsort(order)
        inputs = {
            width: X if kernel == "linear" else X[:, order]
            for width, X in ((w, _inputs(name, w)[order]) for w in _names(kernel))
        }
        rows = np.sort(place[data.splits[int(cell["labels"] or 0)][split]])
        y = data.y[order]
        part = np.full(len(y), None, object)
        part[rows] = y[rows].tolist()
        return cls(inputs, y, rows, part, kernel)

    @property
    def estimator(self) -> HintClassifier:
        """What is fitted, before settings are chosen."""
        kernel = "linear" if self.kernel == "linear" else "precomputed"
        return HintClassifier(CLASSES, loss="logistic", kernel=kernel, random_state=0)


def widths_of(kernel: str) -> tuple[str, ...]:
    """Names of the kernel's widths, the papers' first."""
    return ("linear",) if kernel == "linear" else tuple(SETTINGS["sigma"])


def _names(kernel: str) -> list[str]:
    """Names of all inputs: the widths, and those that some candidate wants with an intercept."""
    widths = widths_of(kernel)
    lifted = (w for w in widths if any(_at(w, of) for *_, of, more in SETTINGS["joint"] if more))
    return [*widths, *(width + LIFTED for width in lifted)]


def _at(width: str, of: str) -> bool:
    """Whether a candidate of a width of the RBF kernel is one here; the linear kernel takes all."""
    return width in (of, "linear")


@lru_cache(maxsize=4)
def _inputs(name: str, key: str) -> FloatArray:
    """Rows or kernel matrix, with an intercept where the key says so."""
    width = key.removesuffix(LIFTED)
    X = _features(name, width)
    return X if width == key else _lifted(X, width == "linear")


def _lifted(X: FloatArray, linear: bool) -> FloatArray:
    """Add a constant to the kernel, whose mode is as strong as the strongest of the others.

    With 1 added it would be far stronger than all: an anneal would settle it alone, before any row
    is told from another, and end in poor minima.
    """
    n = len(X)
    if linear:
        top = np.linalg.eigvalsh(X.T @ X)[-1]
        return np.hstack([X, np.full((n, 1), np.sqrt(top / n))])
    start = np.random.default_rng(0).standard_normal(n)
    return np.asarray(X + eigsh(X, 1, v0=start, return_eigenvectors=False)[0] / n)


@lru_cache(maxsize=2)
def _features(name: str, width: str) -> FloatArray:
    """Rows, centred and of unit norm, or the centred RBF kernel between them."""
    X = load_ssl(name).X
    X = np.asarray(normalize(X - X.mean(axis=0)))
    if width == "linear":
        return X
    sigma = SETTINGS["sigma"][width]
    K = KernelCenterer().fit_transform(rbf_kernel(X, gamma=0.5 / sigma**2))
    return np.asarray((K + K.T) / 2.0)


def measure(cell: Cell) -> dict[str, Any]:
    """Label a split by one method; accuracies, share of class +1, settings chosen, CPU seconds."""
    task = Task.make(cell)
    methods = {"tacit": _tacit, "inductive": _inductive, "svm": _svm, "sdp": _sdp}
    start = time.process_time()
    found, chosen = methods[str(cell["method"])](task, cell)
    seconds = time.process_time() - start
    right = found == task.y
    unknown = np.ones(len(right), bool)
    unknown[task.rows] = False
    return {
        "accuracy": 100.0 * float(right.mean()),
        "accuracy_unlabelled": 100.0 * float(right[unknown].mean()),
        "share": float((found == 1).mean()),
        "chosen": chosen,
        "cpu_s": seconds,
    }


def _shares(labels: npt.NDArray[Any]) -> Share:
    return Share.from_labels(labels, SETTINGS["level"], classes=CLASSES)


def _inductive_grid() -> dict[str, list[Any]]:
    """Supervised learning."""
    C = SETTINGS["inductive_C"]
    return {"solver": ["inductive"], "C": C, "fit_intercept": [True]}


def _joint_grid(key: str) -> list[dict[str, list[Any]]]:
    """Learning from all rows, with an intercept (in the input) or without."""
    width = key.removesuffix(LIFTED)
    return [
        {"C": [C], "label_weight": [weight]}
        for C, weight, of, lifted in SETTINGS["joint"]
        if _at(width, of) and lifted == (width != key)
    ]


def _tacit(task: Task, cell: Cell) -> tuple[Labels, str]:
    """Learn with the unlabelled rows and without; labels hidden in turn say how much of each."""
    grids = {key: [_inductive_grid()] for key in widths_of(task.kernel)}
    return _blend(task, {key: [*grids.get(key, []), *_joint_grid(key)] for key in task.inputs})


def _inductive(task: Task, cell: Cell) -> tuple[Labels, str]:
    return _blend(task, {width: [_inductive_grid()] for width in widths_of(task.kernel)})


def _blend(task: Task, grids: dict[str, list[dict[str, list[Any]]]]) -> tuple[Labels, str]:
    """Fit all settings with some labels hidden, and average them."""
    quick = task.estimator.set_params(**SETTINGS["quick"])
    settings = [
        (width, clone(quick).set_params(**params))
        for width, grid in grids.items()
        for params in ParameterGrid(grid)
    ]
    folds = HintFolds(task.part, _shares, len(task.y), CLASSES)
    found = list(try_settings(settings, task.inputs, folds, SETTINGS["folds"]))
    P, best = average(found, SETTINGS["draws"])
    clf, width = best.estimator, best.width
    words = f"{clf.solver}, C={clf.C:g}"
    words += f", weight {clf.label_weight:g}" if clf.solver == "admm" else ""
    words += f", {width}".removeprefix(", linear") if width.startswith("linear") else f", {width}"
    return cheapest(P, task.part, folds, SETTINGS["level"]), words


def _svm(task: Task, cell: Cell) -> tuple[Labels, str]:
    """Use SVC on the labelled rows, with the settings that are most often right on hidden ones."""
    folds = HintFolds(task.part, None, len(task.y), CLASSES)
    found = []
    for width in widths_of(task.kernel):
        X = task.inputs[width]
        K = X @ X.T if width == "linear" else X
        hidden = list(folds.split(SETTINGS["folds"], X, square=width != "linear"))
        for C in SETTINGS["svm_C"]:
            right = sum((_svc(K, task, C, rows)[rows] == task.y[rows]).sum() for rows in hidden)
            found.append((int(right), width, C, K))
    _, width, C, K = max(found, key=lambda entry: entry[0])
    words = f"C={C:g}" + ("" if width == "linear" else f", {width}")
    return _svc(K, task, C, np.empty(0, np.intp)), words


def _svc(K: FloatArray, task: Task, C: float, hidden: npt.NDArray[np.intp]) -> Labels:
    """Labels of all rows by the SVM of the labelled rows that are not hidden."""
    known = np.setdiff1d(task.rows, hidden)
    found = np.full(len(K), task.y[known[0]])
    if len(np.unique(task.y[known])) == 2:
        svc = SVC(C=C, kernel="precomputed").fit(K[np.ix_(known, known)], task.y[known])
        found = svc.predict(K[:, known])
    found[known] = task.y[known]
    return np.asarray(found, np.int64)


def _sdp(task: Task, cell: Cell) -> tuple[Labels, str]:
    """Relax and round, with the softmax loss and the regulariser of the paper."""
    nu = len(task.y) * SETTINGS["sdp_nu"][task.kernel]
    clf = task.estimator.set_params(
        solver="sdp",
        loss="softmax",
        nu=nu,
        n_init=SETTINGS["sdp_roundings"],
        max_iter=cell["iterations"],
    )
    clf.fit(next(iter(task.inputs.values())), task.part, hints=_shares(task.part))
    return clf.transduction_, f"nu={nu:g}"
