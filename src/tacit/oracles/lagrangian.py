r"""Pairs together with class counts: prices for the counts, an oracle for the pairs, a repair.

.. math:: \max_p \; \min_y \Bigl( E(y) + \sum_{gc} p_{gc} n_{gc}(y) \Bigr)
    - \sum_{gc} \max(p_{gc} l_{gc}, p_{gc} u_{gc})

The inner minimum has no counts and goes to whichever oracle is best for it. Its bound makes every
value of the dual a lower bound on the value of all labelings that keep the counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram, Pairs
from tacit.oracles._bare import some_labeling
from tacit.oracles._dual import Bounds, Piece, charge, search_many, search_one
from tacit.oracles._graph import arrange, energy, prune
from tacit.oracles._repair import Repair, component_groups, member_matrix
from tacit.oracles.base import Oracle, OracleResult, Verdict, rounding, untreated
from tacit.oracles.linear_program import MixedIntegerOracle
from tacit.oracles.trws import TRWSOracle

__all__ = ["LagrangianOracle"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

# What rounding may leave of the gap of an answer that is called exact, relative to the value above
# each row's least cost, or to the largest term.
CLOSED = 1e-9
MAX_ITER = 60
# Labelings of the dual that are repaired: the best ones at the best prices. Of one price these are
# the two between which the counts jump.
REPAIRED, REPAIRED_OF_ONE = 4, 2
# Part of the gap asked for that the inner oracle may use up.
INNER_GAP = 0.25
EPS = np.finfo(np.float64).eps


class LagrangianOracle(Oracle):
    """Labels and a lower bound for pairs together with bounds on class counts of any groups.

    Prices are found by exact intersection where there is one (two classes, one group), else by
    cutting planes in a box. Labelings found on the way are repaired by moves of single rows, then
    improved by moves and exchanges that keep the counts. Prices, and labels to begin with, are kept
    for the next costs.

    Parameters
    ----------
    program : LabelProgram
        Pairs and counts.
    gap : float, default=0.0
        Relative distance from the bound that is good enough.
    max_iter : int, default=60
        Prices tried in one call.

    Notes
    -----
    The gap that remains is the duality gap of the counts, plus that of the inner oracle. Where
    repair fails, labels come from an oracle for the counts alone, and from branch and bound where
    those break a hard pair.
    """

    name = "lagrangian"
    summary = "pairs together with class counts; approximate, with a lower bound"
    approximate = True
    slow = True

    def __init__(
        self, program: LabelProgram, *, gap: float = 0.0, max_iter: int = MAX_ITER
    ) -> None:
        super().__init__(program)
        if not (verdict := self.accepts(program)):
            raise ValueError(f"LagrangianOracle cannot solve this program: {verdict.reason}.")
        self.gap, self.max_iter = gap, max_iter
        joined = program.contraction
        k = len(joined.first_row)
        self._graph, self._node = arrange(joined.pairs, k)
        self._allowed = joined.allowed[self._node]
        self._own = np.where(self._allowed, joined.unary[self._node], np.inf)
        self._groups = component_groups(program, self._node)
        self._contradiction = ""
        if prune(self._graph, self._allowed) >= 0 or not self._allowed.any(axis=1).all():
            self._contradiction = "the allowed labels and the hard pairs together"
        elif (self._groups.lower > self._groups.upper).any():
            self._contradiction = "the count bounds of some group"
        if self._contradiction:
            return
        self._own[~self._allowed] = np.inf
        self._repair = Repair(self._graph, self._groups)
        self._member = member_matrix(self._groups)
        self._priced = _priced(self._groups, program.counts.sizes)
        self._step = 0.0
        self._price = np.zeros(int(self._priced.sum()))
        self._pool: list[Labels] = []
        self._kept: Labels | None = None  # the last answer
        self._fallback: Oracle | None = None
        self._inner = _inner_oracle(self._inner_program(), INNER_GAP * gap)

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if refusal := untreated(program, "pairs", "counts"):
            return Verdict(False, refusal)
        return Verdict(True, "pairs and counts couple rows; approximate, with a proven bound")

    @property
    def prices(self) -> FloatArray:
        """What one row of class c in group g pays besides its cost, (G, C), in the last call."""
        prices = np.zeros(self._priced.shape)
        prices[self._priced] = self._price
        return prices

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        shape = (self.program.n, self.program.n_classes)
        if cost.shape != shape:
            raise ValueError(f"cost has shape {cost.shape}; expected {shape}.")
        if self._contradiction:
            raise InfeasibleHints(f"no labeling satisfies {self._contradiction}.")
        own = self.program.contraction.gather(cost)[self._node] + self._own
        own -= own.min(axis=1, keepdims=True)
        run = _Run(self, own)
        best, reached, bound = run.solve()
        self._kept = best
        labels = np.empty_like(best)
        labels[self._node] = best
        labels = labels[self.program.contraction.component]
        value = float(cost[np.arange(len(labels)), labels].sum(dtype=np.float64))
        value += self.program.value(labels)
        # The gap is that of the reduced costs, whose rounding comes on top.
        gap = max(reached - bound, 0.0)
        below = gap + rounding(self.program, cost, labels)
        exact = bool(gap <= CLOSED * max(abs(reached), run.size))
        return OracleResult(labels, value, float(value - below), exact)

    def _inner_program(self) -> LabelProgram:
        """Components in the graph's order, without their costs, which come with each call."""
        pairs, graph = self.program.contraction.pairs, self._graph
        place = np.empty_like(self._node)
        place[self._node] = np.arange(len(self._node))
        moved = Pairs(place[pairs.edges], pairs.weight, pairs.table, graph.tables)
        return LabelProgram(
            len(self._node), self.program.n_classes, allowed=self._allowed, pairs=moved
        )

    def _by_counts(self, own: FloatArray, near: Labels) -> Labels:
        """Labels of nodes that keep counts and hard pairs, where moves alone find none.

        Raises
        ------
        InfeasibleHints
            If there are none.
        """
        from tacit.oracles.select import select_oracle  # which lists this class

        program, joined = self.program, self.program.contraction
        if self._fallback is None:
            off = ~np.eye(program.n_classes, dtype=bool)
            links = np.asarray(np.isposinf(program.pairs.tables[:, off]).all(axis=1))[
                program.pairs.table
            ]
            pairs = program.pairs
            kept = Pairs(pairs.edges[links], pairs.weight[links], pairs.table[links], pairs.tables)
            allowed = np.empty_like(self._allowed)
            allowed[self._node] = self._allowed
            counted = replace(program, unary=None, allowed=allowed[joined.component], pairs=kept)
            self._fallback = select_oracle(counted).oracle(counted)
        # Costs as seen from the labels nearby, all of a component on its first row.
        change = self._repair.changes(own, near)
        table = np.zeros((program.n, program.n_classes))
        table[joined.first_row[self._node]] = np.where(np.isfinite(change), change, 0.0)
        labels = self._fallback.solve(table).labels
        nodes = labels[joined.first_row][self._node].astype(np.int32)
        if energy(own, self._graph, nodes) < np.inf:
            return nodes
        return some_labeling(program)[joined.first_row][self._node]


class _Run:
    """One call: the dual for some costs, then labels that keep the counts."""

    def __init__(self, oracle: LagrangianOracle, own: FloatArray) -> None:
        self.oracle, self.own = oracle, own
        graph = oracle._graph
        self._finite = finite = np.where(oracle._allowed, own, 0.0)
        pairs = np.abs(graph.weight) * graph.largest[graph.table]
        self.size = max(float(finite.max(initial=0.0)), float(pairs.max(initial=0.0)))
        self._total = float(finite.max(axis=1, initial=0.0).sum() + 2.0 * pairs.sum())
        groups, priced = oracle._groups, oracle._priced
        lower, upper = groups.lower[priced].astype(float), groups.upper[priced].astype(float)
        # At a price above all that labels can differ by, counting less is all that matters.
        self._bounds = Bounds(lower, upper, 2.0 * self._total + 1.0)
        self._best: Labels | None = None
        self._reached = np.inf

    def solve(self) -> tuple[Labels, float, float]:
        """Best labels, what they cost, and the bound."""
        oracle = self.oracle
        if oracle._kept is not None:
            self._offer(oracle._kept)
        pieces = self._search()
        bound = max((piece.bound for piece in pieces), default=-np.inf)
        best = max(pieces, key=lambda piece: piece.bound)
        oracle._price = best.price
        oracle._pool = [piece.labels for piece in pieces[-len(best.price) - 10 :]]
        if not self._enough(pieces):
            for piece in self._nearest(pieces, best.price):
                self._offer(piece.labels)
        if self._best is None:
            self._offer(oracle._by_counts(self.own, best.labels))
        assert self._best is not None
        return self._best, self._reached, bound

    def _search(self) -> list[Piece]:
        """Pieces of the dual, from the last prices on."""
        oracle, bounds = self.oracle, self._bounds
        start = np.clip(oracle._price, -bounds.far, bounds.far)
        step = oracle._step if oracle._step > 0.0 else 0.1 * self.size or 1.0
        if len(start) <= 1:
            first = float(start[0]) if len(start) else 0.0
            if not len(start):
                return [self._evaluate(start)]
            pieces = search_one(self._evaluate, self._enough, bounds, first, step, oracle.max_iter)
            moved = abs(float(max(pieces, key=lambda p: p.bound).price[0]) - first)
            oracle._step = max(2.0 * moved, 1e-3 * self.size)
            return pieces
        pool = [self._piece(start, labels, -np.inf) for labels in oracle._pool]
        pieces, step = search_many(
            self._evaluate, self._enough, bounds, start, step, pool, oracle.max_iter
        )
        oracle._step = max(step, 1e-3 * self.size)
        return pieces

    def _evaluate(self, price: FloatArray) -> Piece:
        """Solve the pairs at some prices."""
        oracle = self.oracle
        prices = np.zeros(oracle._priced.shape)
        prices[oracle._priced] = price
        table = self._finite + oracle._member @ prices
        result = oracle._inner.solve(table)
        low, high = self._bounds.lower, self._bounds.upper
        # Each entry of the table and each charge is off by a few roundings of its size.
        size = np.abs(table).max(axis=1, initial=0.0).sum() + self._total
        size += float(np.abs(price) @ np.maximum(np.abs(low), np.abs(high)))
        bound = result.bound - charge(price, low, high) - 8.0 * EPS * float(size)
        piece = self._piece(price, result.labels, bound)
        if oracle._repair.keeps(result.labels) and piece.energy < self._reached:
            self._best, self._reached = result.labels, piece.energy
        return piece

    def _piece(self, price: FloatArray, labels: Labels, bound: float) -> Piece:
        oracle = self.oracle
        count = oracle._repair.tally(labels)[oracle._priced].astype(float)
        return Piece(price, labels, energy(self.own, oracle._graph, labels), count, bound)

    def _enough(self, pieces: list[Piece]) -> bool:
        """Whether labels are as good as was asked for."""
        if self._best is None:
            return False
        gap = self._reached - max(piece.bound for piece in pieces)
        allowed = 0.1 * CLOSED * max(abs(self._reached), self.size)
        return gap <= max(self.oracle.gap * abs(self._reached), allowed)

    def _nearest(self, pieces: list[Piece], price: FloatArray) -> list[Piece]:
        """Pieces with different labels that are least at the best prices."""
        order = sorted(pieces, key=lambda piece: self._bounds.worth(piece, price))
        found: list[Piece] = []
        for piece in order:
            if not any(np.array_equal(piece.labels, other.labels) for other in found):
                found.append(piece)
        return found[: REPAIRED if len(price) > 1 else REPAIRED_OF_ONE]

    def _offer(self, labels: Labels) -> None:
        """Repair labels, and keep them if they are the best so far."""
        answer = self.oracle._repair(self.own, labels)
        if answer is not None and answer[1] < self._reached:
            self._best, self._reached = answer


def _priced(groups: Any, sizes: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Which counts get a price: those with a bound that can bind; of two classes, the second."""
    binds = (groups.lower > 0) | (groups.upper < sizes[:, None])
    if binds.shape[1] == 2:
        binds[:, 0] = False
    return np.asarray(binds)


def _inner_oracle(program: LabelProgram, gap: float) -> Oracle:
    """Choose for a program without counts: exact, or else message passing for its bound."""
    from tacit.oracles.select import select_oracle  # which lists this class

    chosen = select_oracle(program).oracle
    if chosen.approximate or chosen is MixedIntegerOracle:
        return TRWSOracle(program, gap=gap)
    return chosen(program)
