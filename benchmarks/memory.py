"""Peak memory of fits with the exact kernel matrix in float32: ``python benchmarks/memory.py``.

10,000 balanced MNIST rows, one negative label each; each fit in a process of its own. What counts
is by how much that process grows (after a small fit, which loads and compiles everything). The
limit is 1.3 times the kernel matrix, plus one copy of the data: `ratio` is what the growth leaves
for the kernel matrix, over its size. `--json out.json` keeps the figures, `--quick` takes 4000
rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _mnist import CLASSES, GAMMA, balanced, load, negatives

from tacit import HintClassifier, hints

LIMIT, SMALL, MB = 1.3, 300, 1e6
WAYS: dict[str, dict[str, Any]] = {
    "weak, not polished": {"polish": False},
    "weak, gap 1e-2": {"tol": 1e-2},
    "supervised, gap 1e-2": {"tol": 1e-2},
}


def peak() -> float:
    """Largest memory of this process so far, in bytes."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(size if sys.platform == "darwin" else 1024 * size)


def measure(way: str, folder: Path) -> dict[str, Any]:
    """Fit in this process, which reads nothing but the rows it needs."""
    X, y, wrong = (np.load(folder / f"{name}.npy") for name in ("X", "y", "wrong"))

    def fit(n: int) -> None:
        known = {"hints": hints.Not(np.arange(n), wrong[:n])}
        if way.startswith("supervised"):
            known = {"y": y[:n]}
        HintClassifier(
            range(CLASSES), gamma=GAMMA, dtype="float32", random_state=0, **WAYS[way]
        ).fit(X[:n], **known)

    fit(SMALL)
    before = peak()
    fit(len(X))
    growth, kernel, data = peak() - before, 4.0 * len(X) ** 2, float(X.nbytes)
    if growth < kernel:
        raise SystemExit(f"grew by {growth / MB:.0f} MB, less than the kernel matrix has")
    return {
        "fit": way,
        "rows": len(X),
        "growth_mb": growth / MB,
        "kernel_mb": kernel / MB,
        "data_mb": data / MB,
        "ratio": (growth - data) / kernel,
        "limit": LIMIT,
    }


def write_rows(n: int, folder: Path) -> None:
    """Draw rows and hints."""
    rng = np.random.default_rng(0)
    X, y, _, _ = load()
    chosen = balanced(y, n, rng)
    parts = {"X": X[chosen], "y": y[chosen], "wrong": negatives(y[chosen], 1, rng)}
    for name, part in parts.items():
        np.save(folder / f"{name}.npy", part)


def in_a_process(*arguments: str) -> str:
    """Run this file again; what it prints.

    Reading all digits is such a process too: a process inherits the peak of the one that starts it.
    """
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--quick", action="store_true", help="4000 rows")
    parser.add_argument("--way", choices=list(WAYS), help="one fit in this process")
    parser.add_argument("--write-rows", action="store_true", help="only draw rows and hints")
    parser.add_argument("--folder", type=Path, help="of rows and hints, for these two")
    given = parser.parse_args()
    if given.way:
        print(json.dumps(measure(given.way, given.folder)))
        return
    if given.write_rows:
        write_rows(4000 if given.quick else 10_000, given.folder)
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        quick = ["--quick"] if given.quick else []
        in_a_process("--write-rows", "--folder", folder, *quick)
        for way in WAYS:
            r = json.loads(in_a_process("--way", way, "--folder", folder))
            rows.append(r)
            print(
                f"{way:22} grew by {r['growth_mb']:5.0f} MB: {r['ratio']:.2f} x the kernel's "
                f"{r['kernel_mb']:.0f} MB beside {r['data_mb']:.0f} MB of rows (limit {LIMIT})",
                flush=True,
            )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
