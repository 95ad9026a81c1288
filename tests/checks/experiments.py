"""Small experiments for the tests of the runner; in a module that other processes can import."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from tacit.experiments import Experiment, Report


@dataclass
class Squares(Experiment):
    """Squares of numbers; may be killed once in the middle of a cell."""

    name = "squares"
    title = "Squares"
    source = "nowhere"

    n: int = 5
    factor: float = 1.0
    kill_at: int = -1
    marker: str = ""
    """A file; the process dies in cell `kill_at` as long as it exists, and takes it away."""

    def settings(self):
        return {"factor": self.factor}

    def cells(self, quick):
        return [{"i": i, "name": f"number {i}"} for i in range(2 if quick else self.n)]

    def run(self, cell):
        i = cell["i"]
        if i == self.kill_at and Path(self.marker).exists():
            Path(self.marker).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if calls := os.environ.get("SQUARES_CALLS"):
            with open(calls, "a", encoding="utf-8") as file:
                file.write(f"{i}\n")
        return {"square": self.factor * i**2 / 3, "list": (i, -i)}

    def report(self, rows):
        table = "\n".join(f"{row['i']}: {row['square']!r} {row['list']}" for row in rows)

        def draw(folder):
            path = folder / f"{self.name}.png"
            path.write_bytes(b"picture " + table.encode())
            return [path]

        return Report({"sum": sum(row["square"] for row in rows)}, table, draw)
