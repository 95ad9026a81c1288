"""Branch and bound over the labels of two classes: the best labeling, with its proof.

=========  ====================================================================================
symbol     meaning
=========  ====================================================================================
upper      J of the best labeling so far
lower      proven bound on J of every labeling
target     where a node's bound makes it not worth looking at: upper less the gap
=========  ====================================================================================

A node is a partial labeling. Its bound is that of `_node_kernel`: rows of known label enter with
their loss, those of unknown label with the convex hull of both labels' losses together with the
share of the regulariser that they get, or, where that does not pay, not at all. The search dives
into the child that rises less and otherwise goes on where the bound is lowest.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.convex._incumbent import Fixed, descend, label_table
from tacit.convex._node_kernel import split, visit
from tacit.convex._two_class import TwoClass
from tacit.features import FeatureMap
from tacit.oracles import Oracle, select_oracle
from tacit.problem import Problem

__all__ = ["RULES", "BranchAndBound"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

RULES = ("product", "margin")
TOL, PASSES = 1e-4, 100  # of the ascent at a node
ROOT_TURNS, TURNS = 60, 1  # adjustments of the shares at the root and at other nodes
# A split pays where it closes this part of the gap at the root that is left without it. At .36 and
# .48 it cost twice the time of searches of .05 s, at .5 it made no difference, at .53 it halved the
# gap left after 3 s, from .6 on it saved up to nine tenths.
WORTH = 0.4
EVERY, EVERY_SLOW = 5, 100  # nodes between labelings, beyond the first `EARLY`
EARLY = 100
BOTH = 3


@dataclass(frozen=True)
class _Node:
    bound: float
    domain: npt.NDArray[np.int8]
    s: npt.NDArray[np.float64]
    m: npt.NDArray[np.float64]


class BranchAndBound:
    r"""Find the labels and the classifier of least J, or bound it.

    .. math:: \min_{y} \min_\theta \sum_i w_i \varphi(t_i \langle x_i, \theta \rangle)
        + \nu |\theta|^2 + S(y), \quad t_i = 2 y_i - 1

    Parameters
    ----------
    problem : Problem
        Two classes, one of the margin losses, exact kernel or explicit features; hints that are
        labels, costs, counts, pairs and linear rows.
    gap : float
        Relative difference of the two bounds at which the search ends.
    rule : {"product", "margin"}
        Branch where the product of both labels' rises is largest, or where the score is smallest.
    heuristic : bool
        Whether to look for labelings at the nodes; without, the first comes from a dive.
    shared : bool, optional
        Whether unknown rows get shares of the regulariser; by default where that pays at the root.
    oracle : Oracle, optional
        Labels for given costs; chosen by the hints by default.
    features : FeatureMap, optional
        The problem's features, where they were drawn before.

    Attributes
    ----------
    upper, lower : float
        Objective of the best labeling, and the bound; both may be infinite in the beginning.
    labels : (N,) int32 array or None
        The best labeling.
    nodes : int
        Nodes visited.
    root : float
        Bound at the root.
    slopes : (N,) array
        Dual variables of the best labeling: its classifier is -X' slopes / (2 nu).

    Notes
    -----
    The search may be stopped after any call of `step`, and goes on where it was with the next.

    Equation: (17) in 001, corrected: the split that is best for the bound, row by row
    """

    def __init__(
        self,
        problem: Problem,
        *,
        gap: float = 1e-6,
        rule: str = "product",
        heuristic: bool = True,
        shared: bool | None = None,
        oracle: Oracle | None = None,
        features: FeatureMap | None = None,
    ) -> None:
        if rule not in RULES:
            raise ValueError(f"rule={rule!r} is not known; choose one of {', '.join(RULES)}.")
        self.two = TwoClass.read(problem, features)
        self.gap, self.rule, self.heuristic = gap, rule, heuristic
        program = problem.program
        self.oracle = select_oracle(program).oracle(program) if oracle is None else oracle
        n, d = self.two.X.shape
        self.upper, self.nodes, self.root = np.inf, 0, -np.inf
        self.labels: Labels | None = None
        self._fixed, self._seen = Fixed(self.two), set[bytes]()
        self._P, self._q = self._fixed.P.copy(), self._fixed.q.copy()
        self._cross, self._theta, self._gain = np.zeros(n), np.zeros(d), np.zeros((n, 2))
        self.slopes = np.zeros(n)
        self._away = np.inf  # least bound of what was discarded
        self._open: list[tuple[float, int, _Node]] = []
        self._count = 0
        self._next: _Node | None = None
        self.shared = False
        self._start(shared)

    @property
    def target(self) -> float:
        """Bound from which on a node cannot improve on the best labeling by more than the gap."""
        if np.isinf(self.upper):
            return np.inf
        return self.upper - self.gap * max(abs(self.upper), 1e-300)

    @property
    def lower(self) -> float:
        """Proven lower bound on J of every labeling."""
        waiting = [self._open[0][0]] if self._open else []
        if self._next is not None:
            waiting.append(self._next.bound)
        return min(self._away, self.upper, *waiting) - self.two.margin

    @property
    def done(self) -> bool:
        """Whether no node is left."""
        return self._next is None and not self._open

    def step(self, nodes: int = 1) -> None:
        """Visit up to so many nodes."""
        for _ in range(nodes):
            node = self._take()
            if node is None:
                return
            self._visit(node)

    def offer(self, labels: Labels) -> None:
        """Take a labeling as the best one if it is, and go on from it."""
        if self.two.program.violation(labels) == 0:
            zero = np.zeros(len(labels))
            gap = 0.1 * self.gap
            objective, _, _, s = self._fixed.fit(labels.astype(np.int32), zero, gap, np.inf)
            self._improve(objective, labels.astype(np.int32), s)

    def _start(self, shared: bool | None) -> None:
        """Bound at the root, with and without shares, which decides about them."""
        two = self.two
        n, d = two.X.shape
        plain = _Node(-np.inf, two.domain.copy(), np.zeros(n), np.zeros(n))
        bound, _, _ = self._bound(plain, np.inf, 0)
        reference = np.inf
        if np.isfinite(bound):
            reference, labels, s = self._labelings(plain, np.inf)
            if self.heuristic and np.isfinite(reference):
                self._improve(reference, labels, s)
        first = _Node(bound, plain.domain, plain.s, plain.m)
        if shared is not False and np.isfinite(bound):
            length = float(np.einsum("ij,ij->", two.X, two.X)) / max(d, 1)
            m = np.where(plain.domain == BOTH, two.nu / max(length, 1e-300), 0.0)
            split_node = _Node(bound, plain.domain.copy(), plain.s.copy(), m)
            self.shared = True
            better, _, _ = self._bound(split_node, np.inf, ROOT_TURNS)
            pays = better - bound > WORTH * (reference - bound)
            self.shared = shared is True or pays
            if self.shared:
                first = _Node(better, split_node.domain, split_node.s, split_node.m)
            else:
                first = _Node(max(better, bound), plain.domain, plain.s, plain.m)
                split(two.model, plain.m, self._P, self._q)
        self.root = first.bound - two.margin
        self._next = first if np.isfinite(first.bound) else None
        if self._next is None:
            self._away = min(self._away, first.bound)

    def _take(self) -> _Node | None:
        """Return the child of the last node, else the node of the lowest bound."""
        node, self._next = self._next, None
        while node is None or node.bound >= self.target:
            if node is not None:
                self._away = min(self._away, node.bound)
            if not self._open:
                return None
            node = heapq.heappop(self._open)[2]
        return node

    def _bound(self, node: _Node, target: float, turns: int) -> tuple[float, float, float]:
        two = self.two
        return visit(
            two.model,
            two.rows,
            two.pairs,
            self.shared,
            node.m,
            self._P,
            self._q,
            self._cross,
            node.domain,
            node.s,
            self._theta,
            self._gain,
            target,
            turns,
            TOL,
            PASSES,
        )

    def _visit(self, node: _Node) -> None:
        self.nodes += 1
        bound, here, away = self._bound(node, self.target, TURNS)
        self._away = min(self._away, away)
        if bound >= self.target:
            return  # away has it, or the hints leave nothing
        bound = max(bound, node.bound)
        unknown = np.flatnonzero(node.domain == BOTH)
        if len(unknown) == 0:
            self._leaf(node, bound)
            return
        gain, scores = self._gain.copy(), self.two.X @ self._theta
        slow = EVERY_SLOW if self.oracle.slow else EVERY
        if self.heuristic and (self.nodes <= EARLY or self.nodes % slow == 0):
            self._improve(*self._labelings(node, self.upper))
        row = self._row(unknown, gain, scores)
        children = sorted(
            (self._child(node, max(bound, here + gain[row, c]), row, c) for c in (0, 1)),
            key=lambda child: child.bound,
        )
        for child in children[1:]:
            if child.bound < self.target:
                self._count += 1
                heapq.heappush(self._open, (child.bound, self._count, child))
            else:
                self._away = min(self._away, child.bound)
        self._next = children[0]

    def _row(self, unknown: npt.NDArray[np.intp], gain: FloatArray, scores: FloatArray) -> int:
        if self.rule == "margin":
            return int(unknown[np.argmin(np.abs(scores[unknown]))])
        rises = gain[unknown]
        floor = 1e-6 * max(float(rises.max()), 1e-300)
        return int(unknown[np.argmax((rises[:, 0] + floor) * (rises[:, 1] + floor))])

    @staticmethod
    def _child(node: _Node, bound: float, row: int, label: int) -> _Node:
        domain = node.domain.copy()
        domain[row] = 1 + label
        return _Node(float(bound), domain, node.s.copy(), node.m.copy())

    def _leaf(self, node: _Node, bound: float) -> None:
        """All labels known: J itself, as far as its own gap."""
        labels = (node.domain - 1).astype(np.int32)
        if self.two.program.violation(labels):
            return
        objective, below, _, s = self._fixed.fit(labels, node.s, 0.1 * self.gap, self.target)
        self._away = min(self._away, max(bound, below))
        if objective < self.upper:
            self._improve(objective, labels, s)

    def _labelings(self, node: _Node, upper: float) -> tuple[float, Labels, FloatArray]:
        """Labels in turn with the classifier, from the node's scores."""
        two = self.two
        table = label_table(two, two.X @ self._theta)
        # Far from the node's own labels at first: the oracle knows the hints, not the node.
        far = 1.0 + 4.0 * float(table.sum())
        first = table.copy()
        first[node.domain == 1, 1] += far
        first[node.domain == 2, 0] += far
        labels = self.oracle.solve(first).labels.astype(np.int32)
        return descend(
            two,
            self._fixed,
            lambda costs: self.oracle.solve(costs).labels.astype(np.int32),
            labels,
            node.s.copy(),
            self._seen,
            upper,
            0.1 * self.gap,
        )

    def _improve(self, objective: float, labels: Labels, s: FloatArray) -> None:
        if objective < self.upper:
            self.upper, self.labels, self.slopes = objective, labels, s
