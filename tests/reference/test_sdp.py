"""The convex relaxation against its own formula, all labelings, and an independent solver."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from scipy.special import logsumexp, softmax, xlogy
from sklearn.metrics.pairwise import rbf_kernel

from tacit import Problem, hints, solve
from tacit.hints import CannotLink, Labels, MustLink, Not
from tacit.losses import LOSSES
from tacit.solvers._equivalence import Equivalence
from tacit.solvers._relaxation import Relaxation

# g is the value of a maximisation over Omega, which is stopped at 1e-9 per row.
VALUE = 1e-7
# Both solvers of the relaxation stop at about this gap, in units of one row's loss.
OPTIMUM = 2e-5


def rows(n, seed, spread=1.5):
    rng = np.random.default_rng(seed)
    return (
        spread * rng.normal(size=(n, 2))
        + np.array([[2.0, 0.0], [-2.0, 1.0], [0.0, -2.0]])[np.arange(n) % 3]
    )


def tiny(name, seed=0, **model):
    """Seven rows of three classes with some hints on pairs of them."""
    known = {
        "every class": Labels([0, 1, 2], [0, 1, 2]),
        "one class": Labels([0, 3], 0) + Not([1], 0),
        "links": MustLink([(0, 3), (3, 6)]) + CannotLink([(0, 1), (1, 2)]),
        "nothing": None,
    }[name]
    model = {"loss": "softmax", "gamma": 0.3, "classes": range(3), "nu": 0.2} | model
    return Problem(rows(7, seed), known, **model)


def relaxation(problem):
    rng = np.random.default_rng(0)
    space = problem.space(problem.feature_map(rng), rng)
    return Relaxation(problem, space, Equivalence.of(problem))


def solved(relax, tol=1e-6, max_iter=5000):
    """Iterate until gap and difference of M's copies are below tol."""
    s = relax.start()
    for _ in range(max_iter):
        s = relax.advance(s)
        if abs(relax.gap(s)) <= tol and s.primal <= tol:
            return s
    raise AssertionError(f"gap {relax.gap(s)}, difference {s.primal}")


def labelings(problem):
    every = itertools.product(range(3), repeat=problem.n)
    return [y for y in map(np.array, every) if problem.violation(y) == 0]


def of_nodes(problem, labels):
    """M = Z Z' of the nodes, from labels of the rows."""
    nodes = Equivalence.of(problem)
    first = np.unique(nodes.node, return_index=True)[1]
    return (labels[first][:, None] == labels[first][None, :]).astype(float)


def regression(problem, labels):
    """Least loss with scores raised by log n_c, plus sum n_c log n_c; by SciPy from the formula."""
    K = rbf_kernel(problem.X, gamma=problem.gamma) if problem.kernel == "rbf" else None
    K = problem.X @ problem.X.T if K is None else K
    d, U = np.linalg.eigh(K)
    H = U * np.sqrt(np.maximum(d, 0.0))
    w, Z = problem.weights, np.eye(3)[labels]
    counts = w @ Z
    used = counts > 0  # a class without rows has probability zero
    raised = np.log(counts[used])

    def loss(flat):
        W = flat.reshape(H.shape[1], -1)
        F = H @ W + raised
        slope = w[:, None] * (softmax(F, axis=1) - Z[:, used])
        fit = w @ (logsumexp(F, axis=1) - np.sum(Z[:, used] * (H @ W), axis=1))
        return fit + problem.nu_ * np.sum(W**2), (H.T @ slope + 2.0 * problem.nu_ * W).ravel()

    options = {"maxiter": 10_000, "maxfun": 10_000, "ftol": 0.0, "gtol": 1e-9}
    start = np.zeros(H.shape[1] * int(used.sum()))
    return scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options=options).fun


# The formula ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [{}, {"kernel": "linear"}, {"nu": 3.0}])
@pytest.mark.parametrize("name", ["every class", "one class", "links", "nothing"])
def test_at_labels_it_is_a_regression_with_the_prior(name, model):
    problem = tiny(name, **model)
    relax, rng = relaxation(problem), np.random.default_rng(1)
    possible = labelings(problem)
    for i in rng.integers(len(possible), size=4):
        labels = possible[i]
        expected = regression(problem, labels)
        assert relax.responses.value(of_nodes(problem, labels)) == pytest.approx(
            expected, abs=VALUE * 10
        )


def test_weights_are_repeated_rows():
    weights = np.array([1, 2, 1, 3, 1, 1, 2])
    labels = np.array([0, 1, 2, 0, 1, 2, 0])
    weighted = tiny("nothing", sample_weight=weights)
    value = relaxation(weighted).responses.value(of_nodes(weighted, labels))
    assert value == pytest.approx(regression(weighted, labels), abs=10 * VALUE)
    again = np.repeat(np.arange(7), weights)
    pairs = [(i, i + 1) for i in range(len(again) - 1) if again[i] == again[i + 1]]
    model = {"loss": "softmax", "gamma": 0.3, "classes": range(3), "nu": 0.2}
    repeated = Problem(weighted.X[again], MustLink(pairs), **model)
    assert Equivalence.of(repeated).n == 7
    same = relaxation(repeated).responses.value(of_nodes(repeated, labels[again]))
    assert same == pytest.approx(value, abs=10 * VALUE)


def test_balanced_classes_differ_from_the_problem_by_a_constant():
    """J of the problem itself plus N log N - N H, where all counts are equal."""
    X, labels = rows(6, 4), np.array([0, 1, 2, 2, 1, 0])
    problem = Problem(X, loss="softmax", gamma=0.3, classes=range(3), nu=0.2)
    fixed = Problem(X, Labels(range(6), labels), loss="softmax", gamma=0.3, nu=0.2)
    J = solve(fixed, random_state=0, tol=1e-9).objective
    share = np.full(3, 1 / 3)
    expected = J + 6 * np.log(6) + 6 * np.sum(xlogy(share, share))
    value = relaxation(problem).responses.value(of_nodes(problem, labels))
    assert value == pytest.approx(expected, abs=10 * VALUE)


def test_nodes_are_what_is_known():
    problem = Problem(
        rows(8, 0),
        Labels([0, 1], 0) + Labels([2], 1) + MustLink([(1, 3), (4, 5)]) + CannotLink([(5, 6)])
        + Not([7], 0),
        classes=range(3),
        loss="softmax",
    )  # fmt: skip
    nodes = Equivalence.of(problem)
    joined = nodes.node[:, None] == nodes.node[None, :]
    groups = {frozenset(np.flatnonzero(row).tolist()) for row in joined}
    assert groups == {frozenset(g) for g in ((0, 1, 3), (2,), (4, 5), (6,), (7,))}
    apart = {(i, j) for i, j in np.argwhere(nodes.apart[nodes.node][:, nodes.node]) if i < j}
    assert apart == {(0, 2), (1, 2), (2, 3), (0, 7), (1, 7), (3, 7), (4, 6), (5, 6)}
    assert nodes.anchor.tolist() == [nodes.node[0], nodes.node[2], -1]
    assert nodes.size[nodes.node].tolist() == [3, 3, 1, 3, 2, 2, 1, 1]


# The optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.05, 0.5])
@pytest.mark.parametrize("name", ["every class", "one class", "links"])
def test_no_labeling_is_below_the_bound(name, nu):
    problem = tiny(name, nu=nu)
    relax = relaxation(problem)
    end = solved(relax)
    possible = {of_nodes(problem, y).tobytes(): y for y in labelings(problem)}
    values = [regression(problem, y) for y in possible.values()]
    assert end.bound <= min(values) + VALUE
    assert end.value <= min(values) + 7 * 1e-5
    early = relax.start()
    for _ in range(40):
        early = relax.advance(early)
        assert early.bound <= end.value + 7 * 1e-5


@pytest.mark.parametrize("name", ["every class", "one class", "links", "nothing"])
def test_answer_is_in_the_relaxed_set(name):
    problem = tiny(name)
    end, nodes = solved(relaxation(problem)), Equivalence.of(problem)
    np.testing.assert_allclose(np.diag(end.P), 1.0, atol=1e-4)
    assert end.P.min() >= -1e-4
    assert np.abs(end.P[nodes.apart]).max(initial=0.0) <= 1e-4
    assert np.linalg.eigvalsh(end.P - 1.0 / 3.0)[0] >= -1e-9
    assert relaxation(problem).responses.value(end.P) == pytest.approx(end.value, abs=1e-4)


def cutting_planes(problem, rounds=400):
    """Minimise g over M by linear programmes: a cut of g, and of the cone, per round.

    Omega for a given M is found by SciPy from the formula.
    """
    nodes = Equivalence.of(problem)
    n, E = nodes.n, np.eye(nodes.n)[nodes.node]
    K, q = rbf_kernel(problem.X, gamma=problem.gamma), 1.0 / (4.0 * problem.nu_)
    size, shape = E.sum(axis=0), E.shape

    def best(M):
        def minus(flat):
            p = softmax(flat.reshape(shape), axis=1)
            R = E - p
            value = np.sum(xlogy(p, size) - xlogy(p, p)) - q * np.sum((R.T @ K @ R) * M)
            slope = np.log(size) - np.log(p) + 2.0 * q * K @ R @ M
            slope = p * (slope - np.sum(p * slope, axis=1, keepdims=True))
            return -value, -slope.ravel()

        options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9}
        found = scipy.optimize.minimize(
            minus, np.zeros(E.size), jac=True, method="L-BFGS-B", options=options
        )
        p = softmax(found.x.reshape(shape), axis=1)
        return np.sum(xlogy(p, size) - xlogy(p, p)), q * (E - p).T @ K @ (E - p)

    free = [(i, j) for i in range(n) for j in range(i) if not nodes.apart[i, j]]
    cuts, level, upper = [], [], np.inf
    # A direction in which the cone is flat takes cuts without end: u' (M - 11'/3) u = 0 for the
    # sum u of three nodes that are apart, so that their columns of M sum to one.
    flat = [
        c
        for c in itertools.combinations(range(n), 3)
        if all(nodes.apart[i, j] for i, j in itertools.combinations(c, 2))
    ]
    sums = [
        [float((i in c and j == r) or (j in c and i == r)) for i, j in free] + [0.0]
        for c in flat
        for r in set(range(n)) - set(c)
    ]
    bounds = [(0.0, 1.0)] * len(free) + [(-1e4, None)]
    x = np.append(np.full(len(free), 1.0 / 3.0), -1e4)
    for _ in range(rounds):
        M = np.eye(n)
        for (i, j), value in zip(free, x, strict=False):
            M[i, j] = M[j, i] = value
        d, U = np.linalg.eigh(M - 1.0 / 3.0)
        for v in U.T[d < 1e-9]:
            # v' (M - 11'/3) v >= 0
            cuts.append([-2.0 * v[i] * v[j] for i, j in free] + [0.0])
            level.append(v @ v - v.sum() ** 2 / 3.0)
        V = U * np.sqrt(np.maximum(d, 0.0))
        entropy, G = best(V @ V.T + 1.0 / 3.0)
        cuts.append([-2.0 * G[i, j] for i, j in free] + [-1.0])
        level.append(np.trace(G) - entropy)
        if d[0] > -1e-6:
            upper = min(upper, entropy - np.sum(G * M))
        answer = scipy.optimize.linprog(
            np.append(np.zeros(len(free)), 1.0),
            cuts,
            level,
            sums or None,
            np.ones(len(sums)) if sums else None,
            bounds,
            method="highs",
        )
        x = answer.x
        if upper - answer.fun <= OPTIMUM / 4:
            break
    return answer.fun, upper


@pytest.mark.parametrize("name", ["every class", "links"])
def test_optimum_is_that_of_cutting_planes(name):
    problem = tiny(name)
    end = solved(relaxation(problem))
    lower, _ = cutting_planes(problem)
    assert end.value == pytest.approx(lower, abs=7 * OPTIMUM)


# Rounding ------------------------------------------------------------------------------------


def blobs(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 4.0]])[y] + rng.normal(size=(n, 2)), y


@pytest.mark.parametrize("nu", [0.5, 2.0])
def test_classes_are_found_from_one_row_each(nu):
    X, y = blobs()
    problem = Problem(X, Labels([0, 1, 2], y[:3]), loss="softmax", gamma=0.2, nu=nu)
    answer = solve(problem, "sdp", random_state=0)
    assert np.mean(answer.labels == y) >= 0.95
    relaxed = [i for i in answer.history.iterations if i.phase == "relax"]
    assert len(relaxed) < 200
    assert abs(relaxed[-1].gap) <= 1e-3
    assert relaxed[-1].objective >= answer.objective
    assert relaxed[-1].objective < relaxed[0].objective
    assert answer.objective == min(answer.run_objectives)


def test_all_hints_hold_and_the_prior_keeps_classes_apart():
    X, y = blobs(45)
    known = hints.Count([range(45)], lower=15, upper=15) + MustLink([(0, 3)]) + Not([1], [0])
    problem = Problem(X, known, classes=range(3), loss="softmax", gamma=0.2, nu=0.2)
    answer = solve(problem, "sdp", random_state=0)
    assert problem.violation(answer.labels) == 0
    # The classes have no names but for row 1.
    joint = np.zeros((3, 3))
    np.add.at(joint, (answer.labels, y), 1.0)
    assert joint.max(axis=1).sum() >= 43


def test_known_labels_leave_nothing_to_relax():
    X, y = blobs(12)
    answer = solve(Problem(X, Labels(range(12), y), loss="softmax"), "sdp", random_state=0)
    assert np.array_equal(answer.labels, y)
    assert set(answer.history.column("phase")) == {"polish"}


def test_objective_of_an_iteration_is_that_of_a_classifier():
    """No J of any labels lies below the least J of those labels."""
    X, y = blobs(12)
    problem = Problem(X, Labels([0, 1, 2], y[:3]), loss="softmax", gamma=0.2)
    seen = solve(problem, "sdp", random_state=0).history.column("objective")
    assert np.isfinite(seen).all()
    relax, labels = relaxation(problem), y.astype(np.int32)
    s = relax.advance(relax.start())
    first = np.unique(relax.nodes.node, return_index=True)[1]
    F, norm = relax.responses.classifier(s.B, labels[first])
    alpha = np.linalg.solve(rbf_kernel(X, gamma=0.2), F)
    J = problem.data_loss(F, labels) + problem.nu_ * norm
    assert pytest.approx(problem.objective(alpha, labels), rel=1e-9) == J


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "softmax"])
def test_other_losses_are_refused(loss):
    X, y = blobs(9)
    problem = Problem(X, Labels([0, 1, 2], y[:3]), loss=loss)
    with pytest.raises(ValueError, match=f"relaxes the softmax loss only; got loss='{loss}'"):
        solve(problem, "sdp")


@pytest.mark.parametrize(
    "soft", [hints.Cost(np.eye(9)[:, :3]), MustLink([(0, 1)], 2.0), CannotLink([(0, 1)], 2.0)]
)
def test_soft_costs_are_refused(soft):
    X, _ = blobs(9)
    problem = Problem(X, soft + Labels([3], 0), classes=range(3), loss="softmax")
    with pytest.raises(ValueError, match="relaxes strict hints only; these hints have soft costs"):
        solve(problem, "sdp")


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr("tacit.solvers.sdp.LIMIT", 8)
    X, y = blobs(9)
    problem = Problem(X, Labels([0, 1, 2], y[:3]), loss="softmax")
    with pytest.raises(ValueError, match="takes at most 8 rows; got 9"):
        solve(problem, "sdp")


# Wrong relaxations ---------------------------------------------------------------------------


def no_prior(ours):
    """The entropy of Omega without the nodes' sizes."""
    ours.log_size = np.zeros_like(ours.log_size)


def half_the_pull(ours):
    ours.q *= 0.5


def no_known_labels(ours):
    ours.known = np.zeros_like(ours.known)


@pytest.mark.parametrize("wrong", [no_prior, half_the_pull, no_known_labels])
def test_the_formula_rejects_wrong_relaxations(wrong):
    problem = tiny("one class")
    relax, labels = relaxation(problem), np.array([0, 1, 2, 0, 1, 2, 0])
    wrong(relax.responses)
    value = relax.responses.value(of_nodes(problem, labels), max_iter=2000)
    assert abs(value - regression(problem, labels)) > 1e-3


def test_the_bound_rejects_a_step_that_is_not_in_the_cone():
    """A multiplier that is not positive semidefinite proves nothing, and shows."""
    problem = tiny("every class")
    relax = relaxation(problem)
    end = solved(relax)
    S = -np.eye(relax.nodes.n)
    slope = relax.responses.q * (end.B.T @ end.B)
    assert relax._bound(end.logp, slope, S) > end.value
