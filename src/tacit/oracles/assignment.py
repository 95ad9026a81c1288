r"""Labels with bounds on class counts: an assignment solved by prices and augmenting paths.

.. math:: \min_y \sum_i c_{i y_i}
    \quad\text{s.t.}\quad l_{gc} \le \#\{i \in g : y_i = c\} \le u_{gc},

groups nested or disjoint. The dual gives every count bound a price p,

.. math:: \max_p \sum_i \min_c \Bigl(c_{ic} + \sum_{g \ni i} p_{gc}\Bigr)
    - \sum_{gc} \max(p_{gc} l_{gc}, p_{gc} u_{gc}),

and its value at any prices is a lower bound: the certificate that comes with each answer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.exceptions import InfeasibleHints
from tacit.hints._program import LabelProgram
from tacit.oracles._assignment_kernel import Forest, certify, label_rows, tally_up
from tacit.oracles._assignment_paths import INFEASIBLE, SOLVED, solve_trees
from tacit.oracles.base import Oracle, OracleResult, Verdict, untreated

__all__ = ["AssignmentOracle"]

FloatArray = npt.NDArray[np.float64]

# What rounding may leave of the gap: relative to the value, for calling the answer exact, and
# relative to the terms summed, a hundred times what is usual, for trying again without old prices.
CLOSED, USUAL = 1e-9, 1e-12


class AssignmentOracle(Oracle):
    """Exact count-bounded assignment for nested or disjoint groups, in floating point.

    Each row takes the label of least cost plus price; while some count is out of bounds, prices are
    first raised class by class (exactly, by selection) when much is to be done, then rows move
    along shortest paths between classes, one at a time. The prices are kept: the next costs are
    usually close, and then few rows have to move. Equally cheap labelings may come out differently
    for different earlier prices; their value is the same.

    Attributes
    ----------
    prices : (G, C) float array
        What one row of class c in group g pays besides its cost. Positive where the upper bound
        holds it back: one more allowed row lowers the value by about that much. Negative where the
        lower bound asks for rows that would go elsewhere: asking for one more costs about minus
        that. Zero where the count is strictly between. Those of the last call that succeeded.

    Notes
    -----
    The label step of 000 (12) under the count bounds of its sections 1 and 3.

    References
    ----------
    R. K. Ahuja, T. L. Magnanti, J. B. Orlin, Network Flows (1993), ch. 9: shortest augmenting paths
    and the out-of-kilter method.
    """

    name = "assignment"
    summary = "bounds on class counts in nested or disjoint groups, costs per row"

    def __init__(self, program: LabelProgram) -> None:
        super().__init__(program)
        if not (verdict := self.accepts(program)):
            raise ValueError(f"AssignmentOracle cannot solve this program: {verdict.reason}.")
        self._forest, self._order = _preorder(program)
        self.prices: FloatArray = np.zeros((len(program.counts), program.n_classes))
        # The last row is the home of rows in no group; its price stays zero.
        self._price = np.zeros((len(program.counts) + 1) * program.n_classes)
        # Costs are read in place unless the program adds its own.
        self._own: FloatArray | None = None
        if program.unary is not None or program.allowed is not None:
            self._own = program.full_cost()
            self._total = np.empty_like(self._own)

    @classmethod
    def accepts(cls, program: LabelProgram) -> Verdict:  # noqa: D102
        if refusal := untreated(program, "counts"):
            return Verdict(False, refusal)
        if program.home is None:
            return Verdict(False, "some count groups overlap without one containing the other")
        return Verdict(True, "counts in nested or disjoint groups, nothing else couples rows")

    def solve(self, cost: npt.NDArray[np.floating]) -> OracleResult:  # noqa: D102
        total = self._full(cost)
        labels = np.empty(self.program.n, np.int32)
        tally = np.empty(len(self._price), np.int64)
        # Prices of far larger costs may have lost digits: then once more without them.
        for price in (self._price.copy(), np.zeros_like(self._price)):
            settled = self._assign(total, price, labels, tally)
            value, gap, size = certify(total, self._forest, price, labels, tally)
            if settled and gap <= USUAL * size:
                break
        if not settled:
            raise RuntimeError("the assignment did not settle; please report the costs and counts.")
        self._keep(price)
        # Each term is off by less than two roundings of its size.
        bound = float(value - gap - 4.0 * np.finfo(float).eps * size)
        exact = value - bound <= CLOSED * (1.0 + abs(value))
        return OracleResult(labels, value, bound, exact)

    def _full(self, cost: npt.NDArray[np.floating]) -> FloatArray:
        """Costs with the program's own and +inf where forbidden, without a copy if possible."""
        shape = (self.program.n, self.program.n_classes)
        if cost.shape != shape:
            raise ValueError(f"cost has shape {cost.shape}; expected {shape}.")
        if self._own is None:
            return np.ascontiguousarray(cost, np.float64)
        np.add(cost, self._own, out=self._total)
        return self._total

    def _assign(
        self,
        total: FloatArray,
        price: FloatArray,
        labels: npt.NDArray[np.int32],
        tally: npt.NDArray[np.int64],
    ) -> bool:
        """Optimal labels and prices from starting prices, in place; False if that stalled."""
        forest = self._forest
        worst = label_rows(total, forest.home, price, labels, tally)
        if worst == np.inf:
            raise InfeasibleHints("some row has no allowed label.")
        tally_up(forest.parent, self.program.n_classes, tally)
        status, where = solve_trees(total, forest, price, labels, tally)
        if status == INFEASIBLE:
            n_rows = self.program.counts.sizes[self._order[where]]
            raise InfeasibleHints(
                f"the count bounds on a group of {n_rows} rows cannot all hold: too few of its "
                "rows can change to the classes that need them."
            )
        return bool(status == SOLVED)

    def _keep(self, price: FloatArray) -> None:
        """Store the prices for the next call and, by bound, for the user."""
        self._price = price
        n_groups, n_classes = self.prices.shape
        nodes = price.reshape(n_groups + 1, n_classes)
        self.prices = np.empty_like(self.prices)
        self.prices[self._order] = nodes[:n_groups] - nodes[self._forest.parent]


def _preorder(program: LabelProgram) -> tuple[Forest, npt.NDArray[np.intp]]:
    """Arrange the groups in preorder for the kernel; also return the group at each place."""
    counts, home, parent = program.counts, program.home, program.parent
    assert home is not None
    assert parent is not None
    n_groups = len(counts)
    children: list[list[int]] = [[] for _ in range(n_groups + 1)]  # those of -1 come last
    for g in range(n_groups):
        children[parent[g]].append(g)
    order = np.empty(n_groups, np.intp)
    end = np.arange(1, n_groups + 1)
    stack, k = children[-1][::-1], 0
    while stack:
        g = stack.pop()
        order[k] = g
        stack.extend(reversed(children[g]))
        k += 1
    place = np.full(n_groups + 1, -1)
    place[order] = np.arange(n_groups)
    above = place[parent[order]]
    for k in range(n_groups - 1, -1, -1):
        if above[k] >= 0:
            end[above[k]] = max(end[above[k]], end[k])
    place[-1] = n_groups  # home -1: a group of its own behind all others, without price
    home = place[home]
    first = np.searchsorted(np.sort(home), np.arange(n_groups + 1))
    forest = Forest(
        parent=above.astype(np.int64),
        end=end.astype(np.int64),
        lower=counts.lower[order].ravel(),
        upper=counts.upper[order].ravel(),
        home=home.astype(np.int64),
        first=first.astype(np.int64),
        rows=np.argsort(home, kind="stable").astype(np.int64),
    )
    return forest, order
