"""Read rows and labels from CSV (also gzipped) and .npz files."""

from __future__ import annotations

import csv
import gzip
import math
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Table", "read_table", "split_names"]

DELIMITERS = ",;\t"
Lines = Iterator[tuple[int, list[str]]]


@dataclass(frozen=True)
class Table:
    """Rows of a file.

    Attributes
    ----------
    X : (N, d) float array
        Features.
    columns : list of str or None
        Their names; None for an .npz file.
    labels : list or None
        Label of every row, None where it is unknown; text from CSV, values from an .npz file.
    """

    X: npt.NDArray[np.float64]
    columns: list[str] | None
    labels: list[Any] | None


def split_names(text: str | None) -> list[str]:
    """Split ``a,b,c``; names with a comma are quoted as in CSV."""
    if text is None or not text.strip():
        return []
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]


def read_table(
    path: Path,
    label: str | None = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
) -> Table:
    """Read a file.

    Parameters
    ----------
    path : Path
        ``.npz`` with an array X (and y), else CSV with a header, gzipped if it ends in ``.gz``.
    label : str, optional
        Column, or array of an .npz file, that holds labels; empty entries are unknown.
    drop : sequence of str
        Columns to leave out.
    features : sequence of str, optional
        Columns to take, in this order; all that are left by default.
    """
    if path.suffix == ".npz":
        return _read_npz(path, label, drop)
    try:
        with _open(path) as file:
            return _read_csv(_lines(file, path), path, label, drop, features)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not text in UTF-8 (byte {error.start}); expected CSV, or .npz by its name."
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole gzip file: {error}.") from error
    except csv.Error as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}.") from error


def _open(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _lines(file: Any, path: Path) -> Lines:
    """Rows with the number of their line; the first one decides the delimiter."""
    first = file.readline()
    if not first.strip():
        what = "starts with an empty line" if first else "is empty"
        raise ValueError(f"{path} {what}; expected CSV whose first line names the columns.")
    delimiter = max(DELIMITERS, key=first.count)
    yield 1, next(csv.reader([first], delimiter=delimiter))
    reader = csv.reader(file, delimiter=delimiter)
    for row in reader:
        if row:
            yield reader.line_num + 1, row


def _read_csv(
    lines: Lines, path: Path, label: str | None, drop: Sequence[str], features: Sequence[str] | None
) -> Table:
    header = _header(next(lines)[1], path)
    _known((*drop, *([label] if label else ())), header, path)
    if features is None:
        features = [name for name in header if name != label and name not in drop]
        if not features:
            raise ValueError(f"{path} has no columns left beside {', '.join(header)}.")
    else:
        _known(features, header, path)
    take = [header.index(name) for name in features]
    mark = None if label is None else header.index(label)
    numbers, cells, labels = [], [], []
    for line, row in lines:
        if len(row) != len(header):
            raise ValueError(
                f"{path}, line {line}: {len(row)} values, but the header names {len(header)} "
                "columns."
            )
        numbers.append(line)
        cells.append([row[i] for i in take])
        if mark is not None:
            labels.append(row[mark].strip() or None)
    if not cells:
        raise ValueError(f"{path} has a header but no rows.")
    X = _numbers(cells, numbers, features, path)
    return Table(X, list(features), None if mark is None else labels)


def _header(row: list[str], path: Path) -> list[str]:
    header = [name.strip() for name in row]
    if all(_number(name) is not None for name in header):
        raise ValueError(
            f"{path} has no header: its first line holds numbers; put a line with the names of "
            "the columns above it."
        )
    for i, name in enumerate(header):
        if not name:
            raise ValueError(
                f"{path}: column {i + 1} has no name; name it, and leave it out by --drop if it "
                "only numbers the rows."
            )
        if name in header[:i]:
            raise ValueError(f"{path}: the header names the column {name!r} twice.")
    return header


def _known(wanted: Iterable[str], header: list[str], path: Path) -> None:
    missing = [repr(name) for name in wanted if name not in header]
    if missing:
        shown = ", ".join(header[:12]) + (", ..." if len(header) > 12 else "")
        plural = "s" if len(missing) > 1 else ""
        raise ValueError(f"{path} has no column{plural} {', '.join(missing)}; it has {shown}.")


def _numbers(
    cells: list[list[str]], lines: list[int], names: Sequence[str], path: Path
) -> npt.NDArray[np.float64]:
    try:
        X = np.array(cells, dtype=np.float64)
    except ValueError:
        X = np.full((1, 1), np.nan)
    if np.isfinite(X).all():
        return X
    for line, row in zip(lines, cells, strict=True):
        for name, cell in zip(names, row, strict=True):
            value = _number(cell)
            if value is None or not math.isfinite(value):
                what = "the entry is empty" if not cell.strip() else f"{cell!r} is not a number"
                if value is not None:
                    what = f"{cell!r} is not a finite number"
                raise ValueError(
                    f"{path}, line {line}, column {name!r}: {what}; fill it in, or leave the "
                    f"column out by --drop {name}."
                )
    raise ValueError(f"{path} holds text where numbers are expected.")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _read_npz(path: Path, label: str | None, drop: Sequence[str]) -> Table:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name not in drop}
    except (zipfile.BadZipFile, ValueError, EOFError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a .npz file of plain arrays: {error}") from error
    wanted = ["X", *([label] if label else [])]
    missing = [name for name in wanted if name not in arrays]
    if missing:
        found = ", ".join(arrays) or "nothing"
        raise ValueError(f"{path} has no array {missing[0]!r}; it has {found}.")
    X, y = arrays["X"], arrays.get(label or "y")
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"{path}: X must be a table of numbers, got {X.dtype} of shape {X.shape}.")
    if y is not None and y.shape != (len(X),):
        raise ValueError(f"{path}: {len(X)} rows in X, but labels of shape {y.shape}.")
    labels = None if y is None else [_known_label(v) for v in y.tolist()]
    return Table(X.astype(np.float64), None, labels)


def _known_label(value: Any) -> Any:
    """Return None for unknown, and as integers what only a NaN beside it turned into floats."""
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    return None if value == "" else value
