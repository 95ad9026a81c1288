"""Runs an experiment: cells one by one or at once, kept as they finish; then table and pictures."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import tacit
from tacit.exceptions import TacitError
from tacit.experiments._record import Record, canonical, code_digest, signature
from tacit.experiments.base import Cell, Experiment, Report
from tacit.persistence import whole_file

__all__ = ["Written", "reproduce"]

Progress = Callable[[int, int, Cell | None], None]
# Read when a worker imports numpy; threadpoolctl would come too late for some of them.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Written:
    """What a run leaves behind.

    Attributes
    ----------
    data : dict
        Content of the JSON file.
    markdown : str
        Content of the Markdown file.
    files : list of Path
        JSON, Markdown, pictures.
    reused : int
        Cells that were finished before.
    other : int
        Those of them that other code of the library measured.
    """

    data: dict[str, Any]
    markdown: str
    files: list[Path]
    reused: int
    other: int


def reproduce(
    experiment: Experiment,
    out: str | Path = "out",
    *,
    quick: bool = False,
    jobs: int = 1,
    fresh: bool = False,
    keep: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Run what is not finished yet, then write table and pictures.

    Every cell runs with one BLAS thread, and is kept in ``NAME.cells.jsonl`` as soon as it is
    finished. Cells count as finished when experiment, size, settings, version and the library's
    source files are the same.

    Parameters
    ----------
    experiment : Experiment
        From `load`.
    out : path
        Folder; made if it is missing.
    quick : bool
        Fewer and smaller cells.
    jobs : int
        Processes.
    fresh : bool
        Do finished cells again.
    keep : bool
        Take cells, too, that other code of the library finished; the table says how many.
    progress : callable, optional
        Called with the number of finished cells, of all, and the cell just finished (at first
        None).

    Returns
    -------
    Written
    """
    if not (isinstance(jobs, int) and jobs >= 1):
        raise ValueError(f"jobs={jobs!r}; expected at least 1.")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    cells = experiment.cells(quick)
    keys = [canonical(cell) for cell in cells]
    if len(set(keys)) < len(keys):
        raise ValueError(f"{experiment.name}: two cells are the same; each must say what it is.")
    path = folder / f"{experiment.name}.cells.jsonl"
    record = Record(path, signature(experiment, quick), code_digest())
    finished = record.open(fresh, keep)
    left = [cell for key, cell in zip(keys, cells, strict=True) if key not in finished]
    reused = len(cells) - len(left)
    if progress:
        progress(reused, len(cells), None)
    for number, (cell, figures) in enumerate(_results(experiment, left, jobs), reused + 1):
        finished[canonical(cell)] = record.append(cell, figures)
        if progress:
            progress(number, len(cells), cell)
    rows = [{**cell, **finished[key]["figures"]} for key, cell in zip(keys, cells, strict=True)]
    other = sum(finished[key]["code"] != record.code for key in keys)
    data, markdown, files = _write(experiment, folder, quick, rows, other)
    return Written(data, markdown, files, reused, other)


def _results(
    experiment: Experiment, cells: list[Cell], jobs: int
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Yield cells with their figures as they finish."""
    if jobs == 1 or len(cells) < 2:
        for cell in cells:
            yield cell, run_cell(experiment, cell)
        return
    # spawn: a fork would inherit the threads of numba and BLAS in an unknown state.
    context = multiprocessing.get_context("spawn")
    count = min(jobs, len(cells))
    with (
        _environment(ONE_THREAD),
        ProcessPoolExecutor(count, context, initializer=_end_quietly) as pool,
    ):
        try:
            waiting = {pool.submit(run_cell, experiment, cell): cell for cell in cells}
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BrokenProcessPool:
            raise TacitError(
                f"{experiment.name}: a process ended without a result, perhaps for lack of memory; "
                "finished cells are kept: run it again, with fewer jobs."
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _end_quietly() -> None:
    """Let Ctrl-C, which reaches all processes of a terminal, end this one without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables, for processes that start meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def run_cell(experiment: Experiment, cell: Cell) -> dict[str, Any]:
    """Run one cell with one thread; its figures as a file would give them back."""
    with threadpool_limits(1):
        figures = experiment.run(dict(cell))
    if both := sorted(cell.keys() & figures.keys()):
        raise ValueError(f"{experiment.name}: cell and figures both have {', '.join(both)}.")
    try:
        plain: dict[str, Any] = json.loads(canonical(figures))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{experiment.name}: the figures of cell {canonical(cell)} are no plain finite values: "
            f"{error}"
        ) from error
    return plain


def _write(
    experiment: Experiment, folder: Path, quick: bool, rows: list[dict[str, Any]], other: int
) -> tuple[dict[str, Any], str, list[Path]]:
    report = experiment.report(rows)
    head = {
        "experiment": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "quick": quick,
        "version": tacit.__version__,
        "cells_of_other_code": other,
    }
    data = head | {"figures": json.loads(canonical(report.figures)), "rows": rows}
    text = _json(data)
    markdown = _markdown(experiment, quick, report, other, len(rows))
    files = [folder / f"{experiment.name}{end}" for end in (".json", ".md")]
    for path, content in zip(files, (text, markdown), strict=True):
        with whole_file(path, "w", encoding="utf-8") as file:
            file.write(content)
    return data, markdown, files + _draw(experiment, folder, report)


def _json(data: dict[str, Any]) -> str:
    """One line for every row, the rest indented."""
    top = json.dumps(data | {"rows": []}, indent=2, ensure_ascii=False, allow_nan=False)
    rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in data["rows"])
    lines = ",\n".join(f"    {row}" for row in rows)
    return top.removesuffix("[]\n}") + f"[\n{lines}\n  ]\n}}\n"


def _markdown(experiment: Experiment, quick: bool, report: Report, other: int, n: int) -> str:
    lines = [f"# {experiment.title}", "", f"`{experiment.name}`, after {experiment.source}."]
    if quick:
        lines += ["", "Quick run: fewer and smaller cells. Targets are meant for the full run."]
    if other:
        lines += [
            "",
            f"{other} of {n} cells were measured with other code of the library (--keep).",
        ]
    return "\n".join([*lines, "", report.markdown.strip(), ""])


def _draw(experiment: Experiment, folder: Path, report: Report) -> list[Path]:
    """Pictures are drawn aside and take their places when all are whole."""
    with tempfile.TemporaryDirectory(prefix=".draw-", dir=folder) as aside:
        drawn = report.draw(Path(aside))
        for path in drawn:
            if not (path.name.startswith(experiment.name) and path.suffix == ".png"):
                raise ValueError(f"{path.name}: pictures are called {experiment.name}*.png.")
        return [path.replace(folder / path.name) for path in drawn]
