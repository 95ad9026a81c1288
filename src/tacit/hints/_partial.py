"""Which entries of y are labels and which say "unknown"."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tacit.hints._classes import class_list, is_missing, sort_names
from tacit.hints.base import Hint

__all__ = ["PartialLabels", "read_labels"]


@dataclass(frozen=True)
class PartialLabels:
    """Rows of y that hold labels, and those labels."""

    rows: npt.NDArray[np.intp]
    names: npt.NDArray[Any]
    n: int
    """Entries of y."""


def read_labels(y: Any, classes: Any, hint: Hint | None, unlabeled: Any) -> PartialLabels:
    """Split y into labels and unknowns.

    None, NaN and "" are always unknown. What -1 means follows `unlabeled`:

    - "auto": -1 is unknown, as in scikit-learn's semi-supervised estimators, unless it is a class:
      because `classes` or the hints name it, or because every other label is 1 (the common -1/+1
      coding of two classes; where hints are given too, both readings make sense and a warning says
      which was taken). A warning also says that it was read as unknown where it may well be a
      class: where the others are exactly 0 and 1 (signs, or two classes of which not all rows are
      labelled), or one of them is negative too; unless the width of the hints' arrays settles it.
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
    classes = None if classes is None else class_list(classes)
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
        check_classification_targets(_as_numbers(names))
    return PartialLabels(rows, names, len(y))


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
    found = set(others.tolist())
    if found != {1} or any(isinstance(v, bool) for v in found):
        if _may_be_a_class(found, hinted, None if hint is None else hint.width()):
            _say(f"y holds -1 beside {', '.join(map(repr, sort_names(found)[:6]))}", "unknown")
        return False
    if hint is not None:
        # Unknown rows with a single known class need hints to make sense: either reading may hold.
        # More classes than -1 and 1, by name or by the width of an array, decide it.
        named = any(not (_number(c) and c == 1) for c in hinted) or (hint.width() or 0) > 2
        _say("y holds only -1 and 1", "unknown" if named else "a class")
        return not named
    return True


def _may_be_a_class(found: set[Any], hinted: list[Any], width: int | None) -> bool:
    """Whether -1 goes well with the other labels in y: {0, 1} or some that are negative."""
    known = found | set(hinted)
    if width == len(known) or not all(map(_number, known)):
        return False
    return found == known == {0, 1} or any(v < 0 for v in found)


def _say(what: str, reading: str) -> None:
    warnings.warn(
        f"{what}: -1 is read as {reading}. Say unlabeled=-1 if it means 'unknown', or "
        "unlabeled=None if it is a class.",
        UserWarning,
        stacklevel=6,  # from _minus_one_is_a_class, read_labels, gather and fit
    )


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _mixed(names: npt.NDArray[Any]) -> bool:
    """Whether the names are of types that scikit-learn's check of targets does not know."""
    text = all(isinstance(v, str) for v in names)
    return names.dtype == object and not text and not all(map(_number, names))


def _as_numbers(names: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers that a None beside them has turned into objects, as numbers."""
    numbers = names.dtype == object and all(map(_number, names))
    return np.array(names.tolist()) if numbers else names
