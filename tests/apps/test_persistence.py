"""Saved models come back to the last bit; what cannot is refused with a sentence."""

from __future__ import annotations

import os
import pickletools
import stat
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import tacit
from checks.saved_models import X_NEW, X, Y, fit, same
from tacit import HintClassifier, hints, load, save
from tacit.features import Kernel
from tacit.losses import LOSSES, Hinge
from tacit.persistence import whole_file
from tacit.persistence.model_file import MAPS


def round_trip(clf, path):
    save(clf, path)
    return load(path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.tacit"


@pytest.fixture
def saved(path):
    save(fit(), path)
    return path


# --- what comes back ------------------------------------------------------------------------------

MAP_PARAMS = {
    "linear": {"kernel": "linear"},
    "kernel": {"kernel": "rbf", "gamma": 0.7},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "nystroem": {"approximation": "nystroem"},
    "fourier": {"approximation": "fourier"},
}


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", MAP_PARAMS)
def test_every_feature_map(path, name, sparse):
    assert set(MAPS) <= set(MAP_PARAMS)
    rows = sp.csr_matrix(X * (X > 0)) if sparse else X
    clf = fit(rows, **MAP_PARAMS[name])
    back = round_trip(clf, path)
    assert type(back.solution_.features) is type(clf.solution_.features)
    same(clf, back, sp.csr_array(X_NEW) if sparse else X_NEW)


def test_precomputed_kernel(path):
    kernel = Kernel("rbf", 0.5)
    clf = fit(kernel(X, X), kernel="precomputed")
    same(clf, round_trip(clf, path), kernel(X_NEW, X))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_loss(path, loss, classes):
    clf = fit(y=Y % classes, loss=loss)
    back = round_trip(clf, path)
    same(clf, back)
    if LOSSES[loss].probabilistic:
        np.testing.assert_array_equal(clf.predict_proba(X_NEW), back.predict_proba(X_NEW))


@pytest.mark.parametrize(
    "names",
    [
        ["ham", "spam", "käse"],
        [3, 10, -7],
        [0.5, 1e-300, 0.1 + 0.2],
        [("a", 1), ("a", 2), ("b", (1, 2))],
        ["1", 1, "one"],
        [False, True],
    ],
    ids=lambda names: type(names[0]).__name__ + str(len({type(n) for n in names})),
)
def test_every_kind_of_class_name(path, names):
    codes = Y % len(names)
    rows, known = np.arange(len(Y)), np.empty(len(Y), object)
    known[:] = [names[c] for c in codes]
    clf = HintClassifier(classes=names, max_iter=30, random_state=0)
    clf.fit(X, hints=hints.Labels(rows, known))
    same(clf, round_trip(clf, path))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64"])
def test_dtype_of_class_names(path, dtype):
    clf = fit(y=Y.astype(dtype))
    assert round_trip(clf, path).classes_.dtype == clf.classes_.dtype
    same(clf, load(path))


def test_feature_names(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    back = round_trip(fit(frame), path)
    assert back.feature_names_in_.tolist() == ["a", "b", "c"]
    back.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        back.predict(frame[["b", "a", "c"]])


def test_history_and_solution(path):
    clf = fit()
    back = round_trip(clf, path)
    first, second = clf.solution_, back.solution_
    assert str(first.history.iterations) == str(second.history.iterations)  # NaN equals no NaN
    assert len(first.history) > 0
    for name in ("oracle", "status", "seed", "run_objectives", "fixed_bound", "objective"):
        assert getattr(first, name) == getattr(second, name)
    for name in ("labels", "coef", "scores"):
        a, b = getattr(first, name), getattr(second, name)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert back.explain_oracle() == clf.explain_oracle()


def test_a_loss_object_and_numpy_parameters(path):
    clf = fit(
        loss=Hinge(),
        C=np.float64(2.0),
        degree=np.int64(3),
        n_init=np.int64(1),
        classes=np.array([0, 1, 2]),
    )
    back = round_trip(clf, path)
    assert (back.loss, back.C, back.classes) == ("hinge", 2.0, [0, 1, 2])
    np.testing.assert_array_equal(clf.decision_function(X_NEW), back.decision_function(X_NEW))


def test_what_was_set_since_the_fit_is_saved_and_changes_nothing(path):
    clf = fit(y=Y % 2, loss="hinge")
    before = clf.decision_function(X_NEW)
    for loss in ("softmax", "logistic"):  # of other columns, and of probabilities
        back = round_trip(clf.set_params(loss=loss), path)
        np.testing.assert_array_equal(back.decision_function(X_NEW), before)
        assert (back.loss, back.loss_.name) == (loss, "hinge")
        assert not hasattr(back, "predict_proba")
    own = fit(loss=OwnLoss()).set_params(loss="hinge")
    with pytest.raises(TypeError, match="one of the library's own"):
        save(own, path)


def test_models_of_tensors(path):
    rows = torch.from_numpy(X)
    for params in MAP_PARAMS.values():
        clf = fit(rows, max_iter=300, **params)
        back = round_trip(clf, path)
        for new in (X_NEW, torch.from_numpy(X_NEW)):
            np.testing.assert_allclose(
                back.decision_function(new), clf.decision_function(new), atol=1e-12
            )


def test_loaded_models_can_be_saved_and_fitted_again(path, tmp_path):
    back = round_trip(fit(), path)
    same(back, round_trip(back, tmp_path / "again"))
    same(fit(), back.fit(X, Y))


def test_no_pickle_is_written(saved):
    with zipfile.ZipFile(saved) as archive:
        for name in archive.namelist():
            blob = archive.read(name)
            if name != "manifest.json":
                header = blob[:128].split(b"\n")[0]
                assert blob.startswith(b"\x93NUMPY")
                assert b"'O'" not in header
                assert b"|O" not in header
            with pytest.raises(ValueError, match=r"."):
                list(pickletools.genops(blob))


def test_permissions_follow_the_umask(path):
    before = os.umask(0o022)
    try:
        save(fit(), path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


# --- what cannot be saved -------------------------------------------------------------------------


class OwnLoss(Hinge):
    """Somebody's own."""


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"kernel": lambda A, B: A @ B.T}, "a kernel function cannot be saved without pickle"),
        ({"callback": lambda iteration: None}, r"callback=.*set_params\(callback=None\)"),
        ({"random_state": np.random.RandomState(0)}, "random_state=RandomState"),
        ({"loss": OwnLoss()}, "one of the library's own"),
    ],
)
def test_what_needs_pickle_is_refused(path, params, words):
    clf = fit(**params)
    with pytest.raises(TypeError, match=words):
        save(clf, path)
    assert list(path.parent.iterdir()) == []


def test_only_fitted_classifiers(path):
    with pytest.raises(ValueError, match="not fitted yet"):
        save(HintClassifier(), path)
    with pytest.raises(TypeError, match="got dict"):
        save({}, path)


# --- whole or not at all --------------------------------------------------------------------------


def test_a_failure_in_the_middle_keeps_the_old_file(saved, monkeypatch):
    before, calls = saved.read_bytes(), []
    original = zipfile.ZipFile.writestr

    def fail(self, name, data):
        calls.append(name)
        if len(calls) == 4:
            raise OSError("no space left on device")
        original(self, name, data)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(OSError, match="no space left"):
        save(fit(C=3.0), saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_an_interruption_in_the_middle(tmp_path):
    def interrupted():
        with whole_file(tmp_path / "file", "w") as file:
            file.write("half")
            assert len(list(tmp_path.iterdir())) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder .*away does not exist"):
        save(fit(), tmp_path / "away" / "model.tacit")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save(fit(), tmp_path)


def test_saving_replaces_an_older_model(saved):
    clf = fit(C=3.0)
    same(clf, round_trip(clf, saved))
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_names_at_the_top():
    assert tacit.save is save
    assert tacit.load is load
