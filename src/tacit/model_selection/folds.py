"""Labels hidden in turn: all rows stay, and so does everything else that is known about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.model_selection import check_cv

from tacit.backends import is_whole, to_numpy
from tacit.estimators._labels import gather
from tacit.hints import Hint, Hints, Labels
from tacit.hints._classes import ClassCodes
from tacit.hints.combine import infer_classes
from tacit.oracles import require_feasible
from tacit.solvers._order import content_keys

__all__ = ["HintFolds", "HintsFrom", "HintsOf", "make_hints"]

IntArray = npt.NDArray[np.intp]
# A hint, or a function that makes one from the labels that are known at the time.
HintsFrom: TypeAlias = Hint | Callable[[npt.NDArray[Any]], Hint] | None


@dataclass(frozen=True)
class HintsOf:
    """What is known once some labels are hidden.

    Attributes
    ----------
    hints : Hints
        Labels of the rows kept, and all other hints.
    left : (N,) array
        Labels still known, None elsewhere.
    hidden : (M,) array
        Rows whose labels are hidden.
    names : (M,) array
        Those labels.
    """

    hints: Hints
    left: npt.NDArray[Any]
    hidden: IntArray
    names: npt.NDArray[Any]

    def plus(self, more: HintsFrom) -> Hints:
        """Hints, and those that are made from the labels still known."""
        return Hints([self.hints, *make_hints(more, self.left)])


class HintFolds:
    """Folds over the rows whose labels are known, by y or by `hints.Labels`.

    In each fold some labels are hidden. The rows themselves stay among the unlabelled ones, and
    all other hints about them too: they are known whatever the label is.

    Parameters
    ----------
    y : array of shape (N,) or None
        Labels where they are known.
    hints : Hint, callable or None
        What else is known. A callable gets an array of N labels, None where they are unknown or
        hidden, and returns hints, so that what is estimated from labels is estimated without the
        hidden ones.
    n : int
        Number of rows.
    classes, unlabeled
        As in `HintClassifier`.

    Raises
    ------
    InfeasibleHints
        If labels and hints contradict each other; what a callable makes is not asked for.
    """

    def __init__(
        self, y: Any, hints: HintsFrom, n: int, classes: Any = None, unlabeled: Any = "auto"
    ) -> None:
        self.n, self._make = n, None if isinstance(hints, Hint) else hints
        stated = gather(y, hints if isinstance(hints, Hint) else None, n, classes, unlabeled)
        self.others = Hints(h for h in stated.hints if not isinstance(h, Labels))
        self.labels = np.full(n, None, object)
        for h in stated.hints:
            if isinstance(h, Labels):
                self.labels[h.rows()] = h.classes
        self.rows = np.flatnonzero([v is not None for v in self.labels])
        if len(self.rows) < 2:
            raise ValueError(
                f"the number of known labels is {len(self.rows)}; cross-validation hides some and "
                "needs others, so give at least two."
            )
        self.codes: ClassCodes = infer_classes(classes, stated.found, stated.hints)
        # Here, because a fold that hides a wrong label would not see it.
        require_feasible(stated.hints.compile(n, self.codes), stated.hints, self.codes)

    def known(self, hidden: IntArray | None = None) -> HintsOf:
        """Hints without the labels of some rows."""
        hidden = np.empty(0, np.intp) if hidden is None else hidden
        left = self.labels.copy()
        left[hidden] = None
        kept = np.flatnonzero([v is not None for v in left])
        labels = Labels(kept, left[kept])
        made = make_hints(self._make, left)
        return HintsOf(Hints([labels, self.others, *made]), left, hidden, self.labels[hidden])

    def split(self, cv: Any, X: Any, seed: int = 0, square: bool = False) -> Iterator[IntArray]:
        """Rows to hide, fold after fold.

        Parameters
        ----------
        cv : int, splitter or iterable
            A number of folds, each with its share of every class and not more than labels, which
            do not depend on the order of the rows; or what scikit-learn's `check_cv` takes, over
            the labelled rows in their order.
        X : array or sparse matrix
            All rows.
        seed : int
            Seed of the folds that a number asks for.
        square : bool
            Whether X is a kernel matrix.
        """
        X = X.tocsr() if sp.issparse(X) else X  # not every sparse form has rows
        if is_whole(cv):
            yield from self._folds(int(cv), X, seed, square)
            return
        codes = self.codes.encode(self.labels[self.rows], "cross-validation")
        splitter = check_cv(cv, codes, classifier=True)
        for _, test in splitter.split(X[self.rows], codes):
            yield self.rows[test]

    def _folds(self, k: int, X: Any, seed: int, square: bool) -> Iterator[IntArray]:
        """Deal the rows of one class after the other, shuffled, to the folds in turn."""
        if k < 2:
            raise ValueError(f"cv={k}; expected at least 2 folds.")
        codes = self.codes.encode(self.labels[self.rows], "cross-validation")
        part = X[self.rows]
        if square:  # the same entries whatever the order of the columns
            part = np.sort(to_numpy(part), axis=1)
        by_content = np.argsort(content_keys(part, seed), kind="stable")
        order = by_content[np.argsort(codes[by_content], kind="stable")]
        for fold in range(min(k, len(order))):
            yield np.sort(self.rows[order[fold::k]])


def make_hints(make: HintsFrom, labels: npt.NDArray[Any]) -> list[Hint]:
    """Return the hint itself, or what a function makes of the labels."""
    made = make(labels.copy()) if callable(make) else make
    if made is None:
        return []
    if not isinstance(made, Hint):
        raise TypeError(
            "hints must be made of tacit.hints, or be a function that makes such hints from "
            f"labels; got {type(made).__name__}."
        )
    return [made]
