r"""Least-cost flow with whole capacities and costs in floating point.

.. math:: \min_x \langle c, x \rangle \quad\text{s.t.}\quad l \le x \le u,
    \quad \text{out of } v - \text{into } v = b_v,

x whole. At any potentials :math:`\pi`, with :math:`r_a = c_a + \pi_{tail} - \pi_{head}`,

.. math:: -\sum_v \pi_v b_v + \sum_a \min(r_a l_a, r_a u_a)

bounds every flow from below. A few sweeps of dual ascent make good potentials, the flow that fits
them misses few supplies, and shortest paths mend those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.oracles._flow_kernel import ascend, certify, fit, incidence, parts, surplus
from tacit.oracles._flow_paths import clear

__all__ = ["Flow", "FlowSolver"]

FloatArray = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]

# What rounding usually leaves of the gap, relative to the terms summed; more is tried again from
# scratch.
USUAL = 1e-12
# Arcs that a sweep reads in the time of one path, measured on matchings and tracks; a sweep that
# keeps more than this of the excess is the last.
SWEEP_PER_PATH, PROGRESS, MAX_SWEEPS = 400, 0.8, 4
# Lengths of paths must not overflow, nor sums of flows.
LARGEST, MOST = 1e280, 2.0**62


@dataclass(frozen=True)
class Flow:
    """A flow, its potentials, and how far it may be off.

    What the flow costs minus `gap` bounds every flow from below, rounding included.
    """

    flow: Int64Array  # (M,)
    potential: FloatArray  # (V,)
    gap: float
    n_paths: int


class FlowSolver:
    """Least-cost flows in one network for many costs, each from the potentials of the last.

    Parameters
    ----------
    n_nodes : int
        Number of nodes V.
    tail, head : (M,) int arrays
        Arcs; parallel ones, loops and cycles are allowed.
    lower, upper : (M,) int arrays
        Bounds on the flow, finite.
    supply : (V,) int array
        What leaves each node minus what enters.

    Attributes
    ----------
    cut : (V,) bool array or None
        If no flow meets bounds and supplies: nodes whose arcs cannot take what they supply.

    References
    ----------
    R. K. Ahuja, T. L. Magnanti, J. B. Orlin, Network Flows (1993), ch. 9.7: shortest paths.
    """

    def __init__(
        self,
        n_nodes: int,
        tail: npt.NDArray[np.integer],
        head: npt.NDArray[np.integer],
        lower: npt.NDArray[np.integer],
        upper: npt.NDArray[np.integer],
        supply: npt.NDArray[np.integer],
    ) -> None:
        self.lower = np.asarray(lower, np.int64)
        cap = np.asarray(upper, np.int64) - self.lower
        self._net = np.asarray(tail, np.int32), np.asarray(head, np.int32), cap
        self._supply = surplus(*self._net[:2], self.lower, np.array(supply, np.int64))
        self.cut: npt.NDArray[np.bool_] | None = None
        if (total := cap.sum(dtype=np.float64)) > MOST:
            raise ValueError(
                f"the capacities of the arcs add up to {total:.3g}; they may reach {MOST:.3g}."
            )
        if (cap < 0).any() or self._supply.sum() != 0:
            self.cut = np.ones(n_nodes, bool)
        self._incidence = incidence(*self._net, n_nodes)
        self._part, self._part_size = parts(*self._net[:2], *self._incidence)
        self._restart()

    def _restart(self) -> None:
        self._pi = np.zeros(len(self._supply))
        self._flow = np.zeros(len(self.lower), np.int64)
        self._fresh = True

    def solve(self, cost: FloatArray) -> Flow | None:
        """Least-cost flow for the given arc costs; None if no flow meets bounds and supplies."""
        if self.cut is not None:
            return None
        size = float(np.abs(cost).max(initial=0.0)) * (1 + len(self._supply))
        if not size < LARGEST:
            raise ValueError(f"arc costs up to {np.abs(cost).max():.3g}; scale them down.")
        result = self._from_here(cost)
        if result is None and not self._fresh and self.cut is None:
            # Potentials of far larger costs may have lost digits: then once more without them.
            self._restart()
            result = self._from_here(cost, last=True)
        return result

    def _from_here(self, cost: FloatArray, last: bool = False) -> Flow | None:
        """Solve from the potentials at hand; None if infeasible, or if rounding leaves a gap."""
        pi, flow = self._pi, self._flow
        # Only differences count, and paths lower potentials more than they raise them.
        pi -= (np.bincount(self._part, pi) / self._part_size)[self._part]
        excess = self._sweep(cost)
        met = np.zeros(len(pi), bool)
        n_paths = int(clear(self._net, cost, pi, flow, excess, *self._incidence, met))
        if n_paths < 0:
            self.cut = met
            return None
        gap, size = certify(*self._net, cost, pi, flow)
        if gap > USUAL * size and not (last or self._fresh):
            return None
        self._fresh = False
        return Flow(flow + self.lower, pi.copy(), float(gap), n_paths)

    def _sweep(self, cost: FloatArray) -> Int64Array:
        """Fit the flow to the potentials, which first rise to better ones while that pays."""
        tail, head, cap = self._net
        pi, flow = self._pi, self._flow
        excess = surplus(tail, head, flow, self._supply)
        left = fit(tail, head, cap, cost, pi, flow, excess)
        for k in range(MAX_SWEEPS):
            if left <= len(tail) // SWEEP_PER_PATH + 16:
                break
            ascend(tail, head, cap, self._supply, cost, pi, *self._incidence, k % 2 == 1)
            before, left = left, fit(tail, head, cap, cost, pi, flow, excess)
            if left > PROGRESS * before:
                break
        return excess
