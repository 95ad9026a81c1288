"""Readers of public data sets: found, missing, damaged; and what is drawn from them."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import DamagedFile, MissingData
from tacit.datasets import (
    SSL_SETS,
    balanced_rows,
    data_folder,
    files,
    load_mnist,
    load_ssl,
    make_negatives,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    return tmp_path


def save_ssl(folder, **changed):
    arrays = {
        "X": np.arange(400.0, dtype=np.float32).reshape(200, 2),
        "y": np.where(np.arange(200) % 2, 1, -1),
        "labeled_10": np.arange(120).reshape(12, 10),
        "labeled_100": np.tile(np.arange(100), (12, 1)),
    }
    np.savez(folder / "ssl_bci.npz", **(arrays | changed))


def test_ssl_set(folder):
    save_ssl(folder)
    found = load_ssl("BCI")
    assert (found.name, found.X.shape, found.X.dtype) == ("bci", (200, 2), np.float64)
    assert found.y[:3].tolist() == [-1, 1, -1]
    assert found.splits[10][1, :2].tolist() == [10, 11]
    assert found.splits[100].shape == (12, 100)


def test_folder_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("TACIT_DATA", str(tmp_path / "none"))
    with pytest.raises(MissingData, match=r"TACIT_DATA=.*none is no folder; set it"):
        data_folder()
    monkeypatch.delenv("TACIT_DATA")
    monkeypatch.setattr(files, "CHECKOUT", tmp_path / "checkout")
    with pytest.raises(MissingData, match="set TACIT_DATA"):
        data_folder()


def test_folder_beside_the_checkout(monkeypatch, tmp_path):
    monkeypatch.delenv("TACIT_DATA", raising=False)
    monkeypatch.setattr(files, "CHECKOUT", tmp_path / "checkout")
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "pyproject.toml").touch()
    assert data_folder() == tmp_path / "shared" / "data"


def test_missing_file_is_named(folder):
    with pytest.raises(MissingData, match=r"mnist\.npz is missing; put it there or set TACIT_DATA"):
        load_mnist()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"labeled_10": np.zeros((11, 10), int)}, r"'labeled_10' has shape \(11, 10\)"),
        ({"X": np.zeros(3)}, r"'X' has shape \(3,\)"),
    ],
)
def test_file_of_another_shape(folder, changed, words):
    save_ssl(folder, **changed)
    with pytest.raises(DamagedFile, match=words):
        load_ssl("bci")


def test_damaged_files(folder):
    save_ssl(folder)
    path = folder / "ssl_bci.npz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DamagedFile, match="cannot be read"):
        load_ssl("bci")
    np.savez(path, X=np.ones((2, 2)))
    with pytest.raises(DamagedFile, match="cannot be read"):
        load_ssl("bci")


def test_unknown_set():
    with pytest.raises(ValueError, match=f"expected one of {', '.join(SSL_SETS)}"):
        load_ssl("coil")


def test_balanced_rows():
    y = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    rows = balanced_rows(y, 5, 0)
    assert np.bincount(y[rows]).tolist() == [2, 2, 1]
    assert len(set(rows.tolist())) == 5
    np.testing.assert_array_equal(rows, balanced_rows(y, 5, 0))
    for n, asked in ((0, r"\[0, 0, 0\]"), (8, r"\[3, 3, 2\]")):
        with pytest.raises(ValueError, match=rf"\[3, 2, 4\] rows, and {asked} of them are asked"):
            balanced_rows(y, n)


def test_negatives():
    y = np.repeat(np.arange(4), 50)
    for k in range(4):
        drawn = make_negatives(y, k, random_state=1)
        assert drawn.shape == (200, k)
        assert not (drawn == y[:, None]).any()
        assert all(len(set(row)) == k for row in drawn.tolist())
        assert k == 0 or set(drawn.ravel()) == {0, 1, 2, 3}
    with pytest.raises(ValueError, match="between 0 and 3"):
        make_negatives(y, 4)
    assert set(make_negatives(np.zeros(99, int), 1, 3, 0).ravel()) == {1, 2}
