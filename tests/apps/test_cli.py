"""The command line end to end: what is printed, what is written, and the exit code."""

from __future__ import annotations

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import tacit
from tacit import HintClassifier, hints
from tacit.cli import ExitCode, app
from tacit.cli.listing import FAMILIES, plain
from tacit.datasets import make_batches, make_four_moons

N = 80
GAMMA = "8"


@pytest.fixture(autouse=True)
def quiet_pipe(monkeypatch):
    """As in a pipe, whatever the machine that runs the tests says of itself."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def moons(folder):
    """data.csv with the column label known for a few rows, and hints.yaml."""
    X, y = make_four_moons(N, layout="grid", random_state=0)
    known = make_batches(y, n_batches=12, size=10, slack=1, random_state=0)
    hints.save(known, folder / "hints.yaml")
    labels = [c if i < 8 else "" for i, c in enumerate(y)]
    write(
        folder / "data.csv",
        ["x1", "x2", "label", "note"],
        zip(*X.T, labels, ["-"] * N, strict=True),
    )
    return X, y, known


def write(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def call(*args, code=0):
    result = CliRunner().invoke(app, [str(a) for a in args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.stdout + result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return result


def fails(*args, code=1):
    """Fail with a single line on stderr and nothing else; return that line."""
    result = call(*args, code=code)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr.strip()


def fit_args(*more):
    chosen = ["--label-column", "label", "--drop", "note", "--gamma", GAMMA, "-o", "m.tacit"]
    return ["fit", "data.csv", "--hints", "hints.yaml", *chosen, *more]


# --- demo ---------------------------------------------------------------------------------------


def numbers_in(data):
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        return [n for v in data for n in numbers_in(v)]
    return [data] if isinstance(data, int | float) else []


def test_demo_figures_are_finite_and_the_same_twice(folder):
    runs = [
        json.loads(call("demo", "--n", 80, "--seed", 3, "--no-plot", "--json").stdout)
        for _ in range(2)
    ]
    first, second = ({k: v for k, v in run.items() if k != "seconds"} for run in runs)
    assert first == second
    assert np.isfinite(numbers_in(runs)).all()
    assert list(folder.iterdir()) == []
    methods = first["methods"]
    assert methods["admm"]["violations"] == methods["em"]["violations"] == 0
    assert methods["admm"]["objective"] < methods["hints"]["objective"]
    assert methods["truth"]["label_error"] == 0


def test_demo_draws_what_it_says(folder):
    from matplotlib.image import imread

    result = call("demo", "--n", 60, "--layout", "grid", "--out", "picture.png")
    assert "60 points, no labels: 25 batches" in " ".join(result.stdout.split())
    for word in ("tacit (DC-ADMM)", "hard EM", "seed 0", "Picture: picture.png", "tacit fit"):
        assert word in result.stdout
    pixels = imread("picture.png")
    assert pixels.shape[0] > 600
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 100
    assert [p.name for p in folder.iterdir()] == ["picture.png"]


def test_demo_refuses_a_missing_folder_before_it_works(folder):
    started = time.monotonic()
    assert "the folder nowhere does not exist" in fails("demo", "--out", "nowhere/demo.png")
    assert "pictures end in .png" in fails("demo", "--out", "demo.pnj")
    assert time.monotonic() - started < 2
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "args", [("--layout", "ring"), ("--n", "3"), ("--seed", "-1"), ("--m", "3")]
)
def test_demo_usage(folder, args):
    call("demo", *args, code=2)


# --- fit, model, predict --------------------------------------------------------------------------


def test_fit_and_predict_agree_with_the_library(moons, folder):
    X, y, known = moons
    figures = json.loads(call(*fit_args("--transduction", "t.csv", "--json")).stdout)
    labels = [int(c) if i < 8 else None for i, c in enumerate(y)]
    clf = HintClassifier(gamma=8.0, unlabeled=None, random_state=0).fit(X, labels, hints=known)
    assert figures["objective"] == clf.objective_
    assert figures["counts"] == np.bincount(clf.transduction_).tolist()
    assert figures["converged"]
    assert (figures["violations"], figures["labelled_rows"], figures["rows"]) == (0, 8, N)
    assert figures["classes"] == [0, 1, 2, 3]
    assert figures["oracle"]["name"] == "lp"
    assert 0 <= figures["fixed_gap"] < 1e-4
    inferred = list(csv.DictReader((folder / "t.csv").read_text().splitlines()))
    assert [int(row["label"]) for row in inferred] == clf.transduction_.tolist()
    assert [int(row["row"]) for row in inferred] == list(range(N))
    printed = list(csv.DictReader(call("predict", "m.tacit", "data.csv").stdout.splitlines()))
    assert [int(row["label"]) for row in printed] == clf.predict(X).tolist()
    model = tacit.load("m.tacit")
    assert model.feature_names_in_.tolist() == ["x1", "x2"]


def test_fit_says_what_happened(moons):
    text = call(*fit_args()).stdout
    for word in ("lp: ", "objective", "duality gap", "converged: yes", "0 statements", "m.tacit"):
        assert word in text


def test_predict_finds_columns_by_name_and_compares_labels(moons, folder):
    X, y, _ = moons
    call(*fit_args())
    wrong = y.copy()
    wrong[:4] = (wrong[:4] + 1) % 4
    write(
        "new.csv", ["truth", "x2", "id", "x1"], zip(wrong, X[:, 1], range(N), X[:, 0], strict=True)
    )
    result = call("predict", "m.tacit", "new.csv", "--label-column", "truth", "-o", "p.csv")
    assert result.stdout == ""
    expected = int(np.sum(tacit_predict("m.tacit", X) != wrong))
    assert f"{expected} of {N} labelled rows differ" in result.stderr
    shown = call("predict", "m.tacit", "new.csv", "--label-column", "truth", "--json")
    data = json.loads(shown.stdout)
    assert data["error"]["wrong"] == expected
    rows = list(csv.reader((folder / "p.csv").read_text().splitlines()))
    assert rows[0] == ["row", "label"]
    assert [int(r[1]) for r in rows[1:]] == data["labels"]
    assert sum(data["counts"]) == N
    write("few.csv", ["x1", "x3"], [(1, 2)])
    assert "has no column 'x2'; it has x1, x3" in fails("predict", "m.tacit", "few.csv")


def tacit_predict(path, X):
    model = tacit.load(path)
    del model.feature_names_in_
    return model.predict(X)


def test_probabilities(moons):
    X, _, _ = moons
    call(*fit_args("--loss", "softmax"))
    rows = list(csv.DictReader(call("predict", "m.tacit", "data.csv", "--proba").stdout.split()))
    p = np.array([[float(row[f"p({c})"]) for c in range(4)] for row in rows])
    assert p.shape == (N, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p.argmax(axis=1) == tacit_predict("m.tacit", X)).all()
    call(*fit_args())
    assert "gives no probabilities" in fails("predict", "m.tacit", "data.csv", "--proba")


def test_gzip_and_npz_give_the_same_model(moons, folder):
    X, y, _ = moons
    plain_figures = json.loads(call(*fit_args("--json")).stdout)
    with gzip.open("data.csv.gz", "wb") as file:
        file.write((folder / "data.csv").read_bytes())
    labels = np.where(np.arange(N) < 8, y, np.nan)
    np.savez("data.npz", X=X, y=labels)
    for name, drop in (("data.csv.gz", "note"), ("data.npz", "")):
        args = ["fit", name, *fit_args("--json")[2:]]
        args = [a if a != "note" else drop for a in args]
        if name.endswith(".npz"):
            args[args.index("label")] = "y"
        figures = json.loads(call(*args).stdout)
        for key in ("objective", "counts", "classes", "labelled_rows"):
            assert figures[key] == plain_figures[key]
    text = call("predict", "m.tacit", "data.npz").stdout
    assert len(text.splitlines()) == N + 1


def test_text_labels_and_hints_in_text(folder):
    rows = [(-1.0, "ham"), (-0.9, ""), (0.9, ""), (1.0, "spam, or so")]
    write("data.csv", ["x", "kind"], rows)
    (folder / "h.json").write_text(
        '{"tacit_hints": 1, "hints": [{"kind": "not", "rows": [1], "classes": ["spam, or so"]}]}'
    )
    call("fit", "data.csv", "--hints", "h.json", "--label-column", "kind", "--kernel", "linear")
    lines = call("predict", "model.tacit", "data.csv").stdout.splitlines()
    assert lines[1:] == ["0,ham", "1,ham", '2,"spam, or so"', '3,"spam, or so"']


def test_minus_one_is_never_read_silently(folder):
    write("data.csv", ["x", "y"], [(-1, -1), (-0.9, ""), (0.9, ""), (1, 1)])
    result = call("fit", "data.csv", "--label-column", "y", "--kernel", "linear", "--json")
    assert json.loads(result.stdout)["classes"] == [-1, 1]
    assert "the label -1 is read as a class; --unlabeled=-1" in result.stderr
    write("data.csv", ["x", "y"], [(-1, 0), (-0.9, -1), (0.9, -1), (1, 1)])
    args = ["fit", "data.csv", "--label-column", "y", "--unlabeled=-1", "--json"]
    figures = json.loads(call(*args).stdout)
    assert (figures["classes"], figures["labelled_rows"]) == ([0, 1], 2)


# --- exit codes -----------------------------------------------------------------------------------


def test_infeasible_hints_are_named(moons, folder):
    (folder / "hints.yaml").write_text(
        "tacit_hints: 1\nhints:\n"
        "  - {kind: labels, rows: [20], classes: [2]}\n  - {kind: not, rows: [20], classes: [2]}\n"
    )
    text = fails(*fit_args(), code=ExitCode.INFEASIBLE)
    assert "row 20" in text.lower()
    assert text.count("2") >= 2
    assert not (folder / "m.tacit").exists()
    result = call("check", "hints.yaml", "--rows", N, "--classes", "0,1,2,3", code=3)
    assert "20" in result.stdout


def test_not_converged_still_writes_the_model(moons, folder):
    result = call(*fit_args("--max-iter", 2, "--json"), code=ExitCode.NOT_CONVERGED)
    assert '"converged": false' in result.stdout
    assert "Not converged" in result.stderr
    assert "written all the same" in result.stderr
    call("predict", "m.tacit", "data.csv")


def test_nothing_is_left_after_an_interruption(moons, folder, monkeypatch):
    before = sorted(p.name for p in folder.iterdir())

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(HintClassifier, "fit", stop)
    fails(*fit_args("--transduction", "t.csv"), code=ExitCode.STOPPED)
    fails("demo", "--n", 50, code=ExitCode.STOPPED)
    assert sorted(p.name for p in folder.iterdir()) == before


def test_ctrl_c_in_a_process(folder):
    X, y = make_four_moons(1000, layout="grid", random_state=0)  # tens of seconds
    hints.save(make_batches(y, n_batches=60, size=30, slack=2, random_state=0), "hints.yaml")
    write("data.csv", ["x1", "x2"], X)
    heed = "import signal; signal.signal(2, signal.default_int_handler)"  # in a background job too
    script = f"{heed}; import tacit.cli; print('ready', flush=True); tacit.cli.main()"
    fit = ["fit", "data.csv", "--hints", "hints.yaml", "-o", "m.tacit"]
    run, pipe = [sys.executable, "-c", script, *fit], subprocess.PIPE
    process = subprocess.Popen(run, stdout=pipe, stderr=pipe)
    assert process.stdout.readline() == b"ready\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    assert sorted(p.name for p in folder.iterdir()) == ["data.csv", "hints.yaml"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("fit", "data.csv", "--loss", "hing"), "Did you mean 'hinge'?"),
        (("fit", "data.csv", "--kernel", "rfb"), "'rfb' is not one of"),
        (("fit", "data.csv", "--gamma", "wide"), "--gamma"),
        (("fit", "data.csv"), "--hints, --label-column"),
        (("fit",), "DATA"),
        (("fit", "data.csv", "--no-such-option"), "No such option"),
        (("predict", "m.tacit"), "DATA"),
        (("list", "losess"), "Did you mean 'losses'?"),
        (("teach",), "No such command"),
    ],
)
def test_usage(moons, args, words):
    result = call(*args, "--drop", "label,note", code=2) if args == ("fit", "data.csv") else None
    result = result or call(*args, code=2)
    assert words in " ".join(result.stderr.replace("│", " ").split())


# --- what is wrong with a file --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "data.csv is empty"),
        ("\n1,2\n", "starts with an empty line"),
        ("x1,x2,label,note\n", "has a header but no rows"),
        ("1,2,3,4\n5,6,7,8\n", "has no header: its first line holds numbers"),
        ("x1,x2,label,note\n1,2,,a\n1,2,\n", "line 3: 3 values, but the header names 4 columns"),
        ("x1,x2,label,note\n1,two,,a\n", "line 2, column 'x2': 'two' is not a number"),
        ("x1,x2,label,note\n1,2,,a\n\n,2,,a\n", "line 4, column 'x1': the entry is empty"),
        ("x1,x2,label,note\n1,nan,,a\n", "line 2, column 'x2': 'nan' is not a finite number"),
        ("x1,x1,label,note\n1,2,,a\n", "names the column 'x1' twice"),
        (",x1,label,note\n1,2,,a\n", "column 1 has no name"),
        ("x1,x2,lable,note\n1,2,,a\n", "has no column 'label'; it has x1, x2, lable, note"),
        ("label,note\n1,a\n", "has no columns left"),
        (b"\x80\x04\x95\xff\n", "is not text in UTF-8"),
        ("x1,x2,label,note\n1,2,," + 140_000 * "a", "cannot be read as CSV: field larger than"),
    ],
    ids=lambda v: str(v)[:30],
)
def test_csv_files_that_cannot_be_used(moons, folder, text, words):
    path = folder / "data.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    said = fails(*fit_args())
    assert words in said
    assert "data.csv" in said
    assert not (folder / "m.tacit").exists()


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_and_a_byte_order_mark(moons, folder, delimiter):
    path = folder / "data.csv"
    before = json.loads(call(*fit_args("--json")).stdout)["objective"]
    path.write_text("\ufeff" + path.read_text().replace(",", delimiter), encoding="utf-8")
    assert json.loads(call(*fit_args("--json")).stdout)["objective"] == before


@pytest.mark.parametrize("name", ["data.csv.gz", "data.npz"])
def test_damaged_archives(moons, folder, name):
    if name.endswith("gz"):
        whole = gzip.compress((folder / "data.csv").read_bytes())
    else:
        np.savez(name, X=moons[0])
        whole = (folder / name).read_bytes()
    for content in (whole[: len(whole) // 2], b"x1,x2\n1,2\n"):
        (folder / name).write_bytes(content)
        assert "not a" in fails("fit", name, "--hints", "hints.yaml")
    if name == "data.npz":
        np.savez(name, X=np.array([{}], dtype=object))
        assert "not a .npz file of plain arrays" in fails("fit", name, "--hints", "hints.yaml")
        np.savez(name, Z=np.ones(3))
        assert "has no array 'X'; it has Z" in fails("fit", name, "--hints", "hints.yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hints: [", "is not valid YAML"),
        ("hints: []", "tacit_hints: 1"),
        ("tacit_hints: 2\nhints: []", "version 2"),
        ("tacit_hints: 1\nhints: [{kind: labels, row: [1], classes: [1]}]", "Did you mean 'rows'?"),
        ("tacit_hints: 1\nhints: [{kind: label, rows: [1], classes: [1]}]", "mean 'labels'?"),
        ("tacit_hints: 1\nhints: [{kind: labels, rows: [80], classes: [1]}]", "80"),
        ("tacit_hints: 1\nhints: [{kind: labels, rows: [1], classes: [one]}]", "'one'"),
        ("tacit_hints: 1\nhints: [{kind: not, rows: [1], classes: [true]}]", "quote them"),
    ],
)
def test_hints_files_that_cannot_be_used(moons, folder, text, words):
    (folder / "hints.yaml").write_text(text)
    more = ["--classes", "0,1,2,3"] if "one" in text else []
    assert words in fails(*fit_args(*more))


def test_names_of_one_kind(moons, folder):
    text = "tacit_hints: 1\nhints: [{kind: labels, rows: [1], classes: [1]}]"
    (folder / "hints.yaml").write_text(text)
    path = folder / "data.csv"
    path.write_text(path.read_text().replace(",0,-", ",zero,-").replace(",1,-", ",one,-"))
    assert "use the same names in both" in fails(*fit_args())


@pytest.mark.parametrize(
    "args",
    [
        ("fit", "none.csv", "--hints", "hints.yaml"),
        ("fit", "data.csv", "--hints", "none.yaml"),
        ("predict", "none.tacit", "data.csv"),
        ("check", "none.yaml", "--rows", "3"),
    ],
)
def test_missing_files(moons, args):
    assert ": No such file or directory." in fails(*args)


def test_other_errors_in_input(moons, folder):
    assert "C=-1.0; expected a positive number" in fails(*fit_args("--C", "-1"))
    assert "gamma=0.0; expected a positive number" in fails(*fit_args()[:-3], "0")
    (folder / "data.txt").write_text("no model")
    assert "not a whole saved model" in fails("predict", "data.txt", "data.csv")
    assert "is a folder" in fails(*fit_args()[:-1], ".")


@pytest.mark.parametrize("option", ["--output", "--transduction"])
def test_missing_output_folder_is_found_before_the_work(moons, folder, option):
    before = sorted(p.name for p in folder.iterdir())
    assert "the folder away does not exist" in fails(*fit_args(option, "away/file"))
    assert sorted(p.name for p in folder.iterdir()) == before
    call(*fit_args())
    assert "does not exist" in fails("predict", "m.tacit", "data.csv", "-o", "away/p.csv")


# --- check, list, version -------------------------------------------------------------------------


def test_check(moons):
    text = call("check", "hints.yaml", "--rows", N).stdout
    assert text.startswith("A labeling that satisfies all hints exists.")
    assert "uses lp" in text
    data = json.loads(call("check", "hints.yaml", "--rows", N, "--json").stdout)
    assert (data["feasible"], data["oracle"]["name"]) == (True, "lp")
    fails("check", "hints.yaml", "--rows", 5)


def test_list_shows_every_member():
    data = json.loads(call("list", "--json").stdout)
    assert list(data) == list(FAMILIES)
    assert [row["loss"] for row in data["losses"]] == list(tacit.losses.LOSSES)
    assert {row["oracle"] for row in data["oracles"]} == set(tacit.oracles.ORACLES)
    assert len(data["hints"]) == len(hints.KINDS)
    for rows in data.values():
        for row in rows:
            assert all(row.values())
            assert "\\" not in "".join(row.values())
            assert ":math:" not in "".join(row.values())
    text = call("list").stdout
    for row in data["oracles"]:
        assert row["oracle"] in text
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "hinge" not in call("list", "solvers").stdout


def test_formulas_as_plain_text():
    line = r"A :math:`\mathrm{vec}(Y) \le \tfrac{1}{2} u_{ic}^\top e^{-z}, a \neq b` of `cls`."
    assert plain(line) == "A vec(Y) <= 1/2 u_ic' e^(-z), a != b of cls."


def test_version():
    assert call("--version").stdout == f"tacit {tacit.__version__}\n"


# --- as a process ---------------------------------------------------------------------------------


def run(*args, **kwargs):
    environment = {k: v for k, v in os.environ.items() if k != "FORCE_COLOR"}
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "tacit", *map(str, args)],
        capture_output=True, text=True, timeout=120, env=environment, **kwargs,
    )  # fmt: skip


def test_chain_as_processes(moons, folder):
    fitted = run(*fit_args())
    assert (fitted.returncode, fitted.stderr) == (0, "")
    predicted = run("predict", "m.tacit", "data.csv")
    assert (predicted.returncode, predicted.stderr) == (0, "")
    assert "\x1b" not in fitted.stdout + predicted.stdout
    assert len(predicted.stdout.splitlines()) == N + 1
    failed = run("predict", "m.tacit", "none.csv")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "Error: none.csv: No such file or directory.\n"
