"""Where a result may be written: through links, into pipes, and never in their place."""

from __future__ import annotations

import os
import stat
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit import HintClassifier, load, save
from tacit.cli import app
from tacit.persistence import whole_file

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.arange(12) % 2
FITTED = HintClassifier(kernel="linear", random_state=0).fit(X, Y)


def read_in_background(pipe):
    """Start to read a named pipe; returns the thread and the list that gets what came through."""
    found = []
    thread = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    thread.start()
    return thread, found


@pytest.mark.parametrize("mode", ["w", "wb"])
def test_a_pipe_gets_the_content_and_stays_a_pipe(tmp_path, mode):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread, found = read_in_background(pipe)
    with whole_file(pipe, mode) as file:
        file.write("é\n".encode() if mode == "wb" else "é\n")
    thread.join(10)
    assert found == ["é\n".encode()]
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_after_an_error_nothing_goes_into_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def interrupted():
        with whole_file(pipe, "w") as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert os.read(reader, 9) == b""
    os.close(reader)


def test_a_model_through_a_pipe(tmp_path):
    pipe, copy = tmp_path / "pipe", tmp_path / "copy"
    os.mkfifo(pipe)
    thread, found = read_in_background(pipe)
    save(FITTED, pipe)
    thread.join(10)
    copy.write_bytes(found[0])
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert load(copy).predict(X).tolist() == FITTED.predict(X).tolist()


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_file_is_written(tmp_path, there):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "model", tmp_path / "link"
    link.symlink_to("far/model")
    if there:
        target.write_text("old")
    save(FITTED, link)
    assert link.is_symlink()
    assert not target.is_symlink()
    assert load(target).predict(X).tolist() == FITTED.predict(X).tolist()
    assert list(target.parent.iterdir()) == [target]


def test_links_that_lead_nowhere(tmp_path):
    away, loop = tmp_path / "away", tmp_path / "loop"
    away.symlink_to(tmp_path / "none" / "model")
    loop.symlink_to(loop)
    with pytest.raises(FileNotFoundError, match=r"the folder .*none does not exist"):
        save(FITTED, away)
    with pytest.raises(OSError, match="symbolic links"):
        save(FITTED, loop)
    assert {p.name for p in tmp_path.iterdir()} == {"away", "loop"}


def test_the_command_line_writes_into_a_pipe(tmp_path):
    model, data, pipe = tmp_path / "m.tacit", tmp_path / "data.npz", tmp_path / "pipe"
    save(FITTED, model)
    np.savez(data, X=X)
    os.mkfifo(pipe)
    thread, found = read_in_background(pipe)
    result = CliRunner().invoke(app, ["predict", str(model), str(data), "-o", str(pipe)])
    thread.join(10)
    assert (result.exit_code, result.stderr) == (0, "")
    assert found[0].decode().splitlines()[0] == "row,label"
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "poly", "degree": np.int64(2), "coef0": np.float32(0.5)},
        {"C": np.float32(2.0), "gamma": np.float32(0.5), "tol": np.float32(1e-3)},
        {"nu": np.float32(0.5), "random_state": np.int64(3), "max_iter": np.int32(900)},
        {"label_weight": np.float32(2.0), "fit_intercept": np.bool_(True), "polish": np.bool_(0)},
        {"n_components": np.int64(5), "approximation": "nystroem", "time_limit": np.float32(9)},
    ],
    ids=lambda params: next(iter(params)),
)
def test_numpy_scalars_among_the_parameters_are_saved(tmp_path, params):
    clf = HintClassifier(**{"random_state": 0} | params).fit(X, Y)
    save(clf, tmp_path / "model")
    back = load(tmp_path / "model")
    np.testing.assert_array_equal(back.decision_function(X), clf.decision_function(X))
    assert {k: back.get_params()[k] for k in params} == {k: v.item() if hasattr(v, "item") else v
                                                         for k, v in params.items()}  # fmt: skip
