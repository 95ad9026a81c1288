"""Time the oracles beside the tools one would use instead: ``python benchmarks/oracles.py``.

Every engine runs in its own process with one thread (ortools and highspy need not get along), on
costs made from the same seed. Times are per solve, medians over the steps, without imports and
compilation; ours and theirs include handing the costs over. `--json out.json` keeps the figures,
`--quick` leaves out the large sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
N_CLASSES = 10
DRIFT = 0.02
# OR-tools takes integer costs.
INTEGER_SCALE = 1e6
# Cold HiGHS takes seconds at 10,000 rows.
HIGHS_MAX_ROWS = 10_000


def median_ms(seconds: list[float]) -> float | None:
    """Return the median in milliseconds."""
    return float(np.median(seconds)) * 1e3 if seconds else None


# --- Count-bounded assignment ---------------------------------------------------------------------


def assignment_costs(n: int, skew: float, n_steps: int) -> Iterator[np.ndarray]:
    """Costs of each step: standard normal plus class offsets 0 .. skew, then drifting."""
    rng = np.random.default_rng(0)
    cost = rng.normal(size=(n, N_CLASSES)) + np.linspace(0.0, skew, N_CLASSES)
    for _ in range(n_steps):
        yield cost
        cost = cost + DRIFT * rng.normal(size=cost.shape)


def assignment_bounds(n: int) -> tuple[int, int]:
    """Return bounds of 5 % around an even share."""
    return int(np.floor(0.95 * n / N_CLASSES)), int(np.ceil(1.05 * n / N_CLASSES))


def assignment_tacit(n: int, skew: float, n_steps: int) -> Row:
    """Our oracle, keeping its prices; compiled before by a small instance."""
    from tacit.hints._program import Counts, LabelProgram
    from tacit.oracles.assignment import AssignmentOracle

    def oracle(size: int) -> AssignmentOracle:
        low, high = assignment_bounds(size)
        bounds = np.full((1, N_CLASSES), low), np.full((1, N_CLASSES), high)
        counts = Counts(np.array([0, size]), np.arange(size), *bounds)
        return AssignmentOracle(LabelProgram(size, N_CLASSES, counts=counts))

    oracle(100).solve(next(assignment_costs(100, skew, 1)))
    kept, times, values, gap = oracle(n), [], [], 0.0
    for cost in assignment_costs(n, skew, n_steps):
        start = time.perf_counter()
        result = kept.solve(cost)
        times.append(time.perf_counter() - start)
        values.append(result.value)
        gap = max(gap, (result.value - result.bound) / abs(result.value))
        assert result.exact
    return {"times": times, "values": values, "gap": gap}


def assignment_ortools(n: int, skew: float, n_steps: int) -> Row:
    """Min-cost flow, rebuilt for each step; lower bounds as demands of the class nodes."""
    from ortools.graph.python import min_cost_flow

    low, high = assignment_bounds(n)
    row, klass = np.divmod(np.arange(n * N_CLASSES), N_CLASSES)
    classes, sink = n + np.arange(N_CLASSES), n + N_CLASSES
    tail = np.concatenate([row, classes])
    head = np.concatenate([n + klass, np.full(N_CLASSES, sink)])
    room = np.concatenate([np.ones(n * N_CLASSES, int), np.full(N_CLASSES, high - low)])
    supply = np.concatenate([np.ones(n, int), np.full(N_CLASSES, -low), [low * N_CLASSES - n]])
    times, values = [], []
    for cost in assignment_costs(n, skew, n_steps):
        start = time.perf_counter()
        unit = np.concatenate(
            [np.rint(cost.ravel() * INTEGER_SCALE).astype(np.int64), np.zeros(N_CLASSES, np.int64)]
        )
        flow = min_cost_flow.SimpleMinCostFlow()
        arcs = flow.add_arcs_with_capacity_and_unit_cost(tail, head, room, unit)
        flow.set_nodes_supplies(np.arange(sink + 1), supply)
        assert flow.solve() == flow.OPTIMAL
        labels = np.flatnonzero(flow.flows(arcs[: n * N_CLASSES])) % N_CLASSES
        times.append(time.perf_counter() - start)
        values.append(float(cost[np.arange(n), labels].sum()))
    return {"times": times, "values": values}


def assignment_highs(n: int, skew: float, n_steps: int) -> Row:
    """Linear program, cold each time, default options but one thread."""
    import highspy

    low, high = assignment_bounds(n)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = n * N_CLASSES, n + N_CLASSES
    model.col_lower_, model.col_upper_ = np.zeros(n * N_CLASSES), np.ones(n * N_CLASSES)
    model.row_lower_ = np.concatenate([np.ones(n), np.full(N_CLASSES, float(low))])
    model.row_upper_ = np.concatenate([np.ones(n), np.full(N_CLASSES, float(high))])
    row, klass = np.divmod(np.arange(n * N_CLASSES), N_CLASSES)
    model.a_matrix_.start_ = np.arange(0, 2 * n * N_CLASSES + 1, 2)
    model.a_matrix_.index_ = np.stack([row, n + klass], axis=1).ravel()
    model.a_matrix_.value_ = np.ones(2 * n * N_CLASSES)
    times, values = [], []
    for cost in assignment_costs(n, skew, n_steps):
        start = time.perf_counter()
        model.col_cost_ = cost.ravel()
        solver = highspy.Highs()
        solver.silent()
        solver.setOptionValue("threads", 1)
        solver.passModel(model)
        solver.run()
        times.append(time.perf_counter() - start)
        assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        values.append(solver.getInfo().objective_function_value)
    return {"times": times, "values": values}


def bench_assignment(quick: bool) -> Iterator[Row]:
    """Even and skewed costs: the first step (cold) and the later ones (warm)."""
    targets = {(10_000, "even", "warm"): "<= 2 ms, aim 0.5", (10_000, "skewed", "warm"): "<= 5 ms"}
    targets[100_000, "skewed", "cold"] = "<= OR-tools"
    for n in (1500, 10_000) if quick else (1500, 10_000, 100_000):
        for name, skew in (("even", 0.0), ("skewed", 3.0)):
            steps = 4 if n > HIGHS_MAX_ROWS else 5
            ours = in_child("assignment_tacit", n=n, skew=skew, n_steps=21)
            flow = in_child("assignment_ortools", n=n, skew=skew, n_steps=steps)
            lp = None
            if n <= HIGHS_MAX_ROWS:
                lp = in_child("assignment_highs", n=n, skew=skew, n_steps=1 if n > 5000 else 3)
            for part, steps_of in (("cold", slice(0, 1)), ("warm", slice(1, None))):
                yield {
                    "case": f"assignment, {name}, {part}",
                    "n": n,
                    "tacit_ms": median_ms(ours["times"][steps_of]),
                    # Both start afresh each time, so all their steps count.
                    "ortools_ms": median_ms(flow["times"]) if flow else None,
                    "highs_cold_ms": median_ms(lp["times"]) if lp else None,
                    "own_gap": ours["gap"],
                    "disagreement": disagreement(ours, flow, lp),
                    "target": targets.get((n, name, part), ""),
                }


def disagreement(ours: Row, *others: Row | None) -> float | None:
    """Largest relative difference of the objective over the steps that both solved."""
    found = [
        abs(mine - theirs) / abs(mine)
        for other in others
        if other
        for mine, theirs in zip(ours["values"], other["values"], strict=False)
    ]
    return max(found, default=None)


# --- Max-product on a forest ----------------------------------------------------------------------


def forest_tacit(n: int, shape: str, n_steps: int) -> Row:
    """Our oracle on a path, or on a tree in which each row hangs on an earlier one at random."""
    from tacit.hints._program import LabelProgram, Pairs
    from tacit.oracles.forest import ForestOracle

    n_classes = 4

    def program(size: int) -> LabelProgram:
        rng = np.random.default_rng(1)
        child = np.arange(1, size)
        above = child - 1 if shape == "path" else (rng.random(size - 1) * child).astype(np.intp)
        weight, zero = rng.random(size - 1) + 0.1, np.zeros(size - 1, np.intp)
        pairs = Pairs(np.stack([above, child], 1), weight, zero, 1.0 - np.eye(n_classes)[None])
        return LabelProgram(size, n_classes, pairs=pairs)

    rng = np.random.default_rng(0)
    ForestOracle(program(10)).solve(rng.normal(size=(10, n_classes)))
    start = time.perf_counter()
    oracle, times, gap = ForestOracle(program(n)), [], 0.0
    setup = time.perf_counter() - start
    for _ in range(n_steps):
        cost = rng.normal(size=(n, n_classes))
        start = time.perf_counter()
        result = oracle.solve(cost)
        times.append(time.perf_counter() - start)
        labels = result.labels
        again = cost[np.arange(n), labels].sum() + oracle.program.value(labels)
        gap = max(gap, abs(result.value - again) / abs(again))
    return {"times": times, "gap": gap, "setup": setup}


def bench_forest(quick: bool) -> Iterator[Row]:
    """Path and random tree; `disagreement` is with the value recomputed from the program."""
    n = 100_000 if quick else 1_000_000
    for shape in ("path", "tree"):
        ours = in_child("forest_tacit", n=n, shape=shape, n_steps=5)
        yield {
            "case": f"forest, {shape}, C = 4 (set up once: {ours['setup']:.1f} s)",
            "n": n,
            "tacit_ms": median_ms(ours["times"]),
            "disagreement": ours["gap"],
            "target": "" if quick else "<= 500 ms",
        }


# --- Counts of overlapping batches ----------------------------------------------------------------

N_BATCHES, BATCH = 25, 25


def batch_instance(n: int) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Hidden labels of n rows in four classes, random batches, and their true counts."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(n) % 4)
    groups = [np.sort(rng.choice(n, BATCH, replace=False)) for _ in range(N_BATCHES)]
    return truth, groups, np.array([np.bincount(truth[g], minlength=4) for g in groups])


def batch_costs(truth: np.ndarray, n_steps: int) -> Iterator[np.ndarray]:
    """Costs that say a little about the labels and drift as they do along a run."""
    rng = np.random.default_rng(1)
    cost = rng.normal(size=(len(truth), 4)) - 0.5 * np.eye(4)[truth]
    for _ in range(n_steps):
        yield cost
        cost = cost + DRIFT * rng.normal(size=cost.shape)


def batches_tacit(n: int, slack: int, n_steps: int) -> Row:
    """Our LP oracle, warm; how often the LP was fractional and integers were needed."""
    from tacit import hints
    from tacit.hints._classes import ClassCodes
    from tacit.oracles import LinearProgramOracle

    truth, groups, counts = batch_instance(n)
    known = hints.Count(groups, np.maximum(counts - slack, 0), counts + slack)
    oracle = LinearProgramOracle(known.compile(n, ClassCodes(range(4))))
    times, values, gap = [], [], 0.0
    for cost in batch_costs(truth, n_steps):
        start = time.perf_counter()
        result = oracle.solve(cost)
        times.append(time.perf_counter() - start)
        values.append(result.value)
        gap = max(gap, (result.value - result.bound) / abs(result.value))
        assert oracle.program.violation(result.labels) == 0
    return {"times": times, "values": values, "gap": gap, "fractional": oracle.n_fractional}


def batches_highs(n: int, slack: int, n_steps: int) -> Row:
    """Solve the same linear program by HiGHS, cold, default options but one thread."""
    import highspy

    truth, groups, counts = batch_instance(n)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = 4 * n, n + 4 * N_BATCHES
    model.col_lower_, model.col_upper_ = np.zeros(4 * n), np.ones(4 * n)
    lower, upper = np.maximum(counts - slack, 0), counts + slack
    model.row_lower_ = np.concatenate([np.ones(n), lower.ravel()]).astype(float)
    model.row_upper_ = np.concatenate([np.ones(n), upper.ravel()]).astype(float)
    entries = [4 * i + np.arange(4) for i in range(n)]
    entries += [4 * g + c for g in groups for c in range(4)]
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.concatenate([[0], np.cumsum([len(e) for e in entries])])
    model.a_matrix_.index_ = np.concatenate(entries)
    model.a_matrix_.value_ = np.ones(sum(len(e) for e in entries))
    times, values = [], []
    for cost in batch_costs(truth, n_steps):
        start = time.perf_counter()
        model.col_cost_ = cost.ravel()
        solver = highspy.Highs()
        solver.silent()
        solver.setOptionValue("threads", 1)
        solver.passModel(model)
        solver.run()
        np.array(solver.getSolution().col_value)
        times.append(time.perf_counter() - start)
        values.append(solver.getInfo().objective_function_value)
    return {"times": times, "values": values}


def bench_eq17(quick: bool) -> Iterator[Row]:
    """Overlapping batches (000, eq. 17): warm against cold LP, and the integers that it takes.

    `disagreement` is between our integers and the LP, so it holds the integrality gap too.
    """
    for slack in (3,) if quick else (3, 1, 0):
        ours = in_child("batches_tacit", n=600, slack=slack, n_steps=60)
        lp = in_child("batches_highs", n=600, slack=slack, n_steps=10)
        yield {
            "case": f"25 overlapping batches, counts +-{slack}",
            "n": 600,
            "fractional": f"{ours['fractional']} of 60",
            "tacit_ms": median_ms(ours["times"][1:]),
            "highs_cold_ms": median_ms(lp["times"]) if lp else None,
            "own_gap": ours["gap"],
            "disagreement": disagreement(ours, lp),
            "target": "<= 2 ms" if slack == 3 else "",
        }


# Each case is a function of `quick` that yields rows; add one here and it is run.
CASES: list[Callable[[bool], Iterator[Row]]] = [bench_assignment, bench_eq17, bench_forest]

# Functions that run in a process of their own, and the package without which they are left out.
ENGINES: dict[str, tuple[Callable[..., Row], str]] = {
    "assignment_tacit": (assignment_tacit, "tacit"),
    "assignment_ortools": (assignment_ortools, "ortools"),
    "assignment_highs": (assignment_highs, "highspy"),
    "batches_tacit": (batches_tacit, "tacit"),
    "batches_highs": (batches_highs, "highspy"),
    "forest_tacit": (forest_tacit, "tacit"),
}


def in_child(engine: str, **arguments: Any) -> Row:
    """Run an engine in a fresh process with one thread; empty if its package is not installed."""
    if find_spec(ENGINES[engine][1]) is None:
        return {}
    answer = subprocess.run(
        [sys.executable, __file__, "--engine", engine, "--arguments", json.dumps(arguments)],
        env=os.environ | ONE_THREAD,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(json.loads(answer.stdout))


COLUMNS = [
    "case",
    "n",
    "tacit_ms",
    "ortools_ms",
    "highs_cold_ms",
    "fractional",
    "own_gap",
    "disagreement",
]


def show(rows: list[Row]) -> None:
    """Print a table, and which engines were left out."""

    def cell(value: Any) -> str:
        if value is None:
            return "-"
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    columns = [*COLUMNS, "target"]
    cells = [columns] + [[cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))
    for package in sorted({package for _, package in ENGINES.values()}):
        if find_spec(package) is None:
            print(f"{package} is not installed: its times were left out.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--engine", choices=sorted(ENGINES), help=argparse.SUPPRESS)
    parser.add_argument("--arguments", default="{}", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(ENGINES[given.engine][0](**json.loads(given.arguments))))
        return
    rows = [row for case in CASES for row in case(given.quick)]
    show(rows)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
