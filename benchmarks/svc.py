"""Weak and supervised fits against scikit-learn's SVC: ``python benchmarks/svc.py``.

10,000 balanced MNIST rows, rbf kernel, C = 1, one thread, CPU time of the fit alone, all in one
run. The weak fits know k classes that each row does *not* have. `rise` is the test error above that
of the supervised SVC. Weak fits: low rank plus diagonal without polish, and the exact kernel matrix
to a duality gap of 1 %. `--json out.json` keeps the figures, `--quick` takes 2000 rows.
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

WAYS: dict[str, dict[str, Any]] = {
    "low rank 1000": {"approximation": "lowrank", "n_components": 1000, "polish": False},
    "low rank 2000": {"approximation": "lowrank", "n_components": 2000, "polish": False},
    "exact, gap 1e-2": {"tol": 1e-2},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--quick", action="store_true", help="2000 rows, k = 1 and 8")
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
    rows = [{"fit": "SVC, supervised", "k": None, "cpu_s": base, "ratio": 1.0, "rise": 0.0}]
    rows[0]["test_error"] = error
    cases = [(way, 0) for way in WAYS] + [
        (w, k) for k in ((1, 8) if given.quick else (1, 2, 4, 8)) for w in WAYS
    ]
    for way, k in cases:
        known = {"hints": hints.Not(np.arange(len(y)), negatives(y, k, rng))} if k else {"y": y}
        seconds, wrong = timed(ours(**WAYS[way]), **known)
        rows.append(
            {"fit": way, "k": k or None, "cpu_s": seconds, "ratio": seconds / base}
            | {"rise": 100 * (wrong - error), "test_error": wrong}
        )
        print(
            f"{way:18} {'all labels' if not k else f'k = {k}':10} {seconds:6.1f} s "
            f"{seconds / base:6.2f} x SVC ({base:.1f} s)   rise {100 * (wrong - error):+.2f}",
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
