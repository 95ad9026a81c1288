"""The experiments: each one's quick run by the command, and their summaries worked by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

from tacit.cli import app
from tacit.experiments import EXPERIMENTS, load
from tacit.experiments.base import Experiment
from tacit.experiments.weak_supervision._moon_report import by_method, counts_of_wins, moon_targets
from tacit.experiments.weak_supervision._moons import Moons
from tacit.experiments.weak_supervision.scaling import exponent


def call(*args):
    return CliRunner().invoke(app, ["reproduce", *(str(a) for a in args)])


def quick(name, out):
    done = call(name, "--quick", "--json", "--out", out)
    if done.exit_code == 1 and "TACIT_DATA" in done.stderr and not name.startswith("moons"):
        pytest.skip(done.stderr.strip())
    assert done.exit_code == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_run(tmp_path, name):
    data = quick(name, tmp_path)
    assert (data["experiment"], data["quick"]) == (name, True)
    written = [tmp_path / f"{name}{end}" for end in (".json", ".md")]
    pictures = sorted(tmp_path.glob("*.png"))
    assert pictures
    assert sorted(data["files"]) == sorted(str(p) for p in (*written, *pictures))
    for path in pictures:
        assert imread(path)[..., :3].std() > 0.05  # something is drawn
    before = {path: path.read_bytes() for path in written}
    assert quick(name, tmp_path) == data  # nothing is done again: times would differ
    assert {path: path.read_bytes() for path in written} == before


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_are_described(name):
    experiment = load(name)
    assert isinstance(experiment, Experiment)
    assert experiment.name == name
    assert experiment.title
    assert set(experiment.sheet) >= {"claimed", "targets"}
    for size in (True, False):
        cells = experiment.cells(size)
        assert len({json.dumps(cell, sort_keys=True) for cell in cells}) == len(cells) > 0


def test_missing_data_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    from tacit.experiments.weak_supervision import _scaling_work

    _scaling_work._all_digits.cache_clear()
    done = call("scaling", "--quick", "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "mnist.npz is missing; put it there or set TACIT_DATA" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "option", "words"),
    [
        ("ssl", "sdp_splits=13", "sdp_splits=13; expected an integer, 0 to 12"),
        ("ssl", "sdp_splits", "--set sdp_splits: expected OPTION=VALUE"),
        ("ssl", "splits=2", "experiment 'ssl' has no option 'splits'; it has sdp_splits."),
        (
            "moons-balance",
            "n=2",
            "no option 'n'; it has seeds, first_seed.",
        ),
        ("moons-balance", "seeds=0", "seeds=0; expected an integer, at least 1."),
    ],
)
def test_options_are_checked(tmp_path, name, option, words):
    done = call(name, "--set", option, "--out", tmp_path)
    assert done.exit_code == 1
    assert words in done.stderr
    assert not list(tmp_path.iterdir())


def test_moons_are_the_papers():
    case = Moons.make("batches", "grid", 0, 600)
    counts = case.program.counts
    assert case.X.shape == (600, 2)
    assert np.bincount(case.y).tolist() == [150] * 4
    assert (len(counts), set(counts.sizes.tolist())) == (25, {25})
    assert np.abs(counts.upper - counts.tally(case.y)).max() == 3
    program = Moons.make("links", "chain", 0, 600).program
    assert (program.mask.sum(axis=1) == 3).all()
    assert len(program.pairs) == 599


ROWS = [
    {"layout": "grid", "seed": s, "method": m, "label_error": e, "objective": j, "cpu_s": t}
    for s, m, e, j, t in [
        (0, "tacit", 0.01, 5.0, 1.0),
        (0, "em", 0.5, 10.0, 2.0),
        (0, "kmeans", 0.01, 6.0, 0.1),
        (0, "truth", 0.0, 5.0, 0.0),
        (1, "tacit", 0.03, 8.0, 3.0),
        (1, "em", 0.7, 7.0, 2.0),
        (1, "kmeans", 0.2, 9.0, 0.1),
        (1, "truth", 0.0, 4.0, 0.0),
    ]
]


def test_summary_of_moons_by_hand():
    summary = by_method(ROWS)
    assert summary["grid"]["tacit"] == pytest.approx(
        {
            "instances": 2,
            "mean_error": 2.0,
            "worst_error": 3.0,
            "mean_ratio": 1.5,
            "worst_ratio": 2.0,
            "mean_cpu_s": 2.0,
            "worst_cpu_s": 3.0,
        }
    )
    assert counts_of_wins(ROWS) == {
        "objective against em": "lower on 1, the same on 0, higher on 1 of 2 instances",
        "label_error against kmeans": "lower on 1, the same on 1, higher on 0 of 2 instances",
    }
    lines = {"mean_error": {"must": 2.0, "aim": 1.9}, "worst_ratio": {"aim": 2.1}}
    sheet = {"claimed": {"tacit": 2.5}, "targets": {"grid": lines}}
    mean, ratio = moon_targets(summary, sheet)
    assert (mean.reaches(mean.must), mean.reaches(mean.aim), mean.claimed) == (True, False, 2.5)
    assert (ratio.must, ratio.reaches(ratio.aim), ratio.claimed) == (None, True, None)


def test_exponents_by_hand():
    assert exponent([10, 100], [2.0, 200.0]) == pytest.approx(2.0)
    assert exponent([1, 10, 100], [1.0, 1.0, 100.0]) == pytest.approx(1.0)


def test_slower_and_worse_is_missed():
    def row(method, kernel, seconds, objective):
        cell = {"part": "sdp", "method": method, "kernel": kernel, "set": "g241c", "split": 0}
        relaxed = {"relax_iterations": 50, "relax_cpu_s": 0.5 * seconds}
        return cell | relaxed | {"cpu_s": seconds, "objective": objective, "accuracy": 0.5}

    rows = [
        row(method, kernel, seconds, objective)
        for kernel, sdp in (("linear", 100.0), ("rbf", 40.0))
        for method, seconds, objective in (
            ("one start", 1.0, 9.0),
            ("default", 2.0, 11.0),
            ("sdp", sdp, 10.0),
        )
    ]
    targets = load("scaling").report(rows).figures["targets"]
    assert [t["value"] for t in targets] == pytest.approx([100, 100, 0.9, 1.1, 40, 40, 0.9, 1.1])
    met = [t["must_met"] for t in targets]
    assert met == [True, None, None, False, False, None, None, False]
