"""Which entries of y are labels and which say "unknown"."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tacit.hints import Hint, Hints, Labels
from tacit.hints._classes import ClassCodes, class_list, is_missing, sort_names

__all__ = ["Known", "PartialLabels", "gather", "read_labels", "too_few"]


@dataclass(frozen=True)
class PartialLabels:
    """Rows of y that hold labels, and those labels."""

    rows: npt.NDArray[np.intp]
    names: npt.NDArray[Any]


@dataclass(frozen=True)
class Known:
    """What y and the hints say together."""

    hints: Hints
    found: list[Any]
    """Names of classes in y."""
    dtype: Any
    """Type of y, where it names classes."""


def gather(y: Any, hint: Hint | None, n: int, classes: Any, unlabeled: Any) -> Known:
    """Turn labels in y into one more hint, which holds as strictly as any.

    Parameters
    ----------
    y : array of shape (n,) or None
        Labels as given.
    hint : Hint or None
        What else is known.
    n : int
        Number of rows.
    classes, unlabeled
        The estimator's parameters.
    """
    if hint is not None and not isinstance(hint, Hint):
        raise TypeError(f"hints must be made of tacit.hints, got {type(hint).__name__}.")
    classes = None if classes is None else class_list(classes)
    parts = [] if hint is None else [hint]
    if y is None:
        return Known(Hints(parts), [], None)
    labels = read_labels(y, classes, hint, unlabeled)
    if len(np.asarray(y)) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows "
            f"but y has {len(np.asarray(y))}."
        )
    if not len(labels.rows):
        return Known(Hints(parts), [], None)
    parts = [*parts, Labels(labels.rows, labels.names).called("y")]
    return Known(Hints(parts), list(set(labels.names.tolist())), labels.names.dtype)


def too_few(classes: Any, codes: ClassCodes, found: Iterable[Any]) -> str:
    """Say who names fewer than two classes: the parameter, or y and the hints."""
    only = f"only one class, {codes[0]!r}" if len(codes) else "no class"
    needs = "a classifier needs at least two."
    if classes is None:
        return f"y and the hints name {only}; {needs} Give classes=[...] if there are more."
    others = [repr(name) for name in sort_names(found) if name not in codes.names]
    also = f" y and the hints name {', '.join(others)} too." if others else ""
    return f"classes names {only}; {needs}{also} Give every class in classes=[...]."


def read_labels(y: Any, classes: Any, hint: Hint | None, unlabeled: Any) -> PartialLabels:
    """Split y into labels and unknowns.

    None, NaN and "" are always unknown. What -1 means follows `unlabeled`:

    - "auto": -1 is unknown, as in scikit-learn's semi-supervised estimators, unless it is a class:
      because `classes` or the hints name it, or because every other label is 1 (the common -1/+1
      coding of two classes; where hints are given too, both readings make sense and a warning says
      which was taken).
    - None: -1 is a class.
    - any other value: that value is unknown, and -1 is a class unless it is that value.

    Parameters
    ----------
    y : array of shape (N,)
        Labels as given.
    classes : sequence or None
        The estimator's `classes`.
    hint : Hint or None
        What else is known; the class names in it and the width of its arrays matter.
    unlabeled : "auto", None or a label
        The estimator's parameter.
    """
    y = column_or_1d(_as_array(y), warn=True)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError("Input y contains infinity; labels must be finite.")
    unknown = _missing(y)
    marked = _equals(y, -1 if isinstance(unlabeled, str) and unlabeled == "auto" else unlabeled)
    if isinstance(unlabeled, str) and unlabeled == "auto":
        if marked.any() and not _minus_one_is_a_class(y[~unknown & ~marked], classes, hint):
            unknown |= marked
    elif unlabeled is not None:
        unknown |= marked
    rows = np.flatnonzero(~unknown)
    names = y[rows]
    if len(names) and not _mixed(names):
        check_classification_targets(names)
    return PartialLabels(rows, names)


def _as_array(y: Any) -> npt.NDArray[Any]:
    """Return y as an array; lists that mix strings with None or numbers keep their entries."""
    if isinstance(y, list | tuple) and any(v is None or isinstance(v, str) for v in y):
        array = np.empty(len(y), object)
        array[:] = list(y)
        kinds = {type(v) for v in y}
        return np.array(y) if kinds == {str} else array
    return np.asarray(y)


def _missing(y: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype.kind in "US":
        return np.asarray(y == "")
    if y.dtype == object:
        return np.array([_is_missing(v) for v in y], bool)
    return np.zeros(len(y), bool)


def _is_missing(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, str) and value == "")


def _equals(y: npt.NDArray[Any], value: Any) -> npt.NDArray[np.bool_]:
    if value is None:
        return np.zeros(len(y), bool)
    if y.dtype == object:
        same = (type(v) is not bool and not _is_missing(v) and v == value for v in y)
        return np.fromiter(same, bool, len(y))
    if y.dtype.kind in "US" or isinstance(value, str):
        return np.asarray(y.astype(str) == value) if isinstance(value, str) else _none(y)
    return np.asarray(y == value)


def _none(y: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.zeros(len(y), bool)


def _minus_one_is_a_class(others: npt.NDArray[Any], classes: Any, hint: Hint | None) -> bool:
    if classes is not None:
        return any(_number(c) and c == -1 for c in classes)
    hinted = [] if hint is None else hint.names()
    if any(_number(c) and c == -1 for c in hinted):
        return True
    if len(others) == 0 or any(not (_number(v) and v == 1) for v in others):
        return False
    if hint is not None:
        # Unknown rows with a single known class need hints to make sense: either reading may hold.
        # More classes than -1 and 1, by name or by the width of an array, decide it.
        named = any(not (_number(c) and c == 1) for c in hinted) or (hint.width() or 0) > 2
        reading = "unknown" if named else "a class"
        warnings.warn(
            f"y holds only -1 and 1: -1 is read as {reading}. Say unlabeled=-1 if it means "
            "'unknown', or unlabeled=None if it is a class.",
            UserWarning,
            stacklevel=6,  # from gather, from _known, from fit
        )
        return not named
    return True


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _mixed(names: npt.NDArray[Any]) -> bool:
    """Whether the names are of types that scikit-learn's check of targets does not know."""
    return names.dtype == object and not all(isinstance(v, str) for v in names)
