"""The picture of `scaling`: times against N by kernel, and ours beside the relaxation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tacit.plots.plane import CLASS_COLOURS, GREY, INK

__all__ = ["draw_scaling"]

COLOURS = {"tacit": "#D55E00", "sdp": CLASS_COLOURS[0], "svc": GREY}
NAMES = {"tacit": "tacit", "sdp": "SDP relaxation", "svc": "SVM, all labels"}
ROOM = 60.0  # above the highest time, for the legend
MARKS = {2: ("o", "-"), 10: ("s", "--")}  # by classes


def draw_scaling(curves: list[dict[str, Any]], pairs: list[dict[str, Any]], path: Path) -> Path:
    """Draw both parts into a file."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style: Any = {"font.size": 10.0, "axes.linewidth": 0.7, "text.color": INK}
    with rc_context({**style, "font.family": "DejaVu Sans", "axes.titlesize": 11.0}):
        figure = Figure(figsize=(14, 4.8), dpi=120, layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        for ax, kernel in ((left, "linear"), (middle, "rbf")):
            _draw_curves(ax, [c for c in curves if c["kernel"] == kernel], f"{kernel} kernel")
        low, high = zip(left.get_ylim(), middle.get_ylim(), strict=True)
        for ax in (left, middle):
            ax.set_ylim(min(low), ROOM * max(high))
        _draw_pairs(right, pairs)
        figure.savefig(path)
    return path


def _draw_curves(ax: Any, curves: list[dict[str, Any]], title: str) -> None:
    for c in curves:
        mark, line = MARKS[c["classes"]]
        label = f"{NAMES[c['method']]}, {c['classes']} classes: $N^{{{c['exponent']:.1f}}}$"
        colour = COLOURS[c["method"]]
        ax.plot(c["n"], c["cpu_s"], mark, ls=line, c=colour, ms=4.5, lw=1.3, label=label)
    ax.set(xscale="log", yscale="log", xlabel="rows N", ylabel="CPU seconds of one fit")
    ax.set_title(title, loc="left")
    sizes = sorted({n for c in curves for n in c["n"]})
    ax.set_xticks(sizes, [str(n) for n in sizes], rotation=45, fontsize=8.5)
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=8.5)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_pairs(ax: Any, pairs: list[dict[str, Any]]) -> None:
    """Draw times of one start, of the default and of the relaxation for each problem."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    methods = ("one start", "default", "sdp")
    names = [f"{p['set']}, {p['kernel']}, split {p['split'] + 1}" for p in pairs]
    places = np.arange(len(pairs))[::-1]
    for method, mark in zip(methods, ("o", "^", "s"), strict=True):
        colour = COLOURS["sdp" if method == "sdp" else "tacit"]
        label = NAMES["sdp"] if method == "sdp" else f"tacit, {method}"
        seconds = [p[f"{method} cpu_s"] for p in pairs]
        ax.plot(seconds, places, mark, c=colour, ms=6, label=label)
    for place, p in zip(places, pairs, strict=True):
        ratio = p["sdp cpu_s"] / p["one start cpu_s"]
        middle = float(np.sqrt(p["sdp cpu_s"] * p["default cpu_s"]))
        ax.text(middle, place + 0.12, f"x {ratio:.3g}", color=GREY, fontsize=8.5, ha="center")
    ax.set_yticks(places, names, fontsize=8.5)
    ax.set(xscale="log", xlabel="CPU seconds of one fit", ylim=(-0.7, len(pairs) + 0.4))
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.minorticks_off()
    ax.set_title("one fit beside the relaxation, same objective", loc="left")
    ax.legend(frameon=False, fontsize=8.5, ncols=3, loc="upper left", columnspacing=0.8)
    ax.spines[["top", "right"]].set_visible(False)
