"""``tacit fit``: a file of rows and a file of hints to a model."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.exceptions import ConvergenceWarning

from tacit import hints
from tacit.cli.failures import ExitCode, command, say
from tacit.cli.names import one_of, read_gamma, read_names
from tacit.cli.output import console, name_of, number, print_json, table, writable, write_csv
from tacit.cli.tables import Table, read_table, split_names
from tacit.estimators import HintClassifier
from tacit.features import APPROXIMATIONS, KERNELS
from tacit.losses import LOSSES
from tacit.persistence import save, whole_file
from tacit.problem import Problem
from tacit.solvers import SOLVERS

__all__ = ["fit"]


@command
def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV with a header (.gz too), or .npz with X.")
    ],
    hints_file: Annotated[
        Path | None,
        typer.Option("--hints", metavar="FILE", help="What is known: .yaml or .json."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Model to write.")
    ] = Path("model.tacit"),
    label_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of labels; empty entries are unknown."),
    ] = None,
    drop: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns that are no features.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B", help="Class names in order; found by default.")
    ] = None,
    unlabeled: Annotated[
        str | None, typer.Option(metavar="NAME", help="A label that means unknown, such as -1.")
    ] = None,
    loss: Annotated[
        str,
        typer.Option(metavar="NAME", callback=one_of(LOSSES), help=f"{', '.join(LOSSES)}."),
    ] = "hinge",
    kernel: Annotated[
        str,
        typer.Option(metavar="NAME", callback=one_of(KERNELS), help=f"{', '.join(KERNELS)}."),
    ] = "rbf",
    gamma: Annotated[
        str, typer.Option(metavar="G", help="Of rbf and poly: a number, scale or auto.")
    ] = "scale",
    degree: Annotated[int, typer.Option(metavar="N", help="Of poly.")] = 3,
    coef0: Annotated[float, typer.Option(metavar="X", help="Of poly.")] = 0.0,
    C: Annotated[
        float, typer.Option("--C", metavar="X", help="Weight of the loss against the regulariser.")
    ] = 1.0,
    approximation: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", callback=one_of(APPROXIMATIONS), help=f"{', '.join(APPROXIMATIONS)}."
        ),
    ] = None,
    n_components: Annotated[
        int | None,
        typer.Option(metavar="N", help="Landmarks or features of an approximation, at most."),
    ] = None,
    solver: Annotated[
        str,
        typer.Option(metavar="NAME", callback=one_of(SOLVERS), help=f"{', '.join(SOLVERS)}."),
    ] = "admm",
    max_iter: Annotated[int, typer.Option(metavar="N", help="Iterations of one run.")] = 1000,
    tol: Annotated[float, typer.Option(metavar="X", help="Duality gap at fixed labels.")] = 1e-4,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of everything random.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds, then the best so far.")
    ] = None,
    transduction: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV for the labels inferred for DATA.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> ExitCode:
    """Learn a classifier from rows and from what is known about their labels."""
    width = read_gamma(gamma)
    writable(output)
    writable(transduction)
    known = None if hints_file is None else hints.load(hints_file)
    named = [] if known is None else known.names()
    rows = read_table(data, label_column, split_names(drop))
    labels = _labels(rows, named, unlabeled, data)
    if known is None and labels is None:
        raise typer.BadParameter("give --hints, --label-column, or both.")
    chosen = read_names(split_names(classes), named, "--classes") if classes else None
    model = HintClassifier(
        chosen,
        loss=loss,
        kernel=kernel,
        gamma=width,
        degree=degree,
        coef0=coef0,
        C=C,
        approximation=approximation,
        n_components=n_components,
        solver=solver,
        max_iter=max_iter,
        tol=tol,
        unlabeled=None,
        time_limit=time_limit,
        random_state=seed,
        verbose=1,
    )
    started = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said at the end, with an exit code
        model.fit(rows.X, labels, hints=known)
    seconds = time.monotonic() - started
    model.set_params(verbose=0)
    if rows.columns is not None and kernel != "precomputed":
        model.feature_names_in_ = np.array(rows.columns, dtype=object)
    save(model, output)
    if transduction is not None:
        with whole_file(transduction, "w", encoding="utf-8", newline="") as file:
            write_csv(file, ("row", "label"), enumerate(model.transduction_.tolist()))
    figures = _figures(model, rows, labels, known) | {"model": str(output)}
    if as_json:
        print_json(figures | {"seconds": {"fit": seconds}})
    else:
        _report(figures, seconds, data, transduction)
    if not model.converged_:
        say(f"Not converged: {model.solution_.status.value} The model was written all the same.")
        return ExitCode.NOT_CONVERGED
    return ExitCode.DONE


def _labels(rows: Table, named: list[Any], unlabeled: str | None, data: Path) -> list[Any] | None:
    if rows.labels is None:
        return None
    labels = [None if unlabeled is not None and str(v) == unlabeled else v for v in rows.labels]
    if rows.columns is not None:
        labels = read_names(labels, named, f"the label column of {data}")
    if any(v == -1 and v is not True for v in labels):
        say("Note: the label -1 is read as a class; --unlabeled=-1 says that it means unknown.")
    return labels


def _figures(
    model: HintClassifier, rows: Table, labels: list[Any] | None, known: hints.Hints | None
) -> dict[str, Any]:
    solution = model.solution_
    given = [] if labels is None else [i for i, v in enumerate(labels) if v is not None]
    parts: list[hints.Hint] = [] if known is None else [known]
    if labels is not None and given:
        parts.append(hints.Labels(given, [labels[i] for i in given]))
    problem = Problem(rows.X, hints.Hints(parts), classes=model.classes_.tolist())
    oracle, _, why = solution.oracle.splitlines()[-1].removeprefix("uses ").partition(": ")
    counts = np.bincount(solution.labels, minlength=len(model.classes_))
    return {
        "command": "fit",
        "rows": len(rows.X),
        "features": rows.X.shape[1],
        "labelled_rows": len(given),
        "hints": [] if known is None else [repr(part) for part in known],
        "classes": [name_of(c) for c in model.classes_],
        "counts": counts.tolist(),
        "oracle": {"name": oracle, "why": why},
        "objective": number(solution.objective),
        "fixed_bound": number(solution.fixed_bound),
        "fixed_gap": number(solution.fixed_gap),
        "iterations": solution.n_iter,
        "converged": bool(model.converged_),
        "status": solution.status.name.lower(),
        "violations": problem.violation(solution.labels),
        "seed": solution.seed,
    }


def _report(figures: dict[str, Any], seconds: float, data: Path, inferred: Path | None) -> None:
    known = ", ".join(figures["hints"]) or "no hints"
    gap = figures["fixed_gap"]
    bound = "not computed" if gap is None else f"{gap:.1e} of it, at these labels"
    says = "yes" if figures["converged"] else "no"
    lines = [
        ("rows", f"{figures['rows']} with {figures['features']} features, from {data}"),
        ("known", f"{figures['labelled_rows']} labels; {known}"),
        ("oracle", f"{figures['oracle']['name']}: {figures['oracle']['why']}"),
        ("objective", f"{figures['objective']:.6g}"),
        ("duality gap", bound),
        ("iterations", f"{figures['iterations']} in {seconds:.1f} s; converged: {says}"),
        ("violations", f"{figures['violations']} statements of the hints"),
    ]
    out = console()
    grid = table(("", ""), lines)
    grid.show_header = False
    out.print(grid)
    out.print()
    pairs = zip(figures["classes"], figures["counts"], strict=True)
    out.print(table(("class", "rows"), [(str(c), str(k)) for c, k in pairs], right=("rows",)))
    out.print()
    if inferred is not None:
        out.print(f"Labels of all rows: {inferred}", soft_wrap=True)
    out.print(f"Model: {figures['model']}", soft_wrap=True)
    out.print(f"Next: tacit predict {figures['model']} NEW.csv", soft_wrap=True)
