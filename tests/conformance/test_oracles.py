"""Every oracle agrees with all labelings on random hints; a new one is picked up from `ORACLES`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.hints import cases, join, mixed_cases
from checks.oracles import check_result
from checks.terms import CLASS_NAMES
from tacit import HintClassifier, hints, oracles
from tacit.exceptions import InfeasibleHints, NoOracle, NotConverged
from tacit.hints import KINDS, Count, Hints, Labels
from tacit.hints._program import LabelProgram
from tacit.oracles import ORACLES, PREFERENCE, Oracle, Verdict, select_oracle
from tacit.oracles._relaxation import Relaxation

# Values agree to this, relative to the size of the costs: what the issue asks of every oracle.
VALUE_RTOL = 1e-7
ROWS = ["labels", "not", "one_of", "cost", "votes"]
# Hints that some cheap oracle is exact for, so that each gets its share of the examples.
FAMILIES = {
    "rows": ROWS,
    "counts": ["count", "share", "at_least", "not", "votes"],
    "pairs": ["must_link", "cannot_link", "potts", "pairwise", "cost"],
    "linear": ["linear", "count", "must_link", "one_of"],
    "cliques": ["same", "potts", "cannot_link", "cost", "count"],
    "flows": ["flow", "matching", "must_link", "cost"],
    "items": ["partition", "order", "must_link", "count", "labels", "cost"],
    "anything": list(KINDS),
}
some = settings(max_examples=40, deadline=None, derandomize=True)


@st.composite
def shapes_up_to(draw, most, family="anything"):
    """Rows and classes with at most `most` labelings, up to 10 rows and 4 classes."""
    names = draw(st.sampled_from([n for n in CLASS_NAMES if len(n) >= 4]))
    few = 2 if family in {"flows", "items"} else 1
    n_classes = draw(st.integers(few, 2 if family == "items" else 4))
    n = draw(st.integers(1, 10).filter(lambda n: n_classes**n <= most))
    return n, names[:n_classes]


def costs(case, seed):
    """Costs at random, on a lattice (many ties) for every other seed."""
    rng = np.random.default_rng(seed)
    size = (case.n, len(case.classes))
    return rng.integers(-3, 4, size) / 2.0 if seed % 2 else rng.normal(size=size)


def exhaustive(case, cost):
    """Return the optimum over all labelings, by the meaning of the hints in `checks.hints`."""
    Y = case.labelings()
    return float((cost[np.arange(case.n), Y].sum(axis=1) + case.value(Y)).min())


def check_oracle(oracle, case, cost, best):
    """Same optimum as the enumeration, or infeasible like it; a bound where approximate."""
    if best == np.inf:
        with pytest.raises(InfeasibleHints) as caught:
            oracle(case.program()).solve(cost)
        assert str(caught.value).endswith(".")
        return
    result = oracle(case.program()).solve(cost)
    check_result(case.program(), cost, result)
    tol = VALUE_RTOL * (1.0 + np.abs(cost).sum())
    assert result.bound <= best + tol, f"{oracle.name}: the bound {result.bound} is above {best}"
    assert result.value >= best - tol
    if oracle.approximate and not result.exact:
        return
    assert abs(result.value - best) <= tol, f"{oracle.name}: {result.value} is not {best}"
    assert result.exact, f"{oracle.name} found the optimum but does not call it exact"


@pytest.mark.parametrize("family", list(FAMILIES))
@some
@given(data=st.data(), seed=st.integers(0, 1000))
def test_every_oracle_that_accepts_is_exact_or_bounded(family, data, seed):
    case = data.draw(mixed_cases(FAMILIES[family], data.draw(shapes_up_to(60_000, family))))
    program, cost = case.program(), costs(case, seed)
    best = exhaustive(case, cost)
    for oracle in ORACLES.values():
        small = oracle.name != "exhaustive" or len(case.classes) ** case.n <= 300
        if small and oracle.accepts(program):
            check_oracle(oracle, case, cost, best)
    assert oracles.MixedIntegerOracle.accepts(program), "milp is the last resort"
    assert select_oracle(program).oracle.accepts(program)


def grid_edges(side):
    ids = np.arange(side * side).reshape(side, side)
    ends = [(ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in ends])


@pytest.mark.parametrize("name", [c.name for c in PREFERENCE])
def test_every_oracle_is_reached(name):
    """The families above make programs that each oracle is the choice for; some need many rows."""
    rows, triangle = [[0, 1], [1, 2]], [[0, 1], [1, 2], [0, 2]]
    large = hints.Potts(grid_edges(20))
    unlike = hints.CannotLink([[0, 1]], 2.0)
    n, n_classes, known = {
        "separable": (3, 2, Labels([0], 0)),
        "assignment": (3, 2, Count([[0, 1], [0, 1, 2]], {0: 1})),
        "forest": (3, 2, hints.CannotLink(rows)),
        "graph_cut": (3, 2, hints.Potts(triangle)),
        "flow": (3, 2, Count(rows, {0: 1})),
        "lp": (3, 2, Count([*rows, [0, 2]], {0: 1})),
        "partition": (3, 2, hints.Partition(3)),
        "order": (3, 2, hints.Order(3)),
        "small": (3, 2, hints.CannotLink(triangle, 1.0)),
        "expansion": (400, 3, large),
        "qpbo": (400, 2, large + unlike),
        "trws": (400, 3, large + unlike),
        "lagrangian": (400, 2, large + hints.Share({0: 0.3})),
        "milp": (3, 2, hints.Partition(3) + hints.Potts(rows)),
    }[name]
    program = known.compile(n, hints._classes.ClassCodes(list(range(n_classes))))
    assert select_oracle(program).oracle.name == name


@some
@given(data=st.data(), seed=st.integers(0, 1000))
def test_solve_with_hints_and_infinite_costs(data, seed):
    n = data.draw(st.integers(1, 6))
    C = data.draw(st.integers(1, 3))
    case = data.draw(mixed_cases(list(KINDS), (n, list(range(C)))))
    table = data.draw(cases("cost", (n, list(range(C)))))
    whole, cost = join([case, table]), table.hint._table
    best = float(whole.value(whole.labelings()).min())
    if best == np.inf:
        with pytest.raises(InfeasibleHints) as caught:
            oracles.solve(cost, case.hint)
        assert caught.value.conflict
        return
    result = oracles.solve(cost, case.hint)
    assert abs(result.value - best) <= VALUE_RTOL * (1.0 + abs(best))
    assert result.exact
    assert whole.value(result.labels[None])[0] <= result.value + VALUE_RTOL * (1.0 + abs(best))


def mixed_scales(rng):
    """Pairs, and counts now and then; costs from 1e-3 to 1e6, pairs up to 1e8 times as much."""
    n, C = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    scale = 10.0 ** rng.uniform(-3, 6)
    size = scale * 10.0 ** rng.uniform(-1, 8)
    m = int(rng.integers(2, 3 * n))
    edges = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
    known = Hints([hints.Pairwise(edges, size * rng.normal(size=(m, C, C)))])
    if rng.random() < 0.6:
        known = Hints([hints.CannotLink(edges, size * rng.random(m))])
    if rng.random() < 0.5:
        known = known + Count(rng.permutation(n) // 3, 0, 2)
    return known.compile(n, hints._classes.ClassCodes(range(C))), scale * rng.normal(size=(n, C))


def cheapest(program, cost):
    """Least value of all labelings; the tables are added up for all of them at once."""
    Y = np.array(list(itertools.product(range(program.n_classes), repeat=program.n)), np.int32)
    total = cost[np.arange(program.n), Y].sum(axis=1)
    for (i, j), weight, table in zip(
        program.pairs.edges, program.pairs.weight, program.pairs.table, strict=True
    ):
        total = total + weight * program.pairs.tables[table][Y[:, i], Y[:, j]]
    for k in np.argsort(total):
        if program.violation(Y[k]) == 0:
            return float(cost[np.arange(program.n), Y[k]].sum()) + program.value(Y[k])
    return np.inf


@pytest.mark.parametrize("seeds", [range(200, 320), [422, 476, 533, 595]])
def test_bounds_of_branch_and_bound_hold_to_the_last_digit(seeds):
    """No slack: a bound is not above the optimum. HiGHS's own is, in one case of thirty."""
    loose = []
    for seed in seeds:
        program, cost = mixed_scales(np.random.default_rng(seed))
        best = cheapest(program, cost)
        if best == np.inf:
            continue
        result = oracles.MixedIntegerOracle(program).solve(cost)
        assert result.bound <= best <= result.value
        assert result.exact
        loose.append((result.value - result.bound) / Relaxation.of(program).priced(cost).unit)
    assert max(loose) <= 1e-7  # MARGIN * TOLERANCE for up to fifty choices


# Feasibility ---------------------------------------------------------------------------------


@pytest.mark.parametrize("family", list(FAMILIES))
@some
@given(data=st.data())
def test_check_agrees_and_names_a_smallest_conflict(family, data):
    shape = data.draw(shapes_up_to(81, family))
    case = data.draw(mixed_cases(FAMILIES[family], shape, max_hints=6))
    Y = case.labelings()
    feasible = np.isfinite(case.value(Y))
    answer = hints.check(case.hint, case.n, case.classes)
    assert bool(answer) == answer.feasible == feasible.any()
    assert answer.message.endswith(".")
    if answer:
        codes = [case.codes.code(name, "test") for name in answer.labels]
        assert feasible[(codes == Y).all(axis=1)].all()
        assert answer.conflict == ()
        return
    assert answer.labels is None
    ok = np.array([allowed(piece, case, Y) for piece in answer.conflict])
    assert not ok.all(axis=0).any(), "the conflict is satisfiable"
    for k in range(len(ok)):
        assert np.delete(ok, k, axis=0).all(axis=0).any(), "the conflict is not smallest"


@pytest.mark.filterwarnings("ignore:no row can have the class:UserWarning")
@pytest.mark.filterwarnings("ignore:max_iter was reached first")
@pytest.mark.parametrize("family", list(FAMILIES))
@some
@given(data=st.data())
def test_check_and_fit_agree(family, data):
    shape = data.draw(shapes_up_to(1024, family).filter(lambda shape: len(shape[1]) > 1))
    case = data.draw(mixed_cases(FAMILIES[family], shape, max_hints=5))
    X = np.random.default_rng(0).normal(size=(case.n, 2))
    clf = HintClassifier(case.classes, max_iter=30, n_init=1, random_state=0)
    if not hints.check(case.hint, case.n, case.classes):
        with pytest.raises(InfeasibleHints) as caught:
            clf.fit(X, hints=case.hint)
        assert caught.value.conflict
        return
    labels = clf.fit(X, hints=case.hint).solution_.labels
    assert np.isfinite(case.value(labels[None])[0]), "the labels found break a hint"


def allowed(piece, case, Y):
    program = piece.compile(case.n, case.codes)
    return np.array([program.violation(y) == 0 for y in Y])


# HiGHS ---------------------------------------------------------------------------------------


def overlapping_counts(seed, n, n_groups=8, n_classes=3, size=10):
    """Exact counts of random overlapping groups, true of some labeling."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    groups = [np.sort(rng.choice(n, size, replace=False)) for _ in range(n_groups)]
    exact = np.array([np.bincount(truth[g], minlength=n_classes) for g in groups])
    return Count(groups, exact, exact), groups, exact


def scipy_optimum(cost, groups, lower, upper):
    """Return the optimum by SciPy's own model of the same counts."""
    n, C = cost.shape
    member = np.zeros((len(groups), n))
    for g, rows in enumerate(groups):
        member[g, rows] = 1.0
    one_each = sp.kron(sp.eye_array(n), np.ones((1, C)))
    counts = sp.kron(sp.csr_array(member), sp.eye_array(C))
    answer = scipy.optimize.milp(
        cost.ravel(),
        integrality=np.ones(n * C),
        bounds=scipy.optimize.Bounds(0, 1),
        constraints=[
            scipy.optimize.LinearConstraint(one_each.tocsr(), 1, 1),
            scipy.optimize.LinearConstraint(counts.tocsr(), lower.ravel(), upper.ravel()),
        ],
        options={"mip_rel_gap": 0.0},
    )
    assert answer.success
    return float(answer.fun)


def compiled(hint, n, n_classes):
    return hint.compile(n, hints._classes.ClassCodes(list(range(n_classes))))


def test_fractional_relaxations_end_in_whole_labels():
    fractional = 0
    for seed in range(12):
        n = 18 + seed % 3 * 6
        hint, groups, exact = overlapping_counts(seed, n)
        program = compiled(hint, n, 3)
        oracle = oracles.LinearProgramOracle(program)
        for k in range(3):
            cost = np.random.default_rng([seed, k]).normal(size=(n, 3))
            result = oracle.solve(cost)
            check_result(program, cost, result)
            assert result.exact
            assert abs(result.value - scipy_optimum(cost, groups, exact, exact)) <= 1e-6
        fractional += oracle.n_fractional
    assert fractional >= 10, "too few instances have a fractional relaxation"


def test_warm_starts_change_nothing():
    """A sequence of slowly changing costs costs the same as each from scratch."""
    for seed in range(3):
        hint, *_ = overlapping_counts(seed, 30)
        known = hint + hints.MustLink([[0, 1], [2, 3]], cost=1.0)
        for program, oracle in (
            (compiled(hint, 30, 3), oracles.LinearProgramOracle),
            (compiled(known, 30, 3), oracles.MixedIntegerOracle),
        ):
            rng, warm = np.random.default_rng(seed), oracle(program)
            cost = rng.normal(size=(30, 3))
            for _ in range(6):
                cost = cost + 0.3 * rng.normal(size=cost.shape)
                first, second = warm.solve(cost), oracle(program).solve(cost)
                check_result(program, cost, first)
                assert abs(first.value - second.value) <= VALUE_RTOL * (1 + abs(second.value))
                assert first.exact
                assert second.exact


def test_an_lp_stays_infeasible_and_says_so_every_time():
    program = compiled(Count([[0, 1, 2], [2, 3, 4]], {0: 3}) + Labels([2], 1), 5, 2)
    oracle = oracles.LinearProgramOracle(program)
    for _ in range(2):
        with pytest.raises(InfeasibleHints, match="no labeling satisfies"):
            oracle.solve(np.zeros((5, 2)))


def test_infeasible_for_integers_alone():
    """Three pairs with one each of two classes: halves satisfy them, no labeling does."""
    odd = Count([[0, 1], [1, 2], [0, 2]], 1, 1)
    program = compiled(odd, 3, 2)
    assert not program.counts.lower.min() < 1
    with pytest.raises(InfeasibleHints):
        oracles.LinearProgramOracle(program).solve(np.zeros((3, 2)))
    answer = hints.check(odd, 3, ["a", "b"])
    assert not answer
    assert len(answer.conflict) >= 3


@pytest.mark.parametrize("options", [{}, {"gap": 0.5}, {"gap": 0.1}, {"time_limit": 60.0}])
def test_options_keep_bounds_valid(options):
    fractional = loose = 0
    for seed in range(8):
        hint, groups, exact = overlapping_counts(seed, 30)
        cost = np.random.default_rng(seed).normal(size=(30, 3))
        program = compiled(hint, 30, 3)
        oracle = oracles.LinearProgramOracle(program, **options)
        result = oracle.solve(cost)
        check_result(program, cost, result)
        best = scipy_optimum(cost, groups, exact, exact)
        assert result.bound <= best + 1e-6 <= result.value + 2e-6
        gap = (result.value - result.bound) / abs(result.value)
        assert gap <= options.get("gap", 0.0) + VALUE_RTOL
        fractional += oracle.n_fractional
        loose += not result.exact
    assert fractional > 0
    assert loose > 0 or options.get("gap", 0.0) < 0.5


def test_a_short_time_limit_leaves_a_valid_bound():
    """Or no labeling at all, which is said; the slower the machine, the more often."""
    unproven = 0
    for seed in (3, 4, 5):
        hint, groups, exact = overlapping_counts(seed, 30)
        cost = np.random.default_rng(seed).normal(size=(30, 3))
        program = compiled(hint, 30, 3)
        best = scipy_optimum(cost, groups, exact, exact)
        try:
            result = oracles.LinearProgramOracle(program, time_limit=1e-6).solve(cost)
        except NotConverged:
            unproven += 1
            continue
        check_result(program, cost, result)
        assert result.bound <= best + 1e-6
        assert not result.exact or abs(result.value - best) <= 1e-6
        unproven += not result.exact
    assert unproven > 0, "one microsecond was enough for everything: nothing was tested"


# Choice --------------------------------------------------------------------------------------


def test_explain_lists_what_was_tried_and_why():
    text = select_oracle(compiled(Count([[0, 1], [1, 2], [0, 2]], {0: 1}), 3, 2)).explain()
    lines = text.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "not  separable",
        "not  assignment",
        "not  forest",
        "not  graph_cut",
        "not  flow",
        "uses lp",
    ]
    assert "overlap without one containing the other" in lines[1]
    assert "counts couple rows" in lines[2]
    assert "counts couple rows" in lines[3]
    assert "not two families" in lines[4]
    assert str(select_oracle(compiled(Hints(), 3, 2))).startswith("uses separable: ")


def test_an_oracle_by_name_is_the_only_one_tried():
    program = compiled(Labels([0], 1), 3, 2)
    choice = select_oracle(program, "milp")
    assert choice.oracle is oracles.MixedIntegerOracle
    assert [name for name, _ in choice.verdicts] == ["milp"]


def test_no_oracle_says_who_refused_and_why():
    program = compiled(hints.Potts([[0, 1], [1, 2], [0, 2]]), 3, 2)
    with pytest.raises(
        NoOracle, match=r"oracle='forest' does not accept .*: the pairs form a cycle"
    ):
        select_oracle(program, "forest")
    with pytest.raises(NoOracle, match=r"oracle='separable' .*: some hints couple rows. Without"):
        oracles.solve(np.zeros((3, 2)), hints.Potts([[0, 1]]), oracle="separable")
    with pytest.raises(ValueError, match="oracle='simplex' is not known; choose one of separable"):
        select_oracle(program, "simplex")


@pytest.mark.parametrize("oracle", list(ORACLES.values()), ids=list(ORACLES))
def test_every_oracle_has_a_name_and_a_summary_and_gives_reasons(oracle):
    assert issubclass(oracle, Oracle)
    assert oracle.name
    assert oracle.summary
    for hint in (Hints(), Count([[0, 1], [1, 2]], {0: 1}), hints.Potts([[0, 1], [1, 2], [0, 2]])):
        verdict = oracle.accepts(compiled(hint, 3, 2))
        assert isinstance(verdict, Verdict)
        assert verdict.reason


@pytest.mark.parametrize("oracle", list(ORACLES.values()), ids=list(ORACLES))
@pytest.mark.parametrize(("n", "n_classes"), [(1, 1), (1, 3), (4, 1)])
def test_the_smallest_programs(oracle, n, n_classes):
    program = LabelProgram(n, n_classes)
    if not oracle.accepts(program):
        return
    cost = np.arange(n * n_classes, dtype=float).reshape(n, n_classes) - 1.0
    result = oracle(program).solve(cost)
    check_result(program, cost, result)
    assert result.value == cost[:, 0].sum()


def test_solve_refuses_costs_that_are_none():
    with pytest.raises(ValueError, match=r"entry \(0, 1\) is nan"):
        oracles.solve([[0.0, np.nan]])
    with pytest.raises(ValueError, match="expected an array"):
        oracles.solve([0.0, 1.0])
    with pytest.raises(InfeasibleHints, match="row 1 has no label left: Cost forbids 0; Cost"):
        oracles.solve([[0.0, 1.0], [np.inf, np.inf]])
