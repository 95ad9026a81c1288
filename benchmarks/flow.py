"""Time min-cost flows beside OR-tools and HiGHS: ``python benchmarks/flow.py``.

Two questions. Is our solver, cold and warm, as fast as `SimpleMinCostFlow`, cold? Each engine
solves the same networks, for costs that drift. And which oracle should take a matching or crossing
batches, `flow` or `lp`? Every engine runs in its own process with one thread; times are CPU seconds
per solve, medians over the steps, without imports and compilation. `--json out.json` keeps the
figures, `--quick` leaves out the large sizes.
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
Net = tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
DRIFT = 0.02
# OR-tools takes integer costs.
INTEGER_SCALE = 1e6
# One solve of our own takes milliseconds, of HiGHS up to seconds.
STEPS, COLD = 12, 5


def median_ms(seconds: list[float]) -> float | None:
    """Return the median in milliseconds."""
    return float(np.median(seconds)) * 1e3 if seconds else None


# --- Networks -------------------------------------------------------------------------------------


def assignment(n: int) -> tuple[Net, np.ndarray]:
    """Everybody to one of n places, costs at random."""
    rng = np.random.default_rng(0)
    tail, head = np.repeat(np.arange(n), n), n + np.tile(np.arange(n), n)
    none, ends = np.zeros(n * n, int), np.repeat([1, -1], n)
    return (2 * n, tail, head, none, none + 1, ends), rng.normal(size=n * n)


def null_links(n: int) -> tuple[Net, np.ndarray]:
    """Links between n and n nodes, each at most one: a circulation."""
    rng = np.random.default_rng(0)
    tail = np.concatenate([np.repeat(np.arange(n), n), np.full(n, 2 * n), n + np.arange(n)])
    head = np.concatenate([n + np.tile(np.arange(n), n), np.arange(n), np.full(n, 2 * n)])
    none = np.zeros(len(tail), int)
    cost = np.concatenate([rng.normal(size=n * n), np.zeros(2 * n)])
    return (2 * n + 1, tail, head, none, none + 1, np.zeros(2 * n + 1, int)), cost


def crossing(n: int) -> tuple[Net, np.ndarray]:
    """200 rows for each of sqrt(n) / 1.4 days and as many places; counts of both to within one."""
    rng, g = np.random.default_rng(0), round(np.sqrt(n / 2))
    day, place = rng.integers(0, g, (2, n))
    truth = rng.integers(0, 2, n)
    by_day, by_place = (np.bincount(b, truth, g).astype(int) for b in (day, place))
    tail = np.concatenate([day, np.full(g, 2 * g), g + np.arange(g)])
    head = np.concatenate([g + place, np.arange(g), np.full(g, 2 * g)])
    sums = np.concatenate([by_day, by_place])
    lower = np.concatenate([np.zeros(n, int), np.maximum(sums - 1, 0)])
    upper = np.concatenate([np.ones(n, int), sums + 1])
    cost = np.concatenate([rng.normal(size=n) + 0.5 - truth, np.zeros(2 * g)])
    return (2 * g + 1, tail, head, lower, upper, np.zeros(2 * g + 1, int)), cost


def tracks(n: int) -> tuple[Net, np.ndarray]:
    """Links of n detections, 50 a frame or fewer: the 5 nearest in each of the next two."""
    rng, k = np.random.default_rng(0), min(50, n // 20)
    frames, node = n // k, np.arange(n)
    place = np.cumsum(0.1 * rng.normal(size=(frames, k, 2)), axis=0) + 3 * rng.normal(size=(k, 2))
    tail, head = [node, np.full(n, 2 * n), n + node], [n + node, node, np.full(n, 2 * n)]
    cost = [0.5 * rng.normal(size=n) - 2.0, np.full(n, 3.0), np.full(n, 3.0)]
    for gap in (1, 2):
        for f in range(frames - gap):
            far = np.linalg.norm(place[f][:, None] - place[f + gap][None], axis=2)
            near = np.argsort(far, axis=1)[:, :5]
            tail.append(n + f * k + np.repeat(np.arange(k), 5))
            head.append((f + gap) * k + near.ravel())
            cost.append(2 * np.take_along_axis(far, near, axis=1).ravel() + gap - 1.0)
    net = np.concatenate(tail), np.concatenate(head)
    none = np.zeros(len(net[0]), int)
    return (2 * n + 1, *net, none, none + 1, np.zeros(2 * n + 1, int)), np.concatenate(cost)


NETWORKS: dict[str, Callable[[int], tuple[Net, np.ndarray]]] = {
    "assignment": assignment,
    "null links": null_links,
    "crossing": crossing,
    "tracks": tracks,
}


def drifting(cost: np.ndarray, n_steps: int) -> Iterator[np.ndarray]:
    """Costs that change a little from step to step, as they do along a run."""
    rng = np.random.default_rng(1)
    for _ in range(n_steps):
        yield cost
        cost = cost + DRIFT * rng.normal(size=cost.shape)


def network_tacit(name: str, n: int) -> Row:
    """Our solver: several cold starts on the first costs, then on from step to step."""
    from tacit.oracles._flow_solver import FlowSolver

    small, cost = NETWORKS[name](200)
    FlowSolver(*small).solve(cost)
    net, cost = NETWORKS[name](n)
    cold, warm, values, gap, solver = [], [], [], 0.0, None
    for _ in range(COLD):
        start = time.process_time()
        solver = FlowSolver(*net)
        solver.solve(cost)
        cold.append(time.process_time() - start)
    for c in drifting(cost, STEPS):
        start = time.process_time()
        found = solver.solve(c)
        warm.append(time.process_time() - start)
        values.append(float(c @ found.flow))
        gap = max(gap, found.gap / abs(values[-1]))
    return {"cold": cold, "warm": warm[1:], "values": values, "gap": gap, "arcs": len(cost)}


def network_ortools(name: str, n: int) -> Row:
    """SimpleMinCostFlow, rebuilt for each step; lower bounds taken off before."""
    from ortools.graph.python import min_cost_flow

    (n_nodes, tail, head, lower, upper, supply), cost = NETWORKS[name](n)
    excess = supply.copy()
    np.subtract.at(excess, tail, lower)
    np.add.at(excess, head, lower)
    times, values = [], []
    for c in drifting(cost, COLD):
        start = time.process_time()
        flow = min_cost_flow.SimpleMinCostFlow()
        unit = np.rint(c * INTEGER_SCALE).astype(np.int64)
        arcs = flow.add_arcs_with_capacity_and_unit_cost(tail, head, upper - lower, unit)
        flow.set_nodes_supplies(np.arange(n_nodes), excess)
        assert flow.solve() == flow.OPTIMAL
        x = flow.flows(arcs) + lower
        times.append(time.process_time() - start)
        values.append(float(c @ x))
    return {"times": times, "values": values}


def bench_networks(quick: bool) -> Iterator[Row]:
    sizes = {"assignment": (50, 200, 500), "null links": (50, 200, 500)}
    sizes |= {"crossing": (2000, 20_000), "tracks": (1000, 10_000)}
    for name, all_sizes in sizes.items():
        for n in all_sizes[: 1 if quick else None]:
            ours = in_child("network_tacit", name=name, n=n)
            flow = in_child("network_ortools", name=name, n=n)
            yield {
                "case": f"network, {name}",
                "n": n,
                "arcs": ours["arcs"],
                "cold_ms": median_ms(ours["cold"]),
                "warm_ms": median_ms(ours["warm"]),
                "ortools_ms": median_ms(flow["times"]) if flow else None,
                "own_gap": ours["gap"],
                "disagreement": disagreement(ours, flow),
                "target": "cold <= 2 x, warm <= OR-tools",
            }


# --- Oracles --------------------------------------------------------------------------------------


def matching_program(n: int) -> Any:
    """Links between n and n nodes, at most one each."""
    from tacit import hints
    from tacit.hints._classes import ClassCodes

    return hints.Matching(n, n).compile(n * n, ClassCodes([0, 1]))


def crossing_program(n: int) -> Any:
    """Bound the counts of n rows by day and by place."""
    from tacit.hints._program import Counts, LabelProgram

    (n_nodes, tail, head, lower, upper, _), _ = crossing(n)
    g = n_nodes // 2
    batch = np.concatenate([tail[:n], head[:n]])
    sizes, members = np.bincount(batch), np.argsort(batch, kind="stable") % n
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    bounds = [np.zeros(2 * g, int), lower[n:]], [sizes, upper[n:]]
    return LabelProgram(n, 2, counts=Counts(indptr, members, *(np.stack(b, 1) for b in bounds)))


PROGRAMS = {"matching": matching_program, "crossing": crossing_program}


def oracle(name: str, n: int, which: str) -> Row:
    """One of our oracles on drifting costs of rows; setting up is timed, too."""
    from tacit.oracles import ORACLES

    make, rng = PROGRAMS[name], np.random.default_rng(0)
    small = make(8)
    ORACLES[which](small).solve(rng.normal(size=(small.n, 2)))
    program = make(n)
    start = time.process_time()
    assert ORACLES[which].accepts(program)
    kept = ORACLES[which](program)
    times, values, fractional = [time.process_time() - start], [], 0
    cost = rng.normal(size=(program.n, 2))
    for c in drifting(cost, STEPS if which == "flow" else 5):
        start = time.process_time()
        result = kept.solve(c)
        times.append(time.process_time() - start)
        values.append(result.value)
        assert result.exact
        assert program.violation(result.labels) == 0
    fractional = getattr(kept, "n_fractional", 0)
    return {"times": times, "values": values, "fractional": fractional}


def bench_oracles(quick: bool) -> Iterator[Row]:
    sizes = {"matching": (8, 30, 100, 200), "crossing": (50, 500, 2000, 20_000)}
    for name, all_sizes in sizes.items():
        for n in all_sizes[: 2 if quick else None]:
            ours, lp = (in_child("oracle", name=name, n=n, which=w) for w in ("flow", "lp"))
            yield {
                "case": f"oracle, {name} (setting up: {ours['times'][0] * 1e3:.3g} ms, lp "
                f"{lp['times'][0] * 1e3:.3g} ms)",
                "n": n,
                "cold_ms": ours["times"][1] * 1e3,
                "warm_ms": median_ms(ours["times"][2:]),
                "lp_cold_ms": lp["times"][1] * 1e3,
                "lp_warm_ms": median_ms(lp["times"][2:]),
                "disagreement": disagreement(ours, lp),
                "target": "flow before lp",
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


# Functions that run in a process of their own, and the package without which they are left out.
ENGINES: dict[str, tuple[Callable[..., Row], str]] = {
    "network_tacit": (network_tacit, "tacit"),
    "network_ortools": (network_ortools, "ortools"),
    "oracle": (oracle, "tacit"),
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


COLUMNS = ["case", "n", "arcs", "cold_ms", "warm_ms", "ortools_ms", "lp_cold_ms", "lp_warm_ms"]


def show(rows: list[Row]) -> None:
    """Print a table, and which engines were left out."""

    def cell(value: Any) -> str:
        if value is None:
            return "-"
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    columns = [*COLUMNS, "own_gap", "disagreement", "target"]
    cells = [columns] + [[cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))
    if find_spec("ortools") is None:
        print("ortools is not installed: its times were left out.")


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
    rows = [row for case in (bench_networks, bench_oracles) for row in case(given.quick)]
    show(rows)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
