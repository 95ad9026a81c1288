"""``tacit check``: whether hints can all be true, and what would solve them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit import hints
from tacit.cli.failures import ExitCode, command
from tacit.cli.names import read_names
from tacit.cli.output import console, name_of, print_json
from tacit.cli.tables import split_names
from tacit.hints.combine import infer_classes
from tacit.oracles import select_oracle

__all__ = ["check"]


@command
def check(
    hints_file: Annotated[Path, typer.Argument(metavar="HINTS", help=".yaml or .json.")],
    rows: Annotated[int, typer.Option(metavar="N", min=1, help="Number of rows of the data.")],
    classes: Annotated[
        str | None, typer.Option(metavar="A,B", help="Class names in order; found by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> ExitCode:
    """Say whether some labeling satisfies all hints, and if not which ones contradict."""
    known = hints.load(hints_file)
    chosen = read_names(split_names(classes), known.names(), "--classes") if classes else None
    codes = infer_classes(chosen, (), known)
    if len(codes) == 0:
        raise ValueError(f"{hints_file} names no class; give --classes A,B.")
    answer = hints.check(known, rows, codes.names)
    oracle = select_oracle(known.compile(rows, codes))
    if as_json:
        print_json(
            {
                "command": "check",
                "feasible": answer.feasible,
                "message": answer.message,
                "rows": rows,
                "classes": [name_of(c) for c in codes.names],
                "hints": [repr(part) for part in known],
                "oracle": {"name": oracle.oracle.name, "why": oracle.verdicts[-1][1].reason},
            }
        )
    else:
        out = console()
        out.print(answer.message, soft_wrap=True)
        if answer:
            out.print(f"\n{oracle.explain()}", soft_wrap=True)
    return ExitCode.DONE if answer else ExitCode.INFEASIBLE
