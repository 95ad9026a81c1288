"""Mean accuracies by set, labels, kernel and method, beside the published and the targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.experiments.targets import Target, markdown_table

__all__ = ["accuracy_table", "choice_table", "summarise", "targets_of"]

Rows = Sequence[dict[str, Any]]
PLACE = ("kernel", "labels", "set")


def summarise(rows: Rows) -> list[dict[str, Any]]:
    """One entry for each kernel, number of labels and set, with the figures of every method."""
    found: dict[tuple[Any, ...], dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        of = found.setdefault(tuple(row[key] for key in PLACE), {})
        of.setdefault(row["method"], []).append(row)
    return [
        dict(zip(PLACE, place, strict=True))
        | {"methods": {name: _figures(part) for name, part in methods.items()}}
        for place, methods in found.items()
    ]


def _figures(part: Rows) -> dict[str, float]:
    accuracy = np.array([row["accuracy"] for row in part])
    return {
        "splits": len(part),
        "accuracy": float(accuracy.mean()),
        "deviation": float(accuracy.std()),
        "accuracy_unlabelled": float(np.mean([row["accuracy_unlabelled"] for row in part])),
        "cpu_s": float(np.mean([row["cpu_s"] for row in part])),
    }


def accuracy_table(summary: Rows, claimed: dict[str, Any]) -> str:
    """Return a table in Markdown: published figures, ours, the baselines."""
    methods = list(dict.fromkeys(name for entry in summary for name in entry["methods"]))
    head = ("set, labels, kernel", "published SDP", "ours (3 %)", "ours (20 %)")
    body = []
    for entry in summary:
        kernel, labels, name = (entry[key] for key in PLACE)
        published = (f"{value:.1f}" for value in claimed[kernel][labels][name])
        own = (_cell(entry["methods"].get(method)) for method in methods)
        body.append((f"{name}, {labels}, {kernel}", *published, *own))
    return markdown_table((*head, *methods), body)


def _cell(figures: dict[str, float] | None) -> str:
    """Mean and deviation over all rows, mean over unlabelled ones, splits where not all."""
    if figures is None:
        return ""
    few = "" if figures["splits"] == 12 else f", {figures['splits']:g} of 12"
    means = f"{figures['accuracy']:.1f} ± {figures['deviation']:.1f}"
    return f"{means} ({figures['accuracy_unlabelled']:.1f}{few})"


def choice_table(rows: Rows) -> str:
    """Return a table in Markdown: how often tacit chose which settings."""
    chosen: dict[str, Counter[str]] = {}
    for row in rows:
        if row["method"] == "tacit":
            of = chosen.setdefault(row["chosen"], Counter())
            of[f"{row['kernel']}, {row['labels']}"] += 1
    columns = list(dict.fromkeys(key for of in chosen.values() for key in of))
    body = [(words, *(str(of[key]) for key in columns)) for words, of in sorted(chosen.items())]
    return markdown_table(("chosen", *columns), body)


def targets_of(summary: Rows, sheet: dict[str, Any]) -> list[Target]:
    """Return the lines of the sheet; and at 100 labels the supervised SVM, as a line."""
    made = []
    for entry in summary:
        kernel, labels, name = (entry[key] for key in PLACE)
        value = entry["methods"]["tacit"]["accuracy"]
        claimed = max(sheet["claimed"][kernel][labels][name][1:])
        what = f"{name}, {labels} labels, {kernel}"
        lines = sheet["targets"][kernel][labels][name]
        made.append(Target(what, value, higher=True, claimed=claimed, **lines))
        if labels == 100:
            svm = entry["methods"]["svm"]["accuracy"]
            made.append(Target(f"{what}: above the SVM by", value - svm, must=0.0, higher=True))
    return made
