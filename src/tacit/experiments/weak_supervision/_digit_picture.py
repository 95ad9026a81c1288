"""Picture of the digits: rise of the errors against the number of negative labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tacit.plots.plane import CLASS_COLOURS, GREY, INK

__all__ = ["Curves", "draw_digits"]

# Method -> k -> rises of (test, label) error in points, one of each seed.
Curves: TypeAlias = dict[str, dict[int, list[tuple[float, float]]]]

DPI, SIZE = 120, (12.0, 5.2)
COLOURS = {"quick": CLASS_COLOURS[0], "exact": CLASS_COLOURS[2], "mean": CLASS_COLOURS[1]}
FLOOR, ROOM = -0.6, 1.12  # of the axis: below its zero, and above what is highest
STYLE: Any = {"font.size": 10.0, "font.family": "DejaVu Sans", "text.color": INK}


def draw_digits(
    name: str,
    curves: dict[str, Curves],
    parts: dict[str, str],
    names: dict[str, str],
    claimed: dict[str, Any],
    folder: Path,
) -> Path:
    """Draw one panel for each kind of hints.

    Parameters
    ----------
    name : str
        Of the experiment.
    curves : dict
        Rises by kind of hints.
    parts, names : dict of str to str
        Kinds of hints and methods, in words.
    claimed : dict
        What was published.
    folder : Path
        Where the picture goes.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    top = _top(curves, parts, claimed)
    with rc_context(STYLE):
        figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
        axes = figure.subplots(1, len(parts), sharey=True)
        for letter, ax, part in zip("ab", axes, parts, strict=True):
            _draw_part(ax, curves[part], names, claimed["rise"][part])
            _draw_em(ax, curves[part]["em"], top)
            ax.set_title(f"{letter}  {parts[part]}", loc="left", pad=18.0)
            ax.set(xlabel="negative labels of each row", ylim=(FLOOR, top))
            ax.spines[["top", "right"]].set_visible(False)
        axes[0].set_ylabel("points above the supervised machine")
        axes[-1].legend(frameon=False, fontsize=8.5, loc="upper right")
        path = folder / f"{name}.png"
        figure.savefig(path)
    return path


def _top(curves: dict[str, Curves], parts: dict[str, str], claimed: dict[str, Any]) -> float:
    """Upper end of the axes: all but hard EM."""
    values = [v for part in parts for v in claimed["rise"][part].values()]
    values += [
        value
        for part in parts
        for method in COLOURS
        for rises in curves[part][method].values()
        for rise in rises
        for value in rise
    ]
    return ROOM * max(values)


def _draw_part(ax: Any, curves: Curves, names: dict[str, str], published: dict[int, float]) -> None:
    for method, colour in COLOURS.items():
        ks = sorted(curves[method])
        test, label = ([[rise[i] for rise in curves[method][k]] for k in ks] for i in (0, 1))
        ax.plot(ks, [np.mean(v) for v in test], "-o", ms=4, c=colour, label=names[method])
        ax.fill_between(
            ks, [min(v) for v in test], [max(v) for v in test], color=colour, alpha=0.15, lw=0
        )
        if method == "quick":
            label_means = [np.mean(v) for v in label]
            ax.plot(ks, label_means, "--", lw=1.0, c=colour, label="the same, training labels")
    ax.plot(
        list(published),
        list(published.values()),
        "D",
        ms=7,
        mfc="none",
        c=INK,
        label="published, test error, about",
    )
    ax.axhline(0.0, color=INK, lw=0.8, label="supervised")


def _draw_em(ax: Any, by_k: dict[int, list[tuple[float, float]]], top: float) -> None:
    """Hard EM as far as it is on the axes; elsewhere its rise in figures at their upper end."""
    ks = sorted(by_k)
    means = [float(np.mean([test for test, _ in by_k[k]])) for k in ks]
    ax.plot(ks, np.clip(means, FLOOR, top), ":", c=GREY, lw=1.2, label="hard EM (figures: points)")
    for k, mean in zip(ks, means, strict=True):
        if mean >= top:
            ax.text(k, top, f"{mean:.0f}", ha="center", va="bottom", color=GREY, fontsize=8.5)
        else:
            ax.plot([k], [mean], "s", ms=4, c=GREY)
