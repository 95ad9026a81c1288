r"""What every convex extension offers.

A row's part of the objective is known at labels 0 and 1, and convex in theta there:

.. math:: d(\theta, y) = \omega(\theta) + C \, l_y(\langle x, \theta \rangle), \quad y \in \{0, 1\}.

Its tightest convex extension to y in [0, 1] splits theta into two,

.. math:: d^{**}(\theta, y) = \inf \{ (1 - y) d(\theta^0, 0) + y d(\theta^1, 1) :
    (1 - y) \theta^0 + y \theta^1 = \theta \}.

A pair that attains it yields a subgradient: v a common one of d(., 0) at theta0 and d(., 1) at
theta1, and w the slope in y. Members find the pair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacit.backends import is_number
from tacit.convex.pair import Floats, LossPair

__all__ = ["Box", "Extension", "Rows"]

Box = tuple[Floats, Floats]
"""Lower and upper bounds of theta; infinite where there is none."""


@dataclass(frozen=True)
class Rows:
    """Checked arguments, a row each: theta and x (n, d), label y and score p (n,)."""

    theta: Floats
    y: Floats
    x: Floats
    p: Floats


class Extension(ABC):
    r"""A convex function of (theta, y) that equals :math:`\omega + C l_y` at y = 0 and y = 1.

    Parameters
    ----------
    pair : LossPair
        The loss at either label.
    C : float
        Weight of the loss, at least 0.
    class_weights : pair of float
        Weights C0, C1 of the loss at label 0 and at label 1, at least 0.
    box : pair, optional
        Bounds of theta, scalars or (d,) arrays; only where `boxed`.

    Notes
    -----
    Arguments of all methods: `theta` (d,) or (n, d); `y` scalar or (n,), in [0, 1]; `x` (d,) or
    (n, d). What is one row everywhere has a result without the axis of rows.

    Equation: (17), (19), (20) in 001
    """

    regularizer: ClassVar[str]
    boxed: ClassVar[bool] = False

    def __init__(
        self,
        pair: LossPair,
        C: float = 1.0,
        class_weights: Sequence[float] = (1.0, 1.0),
        box: tuple[Any, Any] | None = None,
    ) -> None:
        self.pair = pair
        self.C = _weight(C, "C")
        weights = tuple(class_weights)
        if len(weights) != 2:
            raise ValueError(f"class_weights has {len(weights)} entries; expected C0 and C1.")
        self.class_weights = (_weight(weights[0], "C0"), _weight(weights[1], "C1"))
        self.box = self._read_box(box)

    def __repr__(self) -> str:
        parts = [f"loss={self.pair.name!r}", f"regularizer={self.regularizer!r}", f"C={self.C:g}"]
        if self.class_weights != (1.0, 1.0):
            parts.append("class_weights=({:g}, {:g})".format(*self.class_weights))
        return f"extension({', '.join(parts)})"

    def value(self, theta: npt.ArrayLike, y: npt.ArrayLike, x: npt.ArrayLike) -> Any:
        """Value of the extension, (n,)."""
        rows, single = self._read(theta, y, x)
        value = self._value(rows)
        return float(value[0]) if single else value

    def subgradient(self, theta: npt.ArrayLike, y: npt.ArrayLike, x: npt.ArrayLike) -> Any:
        """Return a subgradient: v (n, d) in theta and w (n,) in y.

        At y = 0 every smaller w, and at y = 1 every larger one, belongs to v too. Where the
        extension leaves the face vertically, w is -inf at y = 0 and +inf at y = 1.

        Notes
        -----
        Equation: (23), (24), Lemma 6 in 001, corrected: signs of the infinite slopes
        """
        rows, single = self._read(theta, y, x)
        v, w = self._subgradient(rows)
        return (v[0], float(w[0])) if single else (v, w)

    def minimisers(self, theta: npt.ArrayLike, y: npt.ArrayLike, x: npt.ArrayLike) -> Any:
        """Return the pair theta0, theta1 (n, d) at which the infimum is attained.

        At y = 0 theta1 has no weight: it is then one that belongs to a subgradient, or theta where
        there is none. Entries are infinite where the infimum is only approached.
        """
        rows, single = self._read(theta, y, x)
        theta0, theta1 = self._minimisers(rows)
        return (theta0[0], theta1[0]) if single else (theta0, theta1)

    @abstractmethod
    def _value(self, rows: Rows) -> Floats: ...

    @abstractmethod
    def _subgradient(self, rows: Rows) -> tuple[Floats, Floats]: ...

    @abstractmethod
    def _minimisers(self, rows: Rows) -> tuple[Floats, Floats]: ...

    def _weights(self, rows: Rows) -> tuple[Floats, Floats]:
        """Class weights, one per row."""
        return np.full_like(rows.p, self.class_weights[0]), np.full_like(
            rows.p, self.class_weights[1]
        )

    def _read(self, theta: npt.ArrayLike, y: npt.ArrayLike, x: npt.ArrayLike) -> tuple[Rows, bool]:
        T, Y, X = (np.asarray(a, dtype=float) for a in (theta, y, x))
        single = T.ndim == 1 and Y.ndim == 0 and X.ndim == 1
        if T.ndim not in (1, 2) or X.ndim not in (1, 2) or Y.ndim > 1:
            raise ValueError(
                f"theta {T.shape}, y {Y.shape}, x {X.shape}: expected (d,) or (n, d), () or (n,), "
                "(d,) or (n, d)."
            )
        try:
            T, X = np.broadcast_arrays(np.atleast_2d(T), np.atleast_2d(X))
            n = np.broadcast_shapes(Y.shape or (1,), (len(T),))[0]
        except ValueError:
            raise ValueError(
                f"theta {T.shape}, y {Y.shape} and x {X.shape} disagree in the number of rows or "
                "features."
            ) from None
        T, X = (np.broadcast_to(a, (n, a.shape[1])) for a in (T, X))
        Y = np.broadcast_to(Y, n)
        for name, array in (("theta", T), ("y", Y), ("x", X)):
            if not np.isfinite(array).all():
                raise ValueError(f"{name} holds NaN or infinite values; expected finite ones.")
        if ((Y < 0.0) | (Y > 1.0)).any():
            worst = Y[(Y < 0.0) | (Y > 1.0)][0]
            raise ValueError(f"y holds {worst:g}; labels of a relaxation lie in [0, 1].")
        if self.boxed:
            self._check_box(T)
        return Rows(T, Y, X, np.einsum("ij,ij->i", X, T)), single

    def _read_box(self, box: tuple[Any, Any] | None) -> Box:
        if box is not None and not self.boxed:
            raise ValueError(
                f"box is given, but regularizer={self.regularizer!r} takes theta unbounded; use "
                "regularizer='l1' or 'outside'."
            )
        low, high = (
            np.asarray(b, dtype=float) for b in ((-np.inf, np.inf) if box is None else box)
        )
        if low.ndim > 1 or high.ndim > 1 or not (low <= high).all():
            raise ValueError(
                f"box=({low}, {high}) is no box: expected lower <= upper, scalars or one per "
                "feature."
            )
        return low, high

    def _check_box(self, theta: Floats) -> None:
        d = theta.shape[1]
        if any(b.ndim and b.shape != (d,) for b in self.box):
            raise ValueError(
                f"box has {max(b.size for b in self.box)} bounds; theta has {d} features."
            )
        outside = np.argwhere((theta < self.box[0]) | (theta > self.box[1]))
        if outside.size:
            i, j = outside[0]
            raise ValueError(
                f"theta of row {i} has {theta[i, j]:g} at feature {j}, outside the box; clip it "
                "first."
            )


def _weight(value: float, name: str) -> float:
    if not (is_number(value) and 0.0 <= value < np.inf):
        raise ValueError(f"{name}={value!r} is not a weight; expected a finite number >= 0.")
    return float(value)
