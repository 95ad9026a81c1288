"""What both experiments on four moons have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.experiments.base import Cell, Experiment, Report
from tacit.experiments.targets import target_figures, target_table
from tacit.experiments.weak_supervision._moon_picture import Shown, draw_moons
from tacit.experiments.weak_supervision._moon_report import (
    by_method,
    counts_of_wins,
    method_table,
    moon_targets,
)
from tacit.experiments.weak_supervision._moons import LAYOUTS, SETTINGS, measure

__all__ = ["NAMES", "MoonsExperiment"]

NAMES = {
    "tacit": "tacit",
    "em": "hard EM, best of 20",
    "kmeans": "constrained kernel k-means, best of 20",
    "hints": "hints alone",
    "truth": "true labels",
}


class MoonsExperiment(Experiment):
    """Every method on instances of both layouts.

    Parameters
    ----------
    seeds : int
        Instances of each layout.
    first_seed : int
        Seed of the first one: another number gives instances that nobody has seen.

    Attributes
    ----------
    kind : str
        What is known, see `Moons.make`.
    names : dict of str to str
        Methods, in words.
    panels : tuple of str
        Methods whose answers are drawn, as in the paper's figure.
    """

    kind: str
    names: dict[str, str] = NAMES
    panels: tuple[str, ...]

    def __init__(self, seeds: int = 10, first_seed: int = 0) -> None:
        for name, value, least in (("seeds", seeds, 1), ("first_seed", first_seed, 0)):
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{name}={value!r}; expected an integer, at least {least}.")
        self.seeds = range(first_seed, first_seed + seeds)

    def settings(self) -> dict[str, Any]:
        """Noise, kernel width, starts of the baselines."""
        return SETTINGS

    def cells(self, quick: bool) -> list[Cell]:
        """Every method on every instance."""
        seeds, n = (self.seeds[:1], 120) if quick else (self.seeds, 600)
        return [
            {"layout": layout, "seed": seed, "n": n, "method": method, "drawn": seed == seeds[0]}
            for layout in LAYOUTS
            for seed in seeds
            for method in self.names
        ]

    def run(self, cell: Cell) -> dict[str, Any]:
        """Fit one method to one instance; the first of each layout is drawn."""
        return measure(self.kind, cell, course=bool(cell["drawn"]))

    def report(self, rows: Sequence[dict[str, Any]]) -> Report:
        """Errors, objectives and times by method, and the targets."""
        summary = by_method(rows)
        wins = counts_of_wins(rows)
        targets = moon_targets(summary, self.sheet)
        text = [
            "Published errors are of one instance. Objectives are of a classifier fitted to a "
            "method's labels, divided by that for the true labels.",
            method_table(summary, self.names, self.sheet["claimed"]),
            "\n".join(f"tacit: {what}: {count}." for what, count in wins.items()),
            target_table(targets),
        ]
        figures = {"methods": summary, "wins": wins, "targets": target_figures(targets)}

        shown = Shown(self.name, self.kind, self.names, self.panels)

        def draw(folder: Path) -> list[Path]:
            return [draw_moons(shown, rows, layout, folder) for layout in summary]

        return Report(figures, "\n\n".join(text), draw)
