"""Saved models come back to the last bit; anything else is refused with a sentence."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import pickletools
import stat
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import tacit
from tacit import DamagedFile, HintClassifier, hints, load, save
from tacit.features import Kernel
from tacit.losses import LOSSES, Hinge
from tacit.persistence import MAPS, whole_file

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
X_NEW = RNG.normal(size=(7, 3))
Y = np.arange(24) % 3


def fit(X=X, y=Y, **params):
    params = {"max_iter": 30, "random_state": 0, "n_components": 6} | params
    return HintClassifier(**params).fit(X, y)


def same(a, b, X_new=X_NEW):
    np.testing.assert_array_equal(a.decision_function(X_new), b.decision_function(X_new))
    assert a.predict(X_new).tolist() == b.predict(X_new).tolist()
    assert a.predict(X_new).dtype == b.predict(X_new).dtype
    assert a.classes_.tolist() == b.classes_.tolist()
    assert [type(c) for c in a.classes_] == [type(c) for c in b.classes_]
    np.testing.assert_array_equal(a.transduction_, b.transduction_)
    for name in ("objective_", "n_iter_", "converged_", "n_features_in_"):
        assert getattr(a, name) == getattr(b, name)
    assert str(a.get_params()) == str(b.get_params())


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
    clf = fit(loss=Hinge(), C=np.float64(2.0), n_init=np.int64(1), classes=np.array([0, 1, 2]))
    back = round_trip(clf, path)
    assert (back.loss, back.C, back.classes) == ("hinge", 2.0, [0, 1, 2])
    np.testing.assert_array_equal(clf.decision_function(X_NEW), back.decision_function(X_NEW))


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


# --- what is refused on the way back --------------------------------------------------------------


def rewrite(path, change=None, arrays=None, extra=None, drop=()):
    """Write the file again with another manifest, other arrays, or more or fewer members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    for name, blob in (arrays or {}).items():
        members[f"{name}.npy"] = blob
        manifest["arrays"][name] = hashlib.sha256(blob).hexdigest()
    if change is not None:
        change(manifest)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for name, blob in (members | (extra or {})).items():
            if name not in drop:
                archive.writestr(name, blob)


def npy(array, **kwargs):
    buffer = io.BytesIO()
    np.save(buffer, array, **kwargs)
    return buffer.getvalue()


def test_rewriting_alone_changes_nothing(saved):
    rewrite(saved)
    same(fit(), load(saved))


def test_truncated_files(saved):
    whole = saved.read_bytes()
    for size in [*range(0, len(whole), 101), len(whole) - 1]:
        saved.write_bytes(whole[:size])
        with pytest.raises(DamagedFile):
            load(saved)


def positions(path):
    """First, middle and last byte of every member of the zip."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        for info in archive.infolist():
            file.seek(info.header_offset + 26)
            lengths = file.read(4)
            start = info.header_offset + 30 + sum(np.frombuffer(lengths, "<u2").tolist())
            for at in {0, info.file_size // 2, info.file_size - 1}:
                yield start + at


def test_a_flipped_bit_in_any_member(saved):
    whole = saved.read_bytes()
    for at in positions(saved):
        altered = bytearray(whole)
        altered[at] ^= 1
        saved.write_bytes(altered)
        with pytest.raises(DamagedFile):
            load(saved)


def test_any_flipped_byte_is_refused_or_harmless(saved):
    """Dates and permissions in the zip's own headers mean nothing; all else must be noticed."""
    whole, clf = saved.read_bytes(), fit()
    expected = clf.decision_function(X_NEW)
    harmless = 0
    places = np.random.default_rng(1).choice(len(whole), 400, replace=False)
    for at in [*places, *range(len(whole) - 600, len(whole))]:
        altered = bytearray(whole)
        altered[at] ^= 1 << int(at % 8)
        saved.write_bytes(altered)
        try:
            back = load(saved)
        except DamagedFile:
            continue
        harmless += 1
        np.testing.assert_array_equal(back.decision_function(X_NEW), expected)
    assert harmless < 500


def test_an_altered_array_with_its_old_checksum(saved):
    rewrite(saved, extra={"coef.npy": npy(np.zeros((24, 3)))})
    with pytest.raises(DamagedFile, match="'coef' is damaged"):
        load(saved)


def test_a_pickle_inside_an_array(saved):
    class Bomb:
        def __reduce__(self):
            return pytest.fail, ("unpickled",)

    objects = np.array([Bomb()], dtype=object)
    for blob in (npy(objects, allow_pickle=True), pickle.dumps(Bomb())):
        rewrite(saved, arrays={"labels": blob})
        with pytest.raises(DamagedFile, match="'labels' cannot be read"):
            load(saved)


def remove(*keys):
    def change(manifest):
        for key in keys[:-1]:
            manifest = manifest[key]
        del manifest[keys[-1]]

    return change


def put(value, *keys):
    def change(manifest):
        for key in keys[:-1]:
            manifest = manifest[key]
        manifest[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put(2, "tacit_model"), "version 2; this release reads 1"),
        (remove("tacit_model"), "is not a saved tacit model"),
        (put(1, "extra"), "unknown extra"),
        (remove("params"), "lacks params"),
        (put(1, "params", "extra"), "unknown extra"),
        (remove("params", "C"), "lacks C"),
        (put({"list": []}, "classes"), "not a complete saved model"),
        (put(["a", "b"], "classes"), "not a complete saved model"),
        (put([0, 1, 2, 3], "classes"), "4 classes need 4 columns"),
        (put("HintKMeans", "estimator"), "HintKMeans"),
        (put("<q9", "classes_dtype"), "not a complete saved model"),
        (remove("solution", "objective"), "lacks objective"),
        (put(1, "solution", "extra"), "unknown extra"),
        (put("DONE", "solution", "status"), "DONE"),
        (put("other", "solution", "features", "kind"), "other"),
        (put(None, "solution", "features", "basis"), "unknown features.basis"),
        (remove("solution", "features", "basis"), "lacks basis"),
        (put(1, "solution", "features", "kernel", "extra"), "extra"),
        (remove("arrays", "coef"), "unknown coef.npy"),
        (put([], "arrays"), "unknown coef.npy"),
        (put(3, "arrays"), "not a"),
        (put("0", "arrays", "other"), "lacks other.npy"),
    ],
)  # fmt: skip
def test_manifests_that_are_wrong(saved, change, words):
    rewrite(saved, change)
    with pytest.raises(DamagedFile, match=words):
        load(saved)


def test_missing_and_extra_members(saved):
    whole = saved.read_bytes()
    with zipfile.ZipFile(saved) as archive:
        names = [n for n in archive.namelist() if n != "manifest.json"]
    for name in names:
        saved.write_bytes(whole)
        rewrite(saved, drop=[name])
        with pytest.raises(DamagedFile, match=f"lacks {name}"):
            load(saved)
    saved.write_bytes(whole)
    rewrite(saved, extra={"setup.py": b"1"})
    with pytest.raises(DamagedFile, match=r"unknown setup\.py"):
        load(saved)
    saved.write_bytes(whole)
    rewrite(saved, arrays={"more": npy(np.ones(2))})
    with pytest.raises(DamagedFile, match="unknown more"):
        load(saved)


def test_other_files(tmp_path, saved):
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("a.txt", "text")
    with zipfile.ZipFile(tmp_path / "list", "w") as archive:
        archive.writestr("manifest.json", "[1]")
    with zipfile.ZipFile(tmp_path / "torn", "w") as archive:
        archive.writestr("manifest.json", '{"tacit')
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_text("")
    (tmp_path / "pickle").write_bytes(pickle.dumps({"a": 1}))
    for name in ("zip", "list", "torn", "text", "empty", "pickle"):
        with pytest.raises(DamagedFile, match=name):
            load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


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
