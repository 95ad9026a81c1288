r"""The problem of finding clusters and labels together; the model is one centre per class.

.. math:: J(y, m) = \sum_i w_i |\phi(x_i) - m_{y_i}|^2 + S(y)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.backends import is_torch, is_whole, to_numpy
from tacit.features import FeatureMap, make_map, paired_distances
from tacit.hints._classes import ClassCodes, sort_names
from tacit.hints.base import Hint
from tacit.hints.combine import infer_classes
from tacit.problem._rows import HintedRows, read_rows

__all__ = ["ClusterProblem", "cluster_codes"]

FloatArray = npt.NDArray[np.float64]
# As many as scikit-learn's `KMeans`.
DEFAULT_CLUSTERS = 8


@dataclass(frozen=True, eq=False)
class ClusterProblem(HintedRows):
    """Rows to be put into clusters around centres, and what is known about their labels.

    Parameters
    ----------
    X : array or sparse matrix of shape (N, d)
        Rows, or their kernel matrix for ``kernel="precomputed"``. Tensors are copied to the host.
    hints : Hint, optional
        What is known about the labels; its costs are in units of squared distance.
    n_clusters : int, optional
        By default as many as `classes` or the hints name, and 8 where they name none. Hints that
        name more have their way, with a warning.
    kernel : str or callable
        "linear" (plain k-means), "rbf", "poly", "precomputed", or a function of two arrays of rows.
    gamma, degree, coef0
        Kernel parameters, as in scikit-learn's `SVC`.
    classes : sequence, optional
        Cluster names in order; found in the hints by default, else 0..n_clusters-1.
    sample_weight : array of shape (N,), optional
        Weight of each row.

    Notes
    -----
    Equation: Sec. 3.1 in 000, the objective of constrained kernel k-means
    """

    X: Any
    hints: Hint | None = None
    n_clusters: int | None = None
    kernel: str | Callable[..., Any] = "linear"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    classes: Any = None
    sample_weight: Any = None

    def __post_init__(self) -> None:
        X = read_rows(self.X, self.kernel)
        object.__setattr__(self, "X", to_numpy(X) if is_torch(X) else X)
        if len(self.codes) > self.n:
            raise ValueError(
                f"n_samples={self.n} should be >= n_clusters={len(self.codes)}: every cluster "
                "needs a row."
            )

    @cached_property
    def codes(self) -> ClassCodes:
        """Clusters in order."""
        return cluster_codes(self.n_clusters, self.classes, (), self.known)

    def feature_map(self) -> FeatureMap:
        """Rows as they are for the linear kernel, else kernel values against the rows."""
        return make_map(self.kernel_, self.X, None, 0, np.random.default_rng(0))

    def objective(self, coef: FloatArray, labels: npt.NDArray[np.integer]) -> float:
        """Return J(y, centres), from scratch.

        Parameters
        ----------
        coef : array of shape (N, C), or (d, C) for the linear kernel
            Centres m_c = sum_i coef_ic phi(x_i), or the centres themselves, as columns.
        labels : array of shape (N,)
            Cluster codes.
        """
        if self.kernel_.linear:
            distance = paired_distances(self.X, coef.T, labels)
        else:
            K = self.kernel_.gram(self.X)
            scores = K @ coef
            norms = (coef * scores).sum(axis=0)
            distance = np.diag(K) - 2.0 * scores[np.arange(self.n), labels] + norms[labels]
        return float(np.dot(self.weights, distance)) + self.program.value(labels)


def cluster_codes(
    n_clusters: int | None, classes: Any, found: Iterable[Any], hint: Hint
) -> ClassCodes:
    """Return the clusters in order: `classes`, else the names in y and hints, else 0..n-1.

    Parameters
    ----------
    n_clusters : int or None
        How many; None: as many as are named, 8 where none is.
    classes : sequence or None
        Their names.
    found : iterable
        Names found in y.
    hint : Hint
        Its names and array widths.
    """
    if n_clusters is not None and not (is_whole(n_clusters) and n_clusters > 0):
        raise ValueError(f"n_clusters={n_clusters!r}; expected a positive integer or None.")
    names, width = sort_names([*found, *hint.names()]), hint.width()
    if classes is not None or (n_clusters is None and (names or width is not None)):
        codes = infer_classes(classes, names, hint)
        if n_clusters is not None and len(codes) != n_clusters:
            raise ValueError(f"n_clusters={n_clusters} but classes names {len(codes)}.")
        if len(codes) == 1 and classes is None:
            raise ValueError(
                f"y and the hints name only one class, {codes[0]!r}; say how many clusters there "
                "are, by n_clusters=... or classes=[...]."
            )
        return codes
    count = DEFAULT_CLUSTERS if n_clusters is None else int(n_clusters)
    if width is not None and width != count:
        raise ValueError(f"n_clusters={count} but the hints' arrays have {width} columns.")
    if all(isinstance(v, int | float) and v in range(count) for v in names):
        return ClassCodes(list(range(count)))
    if len(names) == count:
        return ClassCodes(names)
    if len(names) > count:
        warnings.warn(
            f"n_clusters={count} but y and the hints name {len(names)} classes; each of them is a "
            "cluster.",
            UserWarning,
            stacklevel=3,
        )
        return ClassCodes(names)
    shown = ", ".join(repr(v) for v in names[:6])
    raise ValueError(
        f"n_clusters={count} but y and the hints name {len(names)} of them ({shown}); "
        "give classes=[...] with a name for every cluster."
    )
