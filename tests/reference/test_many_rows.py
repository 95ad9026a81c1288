"""Many rows, few weights: samples of rows, the descent in the weights, memory said beforehand."""

import itertools
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tacit import Problem, Status, hints, solve
from tacit.exceptions import NotEnoughMemory
from tacit.problem import _memory as memory
from tacit.problem import draw_rows, memory_estimate, sample
from tacit.solvers import _levels
from tacit.solvers._loop import Loop
from tacit.solvers._narrow import narrow_polish
from tacit.solvers.polish import polish


def grouped(n, size, slack=1, d=3, C=3, seed=0, **model):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, C, n).astype(np.int32)
    X = 1.5 * rng.normal(size=(C, d))[y] + rng.normal(size=(n, d))
    group = rng.permutation(n) // size
    tally = np.zeros((group.max() + 1, C), int)
    np.add.at(tally, (group, y), 1)
    known = hints.Count(group, tally - slack, tally + slack)
    return Problem(X, known, classes=range(C), **({"kernel": "linear"} | model)), y


def test_every_row_is_equally_likely():
    """Small groups whole, a large one in part, rows alone: a fifth of each."""
    group = np.concatenate([np.arange(200) // 4, np.full(600, 50), np.full(200, -1)])
    known = hints.Count(group, 0, 1000)
    program = Problem(np.zeros((1000, 1)), known, classes=range(2), kernel="linear").program
    times = np.zeros(1000)
    for seed in range(400):
        rows = draw_rows(program, 200, np.random.default_rng(seed))
        times[rows] += 1
        small = rows[rows < 200]
        drawn = np.bincount(group[small], minlength=50)
        assert set(drawn) <= {0, 4}  # whole or not at all
    for part in (slice(0, 200), slice(200, 800), slice(800, 1000)):
        assert times[part].mean() / 400 == pytest.approx(0.2, abs=0.02)


def test_a_sample_says_the_same_of_its_rows():
    """By hand: whole groups keep their bounds, a part has them in proportion, plus a deviation."""
    known = hints.Count([np.arange(4), np.arange(4, 104)], [[1, 2], [50, 10]], [[2, 3], [90, 20]])
    problem = Problem(np.arange(104.0)[:, None], known, classes=range(2), kernel="linear", nu=0.3)
    rows = np.concatenate([np.arange(4), np.arange(4, 54)])
    fewer = sample(problem, rows)
    assert fewer.program.counts.lower.tolist()[0] == [1, 2]
    assert fewer.program.counts.upper.tolist()[0] == [2, 3]
    # 50 of 100: 25 - sqrt(50 * 1/4 / 2) = 22.5, 45 + sqrt(50 * 9/100 / 2) = 46.5
    assert fewer.program.counts.lower.tolist()[1][0] == 22
    assert fewer.program.counts.upper.tolist()[1][0] == 47
    assert fewer.nu_ == 0.3
    assert fewer.weights.sum() == pytest.approx(104.0)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "softmax", "crammer_singer", "squared"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_descent_in_the_weights_finds_the_optimum(loss, weighted):
    problem, y = grouped(300, 30, loss=loss)
    if weighted:
        weight = np.random.default_rng(3).integers(0, 3, 300).astype(float)
        problem = replace(problem, sample_weight=weight)
    rng = np.random.default_rng(0)
    space = problem.space(problem.feature_map(rng), rng)
    best, _ = polish(problem, space, y, Loop(), run=0, tol=1e-7, max_iter=5000)
    zero = np.zeros((300, problem.n_columns))
    start = (np.zeros((3, problem.n_columns)), zero, zero)
    end, ended = narrow_polish(
        problem, space, y, Loop(), run=0, tol=1e-6, max_iter=300, start=start
    )
    assert ended is Status.CONVERGED
    assert end.gap <= 1e-6
    assert end.objective == pytest.approx(best.objective, rel=3e-6)
    assert end.bound <= best.objective * (1 + 1e-9)
    np.testing.assert_allclose(problem.X @ end.coef, end.F, atol=1e-9)
    assert end.objective == pytest.approx(problem.objective(end.coef, y), rel=1e-9)


@pytest.mark.parametrize(
    "loss", ["hinge", "squared_hinge", "logistic", "softmax", "crammer_singer"]
)
@pytest.mark.parametrize(("n", "sizes"), [(200, [1.0, 5e4, 1.0, 5e4]), (1200, [1e-3, 1.0, 1e6])])
def test_features_of_very_different_sizes_converge(loss, n, sizes):
    problem, y = grouped(n, 20, d=len(sizes), loss=loss)
    X = problem.X * np.array(sizes)
    answer = solve(replace(problem, X=X, hints=hints.Labels(np.arange(n), y)), random_state=0)
    assert answer.status is Status.CONVERGED
    assert 0.0 <= answer.fixed_gap <= 1e-4
    assert answer.n_iter <= 300
    if n > 1000 or loss in {"softmax", "crammer_singer"}:
        return  # the search for labels takes its time
    part = hints.Labels(np.arange(0, n, 5), y[::5])
    for solver in ("admm", "inductive"):
        some = solve(replace(problem, X=X, hints=part), solver, random_state=0)
        assert some.status is Status.CONVERGED


def test_sizes_of_features_are_only_units():
    """The same problem where the regulariser counts for nothing: scores as for scaled features."""
    problem, y = grouped(300, 20, loss="logistic", nu=1e-9)
    problem = replace(problem, hints=hints.Labels(np.arange(300), y), nu=1e-9)
    apart = replace(problem, X=problem.X * [1.0, 1e2, 1e4])
    one, other = (solve(p, random_state=0, tol=1e-9) for p in (problem, apart))
    assert one.objective == pytest.approx(other.objective, rel=1e-4)
    np.testing.assert_allclose(one.scores, other.scores, atol=0.05)


@pytest.fixture
def few(monkeypatch):
    """Levels from two thousand rows on."""
    monkeypatch.setattr(_levels, "MANY", 500)
    monkeypatch.setattr(_levels, "SMALLEST", 1000)


@pytest.mark.parametrize("kind", ["groups", "labels", "shares"])
def test_levels_end_where_all_rows_would(few, kind, monkeypatch):
    problem, y = grouped(3000, 20)
    if kind == "labels":
        known = hints.Labels(np.arange(0, 3000, 10), y[::10])
        problem = replace(problem, hints=known)
    if kind == "shares":
        known = hints.Labels(np.arange(0, 3000, 10), y[::10])
        problem = replace(problem, hints=known + hints.Share(0.2, 0.45))
    answer = solve(problem, random_state=0, n_init=2)
    assert answer.status is Status.CONVERGED
    assert answer.fixed_gap <= 1e-4
    assert problem.violation(answer.labels) == 0
    assert answer.objective == pytest.approx(
        problem.objective(answer.coef, answer.labels), rel=1e-9
    )
    order = np.random.default_rng(1).permutation(3000)
    moved = replace(problem, X=problem.X[order], hints=problem.hints.restrict(order, 3000))
    other = solve(moved, random_state=0, n_init=2)
    assert np.array_equal(other.labels, answer.labels[order])
    monkeypatch.setattr(_levels, "MANY", 10_000)
    whole = solve(problem, random_state=0, n_init=1)
    assert answer.objective <= 1.02 * whole.objective


@pytest.mark.parametrize("growth", [10, 2])
def test_a_collapse_after_levels_is_told_of_all_rows(few, growth, monkeypatch):
    """Weak loss, no bounds: one class takes all. Levels of 1000 rows, or of 2000 and 1000."""
    monkeypatch.setattr(_levels, "GROWTH", growth)
    rng = np.random.default_rng(0)
    X = 1.0 + 0.3 * rng.normal(size=(4000, 2))
    known = hints.Labels([0, 1, 2, 3], [0, 0, 0, 1])
    answer = solve(Problem(X, known, classes=[0, 1], kernel="linear"), random_state=0)
    taken = int((answer.labels == 0).sum())
    assert taken > 3800
    assert f"class 0 took {taken} of 4000 rows" in answer.collapse
    rows = int(re.search(r"in a sample of (\d+) rows", answer.collapse)[1])
    assert rows == pytest.approx(1000, abs=120)


def test_levels_of_the_consensus_form(few):
    problem, y = grouped(2000, 20)
    problem = replace(problem, hints=hints.Labels(np.arange(0, 2000, 4), y[::4]))
    one = solve(problem, "consensus", random_state=0)
    other = solve(problem, "admm", random_state=0)
    assert one.status is Status.CONVERGED
    assert one.objective <= 1.02 * other.objective


def test_small_problems_are_not_sampled():
    problem, _ = grouped(400, 20)
    rng = np.random.default_rng(0)
    space = problem.space(problem.feature_map(rng), rng)
    assert _levels.level_below(problem, space, rng, False) is None


MEASURE = """
import sys
import numpy as np
from tacit import Problem, hints, solve
from tacit.problem import memory_estimate
n, model, solver = int(sys.argv[1]), eval(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(0)
y = rng.integers(0, 4, n)
X = rng.normal(size=(4, 20))[y] + rng.normal(size=(n, 20))

def problem(k):
    known = hints.Not(np.arange(k), (y[:k] + 1) % 4)
    if solver == "inductive":
        few = np.arange(0, k, 50)
        known = hints.Labels(few, y[few])
    return Problem(X[:k], known, classes=range(4), **model)

solve(problem(200), solver, random_state=0, max_iter=3, polish=False)
open("/proc/self/clear_refs", "w").write("5")
before = int(open("/proc/self/statm").read().split()[1]) * 4096
solve(problem(n), solver, random_state=0, max_iter=6, polish=False)
peak = [int(x.split()[1]) for x in open("/proc/self/status") if x.startswith("VmHWM")][0] * 1024
print(memory_estimate(problem(n), solver).total / (peak - before))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("n", "model", "solver"),
    [
        (3000, {}, "admm"),
        (4000, {"dtype": "float32"}, "admm"),
        (100_000, {"kernel": "linear"}, "admm"),
        (15_000, {"approximation": "lowrank", "n_components": 800}, "admm"),
        (60_000, {}, "inductive"),
        (60_000, {"approximation": "nystroem", "n_components": 300}, "inductive"),
    ],
)
def test_memory_is_what_was_said(n, model, solver):
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(n), repr(model), solver],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 1 / 1.3 <= float(done.stdout) <= 1.3


def test_too_little_memory_is_said_before_any_is_taken(monkeypatch):
    problem, _ = grouped(5000, 20, kernel="rbf")
    monkeypatch.setattr(memory, "_available", lambda: 100_000_000)
    words = r"fitting 5000 rows needs about .* GB .*, but 0\.10 GB are available; use "
    with pytest.raises(NotEnoughMemory, match=words + r"approximation='nystroem' or") as error:
        solve(problem)
    assert "dtype='float32'" in str(error.value)
    assert isinstance(error.value, MemoryError)
    assert "space" not in problem.__dict__


def test_labelled_rows_alone_need_no_kernel_matrix_of_all(monkeypatch):
    """5000 rows: 200 MB and more for their kernel matrix, not a tenth of it for 50 labels."""
    problem, y = grouped(5000, 20, kernel="rbf")
    problem = replace(problem, hints=hints.Labels(np.arange(50), y[:50]))
    monkeypatch.setattr(memory, "_available", lambda: 100_000_000)
    assert solve(problem, "inductive", random_state=0).status is Status.CONVERGED
    with pytest.raises(NotEnoughMemory):
        solve(problem, "em")
    monkeypatch.setattr(memory, "_available", lambda: 1_000_000)
    with pytest.raises(NotEnoughMemory, match="use approximation='nystroem' or dtype='float32'"):
        solve(problem, "inductive")


def test_estimates_grow_with_what_they_count():
    exact, _ = grouped(4000, 20, kernel="rbf")
    half = replace(exact, dtype="float32")
    low = replace(exact, approximation="lowrank", n_components=100)
    sizes = [memory_estimate(p).total for p in (exact, half, low)]
    assert all(a > b for a, b in itertools.pairwise(sizes))
    assert memory_estimate(exact).kernel >= 4000**2 * 8


@pytest.mark.parametrize(
    ("approximation", "count"), [("lowrank", 1500), ("nystroem", 500), ("fourier", 500)]
)
def test_memory_of_as_many_components_as_there_are_by_default(approximation, count):
    X = np.random.default_rng(0).standard_normal((4000, 5))
    by_default = Problem(X, classes=[0, 1], approximation=approximation)
    assert memory_estimate(by_default) == memory_estimate(replace(by_default, n_components=count))


@pytest.mark.parametrize("solver", ["admm", "em"])
def test_fits_from_nothing_are_made_in_the_weights(solver, monkeypatch):
    problem, y = grouped(600, 20)
    problem = replace(problem, hints=hints.Labels(np.arange(600), y))
    usual = solve(problem, solver, random_state=0, n_init=1)
    monkeypatch.setattr("tacit.solvers.alternate.MANY", 500)
    quick = solve(problem, solver, random_state=0, n_init=1)
    assert quick.status is Status.CONVERGED
    assert quick.n_iter < usual.n_iter
    assert quick.objective == pytest.approx(usual.objective, rel=2e-4)
