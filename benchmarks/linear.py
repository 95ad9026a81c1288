"""A linear model from counts of a million rows: ``python benchmarks/linear.py``.

N = 1,000,000 rows, d = 50, C = 5, default settings, one thread. Two hints: counts within 3 in
disjoint groups of 100 rows, and one share within 2 % of all rows. Shares that are nearly the same
for all classes do not say which class is which: the label error is that of the best matching of
names. Each fit runs in a process of its own; `peak GB` is all its memory, data included.
`--json out.json` keeps the figures, `--quick` takes 50,000 rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from tacit import HintClassifier, hints

WIDTH, CLASSES, GROUP = 50, 5, 100
KINDS = ("groups", "share")


def instance(kind: str, n: int, seed: int) -> dict[str, Any]:
    """Make the data, fit, and measure; 0.6 x a standard normal mean per class and noise 1."""
    threadpool_limits(1)
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    X = rng.standard_normal((n, WIDTH))
    X += 0.6 * rng.standard_normal((CLASSES, WIDTH))[y]
    share = np.bincount(y, minlength=CLASSES) / n
    known: hints.Hint = hints.Share(share - 0.02, share + 0.02)
    if kind == "groups":
        group = rng.permutation(n) // GROUP
        tally = np.zeros((group.max() + 1, CLASSES), int)
        np.add.at(tally, (group, y), 1)
        known = hints.Count(group, tally - 3, tally + 3)
    clf = HintClassifier(range(CLASSES), kernel="linear", random_state=seed)
    start, cpu = time.perf_counter(), time.process_time()
    clf.fit(X, hints=known)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    table = np.zeros((CLASSES, CLASSES))
    np.add.at(table, (clf.transduction_, y), 1)
    matched = table[linear_sum_assignment(-table)].sum()
    return {
        "hints": kind,
        "n": n,
        "seed": seed,
        "seconds": seconds,
        "cpu_s": cpu,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "error": 1.0 - (matched if kind == "share" else np.trace(table)) / n,
        "objective": clf.objective_,
        "gap": clf.solution_.fixed_gap,
        "converged": clf.converged_,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="50,000 rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", choices=KINDS, help="fit in this process, print JSON")
    given = parser.parse_args()
    n = 50_000 if given.quick else 1_000_000
    if given.one:
        print(json.dumps(instance(given.one, n, given.seed)))
        return
    rows = []
    print("hints   rows     seconds  cpu s  peak GB  label error  gap")
    for kind in KINDS:
        command = [sys.executable, __file__, "--one", kind, "--seed", str(given.seed)]
        command += ["--quick"] if given.quick else []
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        row = json.loads(done.stdout)
        rows.append(row)
        print(
            f"{kind:7} {n:8} {row['seconds']:8.1f} {row['cpu_s']:6.1f} {row['peak_gb']:8.2f} "
            f"{row['error']:12.2%}  {row['gap']:.1e}",
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
