r"""The tightest extension of a whole objective, for a handful of labelings.

The objective :math:`\varphi(\theta, y) = \omega(\theta) + C \sum_s l_{y_s}(\langle x_s, \theta
\rangle)` is known at the labelings Y. The largest convex function below it on their convex hull is

.. math:: \varphi^{**}(\theta, y) = \min_{\lambda \ge 0, \eta} \Big\{ \sum_{y' \in Y} \lambda_{y'}
    \varphi(\eta_{y'} / \lambda_{y'}, y') :
    \sum \eta_{y'} = \theta, \; \sum \lambda_{y'} y' = y, \; \sum \lambda_{y'} = 1 \Big\}.

It has as many copies of theta as there are labelings, so it serves teaching and tests. It is a
conic programme, solved by Clarabel, and shares no formula with the extensions of single rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.convex._conic import ConicProgram
from tacit.convex.pair import Floats

__all__ = ["tightest"]

MOST_LABELINGS = 4096


def tightest(
    loss: str,
    labelings: npt.ArrayLike,
    theta: npt.ArrayLike,
    y: npt.ArrayLike,
    X: npt.ArrayLike,
    *,
    regularizer: str = "l2",
    C: float = 1.0,
    class_weights: Sequence[float] = (1.0, 1.0),
    box: tuple[Any, Any] | None = None,
) -> float:
    r"""Value of the tightest convex extension of the whole objective at (theta, y).

    Parameters
    ----------
    loss, regularizer, C, class_weights, box
        As in `tacit.convex.extension`; regularizers "l2", "l1" and "outside", box for all of them.
    labelings : (k, n) array of 0 and 1
        The feasible labelings, all of them.
    theta : (d,) array
        In the box.
    y : (n,) array
        In the convex hull of the labelings; +inf is returned if it is not.
    X : (n, d) array
        Rows.

    Returns
    -------
    float
        With one row and labelings [[0], [1]] this is that row's extension.

    Notes
    -----
    A minimum over sets of \|S\| + 1 labelings, as in the paper, is larger in general; all of them
    are needed.

    Equation: (13), Thm. 3 in 001, corrected: perspective programme over all labelings
    """
    Y, T, X = np.atleast_2d(labelings), np.asarray(theta, float), np.atleast_2d(X)
    X = np.asarray(X, dtype=float)
    target = np.atleast_1d(np.asarray(y, dtype=float))
    _check(loss, regularizer, Y, T, target, X)
    weights = C * np.where(Y == 1, class_weights[1], class_weights[0])
    program = ConicProgram()
    share = program.variables(len(Y))
    eta = program.variables(len(Y) * len(T)).reshape(len(Y), len(T))
    program.equal([(share, 1.0)], 1.0)
    for s, value in enumerate(target):
        program.equal([(share, Y[:, s].astype(float))], value)
    for i, value in enumerate(T):
        program.equal([(eta[:, i], 1.0)], value)
    _bounds(program, share, eta, box)
    for k in range(len(Y)):
        REGULARIZERS[regularizer](program, share[k], eta[k])
        for s in range(len(target)):
            row = np.where(Y[k, s] == 1, 1.0, -1.0) * X[s]
            LOSSES[loss](program, share[k], eta[k], row, float(weights[k, s]))
    return program.solve()


def _check(loss: str, regularizer: str, Y: Any, T: Floats, target: Floats, X: Floats) -> None:
    if loss not in LOSSES or regularizer not in REGULARIZERS:
        raise ValueError(
            f"loss={loss!r}, regularizer={regularizer!r}: expected one of {', '.join(LOSSES)} and "
            f"one of {', '.join(REGULARIZERS)}."
        )
    if len(Y) > MOST_LABELINGS:
        raise ValueError(
            f"{len(Y)} labelings; at most {MOST_LABELINGS} copies of theta are sensible."
        )
    if not np.isin(Y, (0, 1)).all():
        raise ValueError("labelings must hold 0 and 1 only.")
    if Y.shape[1] != len(X) or target.shape != (len(X),) or T.shape != (X.shape[1],):
        raise ValueError(
            f"labelings {Y.shape}, theta {T.shape}, y {target.shape}, X {X.shape}: expected "
            "(k, n), (d,), (n,), (n, d)."
        )


def _bounds(program: ConicProgram, share: Any, eta: Any, box: tuple[Any, Any] | None) -> None:
    """Require share >= 0 and share * lower <= eta <= share * upper."""
    for k in range(len(share)):
        program.at_least([(share[k], 1.0)], 0.0)
        for sign, bound in (
            ((1.0, -np.inf), (-1.0, np.inf)) if box is None else ((1.0, box[0]), (-1.0, box[1]))
        ):
            limits = np.broadcast_to(np.asarray(bound, dtype=float), eta.shape[1])
            for i in np.flatnonzero(np.isfinite(limits)):
                program.at_least([(eta[k, i], sign), (share[k], -sign * limits[i])], 0.0)


def _l2(program: ConicProgram, share: int, eta: Any) -> None:
    """|eta|^2 / (2 share)."""
    _half_square(program, share, [[(e, 1.0)] for e in eta], 1.0)


def _l1(program: ConicProgram, share: int, eta: Any) -> None:
    for e in eta:
        size = program.variables(1)[0]
        program.cost(size, 1.0)
        for sign in (1.0, -1.0):
            program.at_least([(size, 1.0), (e, sign)], 0.0)


def _nothing(program: ConicProgram, share: int, eta: Any) -> None:
    """Leave the regulariser outside."""


def _half_square(program: ConicProgram, share: int, forms: Any, weight: float) -> None:
    """Cost |forms|^2 / (2 share): (s + t)^2 >= (s - t)^2 + 2 |forms|^2."""
    t = program.variables(1)[0]
    program.cost(t, weight)
    scaled = [[(v, np.sqrt(2.0) * np.asarray(c)) for v, c in form] for form in forms]
    program.inside("soc", [(share, 1.0), (t, 1.0)], [(share, 1.0), (t, -1.0)], *scaled)


def _gap(program: ConicProgram, share: int, eta: Any, row: Floats) -> int:
    """Return a variable that is at least max(0, share - <row, eta>)."""
    gap = program.variables(1)[0]
    program.at_least([(gap, 1.0)], 0.0)
    program.at_least([(gap, 1.0), (share, -1.0), (eta, row)], 0.0)
    return int(gap)


def _hinge(program: ConicProgram, share: int, eta: Any, row: Floats, weight: float) -> None:
    program.cost(_gap(program, share, eta, row), weight)


def _squared_hinge(program: ConicProgram, share: int, eta: Any, row: Floats, weight: float) -> None:
    _half_square(program, share, [[(_gap(program, share, eta, row), 1.0)]], weight)


def _logistic(program: ConicProgram, share: int, eta: Any, row: Floats, weight: float) -> None:
    """Require share log(1 + exp(-r / share)) <= t: two exponentials sum to at most share."""
    t, first, second = program.variables(3)
    program.cost(t, weight)
    program.inside("exp", [(eta, -row), (t, -1.0)], [(share, 1.0)], [(first, 1.0)])
    program.inside("exp", [(t, -1.0)], [(share, 1.0)], [(second, 1.0)])
    program.at_least([(share, 1.0), (first, -1.0), (second, -1.0)], 0.0)


REGULARIZERS = {"l2": _l2, "l1": _l1, "outside": _nothing}
LOSSES = {"hinge": _hinge, "squared_hinge": _squared_hinge, "logistic": _logistic}
