"""Pairs with cycles and cliques, few enough for branch and bound to be quick."""

from __future__ import annotations

from tacit.hints._program import LabelProgram
from tacit.oracles.base import Verdict, untreated
from tacit.oracles.linear_program import MixedIntegerOracle

__all__ = ["SmallProgramOracle"]

# Columns of the local polytope, K C + M C^2, and C for each row of a clique. HiGHS on grids of 2 to
# 4 classes: at 2000 columns of pairs alone some ms and up to .1 s where cycles are frustrated, at
# 5000 up to 1 s; with counts as well, .2 s at 200, 1 s at 600, not done in 5 s at 1300. TRW-S needs
# .01 s for the largest of them. 70 programs of random cliques, alone or with pairs, up to 2560
# columns: at most .02 s, all solved; expansion proved one of its answers, 21 were not the best.
MOST_COLUMNS, MOST_WITH_COUNTS = 2000, 200


class SmallProgramOracle(MixedIntegerOracle):
    """`MixedIntegerOracle` for what it solves in no time; larger programs go to other oracles."""

    name = "small"
    summary = "pairs with cycles and cliques, also beside counts, of few rows: branch and bound"

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if refusal := untreated(program, "pairs", "cliques", "counts"):
            return Verdict(False, refusal)
        joined, n_classes = program.contraction, program.n_classes
        columns = (len(joined.allowed) + len(joined.cliques.members)) * n_classes
        columns += len(joined.pairs) * n_classes**2
        most = MOST_WITH_COUNTS if len(program.counts) else MOST_COLUMNS
        if columns > most:
            return Verdict(False, f"{columns:,} columns are more than the {most:,} that are quick")
        return Verdict(True, f"{columns:,} columns, at most {most:,}: branch and bound is quick")
