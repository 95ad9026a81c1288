"""A plane of points: classes, decision regions, and which points are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "CLASS_COLOURS",
    "GREY",
    "INK",
    "PHASES",
    "POINT",
    "Answer",
    "Frame",
    "colour_of",
    "draw_answer",
    "empty_plane",
    "frame_of",
]

# Okabe and Ito's colours: told apart with every kind of colour vision.
CLASS_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
INK, GREY, POINT = "#222222", "#6b6b6b", "#b9b9b9"
PHASES = {"start": "#56B4E9", "reheat": "#D55E00", "polish": INK}
TINT = 0.22  # how much of the class colour its region has
CELLS = 300  # of the decision regions along the longer side

Points = npt.NDArray[np.float64]
Decide = Callable[[Points], npt.NDArray[np.integer]]
Frame = tuple[float, float, float, float]
"""Left, right, bottom, top: of a plane in the data's units."""


@dataclass(frozen=True)
class Answer:
    """One method's answer.

    Attributes
    ----------
    title : str
        Of its panel.
    labels : (N,) array
        Inferred class codes.
    decide : callable, optional
        Class codes of new rows, for the regions; none are drawn without it.
    """

    title: str
    labels: npt.NDArray[np.integer]
    decide: Decide | None


def frame_of(X: Points, width: float, height: float) -> Frame:
    """Limits that hold all points and have the panel's proportions."""
    low, high = X.min(axis=0), X.max(axis=0)
    middle = 0.5 * (low + high)
    panel = np.array([width, height])
    half = 0.5 * panel * (1.12 * float(((high - low) / panel).max()) + 1e-9)
    return (middle[0] - half[0], middle[0] + half[0], middle[1] - half[1], middle[1] + half[1])


def empty_plane(ax: Any, frame: Frame, title: str) -> None:
    """Set limits and title; no ticks."""
    ax.set(xlim=frame[:2], ylim=frame[2:], xticks=[], yticks=[])
    ax.set_title(title, loc="left")
    for spine in ax.spines.values():
        spine.set_color("0.8")


def draw_answer(
    ax: Any, X: Points, truth: npt.NDArray[np.integer], shown: Answer, frame: Frame, classes: int
) -> None:
    """Draw inferred classes over decision regions, and rings around wrong points."""
    empty_plane(ax, frame, shown.title)
    if shown.decide is not None:
        _shade(ax, shown.decide, frame, classes)
    colours = np.array([colour_of(c) for c in range(classes)])
    ax.scatter(*X.T, s=18, c=colours[shown.labels], linewidths=0.3, edgecolors="white")
    wrong = shown.labels != truth
    size, width = (110, 1.7) if wrong.mean() < 0.05 else (34, 0.8)
    ax.scatter(*X[wrong].T, s=size, c="none", edgecolors=INK, linewidths=width)


def _shade(ax: Any, decide: Decide, frame: Frame, classes: int) -> None:
    from matplotlib.colors import ListedColormap, to_rgb

    left, right, bottom, top = frame
    step = max(right - left, top - bottom) / CELLS
    x, y = np.arange(left, right + step, step), np.arange(bottom, top + step, step)
    cells = np.stack(np.meshgrid(x, y), axis=-1)
    codes = np.asarray(decide(cells.reshape(-1, 2))).reshape(cells.shape[:2])
    tints = [1.0 - TINT + TINT * np.array(to_rgb(colour_of(c))) for c in range(classes)]
    ax.pcolormesh(x, y, codes, cmap=ListedColormap(tints), vmin=-0.5, vmax=classes - 0.5)
    for c in range(classes):
        if 0 < np.mean(codes == c) < 1:
            ax.contour(x, y, codes == c, levels=[0.5], colors="white", linewidths=1.2)


def colour_of(code: int) -> str:
    """Colour of a class."""
    return CLASS_COLOURS[code % len(CLASS_COLOURS)]
