"""Conic programmes, row by row, for Clarabel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.convex.pair import Floats

__all__ = ["ConicProgram"]

# Tried in turn: beyond what a programme allows, rounding takes over and feasibility is lost.
TOLERANCES = (1e-10, 1e-9, 1e-8)


class ConicProgram:
    """min <cost, u> subject to rows of A u + slack = b with slack in cones, row by row."""

    def __init__(self) -> None:
        self.n_variables = 0
        self.costs: dict[int, float] = {}
        self.entries: dict[str, list[tuple[Floats, Floats, Floats]]] = {"zero": [], "plus": []}
        self.cones: list[tuple[str, list[tuple[Floats, Floats, Floats]]]] = []

    def variables(self, n: int) -> npt.NDArray[np.intp]:
        """Return new variables."""
        self.n_variables += n
        return np.arange(self.n_variables - n, self.n_variables)

    def cost(self, variable: int, cost: float) -> None:
        """Add to the objective."""
        self.costs[variable] = self.costs.get(variable, 0.0) + cost

    def equal(self, terms: Any, right: float) -> None:
        """Require <terms> = right."""
        self.entries["zero"].append(_row(terms, right))

    def at_least(self, terms: Any, right: float) -> None:
        """Require <terms> >= right."""
        where, what, _ = _row(terms, right)
        self.entries["plus"].append((where, -what, np.array(-right)))

    def inside(self, cone: str, *rows: Any) -> None:
        """Keep a vector of linear forms inside a cone: "soc" or "exp"."""
        forms = [_row(terms, 0.0) for terms in rows]
        self.cones.append((cone, [(where, -what, right) for where, what, right in forms]))

    def solve(self) -> float:
        """Value of the programme; +inf if nothing is feasible."""
        try:
            import clarabel
        except ImportError:
            raise ImportError(
                "the perspective programme needs Clarabel: pip install 'tacit[conic]'"
            ) from None
        parts = [self.entries["zero"], self.entries["plus"], *(rows for _, rows in self.cones)]
        rows = [row for part in parts for row in part]
        cones = [clarabel.ZeroConeT(len(parts[0])), clarabel.NonnegativeConeT(len(parts[1]))]
        for name, part in self.cones:
            soc = name == "soc"
            cones.append(
                clarabel.SecondOrderConeT(len(part)) if soc else clarabel.ExponentialConeT()
            )
        indptr = np.cumsum([0, *(len(where) for where, _, _ in rows)])
        A = sp.csr_matrix(
            (
                np.concatenate([what for _, what, _ in rows]),
                np.concatenate([where for where, _, _ in rows]),
                indptr,
            ),
            shape=(len(rows), self.n_variables),
        )
        cost = np.zeros(self.n_variables)
        cost[list(self.costs)] = list(self.costs.values())
        P = sp.csc_matrix((self.n_variables, self.n_variables))
        right = np.array([float(b) for _, _, b in rows])
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        for eps in TOLERANCES:
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = eps
            solver = clarabel.DefaultSolver(P, cost, sp.csc_matrix(A), right, cones, settings)
            answer = solver.solve()
            status = str(answer.status)
            if status == "Solved":
                return float(answer.obj_val)
            if status == "PrimalInfeasible":
                return float("inf")
        raise RuntimeError(f"Clarabel stopped: {status}; scale theta, X and C to about 1.")


def _row(terms: Any, right: float) -> tuple[Floats, Floats, Floats]:
    """One linear form from pairs (variables, coefficients)."""
    where = np.concatenate([np.atleast_1d(variables) for variables, _ in terms])
    what = np.concatenate(
        [np.broadcast_to(c, np.atleast_1d(v).shape).astype(float) for v, c in terms]
    )
    return where, what, np.array(right)
