"""Public data sets, read from the folder that ``TACIT_DATA`` names."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.exceptions import DamagedFile, MissingData

__all__ = [
    "SSL_SETS",
    "Digits",
    "SSLSet",
    "balanced_rows",
    "data_folder",
    "load_mnist",
    "load_ssl",
    "make_negatives",
]

SSL_SETS = ("digit1", "usps", "bci", "g241c", "g241n")
CHECKOUT = Path(__file__).resolve().parents[3]

Labels = npt.NDArray[np.int64]


def data_folder() -> Path:
    """Return the folder of public data sets.

    The environment variable ``TACIT_DATA`` names it; without that it is ``shared/data`` beside the
    checkout.

    Raises
    ------
    MissingData
        If there is no such folder.
    """
    given = os.environ.get("TACIT_DATA")
    if given:
        folder = Path(given)
        if not folder.is_dir():
            raise MissingData(f"TACIT_DATA={given} is no folder; set it to the folder of the data.")
        return folder
    beside = CHECKOUT.parent / "shared" / "data"
    if (CHECKOUT / "pyproject.toml").exists() and beside.is_dir():
        return beside
    raise MissingData(
        "no folder of public data is known; set TACIT_DATA to it (docs/data.md says what it holds)."
    )


def _read(name: str, shapes: dict[str, tuple[int | None, ...]]) -> dict[str, npt.NDArray[Any]]:
    """Read arrays of a file; None in a shape stands for any length."""
    path = data_folder() / name
    if not path.exists():
        raise MissingData(
            f"{path} is missing; put it there or set TACIT_DATA to the folder that has it "
            "(docs/data.md says where it comes from)."
        )
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {key: file[key] for key in shapes}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedFile(f"{path} cannot be read as the data set it should be: {error}") from error
    for key, shape in shapes.items():
        found = arrays[key].shape
        if len(found) != len(shape) or any(
            b not in (None, a) for a, b in zip(found, shape, strict=True)
        ):
            raise DamagedFile(f"{path}: array {key!r} has shape {found}; expected {shape}.")
    return arrays


@dataclass(frozen=True)
class SSLSet:
    """A set of the semi-supervised learning benchmark of Chapelle, Schölkopf and Zien.

    Attributes
    ----------
    name : str
        One of `SSL_SETS`.
    X : (N, d) float64 array
        Rows, in the order of the file: sorted by class in some sets.
    y : (N,) int64 array
        Classes -1 and +1.
    splits : dict of int to (12, l) int64 array
        Positions of the labelled rows, by their number l: 10 and 100.
    """

    name: str
    X: npt.NDArray[np.float64]
    y: Labels
    splits: dict[int, Labels]


def load_ssl(name: str) -> SSLSet:
    """Load a set of the semi-supervised learning benchmark.

    Parameters
    ----------
    name : str
        One of `SSL_SETS`; large and small letters are the same.
    """
    key = name.lower()
    if key not in SSL_SETS:
        raise ValueError(f"name={name!r}; expected one of {', '.join(SSL_SETS)}.")
    shapes: dict[str, tuple[int | None, ...]] = {
        "X": (None, None),
        "y": (None,),
        "labeled_10": (12, 10),
        "labeled_100": (12, 100),
    }
    found = _read(f"ssl_{key}.npz", shapes)
    splits = {count: found[f"labeled_{count}"].astype(np.int64) for count in (10, 100)}
    return SSLSet(key, found["X"].astype(np.float64), found["y"].astype(np.int64), splits)


@dataclass(frozen=True)
class Digits:
    """MNIST.

    Attributes
    ----------
    X, X_test : (60000, 784) and (10000, 784) float32 arrays
        Pictures as rows, in [0, 1].
    y, y_test : int64 arrays
        Classes 0..9.
    """

    X: npt.NDArray[np.float32]
    y: Labels
    X_test: npt.NDArray[np.float32]
    y_test: Labels


def load_mnist() -> Digits:
    """Load MNIST."""
    shapes: dict[str, tuple[int | None, ...]] = {
        "X_train": (60000, 28, 28),
        "y_train": (60000,),
        "X_test": (10000, 28, 28),
        "y_test": (10000,),
    }
    found = _read("mnist.npz", shapes)

    def rows(key: str) -> npt.NDArray[np.float32]:
        return (found[key].reshape(len(found[key]), -1) / 255.0).astype(np.float32)

    return Digits(
        rows("X_train"),
        found["y_train"].astype(np.int64),
        rows("X_test"),
        found["y_test"].astype(np.int64),
    )


def balanced_rows(
    y: npt.NDArray[np.integer], n: int, random_state: int | np.random.Generator | None = None
) -> npt.NDArray[np.intp]:
    """Choose n rows, as nearly as can be the same number of each class, in random order.

    Parameters
    ----------
    y : array of shape (N,)
        Classes.
    n : int
        Rows to choose; where n is no multiple of the number of classes, the first classes give one
        more.
    random_state : int, Generator or None
        Seed.
    """
    rng = np.random.default_rng(random_state)
    classes, counts = np.unique(y, return_counts=True)
    sizes = [n // len(classes) + (c < n % len(classes)) for c in range(len(classes))]
    if n < 1 or (np.array(sizes) > counts).any():
        raise ValueError(
            f"n={n}; the classes have {counts.tolist()} rows, and {sizes} of them are asked for: "
            "choose another n."
        )
    parts = [
        rng.choice(np.flatnonzero(y == c), size, replace=False)
        for c, size in zip(classes, sizes, strict=True)
    ]
    return np.asarray(rng.permutation(np.concatenate(parts)), np.intp)


def make_negatives(
    y: npt.NDArray[np.integer],
    k: int = 1,
    n_classes: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Labels:
    """Draw k different classes of each row that it does not have, (N, k).

    Parameters
    ----------
    y : array of shape (N,)
        True classes 0..C-1.
    k : int
        Negative labels of each row.
    n_classes : int, optional
        C; by default one more than the largest class.
    random_state : int, Generator or None
        Seed.

    Notes
    -----
    Equation: Sec. 3.2 in 000, negative labels of the digits
    """
    rng = np.random.default_rng(random_state)
    C = int(np.max(y)) + 1 if n_classes is None else n_classes
    if not 0 <= k < C:
        raise ValueError(f"k={k}; a row has between 0 and {C - 1} classes that are not its own.")
    shift = np.argsort(rng.random((len(y), C - 1)), axis=1)[:, :k] + 1
    return np.asarray((np.asarray(y)[:, None] + shift) % C, np.int64)
