"""Digits from k negative labels each, with and without links: 000, Fig. 3."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.experiments.base import Cell, Experiment, Report
from tacit.experiments.targets import Target, markdown_table, target_figures, target_table
from tacit.experiments.weak_supervision._digit_picture import Curves, draw_digits
from tacit.experiments.weak_supervision._digits import SETTINGS, SUPERVISED, measure

__all__ = ["MnistNegative"]

PARTS = {"negatives": "negative labels", "links": "negative labels and links"}
NAMES = {
    "svc": "scikit-learn's SVC, all labels",
    "labels": "tacit, all labels, low rank",
    "quick": "tacit, low rank",
    "exact": "tacit, exact kernel",
    "mean": "tacit, mean of 4 of low rank",
    "em": "hard EM, low rank",
}
WEAK = [name for name in NAMES if name not in SUPERVISED]
KS, QUICK_KS = range(1, 9), (1, 4, 8)
Rows = Sequence[dict[str, Any]]


class MnistNegative(Experiment):
    """Every method on 10,000 balanced digits, for k = 1..8.

    Parameters
    ----------
    seeds : int
        Draws of rows, hints and links.

    Notes
    -----
    Equation: Sec. 3.2 in 000, Fig. 3
    """

    name = "mnist-negative"
    title = "Digits from negative labels"
    source = "000 Fig. 3"

    def __init__(self, seeds: int = 3) -> None:
        if not isinstance(seeds, int) or seeds < 1:
            raise ValueError(f"seeds={seeds!r}; expected an integer, at least 1.")
        self.seeds = seeds

    def settings(self) -> dict[str, Any]:
        """Kernel width, C, cost of a link, landmarks."""
        return SETTINGS

    def cells(self, quick: bool) -> list[Cell]:
        """Supervised machines first, then every weak method for every k, seed and kind of hints."""
        seeds, n, n_test = (1, 1000, 2000) if quick else (self.seeds, 10_000, 10_000)
        cases = [("labels", 0, method) for method in SUPERVISED]
        ks = QUICK_KS if quick else KS
        cases += [(part, k, method) for part in PARTS for k in ks for method in WEAK]
        return [
            {"hints": part, "k": k, "seed": seed, "n": n, "n_test": n_test, "method": method}
            for seed in range(seeds)
            for part, k, method in cases
        ]

    def run(self, cell: Cell) -> dict[str, Any]:
        """Fit one model."""
        return measure(cell)

    def report(self, rows: Rows) -> Report:
        """Rise of the errors above the supervised machine's on the same rows, and the targets."""
        curves, base = _curves(rows), _base(rows)
        errors = [100 * test for test, _ in base.values()]
        targets, claimed = _targets(curves, self.sheet), self.sheet["claimed"]
        text = [
            _explained(errors, claimed),
            _table(curves),
            "The same for the labels of the training rows:",
            _table(curves, "label"),
            "CPU seconds of a fit, mean:",
            _seconds(rows),
            target_table(targets),
        ]
        figures = {
            "supervised_test_error": errors,
            "rise": {part: _plain(found) for part, found in curves.items()},
            "targets": target_figures(targets),
        }

        def draw(folder: Path) -> list[Path]:
            return [draw_digits(self.name, curves, PARTS, NAMES, claimed, folder)]

        return Report(figures, "\n\n".join(text), draw)


def _explained(errors: list[float], claimed: dict[str, Any]) -> str:
    """Say what the figures of the tables are."""
    rise, count = claimed["rise"], len(errors)
    return (
        f"Test error of scikit-learn's SVC with all labels: {np.mean(errors):.2f} % (published: "
        f"{claimed['supervised']:.2f} %). Everything else is how many points above that a test "
        f"error lies on the same rows, mean (worst) over {count} draw{'s' if count > 1 else ''} of "
        f"rows and hints; published for k = 1: up to about {rise['negatives'][1]:g} points, "
        f"{rise['links'][1]:g} with links. Low rank: {SETTINGS['landmarks']} landmarks, or a "
        "fourth of the rows. Nothing is polished but supervised machines and hard EM."
    )


def _base(rows: Rows) -> dict[int, tuple[float, float]]:
    """Test and training error of the supervised machine by seed."""
    return {r["seed"]: (r["test_error"], r["label_error"]) for r in rows if r["method"] == "svc"}


def _curves(rows: Rows) -> dict[str, Curves]:
    """Points above the supervised machine: part -> method -> k -> (test, label) of each seed."""
    base = _base(rows)
    curves: dict[str, Curves] = {}
    for row in rows:
        if row["method"] == "svc":
            continue
        test, label = base[row["seed"]]
        rise = 100 * (row["test_error"] - test), 100 * (row["label_error"] - label)
        part = curves.setdefault(row["hints"], {})
        part.setdefault(row["method"], {}).setdefault(row["k"], []).append(rise)
    return curves


def _plain(found: Curves) -> dict[str, Any]:
    """Return the same for JSON, whose keys are text."""
    return {
        method: {
            str(k): {"test": [test for test, _ in rises], "label": [label for _, label in rises]}
            for k, rises in by_k.items()
        }
        for method, by_k in found.items()
    }


def _table(curves: dict[str, Curves], which: str = "test") -> str:
    """Return a table in Markdown: a row for each kind of hints and method, a column for each k."""
    ks = sorted({k for part in PARTS for by_k in curves[part].values() for k in by_k})
    place = ("test", "label").index(which)
    rows = [
        (NAMES[method], *(_cell([r[place] for r in by_k[0]]) for _ in ks))
        for method, by_k in curves["labels"].items()
    ]
    rows += [
        (f"{PARTS[part]}: {NAMES[method]}", *(_cell([r[place] for r in by_k[k]]) for k in ks))
        for part in PARTS
        for method, by_k in curves[part].items()
    ]
    return markdown_table(("k", *map(str, ks)), rows)


def _cell(values: list[float]) -> str:
    worst = f" ({max(values):+.2f})" if len(values) > 1 else ""
    return f"{np.mean(values):+.2f}{worst}"


def _seconds(rows: Rows) -> str:
    times: dict[str, list[float]] = {}
    for row in rows:
        times.setdefault(row["method"], []).append(row["cpu_s"])
    return markdown_table(
        ("method", "CPU s"),
        [(NAMES[m], f"{np.mean(values):.2f}") for m, values in times.items()],
    )


def _targets(curves: dict[str, Curves], sheet: dict[str, Any]) -> list[Target]:
    """Mean rises beside the lines of the sheet, for every method of ours."""
    made = []
    for part, by_k in sheet["targets"].items():
        for k, lines in by_k.items():
            published = sheet["claimed"]["rise"][part].get(k)
            for method in WEAK:
                rises = curves[part][method].get(k)
                if method == "em" or rises is None:
                    continue
                value = float(np.mean([test for test, _ in rises]))
                what = f"{PARTS[part]}, k = {k}, {NAMES[method]}: rise in points"
                made.append(Target(what, value, claimed=published, **lines))
    return made
