"""``tacit list``: the members of every family, from the families' own registries."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any

import typer

from tacit.cli.failures import ExitCode, command
from tacit.cli.names import one_of
from tacit.cli.output import console, print_json, table
from tacit.features import APPROXIMATIONS, KERNELS, FourierMap, NystroemMap
from tacit.hints import KINDS
from tacit.linalg import LowRankSpace
from tacit.losses import LOSSES
from tacit.oracles import ORACLES, PREFERENCE
from tacit.solvers import SOLVERS

__all__ = ["FAMILIES", "list_families", "plain"]

Rows = list[dict[str, str]]
WORDS = {"varphi": "phi", "ell": "loss", "neq": "!=", "ne": "!=", "leq": "<=", "le": "<="}
FORMULAS = {
    "linear": "<x, z>",
    "rbf": "exp(-gamma |x - z|^2)",
    "poly": "(gamma <x, z> + coef0)^degree",
    "precomputed": "X holds the kernel matrix",
}


def plain(text: str) -> str:
    """Return a docstring's line without its markup."""
    text = re.sub(r":math:`([^`]*)`", lambda match: _formula(match[1]), text)
    return " ".join(re.sub(r":\w+:`([^`]*)`", r"\1", text).replace("`", "").split())


def _formula(tex: str) -> str:
    """Return TeX as plain text; commands that have no better form lose their backslash."""
    tex = re.sub(r"\\(?:mathrm|text|operatorname)\{(\w+)\}", r"\1", tex)
    tex = re.sub(r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", tex)
    tex = re.sub(r"\^\\top\b", "'", re.sub(r"\\[,;: ]", " ", tex))
    tex = re.sub(r"\\([a-zA-Z]+)", lambda match: WORDS.get(match[1], match[1]), tex)
    tex = re.sub(r"_\{(\w+)\}", r"_\1", tex)
    tex = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", tex)
    return tex.replace("\\", "")


def _summary(cls: Any) -> str:
    paragraph = (inspect.getdoc(cls) or "").split("\n\n")[0]
    return plain(paragraph)


def _losses() -> Rows:
    return [
        {
            "loss": name,
            "what it is": _summary(cls),
            "probabilities": "yes" if cls.probabilistic else "no",
        }
        for name, cls in LOSSES.items()
    ]


def _hints() -> Rows:
    return [
        {
            "hint": f"{cls.__name__}({', '.join(inspect.signature(cls).parameters)})",
            "in files": f"{kind}: {', '.join(cls.keys)}",
            "what it says": _summary(cls),
        }
        for kind, cls in KINDS.items()
    ]


def _oracles() -> Rows:
    last = [cls for cls in ORACLES.values() if cls not in PREFERENCE]
    return [
        {
            "order": str(PREFERENCE.index(cls) + 1) if cls in PREFERENCE else "on request",
            "oracle": cls.name,
            "accepts": cls.summary,
        }
        for cls in (*PREFERENCE, *last)
    ]


def _kernels() -> Rows:
    return [{"kernel": name, "k(x, z)": FORMULAS.get(name, "")} for name in KERNELS]


def _approximations() -> Rows:
    made = {"lowrank": LowRankSpace, "nystroem": NystroemMap, "fourier": FourierMap}
    return [{"approximation": k, "what it is": _summary(made[k])} for k in APPROXIMATIONS]


def _solvers() -> Rows:
    return [{"solver": name, "what it does": _summary(cls)} for name, cls in SOLVERS.items()]


FAMILIES: dict[str, Callable[[], Rows]] = {
    "losses": _losses,
    "hints": _hints,
    "oracles": _oracles,
    "kernels": _kernels,
    "approximations": _approximations,
    "solvers": _solvers,
}


@command
def list_families(
    family: Annotated[
        str | None,
        typer.Argument(
            metavar="[FAMILY]", callback=one_of(FAMILIES), help=f"{', '.join(FAMILIES)}; else all."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> ExitCode:
    """List losses, hints, oracles and so on, and what each accepts."""
    found = {name: make() for name, make in FAMILIES.items() if family in {None, name}}
    if as_json:
        print_json(found)
        return ExitCode.DONE
    out = console()
    for i, (name, rows) in enumerate(found.items()):
        if i:
            out.print()
        if family is None:
            out.print(name.upper(), style="bold")
        out.print(table(list(rows[0]), [list(row.values()) for row in rows]))
    return ExitCode.DONE
