"""Semi-supervised learning on the benchmark of Chapelle, Schölkopf and Zien, all splits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.datasets import SSL_SETS
from tacit.experiments.base import Cell, Experiment, Report
from tacit.experiments.targets import target_figures, target_table
from tacit.experiments.weak_supervision._ssl_methods import SETTINGS, measure
from tacit.experiments.weak_supervision._ssl_picture import draw_bars
from tacit.experiments.weak_supervision._ssl_report import (
    accuracy_table,
    choice_table,
    summarise,
    targets_of,
)

__all__ = ["SSL"]

SPLITS = 12
METHODS = ("tacit", "inductive", "svm")


class SSL(Experiment):
    """Ours, supervised baselines and the SDP relaxation; linear and RBF kernel, few labels.

    Parameters
    ----------
    sdp_splits : int
        Splits of every set, kernel and number of labels that the relaxation is run on: the first
        ones. It takes minutes where the others take seconds.

    Notes
    -----
    Equation: Sec. 3.3 in 000, Table 1
    Equation: Sec. 4.1 in 004, Table 1
    """

    name = "ssl"
    title = "Semi-supervised learning with few labels"
    source = "000 Table 1 / 004 Table 1"

    def __init__(self, sdp_splits: int = 1) -> None:
        if not (isinstance(sdp_splits, int) and 0 <= sdp_splits <= SPLITS):
            raise ValueError(f"sdp_splits={sdp_splits!r}; expected an integer, 0 to {SPLITS}.")
        self.sdp_splits = sdp_splits

    def settings(self) -> dict[str, Any]:
        """Kernel width, candidates, folds."""
        return SETTINGS

    def cells(self, quick: bool) -> list[Cell]:
        """All splits by every method; those of the relaxation come last."""
        sets, labels, splits = (("bci",), (10,), 1) if quick else (SSL_SETS, (10, 100), SPLITS)
        places: list[Cell] = [
            {"set": name, "labels": count, "kernel": kernel, "split": split}
            for kernel in ("linear", "rbf")
            for count in labels
            for name in sets
            for split in range(splits)
        ]
        sdp: Cell = {"method": "sdp", "iterations": 10 if quick else 100}
        last = [place | sdp for place in places if int(place["split"] or 0) < self.sdp_splits]
        return [place | {"method": m} for m in METHODS for place in places] + last

    def run(self, cell: Cell) -> dict[str, Any]:
        """Label one split by one method."""
        return measure(cell)

    def report(self, rows: Sequence[dict[str, Any]]) -> Report:
        """Mean accuracies beside the published ones, targets, and what was chosen how often."""
        summary = summarise(rows)
        targets = targets_of(summary, self.sheet)
        text = [
            "Accuracy in %, mean over the splits, of all rows, the labelled ones counted as in the "
            "papers; beside it that of the unlabelled rows. Rows are shuffled by split.",
            accuracy_table(summary, self.sheet["claimed"]),
            "tacit averages the same candidates for all sets, weighted by labels hidden in turn; "
            "how often which one weighs most:",
            choice_table(rows),
            target_table(targets),
        ]
        figures = {"cells": summary, "targets": target_figures(targets)}

        def draw(folder: Path) -> list[Path]:
            return [draw_bars(self.name, summary, self.sheet, folder)]

        return Report(figures, "\n\n".join(text), draw)
