"""Some labeling that satisfies every hard hint, whatever it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tacit.hints._program import LabelProgram, Pairs
from tacit.hints._structures import Cliques
from tacit.oracles.linear_program import MixedIntegerOracle

__all__ = ["bare", "some_labeling"]


def bare(program: LabelProgram) -> LabelProgram:
    """Return the hard statements of a program alone."""
    flow = program.flow
    return replace(
        program,
        unary=None,
        pairs=_hard(program.pairs),
        cliques=Cliques.none(),
        flow=None if flow is None else replace(flow, cost=0.0 * flow.cost),
    )


def some_labeling(program: LabelProgram) -> npt.NDArray[np.int32]:
    """Labels that satisfy all hard statements, by branch and bound.

    Raises
    ------
    InfeasibleHints
        If there are none.
    """
    oracle = MixedIntegerOracle(bare(program), gap=np.inf)
    return oracle.solve(np.zeros((program.n, program.n_classes))).labels


def _hard(pairs: Pairs) -> Pairs:
    """Only what is forbidden: a feasible labeling need not be a cheap one."""
    forbids = pairs.tables == np.inf
    keep = forbids.any(axis=(1, 2))[pairs.table]
    tables = np.where(forbids, np.inf, 0.0)
    return Pairs(pairs.edges[keep], pairs.weight[keep], pairs.table[keep], tables)
