"""Where k-means starts: squared distances from first centres, which need not be kept.

A class with labelled rows starts from their mean. The others are drawn among rows that may have the
class, spread out ("k-means++") or not ("random"); which of them goes to which class is then decided
by what the hints make of it. Equal rows are drawn as one, with their weights together, and from
places that depend on content alone: a row of weight 2 is two rows.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._program import LabelProgram
from tacit.oracles import Oracle
from tacit.problem import ClusterProblem
from tacit.solvers._centers import Geometry
from tacit.solvers._loop import Loop
from tacit.solvers._order import content_keys

__all__ = ["INITS", "Seeds", "read_init", "tells_apart"]

FloatArray = npt.NDArray[np.float64]
INITS = ("k-means++", "random")
# Label steps that one start may spend on exchanging centres, and what counts as cheaper.
MAX_EXCHANGES, LESS = 100, 1e-9


def read_init(init: Any, problem: ClusterProblem) -> str | FloatArray:
    """Check `init`: a name, or an array with one centre per class."""
    if isinstance(init, str):
        if init not in INITS:
            raise ValueError(
                f"init={init!r} is not known; choose one of {', '.join(INITS)}, or give an array "
                "of centres."
            )
        return init
    points = np.asarray(init, np.float64)
    shape = (len(problem.codes), problem.X.shape[1])
    if points.shape != shape:
        raise ValueError(
            f"init has shape {points.shape}; expected one row per cluster and one column per "
            f"feature, {shape}."
        )
    if not np.isfinite(points).all():
        raise ValueError("init contains NaN or infinity; the centres must be finite.")
    return points


def tells_apart(program: LabelProgram, classes: npt.NDArray[np.intp]) -> bool:
    """Whether the hints change when some classes change names."""
    if len(classes) < 2:
        return False
    counts, tables = program.counts, program.pairs.tables[:, classes[:, None], classes]
    by_class: list[npt.NDArray[Any]] = [program.mask[:, classes]]
    by_class += [counts.lower[:, classes], counts.upper[:, classes]]
    if program.unary is not None:
        by_class.append(program.unary[:, classes])
    same = np.eye(len(classes), dtype=bool)
    by_class += [tables[:, same], tables[:, ~same]]
    named = [np.full(len(p.rows), 1) for p in (*program.partitions, *program.orders)]
    if program.flow is not None:
        named.append(program.flow.tie_class)
    if any(np.isin(classes, part).any() for part in named):
        return True
    return program.n_linear > 0 or any((t != t[:, :1]).any() for t in by_class)


class Seeds:
    """Draws starts for one problem.

    Parameters
    ----------
    problem : ClusterProblem
        Rows in canonical order.
    geometry : Geometry
        Its distances.
    init : str or array
        As `read_init` returns it.
    oracle : Oracle
        Its label step.
    loop : Loop
        Knows how much time is left.
    seed : int
        Gives the order in which equal rows are gathered.
    """

    def __init__(
        self,
        problem: ClusterProblem,
        geometry: Geometry,
        init: str | FloatArray,
        oracle: Oracle,
        loop: Loop,
        seed: int,
    ) -> None:
        self.problem, self.geometry, self.init = problem, geometry, init
        self.oracle, self.loop = oracle, loop
        # Equal rows are one place: the first of them, and for each row its place.
        self._first = self._place = np.arange(problem.n)
        if problem.kernel != "precomputed":
            keys = content_keys(problem.X, seed)
            _, self._first, self._place = np.unique(keys, return_index=True, return_inverse=True)
        mask = problem.program.mask
        several = mask.shape[1] > 1
        # Rows of some weight that can have one label only, and the classes that have such rows.
        self._single = (mask.sum(axis=1) == 1) & (problem.weights > 0) & several
        self._labelled = np.asarray(mask[self._single].any(axis=0))

    @property
    def random(self) -> bool:
        """Whether two starts differ."""
        return isinstance(self.init, str) and not self._labelled.all()

    def start(self, rng: np.random.Generator) -> FloatArray:
        """Squared distances (N, C) from the first centres."""
        if not isinstance(self.init, str):
            return self.geometry.from_points(self.init)
        known, D = self._labelled.copy(), self._from_labelled()
        drawn: list[int] = []
        for c in np.flatnonzero(~known):
            closest = D[:, known].min(axis=1) if known.any() else None
            row = self._draw(int(c), closest, drawn, rng)
            drawn.append(row)
            D[:, c] = self.geometry.from_rows(np.array([row]))[:, 0]
            known[c] = True
        return self._match(D, np.flatnonzero(~self._labelled))

    def _match(self, D: FloatArray, free: npt.NDArray[np.intp]) -> FloatArray:
        """Exchange drawn centres between classes as long as the first label step gets cheaper."""
        if not tells_apart(self.problem.program, free):
            return D
        pairs = [(int(a), int(b)) for a in free for b in free if a < b]
        lowest, since, calls = self._cost(D), 0, 0
        for a, b in cycle(pairs):
            if since == len(pairs) or calls == MAX_EXCHANGES or self.loop.late:
                break
            other = D.copy()
            other[:, [a, b]] = D[:, [b, a]]
            cost = self._cost(other)
            since, calls = since + 1, calls + 1
            if cost < lowest * (1.0 - LESS):
                D, lowest, since = other, cost, 0
        return D

    def _cost(self, D: FloatArray) -> float:
        return self.oracle.solve(self.problem.weights[:, None] * D).value

    def _from_labelled(self) -> FloatArray:
        """Distances from the means of labelled rows; other columns mean nothing yet."""
        mask = self.problem.program.mask
        if not self._labelled.any():
            return np.full(mask.shape, np.inf)
        weights = np.where(self._single, self.problem.weights, 0.0)
        coef = self.geometry.means(mask.argmax(axis=1), mask.shape[1], weights)
        return self.geometry.distances(coef)

    def _draw(
        self, c: int, closest: FloatArray | None, drawn: list[int], rng: np.random.Generator
    ) -> int:
        """Draw one row as the centre of class c.

        k-means++ tries a few rows, drawn in proportion to weight times squared distance, and takes
        the one that leaves the least; as scikit-learn does.

        References
        ----------
        D. Arthur, S. Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007.
        """
        weights, mask = self.problem.weights, self.problem.program.mask
        total, allowed = self._gather(weights), self._gather(weights * mask[:, c])
        fresh = np.ones(len(total))
        fresh[self._place[drawn]] = 0.0
        spread = closest is not None and self.init == "k-means++"
        far = fresh if closest is None or not spread else closest[self._first]
        for share in (allowed * far, allowed * fresh, total * far, total * fresh, total):
            if share.any():
                break
        trials = 2 + int(np.log(mask.shape[1])) if spread else 1
        ends = np.cumsum(share)
        picks = np.searchsorted(ends, rng.random(trials) * ends[-1], side="right")
        rows = self._first[np.minimum(picks, len(ends) - 1)]
        if closest is None or trials == 1:
            return int(rows[0])
        left = weights @ np.minimum(closest[:, None], self.geometry.from_rows(rows))
        return int(rows[np.argmin(left)])

    def _gather(self, values: FloatArray) -> FloatArray:
        """Sum over equal rows."""
        return np.bincount(self._place, values, len(self._first)).astype(np.float64)
