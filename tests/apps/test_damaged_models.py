"""Saved models that are not what they say are refused with a sentence, whatever is wrong."""

from __future__ import annotations

import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from checks.saved_models import X_NEW, X, fit, npy, put, remove, rewrite, same
from tacit import DamagedFile, HintKMeans, load, save


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.tacit"


@pytest.fixture
def saved(path):
    save(fit(), path)
    return path


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
        (put([0, 1], "classes"), "labels lie in 0..2, but there are 2 classes"),
        (put([0], "classes"), "the only class is .*0"),
        (put([0, 1, 1], "classes"), "classes names 1 twice"),
        (put("<i1", "classes_dtype"), None),
        (put("<U1", "classes_dtype"), "the classes are .* of type <U1"),
        (put("hing", "loss"), "hing"),
        (put(None, "loss"), "None"),
        (put("softmax_", "loss"), "softmax_"),
        (put(4, "n_features_in"), "basis is not an array of 24 x 4 numbers"),
        (put("3", "n_features_in"), "n_features_in is '3'"),
        (put(["a", "b"], "feature_names_in"), "are not 3 names"),
        (put("abc", "solution", "objective"), "objective is 'abc', which is no float"),
        (put(None, "solution", "seed"), "seed is None, which is no int"),
        (put(1, "solution", "oracle"), "oracle is 1, which is no str"),
        (put(["a"], "solution", "run_objectives"), "'a'"),
        (put("rbff", "solution", "features", "kernel", "name"), "kernel='rbff' is not known"),
        (put("wide", "solution", "features", "kernel", "gamma"), "gamma='wide'"),
        (put(-1.0, "solution", "features", "kernel", "shift"), "shift=-1.0"),
        (put("precomputed", "solution", "features", "kernel", "name"), "was never saved"),
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
    if words is None:  # another way to say the same
        load(saved)
        return
    with pytest.raises(DamagedFile, match=words):
        load(saved)


COEF, BASIS = np.ones((24, 3)), np.ones((24, 3))


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("labels", np.full(24, 3, np.int32), "labels lie in 3..3, but there are 3 classes"),
        ("labels", np.full(24, -1, np.int32), "labels lie in -1..-1"),
        ("labels", np.zeros(24), "labels are not whole numbers"),
        ("labels", np.zeros(0, np.int32), "there are no labels"),
        ("labels", np.zeros(23, np.int32), "basis is not an array of 23 x 3 numbers"),
        ("coef", COEF[:, 0], r"coef has shape \(24,\); 3 classes need 3 columns"),
        ("coef", COEF[:, :2], r"coef has shape \(24, 2\)"),
        ("coef", COEF[:5], "coef is not an array of 24 x 3 numbers"),
        ("coef", COEF.astype(int), "coef is not an array of 24 x 3 numbers"),
        ("coef", COEF.astype(str), "coef is not"),
        ("coef", COEF * np.nan, "coef contains NaN"),
        ("scores", COEF[:5], "scores is not"),
        ("features.basis", BASIS[:, :2], "basis is not"),
        ("features.basis", BASIS[:9], "basis is not"),
        ("features.basis", BASIS[None], "basis is not"),
        ("history.rho", np.zeros(2), "columns differ in length"),
        ("history.rho", np.array(1.0), "history.rho is no column"),
        ("history.rho", np.array(["a"]), "history.rho is no column"),
    ],
)
def test_arrays_that_do_not_fit_the_model(saved, name, array, words):
    """With checksums that are right: whoever wrote the file may have been wrong."""
    rewrite(saved, arrays={name: npy(array)})
    with pytest.raises(DamagedFile, match=words):
        load(saved)


@pytest.mark.parametrize(
    ("params", "name", "shape"),
    [
        ({"kernel": "linear"}, "coef", (4, 3)),
        ({"kernel": "linear", "fit_intercept": True}, "coef", (3, 3)),
        ({"approximation": "nystroem"}, "features.whiten", (5, 6)),
        ({"approximation": "nystroem"}, "features.landmarks", (6, 2)),
        ({"approximation": "fourier"}, "features.frequencies", (2, 3)),
        ({"approximation": "fourier"}, "coef", (5, 3)),
    ],
)
def test_feature_maps_that_do_not_fit_the_model(path, params, name, shape):
    save(fit(**params), path)
    rewrite(path, arrays={name: npy(np.ones(shape))})
    with pytest.raises(DamagedFile, match=f"{name.split('.')[-1]} is not an array of"):
        load(path)


@pytest.mark.parametrize(
    ("change", "arrays", "words"),
    [
        (None, {"norms": npy(np.ones(2))}, "norms is not an array of 3 numbers"),
        (None, {"coef": npy(np.ones((2, 3)))}, "coef is not an array of 3 x 3 numbers"),
        (put("x", "solution", "inertia"), {}, "inertia is 'x', which is no float"),
        (put("hinge", "loss"), {}, "the loss is 'hinge', but clusters have none"),
        (put([0, 1], "classes"), {}, "there are 2 classes"),
    ],
)
def test_clusters_that_do_not_fit(path, change, arrays, words):
    save(HintKMeans(3, random_state=0).fit(X), path)
    rewrite(path, change, arrays)
    with pytest.raises(DamagedFile, match=words):
        load(path)


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("indices", lambda a: a + 1000, "indices|column index"),
        ("indices", lambda a: a - 1000, "indices|column index"),
        ("indices", lambda a: a.astype(float), "is no sparse matrix of numbers"),
        ("indices", lambda a: a[:-1], "."),
        ("indptr", lambda a: a[::-1].copy(), "."),
        ("indptr", lambda a: np.r_[a[:3] + 10**6, a[3:]], "."),
        ("indptr", lambda a: np.r_[a[:-1], a[-1] + 10**6], "."),
        ("indptr", lambda a: a[None], "is no sparse matrix of numbers"),
        ("data", lambda a: a.astype(complex), "is no sparse matrix of numbers"),
        ("data", lambda a: a * np.inf, "basis contains NaN or infinity"),
    ],
)
@pytest.mark.parametrize("params", [{"kernel": "rbf"}, {"approximation": "nystroem"}], ids=str)
def test_sparse_rows_whose_indices_lie_outside(path, part, change, words, params):
    """Nothing looks at them again: a wrong one would be read from memory that is not ours."""
    clf = fit(sp.csr_array(X * (X > 0)), **params)
    save(clf, path)
    key = "landmarks" if "approximation" in params else "basis"
    array = getattr(getattr(clf.solution_.features, key), part)
    rewrite(path, arrays={f"features.{key}.{part}": npy(change(array))})
    with pytest.raises(DamagedFile, match=words.replace("basis", key)):
        load(path)


@pytest.mark.parametrize("shape", [[24, 2], [23, 3], [24, 4], [24], [-1, 3], "24", [24.0, 3.0]])
def test_sparse_rows_of_a_wrong_shape(path, shape):
    save(fit(sp.csr_array(X * (X > 0))), path)
    rewrite(path, put(shape, "solution", "features", "basis", "csr_shape"))
    with pytest.raises(DamagedFile, match="not a complete saved model"):
        load(path)


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
