"""Picture of the accuracies: a panel for each kernel and number of labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["draw_bars"]

BARS = (
    ("published SDP", "#d9d9d9"),
    ("published ours", "#a6a6a6"),
    ("sdp", "#c7b299"),
    ("svm", "#9ecae1"),
    ("inductive", "#5a9bd4"),
    ("tacit", "#d95f02"),
)
DPI = 120


def draw_bars(
    name: str, summary: Sequence[dict[str, Any]], sheet: dict[str, Any], folder: Path
) -> Path:
    """Draw mean accuracies with their deviations; a line marks what must be reached."""
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys((entry["kernel"], entry["labels"]) for entry in summary))
    figure = Figure(figsize=(11.0, 3.2 * len(panels)), layout="constrained")
    for place, (kernel, labels) in enumerate(panels, 1):
        axes = figure.add_subplot(len(panels), 1, place)
        part = [e for e in summary if (e["kernel"], e["labels"]) == (kernel, labels)]
        _panel(axes, part, sheet, kernel, labels)
    figure.axes[0].legend(ncols=len(BARS), loc="lower center", bbox_to_anchor=(0.5, 1.1))
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=DPI)
    return path


def _panel(
    axes: Any, part: Sequence[dict[str, Any]], sheet: dict[str, Any], kernel: str, labels: int
) -> None:
    """Draw the bars of all sets for one kernel and number of labels."""
    names = [entry["set"] for entry in part]
    width = 0.8 / len(BARS)
    for bar, (method, colour) in enumerate(BARS):
        height, error = zip(*(_height(e, method, sheet) for e in part), strict=True)
        x = np.arange(len(names)) + (bar - (len(BARS) - 1) / 2) * width
        axes.bar(x, height, width, yerr=error, color=colour, label=method, error_kw={"lw": 0.7})
    for i, name in enumerate(names):
        must = sheet["targets"][kernel][labels][name].get("must")
        if must is not None:
            axes.hlines(must, i - 0.42, i + 0.42, color="black", lw=1.0, ls=":")
    axes.set(ylim=(35, 100), ylabel="accuracy, %", title=f"{kernel} kernel, {labels} labels")
    axes.set_xticks(np.arange(len(names)), names)
    axes.spines[["top", "right"]].set_visible(False)


def _height(entry: dict[str, Any], method: str, sheet: dict[str, Any]) -> tuple[float, float]:
    """Accuracy and deviation; published figures have none here."""
    claimed = sheet["claimed"][entry["kernel"]][entry["labels"]][entry["set"]]
    if method == "published SDP":
        return claimed[0], 0.0
    if method == "published ours":
        return max(claimed[1:]), 0.0
    figures = entry["methods"].get(method)
    return (figures["accuracy"], figures["deviation"]) if figures else (0.0, 0.0)
