"""Pictures of extensions in one parameter; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.convex.base import Extension
from tacit.convex.extension import extension
from tacit.convex.pair import Floats

__all__ = ["draw_extension", "draw_figure"]

Surface = Callable[[Floats, Floats], Floats]

LIMIT = 3.1
"""Theta is drawn from -LIMIT to LIMIT; the bound of the paper's third column."""
INK, TINT = "#222222", "Blues"
# A surface that leaves a face at once is drawn from here on.
NEAR_FACE = 1e-3
# Figure 3's weights: logistic, hinge, squared hinge under L2, L1, and L1 with a box.
WEIGHTS = {
    "logistic": (16.0, 5.0, 5.0),
    "hinge": (16.0, 5.0, 5.0),
    "squared_hinge": (4.0, 4.0, 4.0),
}
# The paper gives none for Figures 1 and 2.
FIGURE_1_C, FIGURE_2_C = 16.0, 5.0


def draw_extension(
    ext: Extension, ax: Any = None, *, limit: float = LIMIT, title: str | None = None
) -> Any:
    """Draw an extension of one parameter theta as a surface over (theta, y), for x = 1.

    Parameters
    ----------
    ext : Extension
        Its values at y = 0 and y = 1 are drawn in black.
    ax : matplotlib axes in 3d, optional
        Where to draw; a new figure by default.
    limit : float
        Theta goes from -limit to limit, or less where a box ends before.
    title : str, optional
        Of the panel.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(subplot_kw={"projection": "3d"}, layout="constrained")
    low, high = max(-limit, float(np.min(ext.box[0]))), min(limit, float(np.max(ext.box[1])))
    _draw(ax, _values(ext), (low, high), title or "")
    return ax.figure


def draw_figure(number: int) -> Any:
    """Draw Figure 1, 2 or 3 of the paper.

    Figure 1: hinge loss with L2: the objective with the loss's formula at fractional labels, the
    same with 0 there, the tightest extension. Figure 2: hinge loss with L1: the objective, its
    tightest extension for theta without bounds, and in a box. Figure 3: extensions of three losses
    under L2, L1, and L1 in a box.

    Parameters
    ----------
    number : {1, 2, 3}
        Which one.

    Returns
    -------
    matplotlib.figure.Figure

    Notes
    -----
    The norm of L2 is half the square, as in the paper's section 4.2.
    """
    import matplotlib.pyplot as plt

    if number not in (1, 2, 3):
        raise ValueError(f"number={number!r}; the paper has figures 1, 2 and 3.")
    panels = {1: _figure_1, 2: _figure_2, 3: _figure_3}[number]()
    n_rows = len(panels) // 3
    figure, axes = plt.subplots(
        n_rows,
        3,
        figsize=(11, 3.9 * n_rows),
        subplot_kw={"projection": "3d"},
        layout="constrained",
    )
    for ax, letter, (surface, title) in zip(np.ravel(axes), "abcdefghi", panels, strict=False):
        _draw(ax, surface, (-LIMIT, LIMIT), f"({letter}) {title}")
    return figure


def _figure_1() -> list[tuple[Surface, str]]:
    ext = extension("hinge", "l2", C=FIGURE_1_C)
    return [
        (_objective(ext), "objective, not convex"),
        (_zero_between(ext), "0 between the labels"),
        (_values(ext), "tightest convex extension"),
    ]


def _figure_2() -> list[tuple[Surface, str]]:
    free = extension("hinge", "l1", C=FIGURE_2_C)
    boxed = extension("hinge", "l1", C=FIGURE_2_C, box=(-LIMIT, LIMIT))
    return [
        (_objective(free), "objective, not convex"),
        (_values(free), "tightest, theta unbounded"),
        (_values(boxed), "tightest, theta in a box"),
    ]


def _figure_3() -> list[tuple[Surface, str]]:
    panels = []
    for loss, weights in WEIGHTS.items():
        columns = (("l2", None), ("l1", None), ("l1", (-LIMIT, LIMIT)))
        for (regularizer, box), C in zip(columns, weights, strict=True):
            name = f"{loss.replace('_', ' ')}, {regularizer.upper()}{' in a box' if box else ''}"
            ext = extension(loss, regularizer, C=C, box=box)
            panels.append((_values(ext), f"{name}, C = {C:g}"))
    return panels


def _values(ext: Extension) -> Surface:
    def surface(theta: Floats, y: Floats) -> Floats:
        values = ext.value(theta.reshape(-1, 1), y.ravel(), np.ones(1))
        return np.reshape(values, theta.shape)

    return surface


def _objective(ext: Extension) -> Surface:
    """Return the objective with max(0, 1 - (2 y - 1) theta) for all y."""

    def surface(theta: Floats, y: Floats) -> Floats:
        loss = np.maximum(0.0, 1.0 - (2.0 * y - 1.0) * theta)
        regular = 0.5 * theta**2 if ext.regularizer == "l2" else np.abs(theta)
        return regular + ext.C * loss

    return surface


def _zero_between(ext: Extension) -> Surface:
    values = _values(ext)
    return lambda theta, y: np.where((y == 0.0) | (y == 1.0), values(theta, y), 0.0)


def _draw(ax: Any, surface: Surface, limits: tuple[float, float], title: str) -> None:
    theta = np.linspace(*limits, 63)
    y = np.linspace(NEAR_FACE, 1.0 - NEAR_FACE, 41)
    T, Y = np.meshgrid(theta, y)
    faces = [surface(theta, np.full_like(theta, label)) for label in (0.0, 1.0)]
    top = float(np.max(faces))
    style = {"lw": 0.1, "edgecolor": "0.6", "alpha": 0.8, "vmin": -0.15 * top, "vmax": top}
    ax.plot_surface(T, Y, surface(T, Y), cmap=TINT, **style)
    for label, face in enumerate(faces):
        ax.plot(theta, np.full_like(theta, label), face, INK)
    ax.set(xlabel="theta", ylabel="y", yticks=[0, 0.5, 1])
    ax.set_title(title, fontsize="medium")
    ax.set_zlim(bottom=0.0)
    ax.view_init(elev=24, azim=-50)
