"""What a script learns from a command, and one clear sentence instead of a traceback."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from enum import IntEnum
from typing import Any, ParamSpec

import typer

from tacit.exceptions import InfeasibleHints, TacitError

__all__ = ["ExitCode", "command", "say"]

P = ParamSpec("P")


class ExitCode(IntEnum):
    """Exit codes of every command."""

    DONE = 0
    ERROR = 1  # something the user gave is wrong
    USAGE = 2  # the command line itself is
    INFEASIBLE = 3  # the hints contradict each other
    NOT_CONVERGED = 4  # the answer is written all the same
    STOPPED = 130  # Ctrl-C


def say(text: str) -> None:
    """Write a sentence to the error stream."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    console.print(text, soft_wrap=not console.is_terminal)


def command(function: Callable[P, ExitCode | None]) -> Callable[P, None]:
    """Turn what a command returns or raises into an exit code, and errors into a sentence."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        show, warnings.showwarning = warnings.showwarning, _show_warning
        try:
            code = function(*args, **kwargs)
        except BrokenPipeError:
            raise  # the reader of a pipe went away; typer ends quietly
        except InfeasibleHints as error:
            say(f"The hints contradict each other: {_sentence(error)}")
            code = ExitCode.INFEASIBLE
        except (TacitError, ValueError, TypeError, OSError, ImportError) as error:
            say(f"Error: {_sentence(error)}")
            code = ExitCode.ERROR
        except MemoryError as error:
            say(f"Error: not enough memory. {_sentence(error)}")
            code = ExitCode.ERROR
        except KeyboardInterrupt:
            say("Stopped; nothing was written.")
            code = ExitCode.STOPPED
        finally:
            warnings.showwarning = show
        if code:
            raise typer.Exit(int(code))

    return run


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}."
    return _spelled(str(error)) or type(error).__name__


def _spelled(text: str) -> str:
    """One line; what the library calls a parameter is an option here."""
    line = " ".join(text.split())
    for python in ("the estimator classes=[...]", "classes=[...]"):
        line = line.replace(python, "--classes A,B")
    return line


def _show_warning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
    say(f"Note: {_spelled(str(message))}")
