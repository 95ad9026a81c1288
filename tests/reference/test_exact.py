"""Branch and bound against enumeration; every bound against the optimum."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from checks.exact import ROUNDING, check_search, optimum, random_problem
from tacit import Certificate, HintClassifier, NoOracle, Problem, Status, hints
from tacit.convex import RULES, BranchAndBound

SEEDS = range(14)


@pytest.fixture(scope="module")
def family():
    found = []
    for seed in SEEDS:
        problem, K = random_problem(seed)
        found.append((problem, optimum(problem, K)))
    return found


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("heuristic", [True, False])
def test_enumeration(family, rule, heuristic, shared):
    for problem, best in family:
        search = BranchAndBound(problem, rule=rule, heuristic=heuristic, shared=shared)
        assert heuristic or np.isinf(search.upper)  # from an infinite incumbent
        assert search.root <= best + ROUNDING * max(abs(best), 1.0)
        check_search(search, best)
        assert problem.violation(search.labels) == 0


class TooHigh(BranchAndBound):
    """A bound that is not proven."""

    @property
    def lower(self):
        return super().lower + 1e-3


class TooHasty(BranchAndBound):
    """Nodes are dropped that may hold the optimum."""

    @property
    def target(self):
        return 0.7 * self.upper


@pytest.mark.parametrize("wrong", [TooHigh, TooHasty])
def test_a_bound_too_high_is_rejected(family, wrong):
    rejected = 0
    for problem, best in family:
        try:
            check_search(wrong(problem, heuristic=False), best)
        except AssertionError:
            rejected += 1
    assert rejected >= len(family) // 2


def test_solve(family):
    for problem, best in family[:6]:
        answer = tacit.solve(problem, "exact", random_state=0)
        assert answer.status is Status.EXACT
        assert answer.bound <= best + ROUNDING * max(abs(best), 1.0)
        assert answer.objective == pytest.approx(best, rel=2e-5)
        assert answer.bound <= answer.objective
        answer.raise_for_status()
        certificate = tacit.certify(problem, time_limit=30.0)
        assert certificate.exact
        assert certificate.upper == pytest.approx(best, rel=2e-5)
        root = tacit.certify(problem)
        assert root.lower <= best + ROUNDING * max(abs(best), 1.0)


def larger(n=40, C=3.0, **options):
    rng = np.random.default_rng(4)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 4))
    X[:, 0] += 0.7 * (2 * y - 1)
    known = hints.Labels(np.arange(5), y[:5])
    known += hints.Share({0: 0.4, 1: 0.4}, {0: 0.6, 1: 0.6})
    return Problem(X, known, kernel="linear", C=C, classes=[0, 1], **options)


def test_rules_incumbents_and_row_orders_agree():
    problem = larger()
    found = []
    for options in ({}, {"rule": "margin"}, {"heuristic": False}, {"shared": True}):
        search = BranchAndBound(problem, **options)
        while not search.done:
            search.step(50)
        found.append(search.upper)
    order = np.random.default_rng(0).permutation(problem.n)
    found.append(tacit.solve(problem.take(order), "exact", random_state=1).objective)
    assert found == pytest.approx([found[0]] * 5, rel=2e-6)


def test_a_split_of_the_regulariser_raises_the_bound():
    """Strongly regularised, known rows alone say next to nothing; the best split nearly all."""
    problem = larger(nu=40 / (2 * 0.3))
    plain, split = (BranchAndBound(problem, shared=shared) for shared in (False, True))
    assert plain.root <= 0.25 * split.upper
    assert split.root >= 0.9 * split.upper
    assert BranchAndBound(problem).shared


def test_the_search_goes_on_and_reports_both_bounds():
    seen = []
    answer = tacit.solve(larger(), "exact", random_state=0, callback=seen.append)
    branch = [i for i in seen if i.phase == "branch"]
    bounds = [i.objective - i.gap * abs(i.objective) for i in branch]
    assert bounds[-1] == pytest.approx(answer.bound, rel=1e-9)
    assert all(b <= answer.objective * (1.0 + 1e-9) for b in bounds)
    assert min(i.objective for i in branch) >= answer.bound


def test_stopped_early_the_answer_keeps_its_bound():
    best = tacit.solve(larger(), "exact", random_state=0)
    early = tacit.solve(larger(), "exact", random_state=0, callback=lambda i: True)
    assert early.status is Status.STOPPED
    assert early.bound <= best.objective <= early.objective * (1.0 + 1e-9)


def test_estimator():
    problem = larger()
    y = np.where(np.arange(problem.n) < 5, np.arange(problem.n) % 2, -1)
    share = hints.Share({0: 0.4, 1: 0.4}, {0: 0.6, 1: 0.6})
    options = {"kernel": "linear", "C": 3.0, "random_state": 0, "unlabeled": -1}
    exact = HintClassifier(solver="exact", **options).fit(problem.X, y, hints=share)
    assert exact.converged_
    assert exact.certify(time_limit=30.0).exact
    other = HintClassifier(n_init=1, n_reheats=0, **options).fit(problem.X, y, hints=share)
    proof = tacit.certify(other, time_limit=30.0)
    assert isinstance(proof, Certificate)
    assert proof.upper == other.objective_
    assert proof.lower <= exact.objective_ * (1.0 + 1e-9)
    assert proof.exact == (proof.gap <= 1e-6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"classes": [0, 1, 2]}, "3 classes"),
        ({"loss": "softmax"}, "softmax"),
        ({"approximation": "lowrank", "kernel": "rbf"}, "lowrank"),
        ({"hints": hints.Labels([0], [0]) + hints.Same([[0, 1, 2]], 1.0)}, "cliques"),
    ],
)
def test_refusal_says_why(options, reason):
    given = {"hints": hints.Labels([0, 1], [0, 1]), "classes": [0, 1], "kernel": "linear"}
    problem = Problem(np.eye(6), **(given | options))
    with pytest.raises(NoOracle, match=reason):
        tacit.certify(problem)
    with pytest.raises(NoOracle, match=reason):
        tacit.solve(problem, "exact")


def test_bad_arguments():
    with pytest.raises(TypeError, match="takes a Problem"):
        tacit.certify(3)
    with pytest.raises(ValueError, match="time_limit"):
        tacit.certify(larger(), time_limit=-1.0)
    with pytest.raises(ValueError, match="rule"):
        BranchAndBound(larger(), rule="first")
