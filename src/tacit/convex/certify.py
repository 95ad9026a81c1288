"""How far an answer is from the best one."""

from __future__ import annotations

import time
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from tacit.backends import is_number
from tacit.convex.branch_and_bound import BranchAndBound
from tacit.features import FeatureMap
from tacit.oracles import require_feasible
from tacit.problem import Problem
from tacit.result import Certificate

__all__ = ["Certifiable", "certificate", "certify"]

GAP = 1e-6
NODES = 20


@runtime_checkable
class Certifiable(Protocol):
    """An estimator that knows its problem and its answer."""

    def certify(self, time_limit: float | None = None) -> Certificate:
        """Bound the distance of its answer from the best one."""


def certify(problem_or_estimator: Any, time_limit: float | None = None) -> Certificate:
    """Prove how far an answer is, at most, from the best one.

    Parameters
    ----------
    problem_or_estimator : Problem or fitted estimator
        Of a problem, the answer is the best labeling that the search comes across.
    time_limit : float, optional
        Seconds for branch and bound. By default only the bound at its root is computed.

    Returns
    -------
    Certificate
        With bounds that hold in floating point, too.

    Raises
    ------
    NoOracle
        Where no bound is known for the kind of problem, with the reason.
    """
    if isinstance(problem_or_estimator, Problem):
        return certificate(problem_or_estimator, time_limit=time_limit)
    if isinstance(problem_or_estimator, Certifiable):
        return problem_or_estimator.certify(time_limit=time_limit)
    raise TypeError(
        f"certify takes a Problem or a fitted HintClassifier, not a "
        f"{type(problem_or_estimator).__name__}."
    )


def certificate(
    problem: Problem,
    *,
    labels: npt.NDArray[np.int32] | None = None,
    objective: float = np.inf,
    features: FeatureMap | None = None,
    time_limit: float | None = None,
) -> Certificate:
    """Bound the distance of an answer, if given, else that of the best one found."""
    if time_limit is not None and not (is_number(time_limit) and time_limit > 0):
        raise ValueError(f"time_limit={time_limit!r}; expected a positive number of seconds.")
    started = time.monotonic()
    require_feasible(problem.program, problem.known, problem.codes)
    with threadpool_limits(1, "blas"):
        search = BranchAndBound(problem, gap=GAP, features=features)
        if labels is not None:
            search.offer(labels)
        while time_limit is not None and not search.done:
            search.step(NODES)
            if time.monotonic() - started > time_limit:
                break
    upper = objective if labels is not None else search.upper
    lower = min(search.lower, upper)
    scale = max(abs(upper), 1e-300)
    exact = bool(upper - lower <= GAP * scale)
    return Certificate(upper, lower, (upper - lower) / scale, exact, _how(search, upper))


def _how(search: BranchAndBound, upper: float) -> str:
    split = (
        "with shares of the regulariser for unknown rows" if search.shared else "known rows only"
    )
    if search.nodes == 0 and not search.done:
        text = "the bound at the root of branch and bound"
    elif search.done:
        text = f"branch and bound over the labels, complete after {search.nodes} nodes ({split})"
    else:
        text = f"branch and bound over the labels, ended after {search.nodes} nodes ({split})"
    if search.upper < upper - GAP * max(abs(upper), 1e-300):
        text += f"; a labeling with a lower objective, {search.upper:.6g}, was found on the way"
    return text
