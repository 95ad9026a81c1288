"""Convex extensions beside a conic solver: ``python benchmarks/extensions.py``.

A thousand random instances for each loss, regulariser and kind of box: largest difference to the
conic programme (relative above 1) and largest rise of a tangent plane above the extension, at 40
points for each of y, 0 and 1. Then CPU seconds for many rows at once, beside those of the conic
solver for one row each. `--json out.json` keeps the figures, `--quick` does 100 instances.

Needs Clarabel: ``pip install 'tacit[conic]'``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from checks.extensions import CASES, case_name, conic_value, instance, slope_violation, value_error
from tacit.convex import extension

ROWS, FEATURES = 100_000, 10


def accuracy(case: Any, n_instances: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    errors, rises = [], []
    for _ in range(n_instances):
        ext, theta, y, x = instance(case, rng)
        errors.append(value_error(ext, theta, y, x))
        rises += [slope_violation(ext, theta, label, x, rng) for label in (y, 0.0, 1.0)]
    return {
        "case": case_name(case),
        "instances": n_instances,
        "value_error": max(errors),
        "slope_violation": max(rises),
    }


def seconds(case: Any, n_rows: int) -> dict[str, Any]:
    """CPU time of one call for all rows, and of the conic solver per row."""
    loss, regularizer, box = case
    ext = extension(loss, regularizer, C=3.0, box=(-2.0, 1.5) if box == "box" else None)
    rng = np.random.default_rng(0)
    theta = np.clip(rng.normal(size=FEATURES), *ext.box)
    x, y = rng.normal(size=(n_rows, FEATURES)), rng.random(n_rows)
    start = time.process_time()
    ext.value(theta, y, x)
    value = time.process_time() - start
    start = time.process_time()
    ext.subgradient(theta, y, x)
    slope = time.process_time() - start
    start = time.process_time()
    for i in range(20):
        conic_value(ext, theta, y[i], x[i])
    conic = (time.process_time() - start) / 20
    return {
        "case": case_name(case),
        "rows": n_rows,
        "value_us_per_row": value / n_rows * 1e6,
        "subgradient_us_per_row": slope / n_rows * 1e6,
        "conic_us_per_row": conic * 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="100 instances, 10,000 rows")
    given = parser.parse_args()
    exact, timed = [], []
    print("case                      instances  value error  tangent above")
    for case in CASES:
        row = accuracy(case, 100 if given.quick else 1000)
        exact.append(row)
        print(
            f"{row['case']:25} {row['instances']:9} {row['value_error']:12.1e} "
            f"{row['slope_violation']:14.1e}",
            flush=True,
        )
    print("case                        value  subgradient  conic   (CPU us per row)")
    for case in CASES:
        if case[2] in ("none", "box"):
            row = seconds(case, ROWS // 10 if given.quick else ROWS)
            timed.append(row)
            print(
                f"{row['case']:25} {row['value_us_per_row']:7.2f} "
                f"{row['subgradient_us_per_row']:12.2f} {row['conic_us_per_row']:7.0f}",
                flush=True,
            )
    if given.json:
        given.json.write_text(json.dumps({"accuracy": exact, "time": timed}, indent=1) + "\n")


if __name__ == "__main__":
    main()
