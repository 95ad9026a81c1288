"""Class names and choices as the command line spells them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import typer

__all__ = ["one_of", "read_gamma", "read_names"]


def read_names(
    texts: Sequence[str | None], named: Iterable[Any], where: str
) -> list[str | int | None]:
    """Turn class names given as text into those that the hints use.

    Text that spells whole numbers throughout is read as numbers, unless the hints' names are text.

    Parameters
    ----------
    texts : sequence of str or None
        Names; None for unknown.
    named : iterable
        Names in the hints.
    where : str
        What holds the texts, for the error.
    """
    named = list(named)
    odd = next((v for v in named if isinstance(v, bool)), None)
    if odd is not None:
        raise ValueError(
            f"the hints name the class {odd}, but {where} holds text; true and false are truth "
            "values: quote them in the hints file."
        )
    given = [t for t in texts if t is not None]
    word = next((t for t in given if not _whole(t)), None)
    number = next((v for v in named if isinstance(v, int | float)), None)
    if word is not None and number is not None:
        raise ValueError(
            f"the hints name classes by number ({number}) but {where} holds {word!r}; use the same "
            "names in both."
        )
    if word is not None or any(isinstance(v, str) for v in named):
        return list(texts)
    return [None if t is None else int(t) for t in texts]


def _whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(text)) == text


def one_of(names: Iterable[str]) -> Callable[[str | None], str | None]:
    """Make a callback that refuses other values, with the nearest one."""
    known = list(names)

    def check(value: str | None) -> str | None:
        if value is None or value in known:
            return value
        near = difflib.get_close_matches(value, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}.{hint}")

    return check


def read_gamma(text: str) -> float | str:
    """Read "scale", "auto" or a positive number."""
    if text in {"scale", "auto"}:
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a number, nor 'scale' or 'auto'.", param_hint="'--gamma'"
        ) from None
