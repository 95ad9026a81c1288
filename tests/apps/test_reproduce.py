"""The runner of experiments: what is kept, what is done again, and what a killed run leaves."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from checks.experiments import Squares
from tacit import DamagedFile, TacitError, experiments
from tacit.cli import ExitCode, app
from tacit.experiments import reproduce
from tacit.experiments.runner import run_cell
from tacit.experiments.targets import Target, target_table

ROOT = Path(__file__).resolve().parents[2]
CELLS = "squares.cells.jsonl"
WRITTEN = ("squares.json", "squares.md", "squares.png")


def contents(folder):
    return {name: (folder / name).read_bytes() for name in WRITTEN}


@pytest.fixture
def whole(tmp_path):
    """What an uninterrupted run writes."""
    reproduce(Squares(), tmp_path / "whole")
    return contents(tmp_path / "whole")


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Cells that `run` was called for, in any process."""
    path = tmp_path / "calls"
    path.touch()
    monkeypatch.setenv("SQUARES_CALLS", str(path))
    return lambda: sorted(int(line) for line in path.read_text().split())


def test_figures_by_hand(tmp_path):
    done = reproduce(Squares(n=3), tmp_path / "new" / "out")
    assert done.data["figures"] == {"sum": 0 / 3 + 1 / 3 + 4 / 3}
    assert done.data["rows"][2] == {"i": 2, "name": "number 2", "square": 4 / 3, "list": [2, -2]}
    assert done.data == json.loads((tmp_path / "new" / "out" / "squares.json").read_text())
    assert done.markdown.splitlines()[-1] == "2: 1.3333333333333333 [2, -2]"
    assert [path.name for path in done.files] == list(WRITTEN)
    left = sorted(path.name for path in (tmp_path / "new" / "out").iterdir())
    assert left == sorted((CELLS, *WRITTEN))


KILLED = """
import sys
from checks.experiments import Squares
from tacit.experiments import reproduce
if __name__ == "__main__":
    reproduce(Squares(kill_at=3, marker=sys.argv[1]), sys.argv[2])
"""


def test_killed_in_the_middle_of_a_cell(tmp_path, whole, calls):
    marker, out = tmp_path / "marker", tmp_path / "out"
    marker.touch()
    paths = f"import sys; sys.path[:0] = [{str(ROOT / 'src')!r}, {str(ROOT / 'tests')!r}]\n"
    killed = subprocess.run(
        [sys.executable, "-c", paths + KILLED, str(marker), str(out)], check=False
    )
    assert killed.returncode == -9
    assert [path.name for path in out.iterdir()] == [CELLS]
    assert calls() == [0, 1, 2]
    done = reproduce(Squares(), out)
    assert contents(out) == whole
    assert done.reused == 3
    assert calls() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_torn_last_line(tmp_path, whole, calls, cut):
    reproduce(Squares(), tmp_path)
    path = tmp_path / CELLS
    path.write_bytes(path.read_bytes()[:-cut])
    done = reproduce(Squares(), tmp_path)
    assert done.reused == 4
    assert contents(tmp_path) == whole
    assert calls() == [0, 1, 2, 3, 4, 4]
    assert len(path.read_bytes().splitlines()) == 5


def test_damaged_line_is_named(tmp_path):
    reproduce(Squares(), tmp_path)
    path = tmp_path / CELLS
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b'{"cell": 1}\n', *lines[2:]]))
    with pytest.raises(DamagedFile, match="line 2 is not a finished cell"):
        reproduce(Squares(), tmp_path)


def test_processes_give_the_same_files(tmp_path, whole, calls):
    out = tmp_path / "out"
    reproduce(Squares(), out, jobs=2)
    assert contents(out) == whole
    assert calls() == [0, 1, 2, 3, 4]


def test_a_process_that_dies_costs_only_its_cells(tmp_path, whole):
    marker, out = tmp_path / "marker", tmp_path / "out"
    marker.touch()
    with pytest.raises(TacitError, match="finished cells are kept"):
        reproduce(Squares(kill_at=3, marker=str(marker)), out, jobs=2)
    assert not (out / "squares.json").exists()
    reproduce(Squares(), out)
    assert contents(out) == whole


def test_changed_settings_and_sizes_are_done_anew(tmp_path, calls):
    reproduce(Squares(n=2), tmp_path)
    changed = reproduce(Squares(n=2, factor=2.0), tmp_path)
    assert (changed.reused, changed.data["figures"]["sum"]) == (0, 2 / 3)
    assert reproduce(Squares(n=2), tmp_path, quick=True).reused == 0
    assert calls() == [0, 0, 0, 1, 1, 1]
    other = Squares(n=2)
    other.revision = 2
    assert reproduce(other, tmp_path).reused == 0
    assert reproduce(Squares(n=2), tmp_path).reused == 2
    assert reproduce(Squares(n=3), tmp_path).reused == 2


def test_other_code_of_the_library(tmp_path, monkeypatch):
    reproduce(Squares(), tmp_path)
    monkeypatch.setattr("tacit.experiments.runner.code_digest", lambda: "other")
    kept = reproduce(Squares(), tmp_path, keep=True)
    assert (kept.reused, kept.other, kept.data["cells_of_other_code"]) == (5, 5, 5)
    assert "5 of 5 cells were measured with other code" in kept.markdown
    again = reproduce(Squares(), tmp_path)
    assert (again.reused, again.other) == (0, 0)
    assert reproduce(Squares(), tmp_path, keep=True).other == 0


def test_digest_of_the_code_sees_a_changed_solver(tmp_path, monkeypatch):
    from tacit.experiments import _record

    for name in ("solvers", "cli"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("a = 1\n")
    monkeypatch.setattr(_record, "PACKAGE", tmp_path)
    before = _record.code_digest()
    (tmp_path / "cli" / "a.py").write_text("a = 2\n")
    assert _record.code_digest() == before
    (tmp_path / "solvers" / "a.py").write_text("a = 2\n")
    assert _record.code_digest() != before


def test_fresh_does_its_own_cells_again(tmp_path, calls):
    reproduce(Squares(n=2), tmp_path, quick=True)
    reproduce(Squares(n=2), tmp_path)
    assert reproduce(Squares(n=2), tmp_path, fresh=True).reused == 0
    assert calls() == [0, 0, 0, 1, 1, 1]
    assert reproduce(Squares(n=2), tmp_path, quick=True).reused == 2


def test_progress_counts_cells(tmp_path):
    seen = []
    reproduce(Squares(n=2), tmp_path, progress=lambda *what: seen.append(what))
    assert [(done, total) for done, total, _ in seen] == [(0, 2), (1, 2), (2, 2)]
    assert seen[0][2] is None
    assert seen[2][2] == {"i": 1, "name": "number 1"}


class Odd(Squares):
    """Returns what it is given."""

    def __init__(self, figures):
        super().__init__()
        self.figures = figures

    def run(self, cell):
        return self.figures


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"x": float("nan")}, "no plain finite values"),
        ({"x": object()}, "no plain finite values"),
        ({"i": 3}, "cell and figures both have i"),
    ],
)
def test_figures_that_cannot_be_kept(figures, words):
    with pytest.raises(ValueError, match=words):
        run_cell(Odd(figures), {"i": 1})


def test_numpy_figures_become_plain():
    figures = {"x": np.float32(0.5), "n": np.int64(3), "v": np.arange(2), "ok": np.bool_(True)}
    assert run_cell(Odd(figures), {"i": 1}) == {"x": 0.5, "n": 3, "v": [0, 1], "ok": True}


def test_cells_must_differ(tmp_path):
    class Twice(Squares):
        def cells(self, quick):
            return [{"i": 1}, {"i": 1}]

    with pytest.raises(ValueError, match="two cells are the same"):
        reproduce(Twice(), tmp_path)


def test_pictures_have_the_experiments_name(tmp_path):
    class Misnamed(Squares):
        def report(self, rows):
            report = super().report(rows)

            def draw(folder):
                (folder / "other.png").write_bytes(b"")
                return [folder / "other.png"]

            return type(report)(report.figures, report.markdown, draw)

    with pytest.raises(ValueError, match=r"pictures are called squares\*\.png"):
        reproduce(Misnamed(), tmp_path)
    assert not list(tmp_path.glob("*.png"))


def test_targets_say_what_is_met():
    low = Target("error", 0.5, must=0.5, aim=0.4, claimed=2.5)
    assert (low.reaches(0.5), low.reaches(0.4), low.reaches(None)) == (True, False, None)
    assert Target("accuracy", 0.5, must=0.6, higher=True).figures()["must_met"] is False
    assert target_table([low]).splitlines()[-1] == (
        "| error | 0.5 | 2.5 | <= 0.5 | met | <= 0.4 | missed |"
    )


# --- the command --------------------------------------------------------------------------------


@pytest.fixture
def squares(monkeypatch):
    monkeypatch.setitem(experiments.EXPERIMENTS, "squares", "none:Squares")
    module = importlib.import_module("tacit.cli.reproduce")  # `tacit.cli` has the function there
    monkeypatch.setattr(module, "load_experiment", lambda name: Squares(n=2))


def call(*args, code=0):
    result = CliRunner().invoke(app, ["reproduce", *(str(a) for a in args)])
    assert result.exit_code == code, result.stdout + result.stderr
    return result


def test_command_writes_and_says_what(tmp_path, squares):
    done = call("squares", "--out", tmp_path)
    assert done.stderr == ""
    assert done.stdout.startswith("# Squares\n")
    assert f"Written: {tmp_path / 'squares.png'}" in done.stdout
    data = json.loads(call("squares", "--quick", "--out", tmp_path, "--json").stdout)
    assert data["quick"] is True
    assert data["files"] == [str(tmp_path / name) for name in WRITTEN]


def test_command_interrupted(tmp_path, squares, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Squares, "run", interrupted)
    said = call("squares", "--out", tmp_path, code=ExitCode.STOPPED).stderr
    assert said == "Stopped; finished cells are kept, and the same command goes on from there.\n"


def test_command_with_a_wrong_name():
    said = " ".join(call("square", code=ExitCode.USAGE).stderr.split())
    assert "'square' is not one of" in said


def test_command_with_a_file_for_a_folder(tmp_path, squares):
    (tmp_path / "file").touch()
    said = call("squares", "--out", tmp_path / "file", code=ExitCode.ERROR).stderr
    assert "is no folder" in said
