"""Finished cells on disk: one line each, so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.exceptions import DamagedFile
from tacit.experiments.base import Cell, Experiment
from tacit.persistence import whole_file

__all__ = ["Record", "canonical", "code_digest", "signature"]

PACKAGE = Path(tacit.__file__).parent
# What cannot change a figure, and the experiments themselves: they have settings and a revision.
APART = ("cli", "web", "plots", "experiments")


def canonical(value: Any) -> str:
    """Return the one JSON text of a value; numpy's scalars and arrays become plain."""
    return json.dumps(
        value,
        sort_keys=True,
        ensure_ascii=False,
        allow_nan=False,
        default=_plain,
        separators=(",", ":"),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no place in JSON.")


def signature(experiment: Experiment, quick: bool) -> str:
    """Return a digest of everything but the cell that the figures depend on, code apart."""
    parts = {
        "name": experiment.name,
        "quick": quick,
        "version": tacit.__version__,
        "revision": experiment.revision,
        "settings": experiment.settings(),
    }
    return hashlib.sha256(canonical(parts).encode()).hexdigest()[:16]


def code_digest() -> str:
    """Return a digest of the library's source files: figures belong to the code they came from."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.split("/")[0] not in APART:
            digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Record:
    """The file of finished cells.

    Parameters
    ----------
    path : Path
        ``NAME.cells.jsonl``.
    signature : str
        Of the experiment; lines with another do not count.
    code : str
        Of the library; nor do lines with another, unless they are asked for.
    """

    path: Path
    signature: str
    code: str

    def open(self, fresh: bool = False, keep: bool = False) -> dict[str, dict[str, Any]]:
        """Return the lines of finished cells by cell, and make the file ready for more.

        A last line without its end was cut off while it was written: it is taken away.

        Parameters
        ----------
        fresh : bool
            Take away all lines of this signature.
        keep : bool
            Return lines of other code, too, where there are none of this.
        """
        if not self.path.exists():
            return {}
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        lines = list(self._lines(whole))
        if fresh:
            whole = b"".join(text for text, row in lines if row["signature"] != self.signature)
        if whole != content:
            with whole_file(self.path) as file:
                file.write(whole)
        mine = [] if fresh else [row for _, row in lines if row["signature"] == self.signature]
        other = [row for row in mine if keep and row["code"] != self.code]
        same = [row for row in mine if row["code"] == self.code]
        return {canonical(row["cell"]): row for row in (*other, *same)}

    def _lines(self, content: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
        for number, text in enumerate(content.splitlines(keepends=True), 1):
            try:
                row = json.loads(text)
                canonical((row["signature"], row["code"], row["cell"], row["figures"]))
            except (ValueError, KeyError, TypeError):
                raise DamagedFile(
                    f"{self.path}: line {number} is not a finished cell; delete that line or the "
                    "file, and run again."
                ) from None
            yield text, row

    def append(self, cell: Cell, figures: dict[str, Any]) -> dict[str, Any]:
        """Add a finished cell; when this returns, its line is on the disk."""
        row = {"signature": self.signature, "code": self.code, "cell": cell, "figures": figures}
        with open(self.path, "ab") as file:
            file.write(canonical(row).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return row
