"""Consensus DC-ADMM against the algorithm as the paper writes it: one W_i per row, all stored.

The reference keeps (N, d, C) arrays and has its own proxes; it shares no code with the library.
"""

from dataclasses import replace

import numpy as np
import pytest

from tacit import Problem, hints, solve
from tacit.oracles import SeparableOracle
from tacit.oracles.base import OracleResult
from tacit.solvers.consensus_admm import Consensus
from tacit.solvers.kernel_admm import State
from tacit.solvers.schedules import Schedule


def rows(weights, n=24, d=3, C=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.2, 3.0, n)[:, None]
    X[0] = 0.0  # moves nothing, and must not divide by zero
    known = hints.Not(np.arange(n), rng.integers(0, C, n))
    sample = rng.uniform(0.3, 2.0, n) if weights else None
    return Problem(X, known, kernel="linear", C=0.7, classes=range(C), sample_weight=sample)


def naive(problem, W, Lam, schedule, steps):
    """Iterate (7), (10)-(12) with copies of the weights; one-vs-all hinge, allowed labels."""
    X, (N, d), C = problem.X, problem.X.shape, 3
    q = (X**2).sum(axis=1)
    allowed, weight = problem.program.allowed, problem.weights
    trace = []
    for rho in schedule[:steps]:
        V = W[None] - Lam / rho
        B = np.zeros((N, C, d, C))
        gamma = np.full((N, C), np.inf)
        for i in range(N):
            for j in np.flatnonzero(allowed[i]):
                t = np.where(np.arange(C) == j, 1.0, -1.0)
                z = t * (V[i].T @ X[i])
                # min_W w max(0, 1 - z) + rho/2 |W - V|^2 along x: up to the kink, no farther
                step = np.where(
                    z < 1.0, np.minimum(weight[i] / rho, (1.0 - z) / max(q[i], 1e-300)), 0
                )
                B[i, j] = V[i] + np.outer(X[i], t * step)
                loss = np.maximum(0.0, 1.0 - t * (B[i, j].T @ X[i])).sum()
                gamma[i, j] = weight[i] * loss + rho / 2 * ((B[i, j] - V[i]) ** 2).sum()
        y = gamma.argmin(axis=1)
        copies = B[np.arange(N), y]
        mean = (copies + Lam / rho).mean(axis=0)
        W = mean * (N * rho) / (N * rho + 2.0 * problem.nu_)
        Lam = Lam + rho * (copies - W[None])
        trace.append((W, y, Lam))
    return trace


@pytest.mark.parametrize("weights", [False, True])
def test_iterates_are_those_of_stored_copies(weights):
    problem = rows(weights)
    rng = np.random.default_rng(1)
    space = problem.space(problem.feature_map(rng), rng)
    noise = np.zeros((problem.n, 3))
    oracle = SeparableOracle(problem.program)
    steps, schedule = 60, Schedule(0.01, 1.1)
    run = Consensus(problem, space, oracle, schedule, noise, 1.0)
    dual = rng.normal(size=(problem.n, 3))
    state = State(np.zeros_like(dual), dual)
    # lam_i = x_i m_i', and 2 nu W is the sum of all multipliers.
    Lam = problem.X[:, :, None] * -dual[:, None, :]
    W = Lam.sum(axis=0) / (2.0 * problem.nu_)
    rhos = [schedule.rho(t) * space.scale for t in range(steps)]
    trace = naive(problem, W, Lam, rhos, steps)
    for W, y, Lam in trace:
        before = state
        state, measured = run.step(state)
        np.testing.assert_allclose(state.coef, W, rtol=0, atol=1e-10)
        # All labels of the row of zeros cost the same.
        assert np.array_equal(state.labels[1:], y[1:])
        common = (state.rho * space.scale) * (0.0 if before.coef is None else before.coef - W)
        if before.coef is not None:
            np.testing.assert_allclose(
                common[None] - problem.X[:, :, None] * state.dual[:, None, :], Lam, atol=1e-9
            )
        assert measured.objective == pytest.approx(problem.objective(W, y), rel=1e-9)


def test_the_weights_of_a_run_solve_the_convex_problem():
    """All labels given, a constant penalty: the optimum that the kernel form polishes to."""
    problem = rows(True)
    labels = problem.program.mask.argmax(axis=1)
    fixed = replace(problem, hints=hints.Labels(np.arange(problem.n), labels))
    best = solve(fixed, tol=1e-9, random_state=0)
    rng = np.random.default_rng(0)
    space = fixed.space(fixed.feature_map(rng), rng)
    noise = np.zeros((fixed.n, 3))
    run = Consensus(fixed, space, SeparableOracle(fixed.program), Schedule(0.3), noise, 1.0)
    state = State(np.zeros((fixed.n, 3)), np.zeros((fixed.n, 3)))
    for _ in range(3000):
        state, _ = run.step(state)
    assert state.objective == pytest.approx(best.objective, rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_objectives_are_comparable_with_the_kernel_form(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 90)
    X = 1.5 * rng.normal(size=(3, 4))[y] + rng.normal(size=(90, 4))
    group = np.arange(90) // 10
    tally = np.zeros((9, 3), int)
    np.add.at(tally, (group, y), 1)
    known = hints.Count(group, tally - 1, tally + 1)
    problem = Problem(X, known, kernel="linear", classes=range(3))
    one = solve(problem, "consensus", random_state=seed, n_init=2)
    other = solve(problem, "admm", random_state=seed, n_init=2)
    assert one.objective <= 1.02 * other.objective


class Wandering(SeparableOracle):
    """Answers labels that are allowed but random, and says they are not exact."""

    def solve(self, cost):
        rng = np.random.default_rng(int(1e6 * abs(cost[0, 0])) % 2**31)
        choice = np.where(self.program.mask, rng.random(cost.shape), np.inf).argmin(axis=1)
        labels = choice.astype(np.int32)
        value = float(cost[np.arange(len(labels)), labels].sum())
        return OracleResult(labels, value, -np.inf, False)


def test_inexact_answers_must_pass_the_descent_test():
    """Equation (16) in 004: the table at the new labels is never above that at the old ones."""
    problem = rows(False)
    rng = np.random.default_rng(1)
    space = problem.space(problem.feature_map(rng), rng)
    noise, costs = np.zeros((problem.n, 3)), []

    class Watching(Wandering):
        def solve(self, cost):
            costs.append(cost)
            return super().solve(cost)

    run = Consensus(problem, space, Watching(problem.program), Schedule(1.0), noise, 1.0)
    state, kept = State(np.zeros((24, 3)), np.zeros((24, 3))), 0
    last = None
    index = np.arange(problem.n)
    for _ in range(30):
        state, measured = run.step(state)
        if last is not None:
            assert costs[-1][index, state.labels].sum() <= costs[-1][index, last].sum() + 1e-12
            kept += measured.changes == 0
        last = state.labels
    assert kept > 0


@pytest.mark.parametrize("model", [{"kernel": "rbf"}, {"approximation": "nystroem"}])
def test_other_kernels_are_refused_in_one_sentence(model):
    problem = replace(rows(False), **model)
    with pytest.raises(ValueError, match=r"solver='consensus' is for linear models, got kernel="):
        solve(problem, "consensus")


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_classifier_left_unpolished_is_that_of_the_last_iteration(loss):
    problem = replace(rows(False, n=60), loss=loss)
    left = solve(problem, "consensus", polish=False, random_state=0, n_init=1)
    assert left.objective <= 1.01 * left.history.iterations[-1].objective
    assert left.objective == pytest.approx(problem.objective(left.coef, left.labels), rel=1e-9)
