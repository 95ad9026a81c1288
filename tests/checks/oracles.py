"""Checks that every oracle has to pass; `tests/negative/test_oracles.py` shows they can fail."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.exceptions import InfeasibleHints
from tacit.oracles.exhaustive import ExhaustiveOracle

# Sums of at most some hundred costs, in another order.
SUM_RTOL = 1e-10


def check_result(program, cost, result):
    """Feasible, value recomputed, bound below it, and `exact` only when they meet."""
    labels = np.asarray(result.labels)
    assert labels.shape == (program.n,)
    assert labels.dtype == np.int32
    assert (type(result.value), type(result.bound), type(result.exact)) == (float, float, bool)
    assert labels.min(initial=0) >= 0
    assert labels.max(initial=0) < program.n_classes
    assert program.violation(labels) == 0, "the labeling breaks a hard hint"
    value = float(cost[np.arange(program.n), labels].sum()) + program.value(labels)
    scale = 1.0 + float(np.abs(cost).sum())
    assert abs(result.value - value) <= SUM_RTOL * scale, "value is not what the labels cost"
    assert result.bound <= result.value + SUM_RTOL * scale, "bound above value"
    if result.exact:
        assert result.value - result.bound <= 1e-6 * scale, "exact, but the bound is far off"


def check_against_exhaustive(oracle_cls, program, cost):
    """Accepts, then agrees with all labelings: infeasible together, bound <= optimum <= value."""
    verdict = oracle_cls.accepts(program)
    assert verdict, verdict.reason
    oracle = oracle_cls(program)
    try:
        best = ExhaustiveOracle(program).solve(cost).value
    except InfeasibleHints:
        with pytest.raises(InfeasibleHints) as caught:
            oracle.solve(cost)
        assert str(caught.value).endswith(".")
        return None
    result = oracle.solve(cost)
    check_result(program, cost, result)
    slack = SUM_RTOL * (1.0 + float(np.abs(cost).sum()))
    assert result.bound <= best + slack, "the bound cuts off the optimum"
    assert result.value >= best - slack
    if result.exact:
        assert result.value <= best + slack, "called exact, but not optimal"
    return result
