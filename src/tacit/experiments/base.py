"""What an experiment is: pieces of work that can be done in any order, and a report on all."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Cell", "Experiment", "Report"]

Cell = dict[str, str | int | float | bool | None]


@dataclass(frozen=True)
class Report:
    """What an experiment says in the end.

    Attributes
    ----------
    figures : dict
        Summary for the JSON file; plain values only.
    markdown : str
        Tables.
    draw : callable
        Writes pictures into the folder it is given and returns their paths; their names begin with
        the experiment's and end in ``.png``.
    """

    figures: dict[str, Any]
    markdown: str
    draw: Callable[[Path], list[Path]]


class Experiment(ABC):
    """A published figure or table, done again.

    Everything that `run` depends on is in the cell or in `settings`; it draws from seeds in the
    cell only, so that cells can be done in any order, at once, or on another day.

    Attributes
    ----------
    name : str
        As the command line spells it.
    title : str
        One line.
    source : str
        Paper and figure, as in "000 Fig. 2 / 004 Fig. 5".
    revision : int
        To be raised with every change of `run` that changes figures: cells of other revisions are
        done again.
    """

    name: str
    title: str
    source: str
    revision: int = 1

    @abstractmethod
    def cells(self, quick: bool) -> list[Cell]:
        """All pieces of work, in the order of the report; fewer and smaller ones for `quick`."""

    @abstractmethod
    def run(self, cell: Cell) -> dict[str, Any]:
        """Do one piece of work; returns its figures: plain values, lists and dicts, all finite."""

    @abstractmethod
    def report(self, rows: Sequence[dict[str, Any]]) -> Report:
        """Summarise rows ``{**cell, **figures}``, which come in the order of `cells`."""

    def settings(self) -> dict[str, Any]:
        """Constants that all cells share; finished cells count no more when one changes."""
        return {}

    @cached_property
    def sheet(self) -> dict[str, Any]:
        """Published figures and targets: the YAML file beside the module, of the same name."""
        path = Path(inspect.getfile(type(self))).with_suffix(".yaml")
        return dict(yaml.safe_load(path.read_text(encoding="utf-8")))
