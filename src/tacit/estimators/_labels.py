"""Labels in y as one more hint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tacit.hints import Hint, Hints, Labels
from tacit.hints._classes import ClassCodes, class_list, sort_names
from tacit.hints._partial import read_labels

__all__ = ["Known", "gather", "too_few"]


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
    if labels.n != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows "
            f"but y has {labels.n}."
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
