"""Figures beside what they must reach and what they aim at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Target", "markdown_table", "target_figures", "target_table"]

MARKS = {True: "met", False: "missed", None: ""}


@dataclass(frozen=True)
class Target:
    """One figure and its targets.

    Attributes
    ----------
    what : str
        Name of the figure, with its unit.
    value : float
        As measured.
    must, aim : float, optional
        Line of acceptance, and what would be better still.
    higher : bool
        Whether larger figures are better.
    claimed : float, optional
        As published.
    """

    what: str
    value: float
    must: float | None = None
    aim: float | None = None
    higher: bool = False
    claimed: float | None = None

    def reaches(self, line: float | None) -> bool | None:
        """Whether the figure is at the line or better; None without a line."""
        if line is None:
            return None
        return self.value >= line if self.higher else self.value <= line

    def figures(self) -> dict[str, Any]:
        """Return a dict for JSON."""
        return {
            "what": self.what,
            "value": self.value,
            "must": self.must,
            "must_met": self.reaches(self.must),
            "aim": self.aim,
            "aim_met": self.reaches(self.aim),
            "claimed": self.claimed,
        }


def target_figures(targets: Iterable[Target]) -> list[dict[str, Any]]:
    """Return all targets for JSON."""
    return [target.figures() for target in targets]


def target_table(targets: Iterable[Target]) -> str:
    """Return the targets as a table in Markdown."""
    rows = [
        (
            t.what,
            f"{t.value:.4g}",
            "" if t.claimed is None else f"{t.claimed:.4g}",
            _line(t, t.must),
            MARKS[t.reaches(t.must)],
            _line(t, t.aim),
            MARKS[t.reaches(t.aim)],
        )
        for t in targets
    ]
    return markdown_table(("figure", "value", "published", "must", "", "aim", ""), rows)


def _line(target: Target, line: float | None) -> str:
    if line is None:
        return ""
    return f"{'>=' if target.higher else '<='} {line:.4g}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; all columns but the first hold numbers."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    cells = ([str(cell).replace("|", "\\|") for cell in row] for row in (head, rule, *rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
