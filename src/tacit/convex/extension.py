"""Choose an extension by the names of loss and regulariser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.convex.base import Extension
from tacit.convex.hinge import HingePair
from tacit.convex.l1 import L1
from tacit.convex.l2 import L2, L2Linear
from tacit.convex.logistic import LogisticPair
from tacit.convex.outside import Outside
from tacit.convex.pair import LossPair
from tacit.convex.squared_hinge import SquaredHingePair
from tacit.losses import Loss

__all__ = ["EXTENSIONS", "PAIRS", "extension"]

PAIRS: dict[str, type[LossPair]] = {
    cls.phi.name: cls for cls in (HingePair, SquaredHingePair, LogisticPair)
}
EXTENSIONS: dict[str, type[Extension]] = {
    cls.regularizer: cls for cls in (L2, L1, Outside, L2Linear)
}


def extension(
    loss: str | Loss,
    regularizer: str = "l2",
    C: float = 1.0,
    class_weights: Sequence[float] = (1.0, 1.0),
    box: tuple[Any, Any] | None = None,
) -> Extension:
    r"""Return a convex extension of :math:`\omega(\theta) + C l_y(\langle x, \theta \rangle)`.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "logistic"} or Loss
        l_1(r) = C1 phi(r) and l_0(r) = C0 phi(-r); the squared hinge has a factor 1/2.
    regularizer : {"l2", "l1", "outside", "l2_linear"}
        omega: half the squared norm; the 1-norm; nothing, the regulariser being added by the
        caller; or "l2" with only that part of the logistic loss extended that is linear in y, a
        looser bound.
    C : float
        Weight of the loss.
    class_weights : pair of float
        C0 and C1.
    box : (lower, upper), optional
        Bounds of theta, scalars or (d,) arrays, infinite where there is none; for "l1", "outside".

    Returns
    -------
    Extension
        With `value`, `subgradient` and `minimisers`, each of (theta, y, x).

    Examples
    --------
    >>> from tacit.convex import extension
    >>> ext = extension("hinge", C=1.0)
    >>> ext.value([0.0], 0.5, [1.0])  # of the pair -1 and 1, which has no loss
    0.5
    """
    name = loss.name if isinstance(loss, Loss) else loss
    if name not in PAIRS:
        raise ValueError(
            f"loss={name!r} has no convex extension here; choose one of {', '.join(sorted(PAIRS))}."
        )
    if regularizer not in EXTENSIONS:
        raise ValueError(
            f"regularizer={regularizer!r} is not known; choose one of "
            f"{', '.join(sorted(EXTENSIONS))}."
        )
    if regularizer == "l2_linear" and (name != "logistic" or class_weights[0] != class_weights[1]):
        raise ValueError(
            f"regularizer='l2_linear' needs loss='logistic' and equal class weights, not {name!r} "
            f"and {tuple(class_weights)}: others are not linear in y; use 'l2'."
        )
    return EXTENSIONS[regularizer](PAIRS[name](), C, class_weights, box)
