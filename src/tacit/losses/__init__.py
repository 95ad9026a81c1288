"""The losses; one file per member, one line each here."""

from __future__ import annotations

from tacit.losses.base import Loss, MarginLoss
from tacit.losses.crammer_singer import CrammerSinger
from tacit.losses.hinge import Hinge
from tacit.losses.logistic import Logistic
from tacit.losses.softmax import Softmax
from tacit.losses.squared import Squared
from tacit.losses.squared_hinge import SquaredHinge

__all__ = [
    "LOSSES",
    "CrammerSinger",
    "Hinge",
    "Logistic",
    "Loss",
    "MarginLoss",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "get_loss",
]

LOSSES: dict[str, type[Loss]] = {
    cls.name: cls
    for cls in (
        Hinge,
        SquaredHinge,
        CrammerSinger,
        Softmax,
        Logistic,
        Squared,
    )
}


def get_loss(loss: str | Loss) -> Loss:
    """Look a loss up by name; a `Loss` object is returned as it is."""
    if isinstance(loss, Loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is not known; choose one of {', '.join(sorted(LOSSES))}.")
    return LOSSES[loss]()
