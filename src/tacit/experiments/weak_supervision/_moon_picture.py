"""Pictures of the moons: known, inferred, how it was found, and errors of all methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.experiments.weak_supervision._moons import CLASSES, Moons, fitted_to, labels_of
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

__all__ = ["Shown", "draw_moons"]

Rows = Sequence[dict[str, Any]]
MARKERS = ("o", "s", "^")  # of the batches shown
DPI = 120
Box = tuple[float, float, float, float]  # left, bottom, width, height of a panel in inches
STYLE: Any = {
    "font.size": 10.0,
    "axes.linewidth": 0.7,
    "text.color": INK,
    "axes.titlesize": 11.0,
    "font.family": "DejaVu Sans",
}


@dataclass(frozen=True)
class Shown:
    """What a picture shows.

    Attributes
    ----------
    name : str
        Of the experiment.
    kind : str
        What is known, see `Moons.make`.
    names : dict of str to str
        Methods, in words.
    panels : tuple of str
        Methods whose answers are drawn; "known" for the hints.
    """

    name: str
    kind: str
    names: dict[str, str]
    panels: tuple[str, ...]


def draw_moons(shown: Shown, rows: Rows, layout: str, folder: Path) -> Path:
    """Draw the first instance of a layout, and the errors on all of them."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = [row for row in rows if row["layout"] == layout]
    first = {row["method"]: row for row in rows if row["drawn"]}
    case = Moons.make(shown.kind, layout, first["tacit"]["seed"], first["tacit"]["n"])
    size, panels, below = _boxes(layout, "known" in shown.panels)
    with rc_context(STYLE):
        figure = Figure(figsize=size, dpi=DPI)
        for letter, box, method in zip("abcd", panels, shown.panels, strict=True):
            ax, frame = _axes(figure, box), frame_of(case.X, *box[2:])
            _draw_panel(shown, case, first, letter, method, ax, frame)
        if len(below) == 3:
            _draw_batches(case, _axes(figure, below[0]), frame_of(case.X, *below[0][2:]))
        _draw_course(first, shown.names, _axes(figure, below[-2]))
        _draw_errors(rows, shown.names, _axes(figure, below[-1]))
        path = folder / f"{shown.name}-{layout}.png"
        figure.savefig(path)
    return path


def _boxes(layout: str, known: bool) -> tuple[tuple[float, float], list[Box], list[Box]]:
    """Size of the figure, its four panels, and those below them, in inches."""
    if layout == "chain":  # wider than high
        panels = [(0.3 + 6.85 * i, 3.75 + 2.95 * j, 6.55, 2.5) for j in (1, 0) for i in (0, 1)]
        size = (14.0, 9.65)
    else:
        panels = [(0.3 + 3.4 * i, 3.75, 3.2, 3.9) for i in range(4)]
        size = (14.0, 8.05)
    below = [(0.3, 0.6, 3.6, 2.4), (4.9, 0.6, 3.3, 2.4), (11.0, 0.6, 2.7, 2.4)]
    return size, panels, [(0.9, 0.6, 6.6, 2.4), below[2]] if known else below


def _axes(figure: Any, box: Box) -> Any:
    width, height = figure.get_size_inches()
    return figure.add_axes((box[0] / width, box[1] / height, box[2] / width, box[3] / height))


def _draw_panel(
    shown: Shown,
    case: Moons,
    first: dict[str, dict[str, Any]],
    letter: str,
    method: str,
    ax: Any,
    frame: Frame,
) -> None:
    if method == "known":
        _draw_links(case, ax, frame, f"{letter}  known: what a row is not; links")
        return
    labels = labels_of(first[method])
    error = 100 * first[method]["label_error"]
    decide = None if method == "hints" else fitted_to(case, labels, method == "kmeans")
    name = _short(shown.names[method])
    answer = Answer(f"{letter}  {name}: {error:.1f} % wrong", labels, decide)
    draw_answer(ax, case.X, case.y, answer, frame, CLASSES)


def _draw_links(case: Moons, ax: Any, frame: Frame, title: str) -> None:
    """Points in the colour of the class they are not; solid links agree, dashed ones differ."""
    empty_plane(ax, frame, title)
    program = case.program
    for i, j in program.pairs.edges:
        # The hints are true: a link joins rows of one class where it says that they agree.
        style: Any = "-" if case.y[i] == case.y[j] else (0, (3, 2))
        ax.plot(*case.X[[i, j]].T, ls=style, lw=0.35, c=GREY, zorder=1)
    colours = [colour_of(int(c)) for c in program.mask.argmin(axis=1)]
    ax.scatter(*case.X.T, s=14, c=colours, marker="x", linewidths=1.0, zorder=2)


def _draw_batches(case: Moons, ax: Any, frame: Frame) -> None:
    counts = case.program.counts
    empty_plane(ax, frame, f"known: class counts of {len(counts)} batches; here three")
    ax.scatter(*case.X.T, s=8, c=POINT, linewidths=0)
    for rows, marker in ((counts.rows(g), marker) for g, marker in enumerate(MARKERS)):
        ax.scatter(*case.X[rows].T, s=30, marker=marker, c="white", edgecolors=INK, linewidths=1.0)


def _draw_course(first: dict[str, dict[str, Any]], names: dict[str, str], ax: Any) -> None:
    """Objective of every iteration of ours, run by run, beside where the others end."""
    start = 0
    for phase, objectives in first["tacit"]["course"]:
        x = start + np.arange(len(objectives))
        ax.plot(x, objectives, color=PHASES.get(phase, INK), lw=1.3)
        start += len(objectives)
    for phase in dict.fromkeys(phase for phase, _ in first["tacit"]["course"]):
        ax.plot([], [], color=PHASES.get(phase, INK), lw=2.5, label=phase)
    ax.set(yscale="log", xlabel="iteration", ylabel="objective", xlim=(0, max(start - 1, 1)))
    ax.set_title("how it was found", loc="left")
    ax.legend(
        frameon=False,
        fontsize=8.5,
        ncols=3,
        loc="lower left",
        bbox_to_anchor=(0.45, 0.97),
        handlelength=1.2,
        columnspacing=1.0,
    )
    _plain_log(ax.yaxis)
    ax.spines[["top", "right"]].set_visible(False)
    marks = {m: first[m]["objective"] for m in ("kmeans", "em", "truth")}
    _mark(ax, {f"{_short(names[m])} {value:.1f}": value for m, value in marks.items()})


def _short(name: str) -> str:
    return name.split(",")[0].removeprefix("constrained ")


def _mark(ax: Any, marks: dict[str, float]) -> None:
    """Lines at values, with names beside them that do not lie on each other."""
    height = -1.0
    for name, value in sorted(marks.items(), key=lambda mark: mark[1]):
        ax.axhline(value, color=GREY, lw=1.0, ls=(0, (5, 3)), zorder=0)
        place = ax.transAxes.inverted().transform(ax.transData.transform((0.0, value)))[1]
        height = max(place, height + 0.07)
        ax.text(1.015, height, name, transform=ax.transAxes, va="center", color=GREY, fontsize=8.5)


def _plain_log(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.axes.minorticks_off()


def _draw_errors(rows: Rows, names: dict[str, str], ax: Any) -> None:
    """One dot for every instance and method."""
    methods = [name for name in names if name != "truth"][::-1]
    for place, method in enumerate(methods):
        errors = np.array([100 * row["label_error"] for row in rows if row["method"] == method])
        spread = 0.12 * (np.arange(len(errors)) % 3 - 1)
        colour = PHASES["reheat"] if method == "tacit" else GREY
        ax.plot(errors, place + spread, "o", ms=5, mfc="none", mec=colour, mew=1.2)
    labels = [names[method].replace(", ", ",\n").replace("constrained ", "") for method in methods]
    ax.set_yticks(range(len(methods)), labels, fontsize=8.5)
    ax.set(xlim=(-2, 100), ylim=(-0.5, len(methods) - 0.5), xlabel="wrong labels in %")
    count = len({row["seed"] for row in rows})
    ax.set_title(f"errors on {count} instance{'s' if count > 1 else ''}", loc="left")
    ax.spines[["top", "right"]].set_visible(False)
