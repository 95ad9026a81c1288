"""Save and load fitted estimators: a zip of one JSON manifest and plain ``.npy`` arrays.

No pickle is written or read. The manifest holds a format version and a SHA-256 of every array; a
file that is truncated, altered, or of a later version is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.estimators import HintClassifier
from tacit.exceptions import DamagedFile
from tacit.features import FeatureMap, FourierMap, Kernel, KernelMap, LinearMap, NystroemMap
from tacit.hints._data import name_from_data, name_to_data
from tacit.losses import Loss
from tacit.result import History, Iteration, Solution, Status

__all__ = ["load", "save"]

VERSION = 1
MANIFEST = "manifest.json"
MAPS: dict[str, type[FeatureMap]] = {
    "linear": LinearMap,
    "kernel": KernelMap,
    "nystroem": NystroemMap,
    "fourier": FourierMap,
}
ARRAYS = ("labels", "coef", "scores")
NUMBERS = ("objective", "fixed_bound", "n_iter", "oracle", "seed")

Arrays = dict[str, npt.NDArray[Any]]


def save(estimator: HintClassifier, path: str | Path) -> None:
    """Write a fitted estimator to a file, whole or not at all.

    Parameters
    ----------
    estimator : HintClassifier
        Fitted. Its parameters must be plain values: a kernel function, a callback or a random
        generator cannot be written without pickle.
    path : path
        Any name; ``.tacit`` by convention.
    """
    if not isinstance(estimator, HintClassifier):
        raise TypeError(f"only HintClassifier can be saved, got {type(estimator).__name__}.")
    if not hasattr(estimator, "solution_"):
        raise ValueError("this HintClassifier is not fitted yet; call fit before save.")
    arrays: Arrays = {}
    manifest = {
        "tacit_model": VERSION,
        "estimator": "HintClassifier",
        "params": {k: _plain(k, v) for k, v in estimator.get_params(deep=False).items()},
        "classes": [name_to_data(v) for v in estimator.classes_],
        "classes_dtype": estimator.classes_.dtype.str if _typed(estimator.classes_) else "object",
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": _feature_names(estimator),
        "solution": _solution_to_data(estimator.solution_, arrays),
    }
    _write(Path(path), manifest, arrays)


def load(path: str | Path) -> HintClassifier:
    """Read an estimator that `save` wrote.

    Raises
    ------
    DamagedFile
        If the file is truncated, altered, of a later version, or something else altogether.
    """
    path = Path(path)
    manifest, arrays = _read(path)
    try:
        return _restore(manifest, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFile(f"{path} is not a complete saved model: {error!r}.") from error


def _typed(names: npt.NDArray[Any]) -> bool:
    return names.dtype != object


def _plain(key: str, value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if key == "classes" and value is not None:
        return [name_to_data(v) for v in value]
    if isinstance(value, Loss):
        return value.name
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(
        f"the parameter {key}={value!r} cannot be saved without pickle; "
        f"use a plain value, or set_params({key}=None) first."
    )


def _feature_names(estimator: HintClassifier) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(v) for v in names]


def _solution_to_data(solution: Solution, arrays: Arrays) -> dict[str, Any]:
    for name in ARRAYS:
        arrays[name] = getattr(solution, name)
    for item in fields(Iteration):
        arrays[f"history.{item.name}"] = solution.history.column(item.name)
    data = {name: getattr(solution, name) for name in NUMBERS}
    return data | {
        "status": solution.status.name,
        "run_objectives": list(solution.run_objectives),
        "features": _map_to_data(solution.features, arrays),
    }


def _map_to_data(features: FeatureMap, arrays: Arrays) -> dict[str, Any]:
    kind = next(name for name, cls in MAPS.items() if type(features) is cls)
    data: dict[str, Any] = {"kind": kind}
    for item in fields(features):  # type: ignore[arg-type]
        value = getattr(features, item.name)
        if isinstance(value, Kernel):
            if callable(value.name):
                raise TypeError(
                    "a kernel function cannot be saved without pickle; save the arrays you need, "
                    "or use a named kernel or kernel='precomputed'."
                )
            data[item.name] = {f.name: getattr(value, f.name) for f in fields(value)}
        elif sp.issparse(value):
            for part in ("data", "indices", "indptr"):
                arrays[f"features.{item.name}.{part}"] = getattr(value, part)
            data[item.name] = {"csr_shape": list(value.shape)}
        elif value is not None:
            arrays[f"features.{item.name}"] = value
    return data


def _write(path: Path, manifest: dict[str, Any], arrays: Arrays) -> None:
    blobs = {}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
        blobs[name] = buffer.getvalue()
    manifest["arrays"] = {k: hashlib.sha256(v).hexdigest() for k, v in blobs.items()}
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr(MANIFEST, json.dumps(manifest))
            for name, blob in blobs.items():
                archive.writestr(f"{name}.npy", blob)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read(MANIFEST))
            _check_version(manifest, path)
            arrays = {
                name: _array(archive.read(f"{name}.npy"), digest, path, name)
                for name, digest in manifest["arrays"].items()
            }
    except (zipfile.BadZipFile, KeyError, EOFError, UnicodeDecodeError) as error:
        raise DamagedFile(f"{path} is not a whole saved model: {error}.") from error
    except json.JSONDecodeError as error:
        raise DamagedFile(f"{path} has a damaged manifest: {error}.") from error
    return manifest, arrays


def _check_version(manifest: Any, path: Path) -> None:
    if not isinstance(manifest, dict) or "tacit_model" not in manifest:
        raise DamagedFile(f"{path} is not a saved tacit model.")
    if manifest["tacit_model"] != VERSION:
        raise DamagedFile(
            f"{path} has format version {manifest['tacit_model']!r}; this release reads {VERSION}."
        )


def _array(blob: bytes, digest: str, path: Path, name: str) -> npt.NDArray[Any]:
    if hashlib.sha256(blob).hexdigest() != digest:
        raise DamagedFile(f"{path}: the array {name!r} is damaged (its checksum differs).")
    try:
        return np.asarray(np.load(io.BytesIO(blob), allow_pickle=False))
    except ValueError as error:
        raise DamagedFile(f"{path}: the array {name!r} cannot be read: {error}.") from error


def _restore(manifest: dict[str, Any], arrays: Arrays) -> HintClassifier:
    params = manifest["params"]
    if params.get("classes") is not None:
        params["classes"] = [name_from_data(v) for v in params["classes"]]
    estimator = HintClassifier(**params)
    names = [name_from_data(v) for v in manifest["classes"]]
    estimator.classes_ = np.empty(len(names), object)
    estimator.classes_[:] = names
    if manifest["classes_dtype"] != "object":
        estimator.classes_ = estimator.classes_.astype(manifest["classes_dtype"])
    estimator.n_features_in_ = manifest["n_features_in"]
    if manifest["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(manifest["feature_names_in"], dtype=object)
    estimator._take(_solution(manifest["solution"], arrays))
    return estimator


def _solution(data: dict[str, Any], arrays: Arrays) -> Solution:
    columns = [arrays[f"history.{item.name}"].tolist() for item in fields(Iteration)]
    rows = zip(*columns, strict=True)
    return Solution(
        **{name: arrays[name] for name in ARRAYS},
        **{name: data[name] for name in NUMBERS},
        status=Status[data["status"]],
        run_objectives=tuple(data["run_objectives"]),
        history=History([Iteration(*row) for row in rows]),
        features=_map(data["features"], arrays),
    )


def _map(data: dict[str, Any], arrays: Arrays) -> FeatureMap:
    cls = MAPS[data["kind"]]
    values: dict[str, Any] = {}
    for item in fields(cls):  # type: ignore[arg-type]
        stored, key = data.get(item.name), f"features.{item.name}"
        if isinstance(stored, dict) and "csr_shape" in stored:
            parts = tuple(arrays[f"{key}.{part}"] for part in ("data", "indices", "indptr"))
            values[item.name] = sp.csr_array(parts, shape=tuple(stored["csr_shape"]))
        elif isinstance(stored, dict):
            values[item.name] = Kernel(**stored)
        else:
            values[item.name] = arrays.get(key)
    return cls(**values)
