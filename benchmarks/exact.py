"""Time exact solutions of two-class problems: ``python benchmarks/exact.py``.

Two normal clouds at a distance of `sep` deviations to each side, six known labels, classes even but
for two rows, hinge loss, linear kernel. Each instance is solved three times: as users do, from an
infinite incumbent without looking for labelings, and with another branching rule. All three must
find the same objective. `C` weighs the sum of the losses, or with `mean` their mean times C, as in
Shcherbatyi and Andres: a far stronger regulariser. Seconds are those of the process (CPU), after
compilation. `--json out.json` keeps the figures, `--quick` takes one seed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from tacit import Problem, hints
from tacit.convex import BranchAndBound

Row = dict[str, Any]

# Rows, features, C; and whether this is a target (three seconds) or there to be seen.
SIZES = ((60, 5, 3.0), (60, 2, 30.0), (100, 5, 3.0))
SEPARATIONS = (0.5, 1.0, 1.5)
KNOWN, SLACK = 6, 2
WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "no incumbent": {"heuristic": False},
    "other rule": {"rule": "margin"},
}
AGREE = 2e-6


def instance(n: int, d: int, C: float, sep: float, form: str, seed: int) -> Problem:
    """Two clouds with bounds on the counts and some labels."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.standard_normal((n, d))
    X[:, 0] += sep * (2 * y - 1)
    rows = rng.choice(n, KNOWN, replace=False)
    even = hints.Count([np.arange(n)], [n // 2 - SLACK] * 2, [n // 2 + SLACK] * 2)
    nu = 1.0 / (2.0 * C) if form == "sum" else n / (2.0 * C)
    known = hints.Labels(rows, y[rows]) + even
    return Problem(X, known, kernel="linear", nu=nu, classes=[0, 1])


def run(problem: Problem, limit: float, options: dict[str, Any]) -> Row:
    """Search to the end, or as long as allowed."""
    started = time.process_time()
    search = BranchAndBound(problem, **options)
    while not search.done and time.process_time() - started < limit:
        search.step(20)
    return {
        "seconds": time.process_time() - started,
        "nodes": search.nodes,
        "objective": search.upper,
        "bound": search.lower,
        "root": search.root / search.upper,
        "done": search.done,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="one seed only")
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--limit", type=float, default=30.0, help="CPU seconds of one search")
    parser.add_argument("--forms", nargs="+", default=["sum", "mean"], choices=["sum", "mean"])
    given = parser.parse_args()
    for shared in (False, True):  # compile
        run(instance(12, 2, 1.0, 0.5, "sum", 0), 60.0, {"shared": shared})
    rows: list[Row] = []
    print("form    n  d   C  sep seed  way           seconds   nodes   root  gap left  agrees")
    for form in given.forms:
        for n, d, C in SIZES:
            for sep in SEPARATIONS:
                for seed in range(1 if given.quick else given.seeds):
                    rows += cell(n, d, C, sep, form, seed, given.limit)
    if given.json:
        given.json.write_text(json.dumps({"rows": rows}, indent=1), encoding="utf-8")


def cell(n: int, d: int, C: float, sep: float, form: str, seed: int, limit: float) -> list[Row]:
    """All ways on one instance, printed."""
    problem = instance(n, d, C, sep, form, seed)
    found: list[Row] = []
    for way, options in WAYS.items():
        row = run(problem, limit, options)
        gap = (row["objective"] - row["bound"]) / abs(row["objective"])
        near = abs(row["objective"] - found[0]["objective"]) if found else 0.0
        agrees = near <= AGREE * abs(row["objective"]) if row["done"] else None
        keys = {"form": form, "n": n, "d": d, "C": C, "sep": sep, "seed": seed, "way": way}
        found.append(keys | row | {"gap": gap, "agrees": agrees})
        verdict = {True: "yes", False: "NO", None: "-"}[agrees]
        print(
            f"{form:4} {n:4} {d:2} {C:3.0f} {sep:4.1f} {seed:4}  {way:12} {row['seconds']:8.2f} "
            f"{row['nodes']:7} {row['root']:6.3f}  {gap:8.1e}  {verdict}",
            flush=True,
        )
    return found


if __name__ == "__main__":
    main()
