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
    return {
        "fit": way,
        "rows": len(X),
        "growth_mb": growth / MB,
        "kernel_mb": kernel / MB,
        "data_mb": data / MB,
        "ratio": (growth - data) / kernel,
        "limit": LIMIT,
    }


def in_a_process(way: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--way", way, "--rows-in", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{way}: {done.stderr.strip()}")
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--quick", action="store_true", help="4000 rows")
    parser.add_argument("--way", choices=list(WAYS), help="one fit in this process")
    parser.add_argument("--rows-in", type=Path, help="folder of the rows for it")
    given = parser.parse_args()
    if given.way:
        print(json.dumps(measure(given.way, given.rows_in)))
        return
    rng = np.random.default_rng(0)
    X, y, _, _ = load()
    chosen = balanced(y, 4000 if given.quick else 10_000, rng)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        parts = {"X": X[chosen], "y": y[chosen], "wrong": negatives(y[chosen], 1, rng)}
        for name, part in parts.items():
            np.save(Path(folder) / f"{name}.npy", part)
        for way in WAYS:
            rows.append(in_a_process(way, Path(folder)))
            r = rows[-1]
            print(
                f"{way:22} grew by {r['growth_mb']:5.0f} MB: {r['ratio']:.2f} x the kernel's "
                f"{r['kernel_mb']:.0f} MB beside {r['data_mb']:.0f} MB of rows (limit {LIMIT})",
                flush=True,
            )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
