"""The demo's picture: what is known, what was inferred from it, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.plots.plane import (
    GREY,
    INK,
    PHASES,
    POINT,
    Answer,
    Frame,
    colour_of,
    draw_answer,
    empty_plane,
    frame_of,
)
from tacit.result import History

__all__ = ["DemoPicture", "draw_demo"]

MARKERS = {"o": "\N{WHITE CIRCLE}", "s": "\N{WHITE SQUARE}", "^": "\N{WHITE UP-POINTING TRIANGLE}"}
DPI = 120

Box = tuple[float, float, float, float]  # left, bottom, width, height: of a panel in inches


@dataclass(frozen=True)
class DemoPicture:
    """Everything the picture shows.

    Attributes
    ----------
    title : str
        What happened, in a sentence.
    X, truth : (N, 2) and (N,) arrays
        Rows and their true classes, which no method saw.
    groups : list of row arrays
        Batches.
    lower, upper : (G, C) arrays
        Bounds on their class counts.
    answer, rival : Answer
        Shown side by side.
    history : History
        Of the answer.
    marks : dict of str to float
        Objectives drawn as lines beside the history.
    """

    title: str
    X: npt.NDArray[np.float64]
    truth: npt.NDArray[np.integer]
    groups: list[npt.NDArray[np.integer]]
    lower: npt.NDArray[np.integer]
    upper: npt.NDArray[np.integer]
    answer: Answer
    rival: Answer
    history: History
    marks: dict[str, float]


def draw_demo(picture: DemoPicture) -> Any:
    """Draw the picture.

    Returns
    -------
    matplotlib.figure.Figure
        Not known to pyplot: nothing is shown and nothing has to be closed.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style: Any = {
        "font.size": 10.0,
        "axes.linewidth": 0.7,
        "text.color": INK,
        "axes.titlesize": 11.5,
    }
    with rc_context({**style, "font.family": "DejaVu Sans"}):
        spread = np.ptp(picture.X, axis=0)
        size, boxes = _wide_boxes() if spread[0] > 1.5 * spread[1] else _tall_boxes()
        figure = Figure(figsize=size, dpi=DPI)
        figure.text(
            0.35 / size[0],
            1 - 0.2 / size[1],
            picture.title,
            va="top",
            fontsize=14.5,
            fontweight="bold",
        )
        axes = {name: _panel(figure, box, size) for name, box in boxes.items()}
        frames = {name: frame_of(picture.X, *box[2:]) for name, box in boxes.items()}
        _draw_known(picture, axes["known"], axes["counts"], frames["known"])
        classes = picture.lower.shape[1]
        for name, shown in (("answer", picture.answer), ("rival", picture.rival)):
            draw_answer(axes[name], picture.X, picture.truth, shown, frames[name], classes)
        _draw_course(picture, axes["course"], axes["changes"])
        _draw_legend(picture, figure, size)
    return figure


def _wide_boxes() -> tuple[tuple[float, float], dict[str, Box]]:
    """Two by two panels, for a cloud of points that is wider than high."""
    return (14.0, 9.3), {
        "known": (0.35, 5.85, 6.5, 2.3),
        "counts": (0.75, 4.95, 6.1, 0.75),
        "answer": (7.15, 4.75, 6.5, 3.4),
        "rival": (0.35, 0.5, 6.5, 3.4),
        "course": (7.9, 1.5, 4.75, 2.4),
        "changes": (7.9, 0.5, 4.75, 0.85),
    }


def _tall_boxes() -> tuple[tuple[float, float], dict[str, Box]]:
    """Three panels above the course."""
    return (14.0, 9.8), {
        "known": (0.35, 4.95, 4.3, 3.7),
        "counts": (0.75, 3.95, 3.9, 0.8),
        "answer": (4.9, 3.8, 4.3, 4.85),
        "rival": (9.45, 3.8, 4.3, 4.85),
        "course": (1.0, 1.25, 11.5, 1.75),
        "changes": (1.0, 0.5, 11.5, 0.65),
    }


def _panel(figure: Any, box: Box, size: tuple[float, float]) -> Any:
    left, bottom, width, height = box
    return figure.add_axes((left / size[0], bottom / size[1], width / size[0], height / size[1]))


def _draw_known(picture: DemoPicture, plane: Any, counts: Any, frame: Frame) -> None:
    sizes = np.array([len(g) for g in picture.groups])
    marked = list(MARKERS)[: len(picture.groups)]
    glyphs = " ".join(MARKERS[m] for m in marked)
    empty_plane(plane, frame, f"Known: class counts of batches, like {glyphs}")
    plane.scatter(*picture.X.T, s=15, c=POINT, linewidths=0)
    for marker, rows in zip(marked, picture.groups, strict=False):
        plane.scatter(
            *picture.X[rows].T, s=38, marker=marker, c="white", edgecolors=INK, linewidths=1.1
        )
    slack = 0.5 * float((picture.upper - picture.lower).max())
    middle = 0.5 * (picture.lower + picture.upper)
    middle *= (sizes / np.maximum(middle.sum(axis=1), 1e-9))[:, None]
    x, floor = np.arange(len(middle)), np.zeros(len(middle))
    for c in range(middle.shape[1]):
        counts.bar(
            x, middle[:, c], 0.8, floor, color=colour_of(c), edgecolor="white", linewidth=0.6
        )
        floor += middle[:, c]
    top = max(int(sizes.max()), 1)
    for g, marker in enumerate(marked):
        counts.plot(g, -0.16 * top, marker, ms=6, mfc="white", mec=INK, mew=1.1, clip_on=False)
    counts.set(xlim=(-0.6, len(middle) - 0.4), xticks=[], ylim=(0, top), yticks=[0, top])
    counts.set_ylabel("rows", labelpad=-6)
    counts.text(
        1.0,
        -0.16,
        f"rows of each class in the {len(middle)} batches, \N{PLUS-MINUS SIGN}{slack:g}",
        transform=counts.transAxes,
        ha="right",
        va="center",
    )
    counts.spines[["top", "right", "bottom"]].set_visible(False)


def _draw_course(picture: DemoPicture, above: Any, below: Any) -> None:
    """Objective of every iteration, run by run, over the labels that changed."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    history = picture.history
    x, run = np.arange(len(history)), history.column("run")
    objective, phase = history.column("objective"), history.column("phase")
    changes = history.column("changes")
    above.set_title("How it was found", loc="left")
    for number in history.runs:
        part = np.flatnonzero(run == number)
        colour = PHASES.get(str(phase[part[0]]), INK)
        above.plot(x[part], objective[part], color=colour, lw=1.6)
        below.vlines(x[part], 0, changes[part], color=colour, lw=1.0)
    for name in dict.fromkeys(phase.tolist()):
        above.plot([], [], color=PHASES.get(name, INK), lw=2.5, label=name)
    above.legend(
        loc="lower right", bbox_to_anchor=(1.01, 0.98), ncols=3, frameon=False, borderpad=0.2
    )
    for name, value in picture.marks.items():
        above.axhline(value, color=GREY, lw=1.0, ls=(0, (5, 3)), zorder=0)
        above.annotate(
            f"{name}\n{value:.1f}",
            (1.0, value),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            color=GREY,
            fontsize=9.5,
            annotation_clip=False,
        )
    last = max(len(history) - 1, 1)
    above.set(yscale="log", xlim=(-0.01 * last, 1.01 * last), xticks=[])
    below.set(yscale="symlog", xlim=above.get_xlim(), ylim=(0, None), xlabel="iteration")
    above.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    above.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    above.minorticks_off()
    below.set_yticks([1, 10, 100], ["1", "10", "100"])
    below.minorticks_off()
    width = above.get_position().width * above.figure.get_figwidth()
    for ax, text in ((above, "objective"), (below, "labels\nchanged")):
        ax.text(
            -0.62 / width, 0.5, text, transform=ax.transAxes, rotation=90, va="center", ha="center"
        )
        ax.spines[["top", "right"]].set_visible(False)


def _draw_legend(picture: DemoPicture, figure: Any, size: tuple[float, float]) -> None:
    """One legend for all panels, below the title."""
    from matplotlib.lines import Line2D

    def dot(**kwargs: Any) -> Any:
        return Line2D([], [], ls="", marker="o", **kwargs)

    handles = [
        dot(ms=7, color=colour_of(c), label=f"class {c}") for c in range(picture.lower.shape[1])
    ]
    handles.append(dot(ms=9, mfc="none", mec=INK, mew=1.5, label="wrong"))
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.22 / size[0], 1 - 0.5 / size[1]),
        ncols=len(handles),
        frameon=False,
        handletextpad=0.0,
        columnspacing=1.0,
    )
