"""Time minimum cuts and expansion moves beside their peers: ``python benchmarks/cuts.py``.

The peers (PyMaxflow is GPL, OR-tools, SciPy, gco-wrapper) are installed into an environment of
their own, made in a temporary folder and thrown away; `--peers DIR` keeps it in DIR for the next
time. Each engine runs in its own process with one thread, on instances made from the same seed;
seconds are the process's own (CPU), the least of the repetitions, without imports and compilation,
from arrays of edges and costs to an array of labels. `--json out.json` keeps the figures, `--quick`
leaves out the large sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
PEERS = ["numpy", "scipy", "PyMaxflow", "ortools", "gco-wrapper"]
# Cuts again while the unaries drift, after the first.
WARM_STEPS = 4
# OR-tools and SciPy take integers; SciPy's have 32 bits.
ORTOOLS_SCALE, SCIPY_SCALE = 1e6, 1e3


# --- Instances ------------------------------------------------------------------------------------


def grid_edges(side: int) -> np.ndarray:
    """Edges of a 4-grid, row by row."""
    ids = np.arange(side * side).reshape(side, side)
    ends = [(ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in ends])


def blobs(side: int, n_discs: int, rng: np.random.Generator) -> np.ndarray:
    """Discs on top of each other, each the other colour."""
    y, x = np.mgrid[:side, :side] / side
    image = np.zeros((side, side))
    for _ in range(n_discs):
        inside = (y - rng.random()) ** 2 + (x - rng.random()) ** 2 < rng.uniform(0.05, 0.2) ** 2
        image[inside] = 1.0 - image[inside]
    return image


def cut_instance(kind: str, side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Costs (N, 2), edges, weights, and how far the costs drift between calls.

    random: unaries 0..100, Potts 30. image: noisy discs, log-likelihoods, weights by contrast.
    scribbles: the same, with costs at one pixel in 5000 only.
    """
    rng = np.random.default_rng(0)
    edges = grid_edges(side)
    if kind == "random":
        return rng.uniform(0, 100, (side * side, 2)), edges, np.full(len(edges), 30.0), 1.0
    image = blobs(side, 12, rng)
    noisy = (image + 0.5 * rng.normal(size=image.shape)).ravel()
    weight = 0.2 + 2.0 * np.exp(-((noisy[edges[:, 0]] - noisy[edges[:, 1]]) ** 2))
    if kind == "image":
        return np.stack([2 * noisy**2, 2 * (noisy - 1) ** 2], 1), edges, weight, 0.01
    cost = np.zeros((side * side, 2))
    marked = np.flatnonzero(rng.random(side * side) < 2e-4)
    cost[marked, (noisy[marked] <= 0.5).astype(int)] = 1e3
    return cost, edges, weight, 0.01


def expansion_instance(kind: str, side: int, n_labels: int) -> tuple[np.ndarray, ...]:
    """Costs, edges and weights: random costs 0..1 with Potts .3, or noisy regions with Potts 1."""
    rng = np.random.default_rng(0)
    n, edges = side * side, grid_edges(side)
    if kind == "random":
        return rng.random((n, n_labels)), edges, np.full(len(edges), 0.3)
    y, x = np.mgrid[:side, :side] / side
    centres = rng.random((3 * n_labels, 2))
    apart = [(y - a) ** 2 + (x - b) ** 2 for a, b in centres]
    region = np.argmin(apart, axis=0).ravel() % n_labels
    cost = rng.normal(size=(n, n_labels))
    cost[np.arange(n), region] -= 1.0
    return cost - cost.min(), edges, np.ones(len(edges))


def drifting(cost: np.ndarray, drift: float) -> Iterator[np.ndarray]:
    """Costs of each step."""
    rng = np.random.default_rng(5)
    yield cost
    for _ in range(WARM_STEPS):
        cost = cost + drift * rng.normal(size=cost.shape)
        yield cost


def energy(cost: np.ndarray, edges: np.ndarray, weight: np.ndarray, labels: np.ndarray) -> float:
    """Return what a labeling costs, the same way for all."""
    cut = labels[edges[:, 0]] != labels[edges[:, 1]]
    return float(cost[np.arange(len(cost)), labels].sum() + weight[cut].sum())


# --- Engines: each returns seconds and energies of the first call and of those after --------------


def program_of(edges: np.ndarray, weight: np.ndarray, n: int, n_labels: int) -> Any:
    from tacit.hints._program import LabelProgram, Pairs

    table, zero = (1.0 - np.eye(n_labels))[None], np.zeros(len(edges), np.intp)
    return LabelProgram(n, n_labels, pairs=Pairs(edges, weight, zero, table))


def cut_tacit(kind: str, side: int) -> Row:
    """Our oracle: built and called, then called again on the same flow."""
    from tacit.oracles import GraphCutOracle

    def run(size: int) -> Row:
        cost, edges, weight, drift = cut_instance(kind, size)
        seconds, energies, oracle = [], [], None
        for step in drifting(cost, drift):
            start = time.process_time()
            if oracle is None:
                oracle = GraphCutOracle(program_of(edges, weight, size * size, 2))
            result = oracle.solve(step)
            seconds.append(time.process_time() - start)
            assert result.exact
            energies.append(energy(step, edges, weight, result.labels))
        return {"seconds": seconds, "energies": energies}

    run(10)
    return run(side)


def cut_pymaxflow(kind: str, side: int) -> Row:
    """Boykov-Kolmogorov, its trees kept between calls."""
    import maxflow

    cost, edges, weight, drift = cut_instance(kind, side)
    before, graph, seconds, energies = cost, None, [], []
    for step in drifting(cost, drift):
        start = time.process_time()
        if graph is None:
            graph = maxflow.Graph[float](side * side, len(edges))
            nodes = graph.add_grid_nodes((side, side))
            graph.add_edges(edges[:, 0], edges[:, 1], weight, weight)
            change, reuse = step, False
        else:
            change, reuse = step - before, True
        shape = (2, side, side)
        gain, loss = np.maximum(change, 0).T.reshape(shape), np.maximum(-change, 0).T.reshape(shape)
        # A cost that falls is one of the other label that rises, up to a constant.
        graph.add_grid_tedges(nodes, gain[1] + loss[0], gain[0] + loss[1])
        if reuse:
            graph.mark_grid_nodes(nodes)
        graph.maxflow(reuse_trees=reuse)
        labels = graph.get_grid_segments(nodes).ravel().astype(np.int32)
        seconds.append(time.process_time() - start)
        # On the sink's side what is paid is the capacity from the source: the cost of label 1.
        energies.append(energy(step, edges, weight, labels))
        before = step
    return {"seconds": seconds, "energies": energies}


def cut_ortools(kind: str, side: int) -> Row:
    """Push-relabel on integers."""
    from ortools.graph.python import max_flow

    cost, edges, weight, drift = cut_instance(kind, side)
    n, seconds, energies = side * side, [], []
    for step in list(drifting(cost, drift))[:2]:
        start = time.process_time()
        flow, ids = max_flow.SimpleMaxFlow(), np.arange(n)
        slope = np.rint((step[:, 1] - step[:, 0]) * ORTOOLS_SCALE).astype(np.int64)
        whole = np.rint(weight * ORTOOLS_SCALE).astype(np.int64)
        add = flow.add_arcs_with_capacity
        add(edges[:, 0], edges[:, 1], whole)
        add(edges[:, 1], edges[:, 0], whole)
        add(np.full(n, n), ids, np.maximum(slope, 0))
        add(ids, np.full(n, n + 1), np.maximum(-slope, 0))
        assert flow.solve(n, n + 1) == flow.OPTIMAL
        labels = np.ones(n + 2, np.int32)
        labels[flow.get_source_side_min_cut()] = 0
        seconds.append(time.process_time() - start)
        energies.append(energy(step, edges, weight, labels[:n]))
    return {"seconds": seconds, "energies": energies}


def cut_scipy(kind: str, side: int) -> Row:
    """Dinic's algorithm on integers; the value of the flow, no labels."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import maximum_flow

    cost, edges, weight, drift = cut_instance(kind, side)
    n, seconds, energies = side * side, [], []
    for step in list(drifting(cost, drift))[:1]:
        start = time.process_time()
        slope, ids = step[:, 1] - step[:, 0], np.arange(n)
        rows = np.concatenate([edges[:, 0], edges[:, 1], np.full(n, n), ids])
        cols = np.concatenate([edges[:, 1], edges[:, 0], ids, np.full(n, n + 1)])
        room = np.concatenate([weight, weight, np.maximum(slope, 0), np.maximum(-slope, 0)])
        room = np.rint(room * SCIPY_SCALE).astype(np.int32)
        graph = sp.coo_array((room, (rows, cols)), (n + 2, n + 2)).tocsr()
        value = maximum_flow(graph, n, n + 1).flow_value / SCIPY_SCALE
        seconds.append(time.process_time() - start)
        energies.append(float(value + np.minimum(step[:, 0], step[:, 1]).sum()))
    return {"seconds": seconds, "energies": energies}


def expansion_tacit(kind: str, side: int, n_labels: int) -> Row:
    """Our oracle without and with its bound; warm: after the costs have drifted."""
    from tacit.oracles import ExpansionOracle

    def run(size: int) -> Row:
        cost, edges, weight = expansion_instance(kind, size, n_labels)
        start = time.process_time()
        program = program_of(edges, weight, size * size, n_labels)
        oracle = ExpansionOracle(program, bound_iterations=0)
        result = oracle.solve(cost)
        seconds = [time.process_time() - start]
        drifted = cost + 0.01 * np.random.default_rng(5).normal(size=cost.shape)
        start = time.process_time()
        oracle.solve(drifted)
        seconds.append(time.process_time() - start)
        start = time.process_time()
        bounded = ExpansionOracle(program).solve(cost)
        return {
            "seconds": seconds,
            "energies": [energy(cost, edges, weight, result.labels)],
            "with_bound": time.process_time() - start,
            "energy_with_bound": bounded.value,
            "bound": bounded.bound,
        }

    run(10)
    return run(side)


def expansion_gco(kind: str, side: int, n_labels: int) -> Row:
    """GCO by Veksler and Delong."""
    import gco

    cost, edges, weight = expansion_instance(kind, side, n_labels)
    start = time.process_time()
    graph = gco.GCO()
    graph.create_general_graph(side * side, n_labels, energy_is_float=True)
    graph.set_data_cost(cost)
    graph.set_smooth_cost(1.0 - np.eye(n_labels))
    graph.set_all_neighbors(edges[:, 0], edges[:, 1], weight)
    graph.expansion(-1)
    labels = graph.get_labels()
    seconds = time.process_time() - start
    return {"seconds": [seconds], "energies": [energy(cost, edges, weight, labels)]}


def resident() -> int:
    """Bytes of memory in use now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def memory_tacit(side: int, labels: int) -> Row:
    """Most memory in use while an oracle is built and called, above that of the program."""
    from tacit.oracles import ExpansionOracle, GraphCutOracle

    def run(size: int) -> Row:
        rng, n = np.random.default_rng(0), size * size
        cost = rng.random((n, labels), np.float64)
        edges = grid_edges(size)
        program = program_of(edges, np.full(len(edges), 0.3), n, labels)
        before, start = resident(), time.process_time()
        if labels == 2:
            oracle = GraphCutOracle(program)
        else:
            oracle = ExpansionOracle(program, bound_iterations=0)
        oracle.solve(cost)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        given = cost.nbytes + edges.nbytes + 2 * 8 * len(edges)
        m = len(edges)
        return {
            "seconds": [time.process_time() - start],
            "bytes_per_edge": max(most - before, 0) / m,
            "given_bytes_per_edge": given / m,
        }

    run(10)
    return run(side)


ENGINES: dict[str, Callable[..., Row]] = {
    "cut_tacit": cut_tacit,
    "cut_pymaxflow": cut_pymaxflow,
    "cut_ortools": cut_ortools,
    "cut_scipy": cut_scipy,
    "expansion_tacit": expansion_tacit,
    "expansion_gco": expansion_gco,
    "memory_tacit": memory_tacit,
}


# --- Cases ----------------------------------------------------------------------------------------


def in_child(engine: str, python: str, repeat: int, **arguments: Any) -> Row | None:
    """Run an engine in its own process, some times; the least seconds. None if it is missing."""
    best: Row | None = None
    for _ in range(repeat):
        command = [python, __file__, "--engine", engine, "--arguments", json.dumps(arguments)]
        answer = subprocess.run(
            command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=False
        )
        if answer.returncode:
            return None
        found: Row = json.loads(answer.stdout)
        if best is None:
            best = found
        else:
            pairs = zip(best["seconds"], found["seconds"], strict=True)
            best["seconds"] = [min(pair) for pair in pairs]
    return best


def bench_cuts(peers: str | None, quick: bool) -> Iterator[Row]:
    """Cold and warm cuts of each instance by each engine."""
    cases = [("random", 100), ("random", 300), ("random", 600), ("image", 600), ("scribbles", 600)]
    for kind, side in cases[:2] if quick else cases:
        ours = in_child("cut_tacit", sys.executable, 3, kind=kind, side=side)
        assert ours is not None
        found = {"tacit": ours}
        for name in ("pymaxflow", "ortools", "scipy") if peers else ():
            repeat = 1 if name == "scipy" else 3
            if (theirs := in_child(f"cut_{name}", peers, repeat, kind=kind, side=side)) is not None:
                found[name] = theirs
        for part in ("cold", "warm"):
            # PyMaxflow alone of the peers keeps anything between calls.
            pick = {n: seconds_of(row, part) for n, row in found.items()}
            target = ""
            if (kind, side) == ("random", 600):
                target = "<= 1.3 x PyMaxflow" if part == "cold" else "<= 0.7 x PyMaxflow cold"
            yield {
                "case": f"cut, {kind} {side} x {side}, {part}",
                **{f"{name}_s": seconds for name, seconds in pick.items() if seconds},
                "ratio": ratio(pick["tacit"], found.get("pymaxflow")),
                "disagreement": disagreement(found),
                "target": target,
            }


def seconds_of(row: Row, part: str) -> float | None:
    """Seconds of the first call, or the median of those after."""
    if part == "cold":
        return float(row["seconds"][0])
    return float(np.median(row["seconds"][1:])) if len(row["seconds"]) > 2 else None


def ratio(ours: float | None, peer: Row | None) -> float | None:
    """Our seconds over the peer's first call."""
    return None if ours is None or peer is None else ours / float(peer["seconds"][0])


def disagreement(found: dict[str, Row]) -> float | None:
    """Largest relative difference of the energies; scaling to integers is in it."""
    ours = found["tacit"]["energies"]
    gaps = [
        abs(a - b) / abs(a)
        for name, row in found.items()
        if name != "tacit"
        for a, b in zip(ours, row["energies"], strict=False)
    ]
    return max(gaps, default=None)


def bench_expansion(peers: str | None, quick: bool) -> Iterator[Row]:
    """Eight labels; energies beside each other, and our bound."""
    side = 60 if quick else 300
    for kind in ("regions", "random"):
        given = {"kind": kind, "side": side, "n_labels": 8}
        ours = in_child("expansion_tacit", sys.executable, 3, **given)
        assert ours is not None
        theirs = in_child("expansion_gco", peers, 3, **given) if peers else None
        row: Row = {
            "case": f"expansion, {kind} {side} x {side}, 8 labels",
            "tacit_s": ours["seconds"][0],
            "tacit_warm_s": ours["seconds"][1],
            "with_bound_s": ours["with_bound"],
            "energy": ours["energies"][0],
            "energy_with_bound": ours["energy_with_bound"],
            "bound": ours["bound"],
            "target": "<= 1.5 x gco, energy to 0.1 %",
        }
        if theirs is not None:
            row["gco_s"], row["gco_energy"] = theirs["seconds"][0], theirs["energies"][0]
            row["ratio"] = row["tacit_s"] / row["gco_s"]
        yield row


def bench_memory(peers: str | None, quick: bool) -> Iterator[Row]:
    """Bytes per edge above those of the program; those of the program and costs beside them."""
    side = 500 if quick else 2000
    for labels in (2, 4):
        ours = in_child("memory_tacit", sys.executable, 1, side=side, labels=labels)
        assert ours is not None
        yield {
            "case": f"memory, {side} x {side}, {labels} labels",
            "tacit_s": ours["seconds"][0],
            "bytes_per_edge": ours["bytes_per_edge"],
            "given_bytes_per_edge": ours["given_bytes_per_edge"],
            "target": "<= 100 bytes per edge",
        }


CASES: list[Callable[[str | None, bool], Iterator[Row]]] = [
    bench_cuts,
    bench_expansion,
    bench_memory,
]


def make_peers(folder: Path) -> str | None:
    """Python of an environment with the peers; says what cannot be installed."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    for package in PEERS:
        answer = subprocess.run(
            [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", package],
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if answer.returncode:
            print(f"{package} could not be installed: its times were left out.", file=sys.stderr)
    return str(python)


def show(rows: list[Row]) -> None:
    """Print what was found, a line per figure."""
    for row in rows:
        figures = [
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in row.items()
            if name != "case" and value not in (None, "")
        ]
        print(f"{row['case']}: {', '.join(figures)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--peers", type=Path, help="folder of the peers' environment, kept")
    parser.add_argument("--engine", choices=sorted(ENGINES), help=argparse.SUPPRESS)
    parser.add_argument("--arguments", default="{}", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(ENGINES[given.engine](**json.loads(given.arguments))))
        return
    with tempfile.TemporaryDirectory() as folder:
        peers = make_peers(given.peers or Path(folder))
        rows = [row for case in CASES for row in case(peers, given.quick)]
    show(rows)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
