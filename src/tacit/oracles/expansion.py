r"""Pairs of many labels that prefer agreement, and cliques: moves by minimum cuts.

.. math:: \min_y \sum_i c_{i y_i} + \sum_{(i, j)} w_{ij} T_{ij}(y_i, y_j)
    + \sum_k w_k \min\Bigl(1, \min_l \tfrac{|\{i \in k : y_i \ne l\}|}{t_k}\Bigr)
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram
from tacit.hints._structures import Cliques
from tacit.oracles._moves import Field
from tacit.oracles._moves_kernel import first_beyond_expansion, first_beyond_swap
from tacit.oracles.base import Oracle, OracleResult, Verdict, rounding, untreated
from tacit.oracles.trws import TRWSOracle

__all__ = ["ExpansionOracle", "SwapOracle"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

# What rounding may leave of the gap of an answer that is called exact, relative to what is
# paid above each row's least.
CLOSED = 1e-9
# Sweeps of messages for the bound by default. On 100 x 100 grids of 8 labels as benchmarks/cuts.py
# has them the gap is then 0 (regions) or .4 % (random), where 300 sweeps leave 0 or .2 %.
BOUND_ITERATIONS = 30


class _MoveOracle(Oracle):
    """Labels that no single move makes better, with a bound."""

    approximate = True
    slow = True

    def __init__(self, program: LabelProgram, *, bound_iterations: int = BOUND_ITERATIONS) -> None:
        super().__init__(program)
        if not (verdict := self.accepts(program)):
            raise ValueError(f"{type(self).__name__} cannot solve this program: {verdict.reason}.")
        if bound_iterations < 0:
            raise ValueError(f"bound_iterations={bound_iterations} must be 0 or more.")
        self._contraction = program.contraction
        self._field = Field(program.contraction)
        self._last: Labels | None = None
        self._messages: TRWSOracle | None = None
        if bound_iterations:
            pairs_only = replace(program, cliques=Cliques.none())
            self._messages = TRWSOracle(pairs_only, max_iter=bound_iterations)
        self._least_pairs, self._pair_size = _least(program)

    @abstractmethod
    def _improve(self, total: FloatArray, labels: Labels) -> tuple[Labels, float]:
        """Labels that no move makes better, and their energy."""

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:
        shape = (self.program.n, self.program.n_classes)
        if cost.shape != shape:
            raise ValueError(f"cost has shape {cost.shape}; expected {shape}.")
        total = self._field.total(self._contraction.gather(cost))
        least = total.min(axis=1)
        if np.isposinf(least).any():
            raise InfeasibleHints("some row has no allowed label.")
        start = total.argmin(axis=1).astype(np.int32)
        starts = [start] if self._last is None else [start, self._last]
        start = min(starts, key=lambda labels: self._field.energy(total, labels)[0])
        labels, value = self._improve(total, start)
        size = self._pair_size + float(np.abs(least).sum())
        bound = float(least.sum()) + self._least_pairs
        if self._messages is not None:
            passed = self._messages.solve(cost)
            other = passed.labels[self._contraction.first_row]
            if self._field.energy(total, other)[0] < value:
                labels, value = self._improve(total, other)
            bound = max(bound, passed.bound)
        self._last = labels
        chosen = labels[self._contraction.component]
        value = float(cost[np.arange(len(chosen)), chosen].sum(dtype=np.float64))
        value += self.program.value(chosen)
        margin = 64 * float(np.finfo(float).eps) * (size + abs(value))
        margin += rounding(self.program, cost, chosen)
        bound = float(min(bound - margin, value))
        # Against what is paid above each row's least: an offset of the costs closes no gap.
        reached = abs(value - float(least.sum()))
        exact = bool(value - bound <= CLOSED * reached + 2.0 * margin)
        return OracleResult(chosen, value, bound, exact)


class ExpansionOracle(_MoveOracle):
    r"""Alpha-expansion for metric pairs, P^n Potts and robust P^n Potts cliques.

    A move lets all rows change to one label at once, as is best: a minimum cut. It is exact for
    pairs with ``T(a, a) + T(b, c) <= T(b, a) + T(a, c)``, metric ones among them, and ends within
    the factor ``2 max T / min T`` (over different labels) of the optimum. A clique whose cost is
    cut off at no more than half of its rows is exact in a move too; a later cut-off is replaced in
    each move by an upper bound that is exact at the labels before, so that no move makes them
    worse.

    The search begins with the labels of the call before or each row's best ones, whichever are
    cheaper now: calls before may make an answer better or worse, within the same guarantee.

    Parameters
    ----------
    program : LabelProgram
        What is known.
    bound_iterations : int, default=30
        Sweeps of message passing (`TRWSOracle`) for the bound; its labels are a second start. With
        0 the bound is only the sum of the least entries: what a solver wants that compares labels.

    References
    ----------
    Y. Boykov, O. Veksler, R. Zabih, Fast approximate energy minimization via graph cuts (2001).
    P. Kohli, L. Ladicky, P. H. S. Torr, Robust higher order potentials for enforcing label
    consistency, IJCV 2009.
    """

    name = "expansion"
    summary = "metric pairs (Potts) and cliques of many classes; approximate, with a lower bound"

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if refusal := untreated(program, "pairs", "cliques") or _hard_pairs(program):
            return Verdict(False, refusal)
        edge, tables = _used(program)
        t, a, b, c = first_beyond_expansion(tables)
        if t >= 0:
            return Verdict(
                False,
                f"the costs of pair {_rows(program, edge[t])} are not metric: "
                f"T({a}, {a}) + T({b}, {c}) > T({b}, {a}) + T({a}, {c}) by class positions",
            )
        return Verdict(True, "pairs are metric; approximate, with a proven bound")

    def _improve(self, total: FloatArray, labels: Labels) -> tuple[Labels, float]:
        return self._field.expand(total, labels)


class SwapOracle(_MoveOracle):
    r"""Alpha-beta swaps for semi-metric pairs.

    A move lets all rows with one of two labels exchange them as is best: a minimum cut, for any
    pairs with ``T(a, a) + T(b, b) <= T(a, b) + T(b, a)``.

    The search begins with the labels of the call before or each row's best ones, whichever are
    cheaper now: calls before may make an answer better or worse, within the same guarantee.

    Parameters
    ----------
    program : LabelProgram
        What is known.
    bound_iterations : int, default=30
        Sweeps of message passing (`TRWSOracle`) for the bound; its labels are a second start. With
        0 the bound is only the sum of the least entries: what a solver wants that compares labels.

    References
    ----------
    Y. Boykov, O. Veksler, R. Zabih, Fast approximate energy minimization via graph cuts (2001).
    """

    name = "swap"
    summary = "semi-metric pairs of many classes; approximate, with a lower bound"

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if refusal := untreated(program, "pairs") or _hard_pairs(program):
            return Verdict(False, refusal)
        edge, tables = _used(program)
        t, a, b = first_beyond_swap(tables)
        if t >= 0:
            return Verdict(
                False,
                f"the costs of pair {_rows(program, edge[t])} are not semi-metric: "
                f"T({a}, {a}) + T({b}, {b}) > T({a}, {b}) + T({b}, {a}) by class positions",
            )
        return Verdict(True, "pairs are semi-metric; approximate, with a proven bound")

    def _improve(self, total: FloatArray, labels: Labels) -> tuple[Labels, float]:
        return self._field.swap(total, labels)


def _used(program: LabelProgram) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Return an edge for each table used, with either sign of its weight, and the signed tables."""
    pairs = program.contraction.pairs
    key = 2 * pairs.table + (pairs.weight < 0)
    which, edge = np.unique(key[pairs.weight != 0], return_index=True)
    edge = np.flatnonzero(pairs.weight != 0)[edge]
    return edge, np.where(which % 2, -1.0, 1.0)[:, None, None] * pairs.tables[which // 2]


def _hard_pairs(program: LabelProgram) -> str:
    """Name a pair, no must-link, with costs that are not finite; empty if there is none."""
    edge, tables = _used(program)
    hard = np.flatnonzero(~np.isfinite(tables).all(axis=(1, 2)))
    return (
        f"pair {_rows(program, edge[hard[0]])} has costs that are not finite" if len(hard) else ""
    )


def _rows(program: LabelProgram, edge: int) -> str:
    """Rows of an edge between components."""
    u, v = program.contraction.first_row[program.contraction.pairs.edges[edge]]
    return f"({u}, {v})"


def _least(program: LabelProgram) -> tuple[float, float]:
    """Sum over the pairs of what each costs at least, and of the sizes of the terms."""
    pairs = program.contraction.pairs
    low, high = pairs.tables.min(axis=(1, 2)), pairs.tables.max(axis=(1, 2))
    with np.errstate(invalid="ignore"):
        term = pairs.weight * np.where(pairs.weight < 0, high[pairs.table], low[pairs.table])
    return float(term.sum()), float(np.abs(term).sum())
