"""``tacit reproduce``: a published figure or table, done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from tacit.cli.failures import ExitCode, command, say
from tacit.cli.names import one_of
from tacit.cli.output import print_json
from tacit.experiments import EXPERIMENTS, Cell
from tacit.experiments import load as load_experiment
from tacit.experiments import reproduce as run

__all__ = ["reproduce"]


@command
def reproduce(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", callback=one_of(EXPERIMENTS), help=", ".join(EXPERIMENTS)),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller cells.")] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for all files.")] = Path("out"),
    jobs: Annotated[int, typer.Option(metavar="J", min=1, help="Processes.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do finished cells again.")] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Take cells that other code of the library finished.")
    ] = False,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="An option of the experiment."),
    ] = None,
) -> ExitCode:
    """Do a published figure or table again; goes on where it was interrupted."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is no folder; give another to --out.")
    experiment = load_experiment(name, **_read_options(options or []))
    try:
        with _progress(name) as shown:
            done = run(
                experiment, out, quick=quick, jobs=jobs, fresh=fresh, keep=keep, progress=shown
            )
    except KeyboardInterrupt:
        say("Stopped; finished cells are kept, and the same command goes on from there.")
        return ExitCode.STOPPED
    if as_json:
        print_json(done.data | {"files": [str(path) for path in done.files]})
        return ExitCode.DONE
    typer.echo(done.markdown)
    typer.echo("\n".join(f"Written: {path}" for path in done.files))
    return ExitCode.DONE


def _read_options(options: list[str]) -> dict[str, Any]:
    """Read OPTION=VALUE; values as in YAML."""
    read = {}
    for text in options:
        option, equals, value = text.partition("=")
        if not (option and equals):
            raise ValueError(f"--set {text}: expected OPTION=VALUE, as in --set sdp_splits=12.")
        read[option] = yaml.safe_load(value)
    return read


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int, Cell | None], None] | None]:
    """One line on a terminal's error stream; nothing in a pipe."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status(Text(name)) as status:

        def show(done: int, total: int, cell: Cell | None) -> None:
            last = "" if cell is None else ", last " + " ".join(str(v) for v in cell.values())
            status.update(
                Text(f"{name}: {done} of {total} cells{last}", overflow="ellipsis", no_wrap=True)
            )

        yield show
