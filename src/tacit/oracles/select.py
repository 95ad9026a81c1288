"""Choose the cheapest oracle that is exact for a program, else the best one, and say why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.exceptions import NoOracle
from tacit.hints._program import LabelProgram
from tacit.oracles.assignment import AssignmentOracle
from tacit.oracles.base import Oracle, Verdict
from tacit.oracles.exhaustive import ExhaustiveOracle
from tacit.oracles.expansion import ExpansionOracle, SwapOracle
from tacit.oracles.flow import FlowOracle
from tacit.oracles.forest import ForestOracle
from tacit.oracles.graph_cut import GraphCutOracle
from tacit.oracles.lagrangian import LagrangianOracle
from tacit.oracles.linear_program import LinearProgramOracle, MixedIntegerOracle
from tacit.oracles.order import OrderOracle
from tacit.oracles.partition import PartitionOracle
from tacit.oracles.qpbo import QPBOOracle
from tacit.oracles.separable import SeparableOracle
from tacit.oracles.small import SmallProgramOracle
from tacit.oracles.trws import TRWSOracle

__all__ = ["ORACLES", "PREFERENCE", "Choice", "select_oracle"]

# Cheapest first; those that are not exact for all that they accept say so (`approximate`), and
# partition and order where they did not reach their bound.
PREFERENCE: tuple[type[Oracle], ...] = (
    SeparableOracle,
    AssignmentOracle,
    ForestOracle,
    GraphCutOracle,
    FlowOracle,
    LinearProgramOracle,
    PartitionOracle,
    OrderOracle,
    SmallProgramOracle,
    ExpansionOracle,
    QPBOOracle,
    TRWSOracle,
    LagrangianOracle,
    MixedIntegerOracle,
)
# Chosen by name only.
_EVERY: tuple[type[Oracle], ...] = (*PREFERENCE, SwapOracle, ExhaustiveOracle)
ORACLES: dict[str, type[Oracle]] = {cls.name: cls for cls in _EVERY}


@dataclass(frozen=True)
class Choice:
    """An oracle for a program, with what every candidate answered.

    Attributes
    ----------
    oracle : type of Oracle
        The one to use.
    verdicts : tuple of (name, Verdict)
        In the order tried; the last one accepted.
    """

    oracle: type[Oracle]
    verdicts: tuple[tuple[str, Verdict], ...]

    def explain(self) -> str:
        """Return one line per oracle tried: accepted or refused, and why."""
        return "\n".join(
            f"{'uses' if verdict.ok else 'not '} {name}: {verdict.reason}"
            for name, verdict in self.verdicts
        )

    def __str__(self) -> str:
        return self.explain()


def select_oracle(program: LabelProgram, name: str | None = None) -> Choice:
    """Choose an oracle.

    Tried in this order, the first that accepts is taken:

    1. ``separable``: nothing couples two rows; argmin.
    2. ``assignment``: counts of disjoint or nested groups; augmenting paths.
    3. ``forest``: pairs without cycles (hard must-links are contracted first); max-product.
    4. ``graph_cut``: submodular pairs of two labels; minimum cut.
    5. ``flow``: networks, matchings, counts of one class in two crossing families of groups;
       shortest paths.
    6. ``lp``: overlapping counts, linear rows, flows; dual simplex, integers where fractional.
    7. ``partition``: pairs of items joined or apart; contraction, moves, cutting planes.
    8. ``order``: pairs of items before or behind; insertion moves, cutting planes.
    9. ``small``: pairs with cycles and cliques, also beside counts, of few rows; branch and bound.
    10. ``expansion``: metric pairs and cliques; moves by cuts, approximate with a proven bound.
    11. ``qpbo``: any pairs of two labels; roof duality, approximate with a proven bound.
    12. ``trws``: pairs of any kind; message passing, approximate with a proven bound.
    13. ``lagrangian``: pairs together with counts; prices and repair, approximate, proven bound.
    14. ``milp``: anything else of moderate size; branch and bound.

    Parameters
    ----------
    program : LabelProgram
        What is known.
    name : str, optional
        Insist on this oracle.

    Raises
    ------
    NoOracle
        If none accepts, or not the one that is named; the message lists every reason.
    """
    if name is not None and name not in ORACLES:
        raise ValueError(f"oracle={name!r} is not known; choose one of {', '.join(ORACLES)}.")
    tried: list[tuple[str, Verdict]] = []
    for cls in PREFERENCE if name is None else (ORACLES[name],):
        verdict = cls.accepts(program)
        tried.append((cls.name, verdict))
        if verdict.ok:
            return Choice(cls, tuple(tried))
    if name is not None:
        raise NoOracle(
            f"oracle={name!r} does not accept these hints: {tried[0][1].reason}. Without a name "
            "the best one that does is chosen."
        )
    reasons = "; ".join(f"{n}: {v.reason}" for n, v in tried)
    raise NoOracle(f"no oracle accepts these hints ({reasons}).")


def zero_cost(program: LabelProgram) -> npt.NDArray[Any]:
    """Costs that leave only the hints' own."""
    return np.zeros((program.n, program.n_classes))
