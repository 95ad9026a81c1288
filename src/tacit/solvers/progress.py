"""Progress on the terminal as a solver callback; silent where the error stream is no terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.result import Iteration
from tacit.solvers._loop import Callback

__all__ = ["describe", "progress"]


@contextmanager
def progress(wanted: bool = True, title: str = "") -> Iterator[tuple[Callback, ...]]:
    """Give callbacks that show one line following the iterations; none where nobody would see it.

    Parameters
    ----------
    wanted : bool
        Whether to show anything.
    title : str
        What the line begins with.
    """
    if not wanted:
        yield ()
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        yield ()
        return
    lead = f"{title}: " if title else ""
    with console.status(Text(f"{lead}starting", overflow="ellipsis", no_wrap=True)) as status:

        def show(iteration: Iteration, /) -> None:
            text = lead + describe(iteration)
            status.update(Text(text, overflow="ellipsis", no_wrap=True))

        yield (show,)


def describe(i: Iteration) -> str:
    """One iteration in a line."""
    return (
        f"{i.phase} {i.run + 1}, iteration {i.iteration + 1}: objective {i.objective:.4g}, "
        f"{i.changes} labels changed"
    )
