"""Pictures; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.result import History

__all__ = ["plot_history"]


def plot_history(history: History, axes: Any = None) -> Any:
    """Draw how a solve went: objective, residuals, penalty and label changes per iteration.

    Parameters
    ----------
    history : History
        Of a `Solution` or an estimator.
    axes : array of 4 matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(4, 1, figsize=(7, 8), sharex=True, layout="constrained")
    axes = np.ravel(axes)
    if len(axes) != 4:
        raise ValueError(f"axes has {len(axes)} entries; four are needed.")
    x, run = np.arange(len(history)), history.column("run")
    objective, changes = history.column("objective"), history.column("changes")
    for number in history.runs:
        part = run == number
        axes[0].plot(x[part], objective[part], lw=1.2)
    axes[0].set(ylabel="objective", yscale="log")
    for name, label in (("primal", "primal residual"), ("dual", "dual residual")):
        axes[1].plot(x, _positive(history.column(name)), lw=1.0, label=label)
    axes[1].set(ylabel="residual (rms)", yscale="log")
    axes[1].legend(frameon=False, fontsize="small", ncols=2)
    axes[2].plot(x, history.column("rho"), lw=1.2, color="0.3")
    axes[2].set(ylabel="penalty rho", yscale="log")
    axes[3].fill_between(x, changes, step="mid", color="0.6")
    axes[3].set(ylabel="labels changed", yscale="symlog", xlabel="iteration")
    for ax in axes:
        for edge in np.flatnonzero(np.diff(run)):
            ax.axvline(edge + 0.5, color="0.85", lw=0.8, zorder=0)
        ax.spines[["top", "right"]].set_visible(False)
    return axes[0].figure


def _positive(values: Any) -> Any:
    return np.where(values > 0, values, np.nan)
