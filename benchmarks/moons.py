"""Four moons from weak hints on any seeds, default settings: ``python benchmarks/moons.py``.

`tacit reproduce moons-balance` and `moons-negative` measure ten instances beside the baselines;
this measures ours alone on as many others as are asked for: label error, CPU seconds, and the
objective as a ratio to that of the true labels. `--json out.json` keeps them, `--quick` takes two
seeds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from tacit.experiments.weak_supervision._moons import LAYOUTS, measure

KINDS = ("batches", "links")


def instance(kind: str, layout: str, seed: int) -> dict[str, Any]:
    cell = {"layout": layout, "seed": seed, "n": 600}
    ours, truth = (
        measure(kind, cell | {"method": method}, course=True) for method in ("tacit", "truth")
    )
    return {
        "hints": kind,
        "layout": layout,
        "seed": seed,
        "error": ours["label_error"],
        "objective_ratio": ours["objective"] / truth["objective"],
        "runs": len(ours["course"]),
        "seconds": ours["cpu_s"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the instances here")
    parser.add_argument("--quick", action="store_true", help="two seeds only")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + (2 if given.quick else given.seeds))
    rows = []
    print("hints    layout  mean error  worst error  worst objective ratio  mean s  worst s")
    for kind in KINDS:
        for layout in LAYOUTS:
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
