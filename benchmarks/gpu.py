"""Weak fits on a GPU, from rows in its memory to the model: ``python benchmarks/gpu.py``.

MNIST, one class that each row does not have, rbf kernel, C = 1, one-vs-all hinge, float32:
60,000 rows by low rank plus diagonal and by the exact kernel matrix, 1,000,000 rows (the same with
random shifts of up to two pixels) by low rank. Seconds by phase, peak memory of the device, test
error. Without a GPU it says so and measures nothing; `--device cpu --quick` tries it on the
processor, with 3000 rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from _mnist import CLASSES, GAMMA, load, negatives

from tacit import HintClassifier, hints

try:
    import torch
except ImportError:
    torch = None

QUICK = 3000


def wait(device: str) -> float:
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter()


def shifted(X: Any, y: np.ndarray, n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Return n rows, drawn again and moved by up to two pixels each way."""
    source = rng.integers(len(X), size=n)
    dx, dy = rng.integers(-2, 3, (2, n))
    images = X.reshape(-1, 28, 28)
    out = torch.empty((n, 784), dtype=X.dtype, device=X.device)
    for a in range(-2, 3):
        for b in range(-2, 3):
            chosen = np.flatnonzero((dx == a) & (dy == b))
            part = images[torch.from_numpy(source[chosen]).to(X.device)]
            out[torch.from_numpy(chosen).to(X.device)] = torch.roll(part, (a, b), (1, 2)).reshape(
                len(chosen), -1
            )
    return out, y[source]


def run(
    name: str, X: Any, y: np.ndarray, test: Any, device: str, **settings: Any
) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    known = hints.Not(np.arange(len(y)), negatives(y, 1, rng))
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if device != "cpu" else 0
    started = wait(device)
    steps: list[float] = []
    model = HintClassifier(
        range(CLASSES),
        gamma=GAMMA,
        dtype="float32",
        random_state=0,
        callback=lambda i: steps.append(wait(device)) and None,
        **settings,
    ).fit(X, hints=known)
    seconds = wait(device) - started
    peak = torch.cuda.max_memory_allocated() - before if device != "cpu" else 0
    X_test, y_test = test
    wrong = float(np.mean(model.predict(X_test) != y_test))
    row = {
        "case": name,
        "rows": len(y),
        "seconds": seconds,
        "set_up_s": steps[0] - started,
        "iterations_s": steps[-1] - steps[0],
        "iterations": len(steps),
        "finish_s": started + seconds - steps[-1],
        "test_error": wrong,
        "label_error": float(np.mean(model.transduction_ != y)),
        "fixed_gap": model.solution_.fixed_gap,
        "peak_gb": peak / 1e9,
    }
    print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    return row


def missing(device: str) -> str:
    """Say what is missing; "" for nothing."""
    if torch is None:
        return "benchmarks/gpu.py needs PyTorch: pip install 'tacit[torch]'."
    if device.startswith("cuda") and not torch.cuda.is_available():
        return "no GPU that PyTorch can use; nothing is measured. Try --device cpu --quick."
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--device", help="where to compute, cuda by default")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--skip-exact", action="store_true")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} rows in place of all")
    given = parser.parse_args()
    asked, given.device = given.device, given.device or "cuda"
    if said := missing(given.device):
        print(said, file=sys.stderr)
        sys.exit(int(asked is not None))  # what was asked for cannot be done
    if given.quick:
        given.rows, given.many = QUICK, QUICK
    X_all, y_all, X_test, y_test = load()
    place = torch.device(given.device)
    X = torch.from_numpy(X_all[: given.rows]).to(place)
    y = y_all[: given.rows]
    test = torch.from_numpy(X_test).to(place), y_test
    quick = {"approximation": "lowrank", "polish": False}
    rank = min(4000, given.rows // 4)
    run("warm up", X[:3000], y[:3000], test, given.device, n_components=500, **quick)
    rows = []
    for m in dict.fromkeys((min(1000, rank), rank)):
        rows.append(run(f"low rank {m}", X, y, test, given.device, n_components=m, **quick))
    if not given.skip_exact:
        rows.append(run("exact, no polish", X, y, test, given.device, polish=False))
        rows.append(run("exact, gap 1e-2", X, y, test, given.device, tol=1e-2))
    if given.many:
        X_many, y_many = shifted(X, y, given.many, np.random.default_rng(1))
        del X
        rows.append(
            run(f"low rank {rank}", X_many, y_many, test, given.device, n_components=rank, **quick)
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
