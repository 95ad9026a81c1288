"""Collect the `Equation:` lines of all docstrings into `docs/equations.md`.

A docstring says which equations its owner implements, one line each::

    Equation: (7) in 000
    Equation: (9), (10), (11) in 004, corrected: sign of the multiplier
    Equation: (12) in 000, (14) in 004

Some equations have several owners: each loss has its own prox. ``--check`` writes nothing and
fails if the page is out of date.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
PAGE = ROOT / "docs" / "equations.md"

PAPERS = {
    "000": (
        "Laude, Lange, Schmidt, Andres, Cremers",
        "Discrete-Continuous Splitting for Weakly Supervised Learning",
    ),
    "001": ("Shcherbatyi, Andres", "Convexification of Learning from Constraints"),
    "002": (
        "Wang, Zhao",
        "Nonconvex Generalization of Alternating Direction Method of Multipliers for "
        "Nonlinear Equality Constrained Problems",
    ),
    "003": ("Boileau, Lamouchi, St-Arnaud", "Scalability of Struct SVM Approaches"),
    "004": (
        "Laude, Lange, Schüpfer, Domokos, Leal-Taixé, Schmidt, Andres, Cremers",
        "Discrete-Continuous ADMM for Transductive Inference in Higher-Order MRFs",
    ),
}

# (7) or a named statement, several with commas, of one paper.
STATEMENT = r"(?:\(\d+[a-z]?\)|(?:Alg\.|Thm\.|Cor\.|Lemma|Prop\.|Sec\.) \d+(?:\.\d+)*)"
REFERENCE = re.compile(rf"({STATEMENT}(?:, {STATEMENT})*) in (\d{{3}})")
FORM = "Equation: (7) in 000, note"


class Entry(NamedTuple):
    """One equation and one place that implements it."""

    paper: str
    number: str
    note: str
    file: str
    symbol: str


def collect(source: Path = SOURCE) -> list[Entry]:
    """Return the entries of all files, ordered by paper, number and owner."""
    found = [
        entry
        for path in sorted(source.rglob("*.py"))
        for symbol, docstring in documented(ast.parse(path.read_text(encoding="utf-8")))
        for line in docstring.splitlines()
        if line.strip().startswith("Equation:")
        for entry in read_line(line.strip(), path.relative_to(source).as_posix(), symbol)
    ]
    return sorted(set(found), key=lambda e: (e.paper, natural(e.number), e.file, e.symbol, e.note))


def documented(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield every docstring with the dotted name of its owner; "" for the module's own."""
    owners = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    if isinstance(tree, owners):
        docstring = ast.get_docstring(tree)
        if docstring:
            yield prefix, docstring
    for node in ast.iter_child_nodes(tree):
        name = getattr(node, "name", "") if isinstance(node, owners) else ""
        yield from documented(node, ".".join(filter(None, (prefix, name))))


def read_line(line: str, file: str, symbol: str) -> list[Entry]:
    """Read one `Equation:` line: references, then perhaps a note."""
    rest = line.removeprefix("Equation:").strip()
    references = []
    while match := REFERENCE.match(rest):
        references.append(match.groups())
        rest = rest[match.end() :].removeprefix(",").strip()
    unknown = [paper for _, paper in references if paper not in PAPERS]
    if not references or unknown or REFERENCE.search(rest):
        raise SystemExit(f"{file}: {line!r} cannot be read; expected the form {FORM!r}.")
    return [
        Entry(paper, number, rest, file, symbol)
        for numbers, paper in references
        for number in numbers.split(", ")
    ]


def natural(number: str) -> tuple[bool, list[int], str]:
    """Order (2) before (10), and numbered equations before named statements."""
    return number[0] != "(", [int(digits) for digits in re.findall(r"\d+", number)], number


def render(entries: list[Entry]) -> str:
    """Return the page."""
    lines = [
        "# Equations",
        "",
        "Which file implements which equation, read from the docstrings' `Equation:` lines by",
        "`scripts/equations.py`; not to be edited. Where a note says *corrected*, the code",
        "follows a corrected statement, not the printed one.",
    ]
    for paper, (authors, title) in PAPERS.items():
        own = [entry for entry in entries if entry.paper == paper]
        lines += ["", f"## {paper}: {title}", "", f"{authors}.", ""]
        lines += _table(own) if own else ["Nothing of it is implemented yet."]
    return "\n".join(lines) + "\n"


def _table(entries: list[Entry]) -> list[str]:
    """One row per equation and note, all its owners together."""
    owners: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        owner = f"`{entry.file}:{entry.symbol}`" if entry.symbol else f"`{entry.file}`"
        owners.setdefault((entry.number, entry.note), []).append(owner)
    rows = [
        f"| {number} | {note.replace('|', '&#124;')} | {'<br>'.join(places)} |"
        for (number, note), places in owners.items()
    ]
    return ["| equation | note | owner |", "| --- | --- | --- |", *rows]


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description="Index of the equations that the code implements.")
    parser.add_argument("--check", action="store_true", help="fail if the page is out of date")
    page = render(collect())
    if not parser.parse_args().check:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        print("docs/equations.md is out of date; run: python scripts/equations.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
