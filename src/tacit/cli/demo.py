"""``tacit demo``: four classes learned from batch counts alone, in figures and in a picture."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from tacit import oracles
from tacit.cli.failures import ExitCode, command
from tacit.cli.output import console, number, print_json, table, writable
from tacit.datasets import make_batches, make_four_moons
from tacit.estimators import HintClassifier
from tacit.hints import Count
from tacit.persistence import whole_file
from tacit.problem import Problem
from tacit.result import Iteration
from tacit.solvers.progress import progress

__all__ = ["Layout", "demo"]

CLASSES, BATCHES, SLACK, GAMMA = 4, 25, 3, 8.0
# Rows of a batch; fewer for few rows, where batches that all overlap make the discrete step hard.
SIZE, PART = 25, 8
NEW_ROWS = 2000
PICTURES = (".png", ".pdf", ".svg")
NAMES = {
    "hints": "random within counts",
    "em": "hard EM, best of 10",
    "admm": "tacit (DC-ADMM)",
    "truth": "true labels given",
}
Labels = npt.NDArray[np.integer]


class Layout(StrEnum):
    """Where the moons lie."""

    CHAIN = "chain"
    GRID = "grid"


def batch_size(n: int) -> int:
    """Return how many of n rows a batch holds."""
    return max(4, min(SIZE, n // PART))


@dataclass(frozen=True)
class Case:
    """Rows, their hidden classes, what is known, and new rows for a test."""

    X: npt.NDArray[np.float64]
    y: Labels
    known: Count
    problem: Problem
    X_new: npt.NDArray[np.float64]
    y_new: Labels

    @classmethod
    def make(cls, layout: str, n: int, seed: int) -> Case:
        """Draw everything from the seed."""
        X, y = make_four_moons(n, layout, random_state=seed)
        known = make_batches(y, BATCHES, batch_size(n), SLACK, random_state=seed)
        problem = Problem(X, known, gamma=GAMMA, classes=range(CLASSES))
        X_new, y_new = make_four_moons(NEW_ROWS, layout, random_state=seed + 1_000_000)
        return cls(X, y, known, problem, X_new, y_new)


@dataclass(frozen=True)
class Fitted:
    """One method's classifier and the seconds it took."""

    model: HintClassifier
    seconds: float

    @property
    def labels(self) -> Labels:
        """Inferred class codes."""
        return self.model.solution_.labels

    def figures(self, case: Case) -> dict[str, Any]:
        """Everything that the seed decides."""
        model, solution = self.model, self.model.solution_
        return {
            "label_error": float(np.mean(self.labels != case.y)),
            "wrong": int(np.sum(self.labels != case.y)),
            "new_error": float(np.mean(model.predict(case.X_new) != case.y_new)),
            "objective": number(solution.objective),
            "fixed_bound": number(solution.fixed_bound),
            "violations": case.problem.violation(self.labels),
            "iterations": solution.n_iter,
            "converged": bool(model.converged_),
            "run_objectives": [number(v) for v in solution.run_objectives],
        }


@command
def demo(
    layout: Annotated[Layout, typer.Option(help="Where the moons lie.")] = Layout.CHAIN,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of everything random.")] = 0,
    n: Annotated[int, typer.Option("--n", metavar="N", min=8, help="Rows.")] = 600,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Picture to write.")] = Path("demo.png"),
    plot: Annotated[bool, typer.Option("--plot/--no-plot", help="Write the picture.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> ExitCode:
    """Learn four half moons without one label, from class counts of random batches."""
    if plot:
        writable(out)
        if out.suffix not in PICTURES:
            raise ValueError(f"{out}: pictures end in {', '.join(PICTURES)}.")
    started = time.monotonic()
    case = Case.make(layout.value, n, seed)
    _fit("getting ready (compiling, the first time)", Case.make(layout.value, 40, 0), "admm", 0)
    compiled = time.monotonic() - started
    fitted = {
        "hints": _random_labels(case, seed),
        "em": _fit("hard EM", case, "em", seed),
        "admm": _fit("tacit", case, "admm", seed),
        "truth": _supervised(case, case.y, seed),
    }
    title = _title(case, fitted)
    if plot:
        _draw(out, title, case, fitted)
    seconds = {name: f.seconds for name, f in fitted.items()}
    seconds |= {"compile": compiled, "total": time.monotonic() - started}
    methods = {name: f.figures(case) for name, f in fitted.items()}
    if as_json:
        print_json(
            {"command": "demo", "layout": layout.value, "seed": seed, "n": n}
            | {"batches": BATCHES, "batch_size": batch_size(n), "slack": SLACK}
            | {"kernel": "rbf", "gamma": GAMMA, "C": 1.0, "methods": methods}
            | {"picture": str(out) if plot else None, "seconds": seconds}
        )
    else:
        _report(title, methods, seconds, layout.value, seed)
        _say_next(out if plot else None)
    return ExitCode.DONE


def _fit(title: str, case: Case, solver: str, seed: int) -> Fitted:
    with progress(title=title) as shown:

        def callback(iteration: Iteration, /) -> None:
            for show in shown:
                show(iteration)

        model = HintClassifier(
            range(CLASSES), gamma=GAMMA, solver=solver, random_state=seed, callback=callback
        )
        started = time.monotonic()
        model.fit(case.X, hints=case.known)
        return Fitted(model, time.monotonic() - started)


def _random_labels(case: Case, seed: int) -> Fitted:
    """Label rows by the hints alone: the best labeling for random costs."""
    cost = np.random.default_rng(seed).standard_normal((len(case.X), CLASSES))
    started = time.monotonic()
    labels = oracles.solve(cost, case.known).labels
    return _supervised(case, labels, seed, time.monotonic() - started)


def _supervised(case: Case, labels: Labels, seed: int, before: float = 0.0) -> Fitted:
    started = time.monotonic()
    model = HintClassifier(range(CLASSES), gamma=GAMMA, random_state=seed).fit(case.X, labels)
    return Fitted(model, before + time.monotonic() - started)


def _title(case: Case, fitted: dict[str, Fitted]) -> str:
    error = {name: 100.0 * float(np.mean(f.labels != case.y)) for name, f in fitted.items()}
    return (
        f"{len(case.X)} points, no labels: {BATCHES} batches with class counts known within "
        f"{SLACK}. Label error {_percent(error['admm'])} %; hard EM {_percent(error['em'])} %."
    )


def _percent(value: float) -> str:
    return f"{value:.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def _draw(path: Path, title: str, case: Case, fitted: dict[str, Fitted]) -> None:
    # It complains while it makes its list of fonts, once on every machine.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    from tacit.plots import Answer, DemoPicture, draw_demo

    def answer(name: str, words: str) -> Answer:
        wrong = int(np.sum(fitted[name].labels != case.y))
        return Answer(
            f"{words}: {wrong} of {len(case.y)} wrong",
            fitted[name].labels,
            fitted[name].model.predict,
        )

    counts = case.problem.program.counts
    picture = DemoPicture(
        title=title,
        X=case.X,
        truth=case.y,
        groups=[counts.rows(g) for g in range(len(counts))],
        lower=counts.lower,
        upper=counts.upper,
        answer=answer("admm", "What tacit infers"),
        rival=answer("em", "Hard EM, same counts"),
        history=fitted["admm"].model.history_,
        marks={
            "hard EM": fitted["em"].model.objective_,
            "true labels": fitted["truth"].model.objective_,
        },
    )
    with whole_file(path) as file:
        draw_demo(picture).savefig(file, format=path.suffix[1:])


def _report(
    title: str, methods: dict[str, Any], seconds: dict[str, float], layout: str, seed: int
) -> None:
    names = ("", "label error", "new points", "objective", "steps", "seconds")
    rows = [
        (
            NAMES[name],
            f"{100 * m['label_error']:.1f} %",
            f"{100 * m['new_error']:.1f} %",
            f"{m['objective']:.1f}",
            str(m["iterations"]),
            f"{seconds[name]:.1f}",
        )
        for name, m in methods.items()
    ]
    out = console()
    out.print(title)
    out.print()
    out.print(table(names, rows, right=names[1:]))
    out.print()
    broken = methods["admm"]["violations"]
    out.print(
        f"Four moons ({layout}), seed {seed}; guessing would be wrong for 75 %. Every count is "
        f"kept to its bounds ({broken} violated). All four rows have the same objective: lower is "
        f"better. {seconds['total']:.0f} s in all, {seconds['compile']:.0f} s of them to get ready."
    )


def _say_next(picture: Path | None) -> None:
    out = console()
    if picture is not None:
        out.print(f"\nPicture: {picture}", soft_wrap=True)
    out.print(
        "\nNext:\n"
        "  tacit demo --layout grid --seed 1\n"
        "  tacit list                                  what can be said about labels\n"
        "  tacit fit DATA.csv --hints HINTS.yaml -o model.tacit\n"
        "  tacit predict model.tacit NEW.csv",
        soft_wrap=True,
    )
