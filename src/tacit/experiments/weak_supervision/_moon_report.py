"""Figures of the moons by layout and method, and the targets they are held to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.experiments.targets import Target, markdown_table

__all__ = ["by_method", "counts_of_wins", "method_table", "moon_targets"]

WORDS = {
    "mean_error": "mean label error, %",
    "worst_error": "worst label error, %",
    "worst_ratio": "worst objective over that of the true labels",
    "worst_cpu_s": "longest fit, CPU s",
}
# Objectives are known to the duality gap of the polish, 1e-4; closer ones are the same.
SAME = 2e-4
Rows = Sequence[dict[str, Any]]
Summary = dict[str, dict[str, dict[str, float]]]


def by_method(rows: Rows) -> Summary:
    """Mean and worst figures by layout and method; errors in %, objectives over the truth's."""
    truth = {_instance(row): row["objective"] for row in rows if row["method"] == "truth"}
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        found.setdefault(row["layout"], {}).setdefault(row["method"], []).append(row)
    return {
        layout: {name: _summary(part, truth) for name, part in methods.items()}
        for layout, methods in found.items()
    }


def _instance(row: dict[str, Any]) -> tuple[str, int]:
    return row["layout"], row["seed"]


def _summary(part: Rows, truth: dict[tuple[str, int], float]) -> dict[str, float]:
    error = np.array([100 * row["label_error"] for row in part])
    ratio = np.array([row["objective"] / truth[_instance(row)] for row in part])
    seconds = np.array([row["cpu_s"] for row in part])
    return {
        "instances": len(part),
        "mean_error": float(error.mean()),
        "worst_error": float(error.max()),
        "mean_ratio": float(ratio.mean()),
        "worst_ratio": float(ratio.max()),
        "mean_cpu_s": float(seconds.mean()),
        "worst_cpu_s": float(seconds.max()),
    }


def method_table(summary: Summary, names: dict[str, str], claimed: dict[str, float]) -> str:
    """Return a table in Markdown: a row for each layout and method."""
    head = (
        "layout, method",
        "label error %: mean",
        "worst",
        "published",
        "objective / truth's: mean",
        "worst",
        "CPU s: mean",
        "worst",
    )
    rows = [
        (
            f"{layout}, {names[method]}",
            f"{s['mean_error']:.2f}",
            f"{s['worst_error']:.2f}",
            f"{claimed[method]:g}" if method in claimed else "",
            f"{s['mean_ratio']:.4f}",
            f"{s['worst_ratio']:.4f}",
            f"{s['mean_cpu_s']:.2f}",
            f"{s['worst_cpu_s']:.2f}",
        )
        for layout, methods in summary.items()
        for method, s in methods.items()
    ]
    return markdown_table(head, rows)


def counts_of_wins(rows: Rows) -> dict[str, str]:
    """On how many instances ours is below a baseline, by its objective or its label error."""
    ours = {_instance(row): row for row in rows if row["method"] == "tacit"}
    wins = {}
    for method, figure, same in (("em", "objective", SAME), ("kmeans", "label_error", 0.0)):
        others = [row for row in rows if row["method"] == method]
        change = np.array([ours[_instance(row)][figure] - row[figure] for row in others])
        change[np.abs(change) <= same * np.array([row[figure] for row in others])] = 0.0
        lower, equal, higher = ((np.sign(change) == sign).sum() for sign in (-1, 0, 1))
        wins[f"{figure} against {method}"] = (
            f"lower on {lower}, the same on {equal}, higher on {higher} of {len(others)} instances"
        )
    return wins


def moon_targets(summary: Summary, sheet: dict[str, Any]) -> list[Target]:
    """Return the targets of the sheet beside what was measured of ours."""
    claimed = sheet["claimed"]["tacit"]
    made = []
    for layout, methods in summary.items():
        for figure, lines in sheet["targets"][layout].items():
            value = methods["tacit"][figure]
            what = f"{layout}: {WORDS[figure]}"
            published = claimed if figure == "mean_error" else None
            made.append(Target(what, value, claimed=published, **lines))
    return made
