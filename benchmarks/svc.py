"""Weak and supervised fits against scikit-learn's SVC: ``python benchmarks/svc.py``.

10,000 balanced MNIST rows, rbf kernel, C = 1, one thread, CPU time of the fit alone, all in one
run. The weak fits know k classes that each row does *not* have, drawn three times; `rise` is the
test error above that of the supervised SVC in points, mean and worst. Low rank plus diagonal with
1500 landmarks (what 10,000 rows get by default) and with 1000; the exact kernel matrix; all of them
as the search for labels leaves them. One fit to all labels and one weak one are polished besides.
`--json out.json` keeps the figures, `--quick` takes 2000 rows and one draw.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from _mnist import CLASSES, GAMMA, balanced, load, negatives
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from tacit import HintClassifier, hints

LOW: dict[str, Any] = {"approximation": "lowrank"}
KS = (1, 2, 4, 8)
AS_LEFT: dict[str, dict[str, Any]] = {
    "low rank": {"polish": False, **LOW},
    "low rank, 1000": {"polish": False, "n_components": 1000, **LOW},
    "exact": {"polish": False},
}
POLISHED: dict[str, dict[str, Any]] = {
    "low rank, gap 1e-2": {"tol": 1e-2, **LOW},
    "exact, gap 1e-2": {"tol": 1e-2},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--quick", action="store_true", help="2000 rows, one draw")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    threadpool_limits(1)
    X_all, y_all, X_test, y_test = load()
    rng = np.random.default_rng(given.seed)
    chosen = balanced(y_all, 2000 if given.quick else 10_000, rng)
    X, y = X_all[chosen], y_all[chosen]

    def timed(model: Any, **known: Any) -> tuple[float, float]:
        start = time.process_time()
        model.fit(X, **known)
        seconds = time.process_time() - start
        return seconds, float(np.mean(model.predict(X_test) != y_test))

    def ours(**settings: Any) -> HintClassifier:
        return HintClassifier(
            range(CLASSES), gamma=GAMMA, dtype="float32", random_state=given.seed, **settings
        )

    ours().fit(X[:200], y[:200])  # compile
    base, error = timed(SVC(gamma=GAMMA, C=1.0, cache_size=1000), y=y)
    rows = [{"fit": "SVC", "k": None, "cpu_s": base, "ratio": 1.0, "test_error": error}]
    draws = 1 if given.quick else 3
    weak = [(k, way, draws) for k in KS for way in AS_LEFT]
    cases = weak + [(0, way, 1) for way in POLISHED] + [(1, "exact, gap 1e-2", 1)]
    for k, way, count in cases:
        fits = []
        for _ in range(count):
            known = {"hints": hints.Not(np.arange(len(y)), negatives(y, k, rng))} if k else {"y": y}
            fits.append(timed(ours(**(AS_LEFT | POLISHED)[way]), **known))
        seconds = float(np.mean([s for s, _ in fits]))
        rises = [100 * (wrong - error) for _, wrong in fits]
        rows.append(
            {"fit": way, "k": k or None, "cpu_s": seconds, "ratio": seconds / base}
            | {"rise": float(np.mean(rises)), "worst_rise": max(rises), "draws": count}
        )
        print(
            f"{way:18} {'all labels' if not k else f'k = {k}':10} {seconds:6.2f} s "
            f"{seconds / base:6.2f} x SVC ({base:.1f} s)   rise {np.mean(rises):+.2f}"
            + (f", worst {max(rises):+.2f}" if count > 1 else ""),
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
