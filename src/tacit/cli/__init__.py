"""The command ``tacit``: one file per command, `ExitCode` says what a script learns from it."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.check import check
from tacit.cli.demo import demo
from tacit.cli.failures import ExitCode
from tacit.cli.fit import fit
from tacit.cli.listing import list_families
from tacit.cli.predict import predict
from tacit.cli.reproduce import reproduce

__all__ = ["ExitCode", "app", "main"]

app = typer.Typer(
    name="tacit",
    help="Learning from labels that were never stated, only known about.",
    epilog="Exit codes: 0 done, 1 something given is wrong, 2 wrong usage, 3 the hints contradict "
    "each other, 4 not converged, 130 stopped by Ctrl-C.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(fit)
app.command()(predict)
app.command()(check)
app.command()(reproduce)
app.command("list")(list_families)


def _version(wanted: bool) -> None:
    if wanted:
        from tacit import __version__

        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.callback()
def _tacit(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the command."""
    app()
