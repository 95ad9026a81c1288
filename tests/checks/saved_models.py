"""Saved models, and ways to write them again with something changed."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import numpy as np

from tacit import HintClassifier

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
