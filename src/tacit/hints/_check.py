"""Ask before any training whether a labeling exists that satisfies all hints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints.base import Hint
from tacit.hints.combine import infer_classes

__all__ = ["Check", "check"]


@dataclass(frozen=True)
class Check:
    """Answer of `check`; true where a feasible labeling exists.

    Attributes
    ----------
    feasible : bool
        Whether some labeling satisfies all hints.
    labels : array of class names or None
        Such a labeling.
    conflict : tuple of Hint
        Otherwise a smallest conflicting subset: without any one of them it is satisfiable.
    message : str
        The answer in one sentence.
    """

    feasible: bool
    labels: npt.NDArray[Any] | None
    conflict: tuple[Hint, ...]
    message: str

    def __bool__(self) -> bool:
        return self.feasible


def check(hint: Hint, n: int, classes: Any = None) -> Check:
    """Say whether the hints can all be true of `n` rows, and if not which contradict.

    Parameters
    ----------
    hint : Hint
        One hint or several joined with ``+``.
    n : int
        Number of rows.
    classes : sequence, optional
        Class names in order; found in the hints by default.

    Returns
    -------
    Check

    Examples
    --------
    >>> from tacit import hints
    >>> known = hints.Labels([0], "cat") + hints.Not([0], "cat")
    >>> print(hints.check(known, n=3, classes=["cat", "dog"]).message)
    row 0 has label 'cat' but Not forbids it.
    """
    # The only call upwards in the layers: the question belongs to hints, the answer to oracles.
    from tacit.oracles import feasible_labels

    if not isinstance(hint, Hint):
        raise TypeError(
            f"check: expected hints, got {type(hint).__name__}; join several with +, or by "
            "Hints([...])."
        )
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 0:
        raise ValueError(f"check: n={n!r}; expected the number of rows.")
    codes = infer_classes(classes, (), hint)
    if len(codes) == 0:
        raise ValueError("the classes are not known: no hint names any; give classes=[...].")
    try:
        labels = feasible_labels(hint, n, codes)
    except InfeasibleHints as error:
        return Check(False, None, error.conflict, str(error))
    names = np.empty(n, object)
    names[:] = [codes[c] for c in labels]
    return Check(True, names, (), "A labeling that satisfies all hints exists.")
