"""Progress on the terminal as a solver callback; silent where the error stream is no terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.result import Iteration
from tacit.solvers._loop import Callback

__all__ = ["progress"]


@contextmanager
def progress(wanted: bool = True) -> Iterator[tuple[Callback, ...]]:
    """Give callbacks that show one line following the iterations; none where nobody would see it."""
    if not wanted:
        yield ()
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield ()
        return
    with console.status("starting") as status:

        def show(iteration: Iteration, /) -> None:
            status.update(describe(iteration))

        yield (show,)


def describe(i: Iteration) -> str:
    """One iteration in a line."""
    return (
        f"{i.phase} {i.run + 1}, iteration {i.iteration + 1}: objective {i.objective:.4g}, "
        f"rho {i.rho:.2g}, {i.changes} labels changed"
    )
