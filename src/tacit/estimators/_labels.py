"""Labels in y as one more hint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.hints import Hint, Hints, Labels
from tacit.hints._partial import read_labels

__all__ = ["Known", "gather"]


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
    parts = [*parts, Labels(labels.rows, labels.names)]
    return Known(Hints(parts), list(set(labels.names.tolist())), labels.names.dtype)
