"""Which rows must have one label, and which must not: the known entries of M = Z Z'.

=========  ========  ==================================================================
symbol     shape     meaning
=========  ========  ==================================================================
node       (N,)      rows that must have the same label are one node
size       (n,)      weight of the loss on a node's rows together
apart      (n, n)    nodes that cannot have the same label: M is 0 there
anchor     (C,)      node of the rows whose label is known to be the class, or -1
=========  ========  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.hints._program import LabelProgram
from tacit.problem import Problem

__all__ = ["Equivalence"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Equivalence:
    """Nodes of rows, and what is known about pairs of them."""

    node: npt.NDArray[np.intp]
    size: FloatArray
    apart: npt.NDArray[np.bool_]
    anchor: npt.NDArray[np.intp]

    @classmethod
    def of(cls, problem: Problem) -> Equivalence:
        """Read the labels and strict links of a problem.

        Rows are joined by strict must-links and by known labels; nodes are apart where a strict
        cannot-link joins them or no label is allowed for both.
        """
        whole = problem.program.contraction
        single = whole.allowed.sum(axis=1) == 1
        # One name per node: its component's number, or that of its only class after all of those.
        name = np.where(single, len(single) + whole.allowed.argmax(axis=1), np.arange(len(single)))
        names, first, index = np.unique(name, return_index=True, return_inverse=True)
        node = index[whole.component]
        allowed = whole.allowed[first].astype(np.float64)
        apart = allowed @ allowed.T == 0.0
        diagonal = np.diagonal(whole.pairs.tables, axis1=1, axis2=2)
        never = np.asarray(np.isposinf(diagonal).all(axis=1))
        ends = index[whole.pairs.edges[never[whole.pairs.table]]]
        apart[ends[:, 0], ends[:, 1]] = apart[ends[:, 1], ends[:, 0]] = True
        anchor = np.full(problem.program.n_classes, -1, np.intp)
        known = np.flatnonzero(names >= len(single))
        anchor[names[known] - len(single)] = known
        size = np.zeros(len(names))
        np.add.at(size, node, problem.weights)
        return cls(node, size, apart, anchor)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.size)

    def gather(self, rows: FloatArray) -> FloatArray:
        """Sum the rows of each node, (N, m) to (n, m)."""
        total = np.zeros((self.n, rows.shape[1]))
        np.add.at(total, self.node, rows)
        return total


def soft_costs(program: LabelProgram) -> bool:
    """Whether any label, pair of labels, clique or flow has a finite cost."""
    if program.unary is not None and program.unary.any():
        return True
    if len(program.cliques) or (program.flow is not None and program.flow.cost.any()):
        return True
    tables = program.pairs.tables[np.unique(program.pairs.table)]
    return bool(np.any(np.isfinite(tables) & (tables != 0.0)))
