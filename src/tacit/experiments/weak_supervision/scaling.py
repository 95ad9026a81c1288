"""CPU time against the number of rows: ours, the SDP relaxation, and supervised machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.experiments.base import Cell, Experiment, Report
from tacit.experiments.targets import Target, markdown_table, target_figures, target_table
from tacit.experiments.weak_supervision._scaling_picture import draw_scaling
from tacit.experiments.weak_supervision._scaling_work import SETTINGS, compare, growth

__all__ = ["Scaling"]

Rows = Sequence[dict[str, Any]]
KERNELS = ("linear", "rbf")
SETS = ("g241c", "digit1")
# Rows of the full and of the quick run, by method and kernel.
SIZES = {
    ("tacit", "linear"): ((1000, 2000, 4000, 8000), (200, 400)),
    ("tacit", "rbf"): ((500, 1000, 2000, 4000), (200, 400)),
    ("svc", "linear"): ((1000, 2000, 4000, 8000), (200, 400)),
    ("svc", "rbf"): ((500, 1000, 2000, 4000, 8000), (200, 400)),
    ("sdp", "linear"): ((250, 500, 1000), (100, 200)),
    ("sdp", "rbf"): ((250, 500, 1000), (100, 200)),
}
ITERATIONS = (100, 5)
SPLITS = (1, 1)
COMPARED = (1500, 150)


class Scaling(Experiment):
    """Times of one fit; exponents by least squares in logarithms.

    Notes
    -----
    Equation: Sec. 3.3 in 000, time against the SDP relaxation
    """

    name = "scaling"
    title = "CPU time against the number of rows"
    revision = 2
    source = "000 Sec. 1.1 and 2 (growth of the work), Sec. 3.3 (the relaxation)"

    def settings(self) -> dict[str, Any]:
        """Return what is known about the rows, and kernel widths."""
        return SETTINGS

    def cells(self, quick: bool) -> list[Cell]:
        """Fits to digits; then fits beside the relaxation."""
        made: list[Cell] = []
        for (method, kernel), sizes in SIZES.items():
            for classes in (2,) if method == "sdp" or quick else (2, 10):
                for n in sizes[quick]:
                    cell: Cell = {"part": "growth", "method": method, "kernel": kernel}
                    cell |= {"classes": classes, "n": n}
                    made.append(cell | _iterations(method, quick))
        for name in SETS[: 1 if quick else None]:
            for kernel in KERNELS:
                for split in range(SPLITS[quick]):
                    for method in ("one start", "default", "sdp"):
                        cell = {"part": "sdp", "method": method, "kernel": kernel, "set": name}
                        cell |= {"split": split, "n": COMPARED[quick]}
                        made.append(cell | _iterations(method, quick))
        return made

    def run(self, cell: Cell) -> dict[str, Any]:
        """Time one fit."""
        return growth(cell) if cell["part"] == "growth" else compare(cell)

    def report(self, rows: Rows) -> Report:
        """Summarise times, exponents, and the targets."""
        curves = _curves([row for row in rows if row["part"] == "growth"])
        pairs = _pairs([row for row in rows if row["part"] == "sdp"])
        targets = _targets(pairs, self.sheet["targets"])
        text = [
            "CPU seconds of one fit with one thread. tacit knows ten labels of each class, and the "
            "share of each class within a tenth; svc knows all labels.",
            _curve_table(curves, self.sheet["claimed"]),
            "One start of tacit without reheats, its default settings, and the rounded "
            "relaxation, on sets of the SSL benchmark with 10 labels; the same softmax objective "
            "for all.",
            _pair_table(pairs),
            target_table(targets),
        ]
        figures = {"growth": curves, "pairs": pairs, "targets": target_figures(targets)}

        def draw(folder: Path) -> list[Path]:
            return [draw_scaling(curves, pairs, folder / f"{self.name}.png")]

        return Report(figures, "\n\n".join(text), draw)


def _iterations(method: str, quick: bool) -> Cell:
    return {"iterations": ITERATIONS[quick]} if method == "sdp" else {}


def _curves(rows: Rows) -> list[dict[str, Any]]:
    """Collect times by method, kernel and number of classes, and fit the exponent."""
    found: dict[tuple[str, str, int], list[tuple[int, float]]] = {}
    for row in rows:
        key = (row["method"], row["kernel"], row["classes"])
        found.setdefault(key, []).append((row["n"], row["cpu_s"]))
    return [
        {
            "method": method,
            "kernel": kernel,
            "classes": classes,
            "n": [n for n, _ in points],
            "cpu_s": [s for _, s in points],
            "exponent": exponent([n for n, _ in points], [s for _, s in points]),
        }
        for (method, kernel, classes), points in found.items()
    ]


def exponent(n: Sequence[float], seconds: Sequence[float]) -> float:
    """Least-squares slope of log time against log n."""
    x, y = np.log(np.asarray(n, float)), np.log(np.asarray(seconds, float))
    x = x - x.mean()
    return float(x @ y / (x @ x))


def _pairs(rows: Rows) -> list[dict[str, Any]]:
    """Ours over the relaxation: for each set, kernel and split."""
    found: dict[tuple[str, str, int], dict[str, dict[str, Any]]] = {}
    for row in rows:
        key = (row["set"], row["kernel"], row["split"])
        found.setdefault(key, {})[row["method"]] = row
    return [
        {"set": name, "kernel": kernel, "split": split}
        | {
            f"{method} {figure}": row[figure]
            for method, row in methods.items()
            for figure in ("cpu_s", "objective", "accuracy")
        }
        | {"relax iterations": methods["sdp"]["relax_iterations"]}
        | {"100 iterations cpu_s": _hundred(methods["sdp"])}
        for (name, kernel, split), methods in found.items()
    ]


def _hundred(row: dict[str, Any]) -> float:
    """CPU seconds of 100 iterations; the relaxation may settle before."""
    return float(100.0 * row["relax_cpu_s"] / row["relax_iterations"])


def _targets(pairs: list[dict[str, Any]], lines: dict[str, Any]) -> list[Target]:
    made = []
    for kernel in KERNELS:
        part = [pair for pair in pairs if pair["kernel"] == kernel]
        for time, words, line in (
            ("100 iterations", "100 iterations of the relaxation", lines["speed"][kernel]),
            ("sdp", "the relaxation until it settles, rounded", {}),
        ):
            ratio = min(pair[f"{time} cpu_s"] / pair["one start cpu_s"] for pair in part)
            what = f"{kernel}: least time of {words}, over one start of tacit"
            made.append(Target(what, ratio, higher=True, **line))
        for method in ("one start", "default"):
            excess = max(pair[f"{method} objective"] / pair["sdp objective"] for pair in part)
            what = f"{kernel}: largest objective of tacit ({method}) over the relaxation's"
            line = lines["objective"] if method == "default" else {}
            made.append(Target(what, excess, **line))
    return made


def _curve_table(curves: list[dict[str, Any]], claimed: dict[str, float]) -> str:
    head = ("method, kernel, classes", "N: CPU s", "exponent", "the paper's")
    rows = [
        (
            f"{c['method']}, {c['kernel']}, {c['classes']}",
            ", ".join(f"{n}: {s:.2g}" for n, s in zip(c["n"], c["cpu_s"], strict=True)),
            f"{c['exponent']:.2f}",
            f"{claimed[key]:g}" if (key := f"{c['method']} {c['kernel']}") in claimed else "",
        )
        for c in curves
    ]
    return markdown_table(head, rows)


def _pair_table(pairs: list[dict[str, Any]]) -> str:
    methods = ("one start", "default", "sdp")
    head = ["set, kernel, split"]
    head += [f"{m} {f}" for f in ("CPU s", "objective", "accuracy %") for m in methods]
    head += ["iterations of sdp", "100 of them, CPU s"]
    rows = [
        (
            f"{p['set']}, {p['kernel']}, {p['split'] + 1}",
            *(f"{p[f'{m} cpu_s']:.2f}" for m in methods),
            *(f"{p[f'{m} objective']:.4f}" for m in methods),
            *(f"{100 * p[f'{m} accuracy']:.1f}" for m in methods),
            str(p["relax iterations"]),
            f"{p['100 iterations cpu_s']:.1f}",
        )
        for p in pairs
    ]
    return markdown_table(head, rows)
