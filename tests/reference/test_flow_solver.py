"""Min-cost flows against HiGHS, SciPy's assignment, and all flows of small networks."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog

from tacit.oracles._flow_kernel import _crossing
from tacit.oracles._flow_solver import FlowSolver


def incidence_matrix(n_nodes, tail, head):
    m = len(tail)
    matrix = sp.coo_array((np.ones(m), (tail, np.arange(m))), (n_nodes, m))
    return sp.csr_array(matrix - sp.coo_array((np.ones(m), (head, np.arange(m))), (n_nodes, m)))


def highs(net, cost):
    """Least cost by linear programming; None: infeasible. Networks have whole vertices."""
    n_nodes, tail, head, lower, upper, supply = net
    answer = linprog(
        cost,
        A_eq=incidence_matrix(n_nodes, tail, head),
        b_eq=supply,
        bounds=np.stack([lower, upper], axis=1),
        method="highs",
    )
    assert answer.status in (0, 2)
    return answer.fun if answer.status == 0 else None


def check(net, cost, found):
    """Feasible, and its own potentials prove what it says."""
    n_nodes, tail, head, lower, upper, supply = net
    x, pi = found.flow, found.potential
    assert x.dtype == np.int64
    assert np.all((lower <= x) & (x <= upper))
    assert np.array_equal(incidence_matrix(n_nodes, tail, head) @ x, supply)
    reduced = cost + pi[tail] - pi[head]
    bound = -pi @ supply + np.minimum(reduced * lower, reduced * upper).sum()
    size = 1.0 + (np.abs(cost) + np.abs(pi[tail]) + np.abs(pi[head])) @ (np.abs(x) + upper - lower)
    assert abs(cost @ x - bound) <= 1e-12 * size
    assert 0.0 <= found.gap <= 1e-12 * size
    assert bound >= cost @ x - found.gap - 1e-14 * size


def random_network(rng, n_nodes, n_arcs, *, spare=2):
    """Bounds and supplies around a hidden flow: feasible, with cycles, loops and parallel arcs."""
    tail, head = rng.integers(0, n_nodes, (2, n_arcs))
    hidden = rng.integers(-1, 3, n_arcs)
    lower = hidden - rng.integers(0, spare + 1, n_arcs)
    upper = hidden + rng.integers(0, spare + 1, n_arcs)
    supply = np.rint(incidence_matrix(n_nodes, tail, head) @ hidden).astype(int)
    return n_nodes, tail, head, lower, upper, supply


def some_cost(rng, n_arcs, kind):
    if kind == "ties":
        return rng.integers(-1, 2, n_arcs).astype(float)
    if kind == "zero":
        return np.zeros(n_arcs)
    if kind == "range":
        return rng.normal(size=n_arcs) * 10.0 ** rng.integers(-9, 10, n_arcs)
    return rng.normal(size=n_arcs)


@pytest.mark.parametrize("kind", ["normal", "ties", "zero", "range"])
def test_random_networks_against_highs(kind):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        net = random_network(rng, int(rng.integers(1, 13)), int(rng.integers(1, 40)))
        solver = FlowSolver(*net)
        for _ in range(3):
            cost = some_cost(rng, len(net[1]), kind)
            found = solver.solve(cost)
            check(net, cost, found)
            best = highs(net, cost / np.abs(cost).max(initial=1.0))
            scale = np.abs(cost).max(initial=1.0)
            assert cost @ found.flow <= scale * (best + 1e-6), "HiGHS found a cheaper flow"


@pytest.mark.parametrize("kind", ["normal", "ties", "range"])
def test_the_gap_holds_in_exact_arithmetic(kind):
    """Weak duality in fractions: no flow costs less than the one found minus its gap."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        net = random_network(rng, 8, 30)
        _, tail, head, lower, upper, supply = net
        cost = some_cost(rng, 30, kind)
        found = FlowSolver(*net).solve(cost)
        c, pi = [Fraction(v) for v in cost], [Fraction(v) for v in found.potential]
        value = sum(v * int(x) for v, x in zip(c, found.flow, strict=True))
        bound = -sum(p * int(b) for p, b in zip(pi, supply, strict=True))
        for e in range(30):
            reduced = c[e] + pi[tail[e]] - pi[head[e]]
            bound += min(reduced * int(lower[e]), reduced * int(upper[e]))
        assert bound <= value <= bound + Fraction(found.gap)


def test_potentials_stay_in_their_middle():
    """Only differences count; over many calls nothing may run away and lose digits."""
    rng = np.random.default_rng(0)
    net = random_network(rng, 10, 40)
    solver, largest = FlowSolver(*net), 0.0
    for _ in range(2000):
        found = solver.solve(rng.normal(size=40))
        largest = max(largest, np.abs(found.potential).max())
    assert largest < 40.0


def test_infeasible_networks_and_their_cuts():
    infeasible = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        net = list(random_network(rng, 6, 9, spare=1))
        shift = rng.integers(-1, 2, 6)
        net[5] = net[5] + shift - np.eye(6, dtype=int)[0] * shift.sum()
        solver = FlowSolver(*net)
        cost = rng.normal(size=9)
        found, best = solver.solve(cost), highs(net, cost)
        assert (found is None) == (best is None)
        if found is not None:
            check(net, cost, found)
            continue
        infeasible += 1
        assert solver.solve(cost) is None, "it stays infeasible"
        # The proof: what the nodes of the cut supply is more than what can leave them.
        _, tail, head, lower, upper, supply = net
        out, into = solver.cut[tail] & ~solver.cut[head], ~solver.cut[tail] & solver.cut[head]
        assert supply[solver.cut].sum() > upper[out].sum() - lower[into].sum()
    assert infeasible >= 30


def test_crossed_bounds_and_supplies_that_do_not_add_up():
    net = (2, np.array([0]), np.array([1]), np.array([0]), np.array([1]), np.array([1, 0]))
    assert FlowSolver(*net).solve(np.zeros(1)) is None
    crossed = (2, np.array([0]), np.array([1]), np.array([2]), np.array([1]), np.array([1, -1]))
    assert FlowSolver(*crossed).solve(np.zeros(1)) is None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n_nodes=st.integers(1, 4),
    arcs=st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 3), st.integers(-1, 1), st.integers(0, 2),
            st.integers(-3, 3),
        ),
        max_size=5,
    ),
    supply=st.lists(st.integers(-1, 1), min_size=4, max_size=4),
)  # fmt: skip
def test_against_all_flows(n_nodes, arcs, supply):
    tail = np.array([a[0] % n_nodes for a in arcs], int)
    head = np.array([a[1] % n_nodes for a in arcs], int)
    lower = np.array([a[2] for a in arcs], int)
    upper = lower + np.array([a[3] for a in arcs], int)
    cost = np.array([a[4] for a in arcs], float)
    supply = np.array(supply[:n_nodes])
    matrix = incidence_matrix(n_nodes, tail, head).toarray()
    ranges = [range(a, b + 1) for a, b in zip(lower, upper, strict=True)]
    flows = list(itertools.product(*ranges))
    flows = np.array(flows, float).reshape(len(flows), len(arcs))
    meets = (flows @ matrix.T == supply).all(axis=1)
    found = FlowSolver(n_nodes, tail, head, lower, upper, supply).solve(cost)
    assert (found is None) == (not meets.any())
    if found is not None:
        check((n_nodes, tail, head, lower, upper, supply), cost, found)
        assert cost @ found.flow == (flows[meets] @ cost).min()


def test_assignments_against_scipy_while_costs_drift():
    rng = np.random.default_rng(0)
    for n in (3, 20, 60):
        tail, head = np.repeat(np.arange(n), n), n + np.tile(np.arange(n), n)
        ends = np.concatenate([np.ones(n, int), -np.ones(n, int)])
        solver = FlowSolver(2 * n, tail, head, np.zeros(n * n, int), np.ones(n * n, int), ends)
        cost = rng.normal(size=(n, n))
        for _ in range(15):
            found = solver.solve(cost.ravel())
            best = cost[linear_sum_assignment(cost)].sum()
            assert abs(cost.ravel() @ found.flow - best) <= 1e-10 * n
            assert found.gap <= 1e-12 * n
            cost = cost + 0.05 * rng.normal(size=(n, n))


def test_old_potentials_may_lose_digits_but_not_the_answer():
    rng = np.random.default_rng(1)
    net = random_network(rng, 10, 40)
    solver = FlowSolver(*net)
    for size in (1.0, 1e15, 1.0, 1e-12, 1e9, 1e-3):
        cost = size * rng.normal(size=40)
        check(net, cost, solver.solve(cost))


def test_costs_that_would_overflow_are_refused():
    none = np.zeros(1, int)
    solver = FlowSolver(1, none, none, none, none + 1, none)
    with pytest.raises(ValueError, match="scale them down"):
        solver.solve(np.array([1e300]))
    with pytest.raises(ValueError, match="scale them down"):
        solver.solve(np.array([np.nan]))


def test_capacities_that_would_overflow_are_refused():
    one, many = np.array([0, 0, 0]), np.array([1, 1, 1])
    with pytest.raises(ValueError, match="capacities of the arcs add up to 9e"):
        FlowSolver(2, one, many, 0 * one, 3 * 10**18 * many, np.zeros(2, int))


def test_zero_cost_cycles_and_parallel_arcs():
    """Worked by hand: two units from 0 to 2, three arcs 0 -> 1, a free cycle 1 -> 2 -> 1."""
    tail, head = np.array([0, 0, 0, 1, 2]), np.array([1, 1, 1, 2, 1])
    upper = np.array([1, 1, 1, 5, 5])
    net = (3, tail, head, np.zeros(5, int), upper, np.array([2, 0, -2]))
    cost = np.array([3.0, 1.0, 2.0, 0.0, 0.0])
    found = FlowSolver(*net).solve(cost)
    check(net, cost, found)
    assert cost @ found.flow == 3.0
    assert found.flow[:3].tolist() == [0, 1, 1]
    # A cycle of negative cost is filled: 1 -> 2 -> 1 as far as 2 -> 1 takes it.
    cost = np.array([3.0, 1.0, 2.0, -1.0, 0.5])
    found = FlowSolver(*net).solve(cost)
    assert found.flow.tolist() == [0, 1, 1, 5, 3]
    assert cost @ found.flow == -0.5


def test_crossing_point_of_a_step_function():
    """By definition: the first point at which the weight so far reaches the need."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 9))
        point, weight = rng.integers(0, 5, n).astype(float), rng.integers(1, 4, n)
        need = int(rng.integers(-1, weight.sum() + 2))
        order = np.argsort(point, kind="stable")
        reached = np.cumsum(weight[order])
        k = min(int(np.searchsorted(reached, need)), n - 1)
        want = point[order][k]
        if reached[k] == need and k + 1 < n:
            want = 0.5 * (want + point[order][k + 1])
        assert crossing(point.copy(), weight.astype(np.int64), need) == want


def crossing(point, weight, need):
    return _crossing.py_func(point, weight, need)
