"""Tables, JSON and files that commands write."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit.persistence import replaceable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["console", "name_of", "number", "print_json", "table", "writable", "write_csv"]


def console() -> Console:
    """Return the console on standard output; plain where that is no terminal."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> Table:
    """Make a table with few lines; the columns named in `right` hold numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def print_json(data: dict[str, Any]) -> None:
    """Print one JSON object, without NaN or infinity."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def number(value: Any) -> float | None:
    """Return a float for JSON; None where it is not finite."""
    return float(value) if math.isfinite(value) else None


def name_of(name: Any) -> Any:
    """Return a class name for JSON: itself where JSON has it, else its text."""
    name = name.item() if hasattr(name, "item") else name
    return name if isinstance(name, str | int | float | bool) else str(name)


def writable(path: Path | None) -> None:
    """Complain before any work is done if a file cannot be written."""
    if path is None:
        return
    target = replaceable(path)
    if target is None:  # a pipe, say
        if not os.access(path, os.W_OK):
            raise PermissionError(f"{path} cannot be written to.")
        return
    folder = path.parent if target.parent == path.absolute().parent else target.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder {folder} does not exist; make it first.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder {folder} cannot be written to.")


def write_csv(file: Any, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file to an open text stream."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
