"""Oracles: solvers for the discrete step, one file per algorithm, each with a proven bound.

`solve` answers MAP inference on its own; `select_oracle` says which oracle it uses and why.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.hints.base import Hint
from tacit.hints.combine import Hints, infer_classes
from tacit.hints.costs import Cost
from tacit.oracles.assignment import AssignmentOracle
from tacit.oracles.base import Oracle, OracleResult, Verdict
from tacit.oracles.exhaustive import ExhaustiveOracle
from tacit.oracles.expansion import ExpansionOracle, SwapOracle
from tacit.oracles.feasibility import feasible_labels, require_feasible
from tacit.oracles.flow import FlowOracle
from tacit.oracles.forest import ForestOracle
from tacit.oracles.graph_cut import GraphCutOracle
from tacit.oracles.lagrangian import LagrangianOracle
from tacit.oracles.linear_program import LinearProgramOracle, MixedIntegerOracle
from tacit.oracles.order import OrderOracle
from tacit.oracles.partition import PartitionOracle
from tacit.oracles.qpbo import QPBOOracle
from tacit.oracles.select import ORACLES, PREFERENCE, Choice, select_oracle
from tacit.oracles.separable import SeparableOracle
from tacit.oracles.small import SmallProgramOracle
from tacit.oracles.trws import TRWSOracle

__all__ = [
    "ORACLES",
    "PREFERENCE",
    "AssignmentOracle",
    "Choice",
    "ExhaustiveOracle",
    "ExpansionOracle",
    "FlowOracle",
    "ForestOracle",
    "GraphCutOracle",
    "LagrangianOracle",
    "LinearProgramOracle",
    "MixedIntegerOracle",
    "Oracle",
    "OracleResult",
    "OrderOracle",
    "PartitionOracle",
    "QPBOOracle",
    "SeparableOracle",
    "SmallProgramOracle",
    "SwapOracle",
    "TRWSOracle",
    "Verdict",
    "feasible_labels",
    "require_feasible",
    "select_oracle",
    "solve",
]


def solve(cost: Any, hints: Hint | None = None, *, oracle: str | None = None) -> OracleResult:
    r"""MAP inference alone: :math:`\min_y \langle cost, Y \rangle + S(y)`.

    Parameters
    ----------
    cost : array of shape (N, C)
        Cost of each label of each row; +inf forbids.
    hints : Hint, optional
        What is known; class names are 0..C-1.
    oracle : str, optional
        Insist on one oracle by name.

    Returns
    -------
    OracleResult
        Labels, their value, a proven lower bound, and whether the two agree.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit import hints, oracles
    >>> cost = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    >>> oracles.solve(cost, hints.Count([[0, 1, 2]], lower={1: 2})).labels
    array([1, 1, 0], dtype=int32)

    Notes
    -----
    Equation: (1) in 004
    """
    table = Cost(cost)  # checks shape and entries
    known = Hints([table, *([hints] if hints is not None else [])])
    shape = np.shape(cost)
    codes = infer_classes(range(shape[1]), (), known)
    program = known.compile(shape[0], codes)
    chosen = select_oracle(program, oracle)
    require_feasible(program, known, codes)
    return chosen.oracle(program).solve(np.zeros(shape))
