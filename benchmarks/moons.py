"""Four moons from weak hints, default settings: ``python benchmarks/moons.py``.

Two layouts, two kinds of hints (25 batches of 25 with counts known within 3; one negative label
each and a tree of soft links), ten seeds each. Writes for every instance the label error, the
seconds, and the objective as a ratio to that of the true labels; `--json out.json` keeps them,
`--quick` takes two seeds.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from tacit import HintClassifier, Problem, hints, solve
from tacit.datasets import make_batches, make_four_moons, make_links

KNOWN = {"batches": make_batches, "links": make_links}


def instance(kind: str, layout: str, seed: int) -> dict[str, Any]:
    X, y = make_four_moons(n=600, layout=layout, noise=0.08, random_state=seed)
    known = KNOWN[kind](y, random_state=seed)
    start = time.perf_counter()
    clf = HintClassifier(kernel="rbf", gamma=8, random_state=seed).fit(X, hints=known)
    seconds = time.perf_counter() - start
    true = hints.Labels(np.arange(len(y)), y)
    reference = solve(Problem(X, true + known, gamma=8), random_state=seed).objective
    return {
        "hints": kind,
        "layout": layout,
        "seed": seed,
        "error": float(np.mean(clf.transduction_ != y)),
        "objective_ratio": clf.objective_ / reference,
        "runs": len(clf.solution_.run_objectives),
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the instances here")
    parser.add_argument("--quick", action="store_true", help="two seeds only")
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + (2 if given.quick else 10))
    rows = []
    print("hints    layout  mean error  worst error  worst objective ratio  mean s  worst s")
    for kind in KNOWN:
        for layout in ("chain", "grid"):
            part = [instance(kind, layout, seed) for seed in seeds]
            rows += part
            error, ratio, seconds = (
                np.array([row[k] for row in part]) for k in ("error", "objective_ratio", "seconds")
            )
            print(
                f"{kind:8} {layout:7} {error.mean():9.2%} {error.max():12.2%} {ratio.max():20.4f} "
                f"{seconds.mean():9.1f} {seconds.max():8.1f}",
                flush=True,
            )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
