"""``tacit predict``: labels of new rows."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tacit.cli.failures import ExitCode, command, say
from tacit.cli.output import name_of, print_json, writable, write_csv
from tacit.cli.tables import Table, read_table, split_names
from tacit.estimators import HintClassifier, HintKMeans
from tacit.losses import get_loss
from tacit.persistence import load, whole_file

__all__ = ["predict"]


@command
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Written by tacit fit.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV with a header (.gz too), or .npz with X.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="CSV to write; else standard output."),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities too, where the loss gives them.")
    ] = False,
    label_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of true labels: no feature, but compared."),
    ] = None,
    drop: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns that are no features.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> ExitCode:
    """Predict the classes of new rows; a model from CSV finds its columns by their names."""
    writable(output)
    fitted = load(model)
    if proba and isinstance(fitted, HintKMeans):
        raise ValueError("the model is clusters around centres, which give no probabilities.")
    if proba and not get_loss(fitted.loss).probabilistic:
        raise ValueError(
            f"the model's loss {fitted.loss!r} gives no probabilities; fit one with "
            "--loss logistic or --loss softmax."
        )
    # Columns are matched by name here, so the estimator sees a bare array.
    names = fitted.__dict__.pop("feature_names_in_", None)
    wanted = None if names is None or data.suffix == ".npz" else [str(name) for name in names]
    rows = read_table(data, label_column, split_names(drop), wanted)
    labels = fitted.predict(rows.X).tolist()
    chances = fitted.predict_proba(rows.X).tolist() if proba else None
    header = ["row", "label"]
    body: Any = enumerate(labels)
    if chances is not None:
        header += [f"p({name})" for name in fitted.classes_]
        body = ([i, label, *p] for (i, label), p in zip(enumerate(labels), chances, strict=True))
    error = _error(rows, labels)
    if output is not None:
        with whole_file(output, "w", encoding="utf-8", newline="") as file:
            write_csv(file, header, body)
    if as_json:
        _print_json(fitted, labels, chances, error, output)
    elif output is None:
        text = io.StringIO()
        write_csv(text, header, body)
        typer.echo(text.getvalue(), nl=False)
    if not as_json and error is not None:
        where = repr(label_column or "y")
        say(f"{error['wrong']} of {error['labelled_rows']} labelled rows differ from {where}.")
    return ExitCode.DONE


def _error(rows: Table, labels: list[Any]) -> dict[str, Any] | None:
    """How many predictions differ from the labels in the file, compared as they are spelled."""
    if rows.labels is None:
        return None
    pairs = [(a, b) for a, b in zip(rows.labels, labels, strict=True) if a is not None]
    if not pairs:
        return None
    wrong = sum(a != b and str(a) != str(b) for a, b in pairs)
    return {"labelled_rows": len(pairs), "wrong": wrong, "label_error": wrong / len(pairs)}


def _print_json(
    fitted: HintClassifier | HintKMeans,
    labels: list[Any],
    chances: list[list[float]] | None,
    error: dict[str, Any] | None,
    output: Path | None,
) -> None:
    names = fitted.classes_.tolist()
    codes = np.array([names.index(v) for v in labels], np.intp)
    print_json(
        {
            "command": "predict",
            "rows": len(labels),
            "classes": [name_of(c) for c in names],
            "counts": np.bincount(codes, minlength=len(names)).tolist(),
            "labels": [name_of(v) for v in labels],
            "probabilities": chances,
            "error": error,
            "output": None if output is None else str(output),
        }
    )
