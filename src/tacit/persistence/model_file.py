"""Save and load fitted estimators: a zip of one JSON manifest and plain ``.npy`` arrays.

No pickle is written or read. The manifest holds a format version and a SHA-256 of every array; a
file that is truncated, altered, or of another version, or that holds more or less than the manifest
says, is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import stat
import struct
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.backends import to_numpy
from tacit.estimators import HintClassifier, HintKMeans
from tacit.exceptions import DamagedFile
from tacit.features import FeatureMap, FourierMap, Kernel, KernelMap, LinearMap, NystroemMap
from tacit.hints._classes import ClassCodes
from tacit.hints._classes import plain as plain_value
from tacit.hints._data import name_from_data, name_to_data
from tacit.losses import LOSSES, Loss
from tacit.persistence._checks import (
    check_columns,
    check_names,
    check_numbers,
    check_solution,
    read_kernel,
    read_sparse,
)
from tacit.result import Clustering, History, Iteration, Solution, Status

__all__ = ["load", "replaceable", "save", "whole_file"]

VERSION = 1
MANIFEST = "manifest.json"
MAPS: dict[str, type[FeatureMap]] = {
    "linear": LinearMap,
    "kernel": KernelMap,
    "nystroem": NystroemMap,
    "fourier": FourierMap,
}
Estimator: TypeAlias = HintClassifier | HintKMeans
# Which estimators can be saved, and what their solvers return.
ESTIMATORS: dict[str, tuple[type[Estimator], type[Solution]]] = {
    "HintClassifier": (HintClassifier, Solution),
    "HintKMeans": (HintKMeans, Clustering),
}
# Fields of a solution that lie in arrays of their own, and those that need words of their own; the
# rest are numbers and text.
ARRAYS = ("labels", "coef", "scores", "norms")
TRANSLATED = ("status", "run_objectives", "history", "features")
KEYS = frozenset(
    {
        "tacit_model",
        "estimator",
        "params",
        "classes",
        "classes_dtype",
        "n_features_in",
        "feature_names_in",
        "loss",
        "solution",
        "arrays",
    }
)
STORED = "stored"  # what the manifest says of a value that lies in an array of its own

# What reading an altered zip file may raise, from flipped flags to sizes beyond the file.
DAMAGE = (
    zipfile.BadZipFile,
    LookupError,
    EOFError,
    ValueError,
    TypeError,
    NotImplementedError,
    RuntimeError,
    struct.error,
    OverflowError,
    OSError,
)

Arrays = dict[str, npt.NDArray[Any]]


def save(estimator: Estimator, path: str | Path) -> None:
    """Write a fitted estimator to a file, whole or not at all.

    Parameters
    ----------
    estimator : HintClassifier or HintKMeans
        Fitted. Its parameters must be plain values: a kernel function, a callback or a random
        generator cannot be written without pickle.
    path : path
        Any name; ``.tacit`` by convention.
    """
    name = type(estimator).__name__
    if type(estimator) not in (cls for cls, _ in ESTIMATORS.values()):
        raise TypeError(f"only {' and '.join(ESTIMATORS)} can be saved, got {name}.")
    if not hasattr(estimator, "solution_"):
        raise ValueError(f"this {name} is not fitted yet; call fit before save.")
    arrays: Arrays = {}
    manifest = {
        "tacit_model": VERSION,
        "estimator": name,
        "params": {k: _plain(k, v, arrays) for k, v in estimator.get_params(deep=False).items()},
        "classes": [name_to_data(v) for v in estimator.classes_],
        "classes_dtype": estimator.classes_.dtype.str if _typed(estimator.classes_) else "object",
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": _feature_names(estimator),
        "loss": _loss_name(estimator),
        "solution": _solution_to_data(estimator.solution_, arrays),
    }
    _write(Path(path), manifest, arrays)


def load(path: str | Path) -> Estimator:
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
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise DamagedFile(f"{path} is not a complete saved model: {error!r}.") from error


@contextmanager
def whole_file(path: str | Path, mode: str = "wb", **kwargs: Any) -> Iterator[IO[Any]]:
    """Open a file that takes its place only when everything was written.

    Until then it is called ``.NAME.PID.part``; after an error nothing of it is left, and what lay
    at `path` before is untouched. A link stays, and the file that it names is written. What is
    no regular file (a pipe, a terminal, a device) stays what it is and gets the content in the end.
    """
    path = Path(path)
    target = replaceable(path)
    if target is None:
        with _sent_in_the_end(path, mode, **kwargs) as file:
            yield file
        return
    if not target.parent.is_dir():
        folder = path.parent if target.parent == path.absolute().parent else target.parent
        raise FileNotFoundError(f"the folder {folder} does not exist; {path} was not written.")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(part, mode, **kwargs) as file:
            yield file
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def replaceable(path: Path) -> Path | None:
    """Return the regular file, there already or not, that `path` names through any links.

    None where a pipe, a terminal or a device lies there, which must never be replaced; nor may a
    file that has no name of its own, as standard output may be.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file.")
    target = Path(os.path.realpath(path))
    try:
        found = path.stat()
    except FileNotFoundError:
        return target if path.is_symlink() else path.absolute()
    if not stat.S_ISREG(found.st_mode) or not target.exists():
        return None
    return target


@contextmanager
def _sent_in_the_end(path: Path, mode: str, **kwargs: Any) -> Iterator[IO[Any]]:
    """Collect what is written, so that after an error nothing of it goes out."""
    with tempfile.TemporaryFile(mode.replace("w", "w+"), **kwargs) as file:
        yield file
        file.flush()
        content = getattr(file, "buffer", file)  # bytes, below text
        content.seek(0)
        with open(path, "wb") as sink:
            shutil.copyfileobj(content, sink)


def _typed(names: npt.NDArray[Any]) -> bool:
    return names.dtype != object


def _plain(key: str, value: Any, arrays: Arrays) -> Any:
    """Return a parameter as JSON can hold it; centres to start from become an array."""
    if key == "classes" and value is not None:
        return [name_to_data(v) for v in value]
    if isinstance(value, Loss) and type(value) is LOSSES.get(value.name):
        return value.name
    value = plain_value(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if key == "init":
        arrays[f"params.{key}"] = np.asarray(value, np.float64)
        return {STORED: key}
    if key == "kernel":
        raise TypeError(
            "a kernel function cannot be saved without pickle; use a named kernel, or compute the "
            "matrices yourself and use kernel='precomputed'."
        )
    advice = f"set_params({key}=None) first" if key != "loss" else "one of the library's own"
    raise TypeError(
        f"the parameter {key}={value!r} cannot be saved without pickle; use a plain value, or "
        f"{advice}."
    )


def _loss_name(estimator: Estimator) -> str | None:
    """Return the loss that was fitted, which the parameters may no longer say."""
    loss = getattr(estimator, "loss_", None)
    if loss is None:
        return None
    name = _plain("loss", loss, {})
    assert isinstance(name, str)
    return name


def _feature_names(estimator: Estimator) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(v) for v in names]


def _solution_to_data(solution: Solution, arrays: Arrays) -> dict[str, Any]:
    stored, plain = _fields(type(solution))
    for name in stored:
        arrays[name] = getattr(solution, name)
    for item in fields(Iteration):
        arrays[f"history.{item.name}"] = solution.history.column(item.name)
    data = {name: plain_value(getattr(solution, name)) for name in plain}
    return data | {
        "status": solution.status.name,
        "run_objectives": list(solution.run_objectives),
        "features": _map_to_data(solution.features, arrays),
    }


def _fields(cls: type[Solution]) -> tuple[list[str], list[str]]:
    """Names of the fields that are arrays, and of those that are plain numbers and text."""
    names = [item.name for item in fields(cls) if item.name not in TRANSLATED]
    return [n for n in names if n in ARRAYS], [n for n in names if n not in ARRAYS]


def _map_to_data(features: FeatureMap, arrays: Arrays) -> dict[str, Any]:
    kind = next(name for name, cls in MAPS.items() if type(features) is cls)
    data: dict[str, Any] = {"kind": kind}
    for item in fields(features):  # type: ignore[arg-type]
        value = getattr(features, item.name)
        if isinstance(value, Kernel):
            data[item.name] = {f.name: plain_value(getattr(value, f.name)) for f in fields(value)}
        elif sp.issparse(value):
            for part in ("data", "indices", "indptr"):
                arrays[f"features.{item.name}.{part}"] = getattr(value, part)
            data[item.name] = {"csr_shape": list(value.shape)}
        elif value is None or isinstance(value, float):
            data[item.name] = value
        else:
            arrays[f"features.{item.name}"] = to_numpy(value)
            data[item.name] = STORED
    return data


def _write(path: Path, manifest: dict[str, Any], arrays: Arrays) -> None:
    blobs = {}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
        blobs[name] = buffer.getvalue()
    manifest["arrays"] = {k: hashlib.sha256(v).hexdigest() for k, v in blobs.items()}
    with whole_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(MANIFEST, json.dumps(manifest))
        for name, blob in blobs.items():
            archive.writestr(f"{name}.npy", blob)


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    with path.open("rb"):  # a file that is missing or closed to us is not a damaged one
        pass
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read(MANIFEST))
            _check_version(manifest, path)
            _check_keys(manifest, archive.namelist(), path)
            arrays = {
                name: _array(archive.read(f"{name}.npy"), digest, path, name)
                for name, digest in manifest["arrays"].items()
            }
    except json.JSONDecodeError as error:
        raise DamagedFile(f"{path} has a damaged manifest: {error}.") from error
    except DamagedFile:
        raise
    except DAMAGE as error:
        raise DamagedFile(f"{path} is not a whole saved model: {error}.") from error
    return manifest, arrays


def _check_version(manifest: Any, path: Path) -> None:
    if not isinstance(manifest, dict) or "tacit_model" not in manifest:
        raise DamagedFile(f"{path} is not a saved tacit model.")
    if manifest["tacit_model"] != VERSION:
        raise DamagedFile(
            f"{path} has format version {manifest['tacit_model']!r}; this release reads {VERSION}."
        )


def _check_keys(manifest: dict[str, Any], names: list[str], path: Path) -> None:
    """Refuse a manifest with more or fewer entries than `save` writes, and files beside them."""
    _exactly(manifest, KEYS, "the manifest")
    expected = [MANIFEST, *(f"{name}.npy" for name in manifest["arrays"])]
    _exactly(names, expected, str(path))
    if len(names) != len(expected):
        raise DamagedFile(f"{path} holds a file twice.")


def _exactly(found: Iterable[str], wanted: Iterable[str], what: str) -> None:
    missing, extra = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    if missing:
        raise ValueError(f"{what} lacks {', '.join(missing)}")
    if extra:
        raise ValueError(f"{what} has the unknown {', '.join(extra)}")


def _array(blob: bytes, digest: str, path: Path, name: str) -> npt.NDArray[Any]:
    if hashlib.sha256(blob).hexdigest() != digest:
        raise DamagedFile(f"{path}: the array {name!r} is damaged (its checksum differs).")
    try:
        return np.asarray(np.load(io.BytesIO(blob), allow_pickle=False))
    except ValueError as error:
        raise DamagedFile(f"{path}: the array {name!r} cannot be read: {error}.") from error


def _restore(manifest: dict[str, Any], arrays: Arrays) -> Estimator:
    if manifest["estimator"] not in ESTIMATORS:
        raise ValueError(f"the estimator is {manifest['estimator']!r}")
    cls, kind = ESTIMATORS[manifest["estimator"]]
    wanted: list[str] = []
    estimator = cls(**_params(cls, manifest["params"], arrays, wanted))
    estimator.classes_ = _class_names(manifest["classes"], manifest["classes_dtype"])
    n_classes, n_features = len(estimator.classes_), manifest["n_features_in"]
    check_names(n_features, manifest["feature_names_in"])
    estimator.n_features_in_ = n_features
    if manifest["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(manifest["feature_names_in"], dtype=object)
    _restore_loss(estimator, manifest["loss"])
    solution = _solution(kind, manifest["solution"], arrays, wanted)
    check_solution(solution, n_classes, estimator._columns(), n_features)
    estimator._take(cast(Any, solution))
    return estimator


def _class_names(data: list[Any], dtype: str) -> npt.NDArray[Any]:
    names = ClassCodes([name_from_data(v) for v in data]).names
    array = np.empty(len(names), object)
    array[:] = names
    array = array if dtype == "object" else array.astype(dtype)
    if not names or array.tolist() != names:
        raise ValueError(f"the classes are {names!r} of type {dtype}")
    return array


def _restore_loss(estimator: Estimator, name: str | None) -> None:
    if isinstance(estimator, HintClassifier):
        if len(estimator.classes_) < 2:
            raise ValueError(f"the only class is {estimator.classes_[0]!r}")
        estimator.loss_ = LOSSES[cast(str, name)]()
    elif name is not None:
        raise ValueError(f"the loss is {name!r}, but clusters have none")


def _params(
    cls: type[Estimator], data: dict[str, Any], arrays: Arrays, wanted: list[str]
) -> dict[str, Any]:
    """Read the parameters; the names of their arrays are added to `wanted`."""
    _exactly(data, cls._get_param_names(), f"the {cls.__name__}'s params")
    params = dict(data)
    if params["classes"] is not None:
        params["classes"] = [name_from_data(v) for v in params["classes"]]
    for key, value in data.items():
        if value == {STORED: key}:
            wanted.append(f"params.{key}")
            params[key] = arrays[wanted[-1]]
    return params


def _solution(
    kind: type[Solution], data: dict[str, Any], arrays: Arrays, wanted: list[str]
) -> Solution:
    """Read the solution; `wanted` names the arrays that are accounted for already."""
    stored, plain = _fields(kind)
    _exactly(data, (*plain, "status", "run_objectives", "features"), "the solution")
    wanted = [*wanted, *stored, *(f"history.{item.name}" for item in fields(Iteration))]
    features = _map(data["features"], arrays, wanted)
    _exactly(arrays, wanted, "the file")
    check_numbers(kind, data)
    columns = {item.name: arrays[f"history.{item.name}"] for item in fields(Iteration)}
    check_columns(columns)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    parts: dict[str, Any] = {name: arrays[name] for name in stored}
    return kind(
        **parts,
        **{name: data[name] for name in plain},
        status=Status[data["status"]],
        run_objectives=tuple(float(v) for v in data["run_objectives"]),
        history=History([Iteration(*row) for row in rows]),
        features=features,
    )


def _map(data: dict[str, Any], arrays: Arrays, wanted: list[str]) -> FeatureMap:
    """Read a feature map; the names of its arrays are added to `wanted`."""
    cls = MAPS[data["kind"]]
    names = [item.name for item in fields(cls)]  # type: ignore[arg-type]
    _exactly(data, ["kind", *names], "the feature map")
    values: dict[str, Any] = {}
    for name in names:
        stored, key = data[name], f"features.{name}"
        if isinstance(stored, dict) and "csr_shape" in stored:
            parts = [f"{key}.{part}" for part in ("data", "indices", "indptr")]
            wanted += parts
            values[name] = read_sparse([arrays[p] for p in parts], stored["csr_shape"], key)
        elif isinstance(stored, dict):
            values[name] = read_kernel(stored)
        elif stored == STORED:
            wanted.append(key)
            values[name] = arrays[key]
        elif stored is None or isinstance(stored, float):
            values[name] = stored
        else:
            raise ValueError(f"{key} is {stored!r}")
    return cls(**values)
