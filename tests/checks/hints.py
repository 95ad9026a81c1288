"""Random hints with their meaning spelled out, and the checks that every kind has to pass.

A `Case` carries a hint and, written here from the definition and not from the library's code, the
hard statements and soft costs it stands for, as functions of all labelings at once: `Y` is an
integer array (labelings, rows) of class codes. `tests/negative/test_hints.py` shows that the checks
can fail.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import yaml
from hypothesis import strategies as st

from checks.structures import STRUCTURES
from checks.terms import (
    EIGHTHS,
    Case,
    Term,
    all_labelings,
    as_given,
    fitting,
    pairs_of,
    shapes,
    some_rows,
)
from tacit import hints


def _labels(draw, n, classes):
    rows = draw(some_rows(n))
    codes = [draw(st.integers(0, len(classes) - 1)) for _ in rows]
    if one := bool(rows) and draw(st.booleans()):
        codes = [codes[0]] * len(rows)
    names = classes[codes[0]] if one else [classes[c] for c in codes]
    hard = [Term((i,), lambda Y, i=i, c=c: Y[:, i] == c) for i, c in zip(rows, codes, strict=True)]
    return hints.Labels(as_given(draw, rows, n), names), hard, []


def _not(draw, n, classes):
    rows = draw(some_rows(n))
    k = draw(st.integers(1, 2))
    codes = [[draw(st.integers(0, len(classes) - 1)) for _ in range(k)] for _ in rows]
    names = [[classes[c] for c in row] for row in codes]
    if k == 1 and draw(st.booleans()):
        names = [row[0] for row in names]
    hard = [
        Term((i,), lambda Y, i=i, c=c: Y[:, i] != c)
        for i, row in zip(rows, codes, strict=True)
        for c in row
    ]
    return hints.Not(as_given(draw, rows, n), names), hard, []


def _one_of(draw, n, classes):
    rows = draw(some_rows(n))
    every = st.lists(st.integers(0, len(classes) - 1), min_size=1, unique=True)
    sets = [draw(every) for _ in rows]
    if draw(st.booleans()):
        given = np.array([[c in s for c in range(len(classes))] for s in sets], bool)
        given = given.reshape(len(rows), len(classes))
    else:
        given = [draw(st.sampled_from([list, tuple, set]))(classes[c] for c in s) for s in sets]
    hard = [
        Term((i,), lambda Y, i=i, s=s: np.isin(Y[:, i], s)) for i, s in zip(rows, sets, strict=True)
    ]
    return hints.OneOf(as_given(draw, rows, n), given), hard, []


def _cost(draw, n, classes):
    entry = EIGHTHS | st.just(np.inf)
    U = np.array([[draw(entry) for _ in classes] for _ in range(n)])
    hard = [Term((i,), lambda Y, i=i: np.isfinite(U[i, Y[:, i]])) for i in range(n)]
    finite = np.where(np.isfinite(U), U, 0.0)
    soft = [Term((i,), lambda Y, i=i: finite[i, Y[:, i]]) for i in range(n)]
    return hints.Cost(U.tolist() if draw(st.booleans()) else U), hard, soft


def _votes(draw, n, classes):
    functions = draw(st.integers(1, 3))
    vote = st.integers(-1, len(classes) - 1)
    L = [[draw(vote) for _ in range(functions)] for _ in range(n)]
    each = draw(st.booleans())
    weight = [draw(st.integers(0, 16)) / 8 for _ in range(functions if each else 1)]
    per_function = weight * (1 if each else functions)
    mark = draw(st.sampled_from([-1, None]))
    given = [[mark if c < 0 else classes[c] for c in row] for row in L]
    soft = [
        Term((i,), lambda Y, i=i, c=c, w=w: w * (Y[:, i] != c))
        for i, row in enumerate(L)
        for c, w in zip(row, per_function, strict=True)
        if c >= 0
    ]
    return hints.Votes(given, weight if each else weight[0]), [], soft


def _link_terms(pairs, costs, broken):
    def statement(a, b):
        return Term((a, b), lambda Y: ~broken(Y[:, a], Y[:, b]))

    def penalty(a, b, w):
        return Term((a, b), lambda Y: w * broken(Y[:, a], Y[:, b]))

    both = list(zip(pairs, costs, strict=True))
    hard = [statement(a, b) for (a, b), w in both if np.isinf(w)]
    return hard, [penalty(a, b, w) for (a, b), w in both if np.isfinite(w)]


def _pair_costs(draw, pairs, entry):
    if draw(st.booleans()):
        costs = [draw(entry) for _ in pairs]
        return costs, costs
    cost = draw(entry)
    return cost, [cost] * len(pairs)


def _link(kind, broken):
    def build(draw, n, classes):
        pairs = draw(pairs_of(n))
        entry = st.integers(0, 24).map(lambda v: v / 8) | st.just(np.inf)
        given, costs = _pair_costs(draw, pairs, entry)
        return kind(pairs, given), *_link_terms(pairs, costs, broken)

    return build


def _potts(draw, n, classes):
    pairs = draw(pairs_of(n))
    given, weights = _pair_costs(draw, pairs, EIGHTHS)
    return hints.Potts(pairs, given), *_link_terms(pairs, weights, np.not_equal)


def _pairwise(draw, n, classes):
    pairs, C, shared = draw(pairs_of(n)), len(classes), draw(st.booleans())
    entry = EIGHTHS | st.just(np.inf)
    count = 1 if shared else len(pairs)
    tables = np.array([draw(entry) for _ in range(count * C * C)]).reshape(count, C, C)
    each = np.repeat(tables, len(pairs), axis=0) if shared else tables
    hard, soft = [], []
    for (a, b), T in zip(pairs, each, strict=True):
        flat = np.where(np.isfinite(T), T, 0.0)
        hard.append(Term((a, b), lambda Y, a=a, b=b, T=T: np.isfinite(T[Y[:, a], Y[:, b]])))
        soft.append(Term((a, b), lambda Y, a=a, b=b, T=flat: T[Y[:, a], Y[:, b]]))
    return hints.Pairwise(pairs, tables[0] if shared else tables), hard, soft


def _bound_spec(draw, classes, n_groups, entry, missing, per_group=True):
    """A bound in one of its forms, and the same as a (G, C) table."""
    C = len(classes)
    form = draw(st.sampled_from(["none", "number", "class", "dict"] + ["full"] * per_group))
    table = np.full((n_groups, C), missing)
    if form == "none":
        return None, table
    if form == "number":
        value = draw(entry)
        table[:] = value
        return value, table
    if form == "class":
        row = [draw(entry | st.none()) for _ in classes]
        table[:] = [missing if v is None else v for v in row]
        return row, table
    if form == "full":
        table[:] = np.array([draw(entry) for _ in range(n_groups * C)]).reshape(n_groups, C)
        return table.copy(), table
    spec = {}
    for c in draw(st.lists(st.integers(0, C - 1), unique=True)):
        each = per_group and draw(st.booleans())
        values = [draw(entry) for _ in range(n_groups if each else 1)]
        table[:, c] = values if each else values[0]
        spec[classes[c]] = values if each else values[0]
    return spec, table


def _count_terms(groups, lower, upper):
    def term(rows, c, low, high):
        def of(Y):
            count = (Y[:, rows] == c).sum(axis=1)
            return (low <= count) & (count <= high)

        return Term(tuple(rows), of)

    found = []
    for g, rows in enumerate(groups):
        for c in range(lower.shape[1]):
            found += [term(rows, c, lower[g, c], np.inf), term(rows, c, -np.inf, upper[g, c])]
    return found


def _groups(draw, n):
    if draw(st.booleans()):
        groups = draw(st.lists(some_rows(n, min_size=1), max_size=3))
        return [as_given(draw, g, n) for g in groups], groups
    ids = [draw(st.integers(-1, 2)) for _ in range(n)]
    groups = [[i for i in range(n) if ids[i] == g] for g in range(max(ids) + 1)]
    return np.array(ids) if draw(st.booleans()) else ids, groups


def _count(draw, n, classes):
    given, groups = _groups(draw, n)
    entry = st.integers(-1, n + 1)
    low, lower = _bound_spec(draw, classes, len(groups), entry, -np.inf)
    high, upper = _bound_spec(draw, classes, len(groups), entry, np.inf)
    if (lower > upper).any():
        high, upper = None, np.full(upper.shape, np.inf)
    return hints.Count(given, low, high), _count_terms(groups, lower, upper), []


def _share(draw, n, classes):
    rows = draw(st.none() | some_rows(n, min_size=1))
    entry = st.integers(0, 8).map(lambda v: v / 8)
    low, lower = _bound_spec(draw, classes, 1, entry, -np.inf, per_group=False)
    high, upper = _bound_spec(draw, classes, 1, entry, np.inf, per_group=False)
    if (lower > upper).any():
        high, upper = None, np.full(upper.shape, np.inf)
    group = list(range(n)) if rows is None else rows
    hard = _count_terms([group], lower * len(group), upper * len(group))
    return hints.Share(low, high, rows), hard, []


def _at_least(draw, n, classes):
    given, groups = _groups(draw, n)
    c = draw(st.integers(0, len(classes) - 1))
    each = draw(st.booleans())
    counts = [draw(st.integers(0, 2)) for _ in range(len(groups) if each else 1)]
    per_group = counts * (1 if each else len(groups))
    lower = np.full((len(groups), len(classes)), -np.inf)
    lower[:, c] = per_group
    hint = hints.AtLeast(given, classes[c], counts if each else counts[0])
    return hint, _count_terms(groups, lower, np.full(lower.shape, np.inf)), []


def _linear(draw, n, classes):
    C, R = len(classes), draw(st.integers(0, 3))
    A = np.array([draw(st.integers(-2, 2)) for _ in range(R * n * C)], float).reshape(R, n * C)
    middle = [draw(st.integers(-3, 3)) for _ in range(R)]
    width = [draw(st.integers(0, 3)) for _ in range(R)]
    lower = np.array([draw(st.sampled_from([m, -np.inf])) for m in middle], float)
    upper = np.array([m + w for m, w in zip(middle, width, strict=True)], float)
    hard = []
    for r in range(R):
        table = A[r].reshape(n, C)

        def above(Y, table=table, low=lower[r]):
            return low <= table[np.arange(n), Y].sum(axis=1)

        def below(Y, table=table, high=upper[r]):
            return table[np.arange(n), Y].sum(axis=1) <= high

        hard += [Term(tuple(range(n)), above), Term(tuple(range(n)), below)]
    given = draw(st.sampled_from([np.array, sp.csr_array, sp.coo_array, sp.csc_array]))(A)
    return hints.Linear(given, lower, upper), hard, []


BUILDERS = {
    "labels": _labels,
    "not": _not,
    "one_of": _one_of,
    "cost": _cost,
    "votes": _votes,
    "must_link": _link(hints.MustLink, np.not_equal),
    "cannot_link": _link(hints.CannotLink, np.equal),
    "potts": _potts,
    "pairwise": _pairwise,
    "count": _count,
    "share": _share,
    "at_least": _at_least,
    "linear": _linear,
    **STRUCTURES,
}


@st.composite
def cases(draw, kind, shape=None):
    """A random hint of one kind, with its meaning."""
    n, classes = draw(shapes(kind=kind)) if shape is None else shape
    hint, hard, soft = BUILDERS[kind](draw, n, classes)
    return Case(hint, n, classes, hard, soft)


@st.composite
def mixed_cases(draw, kinds, shape, max_hints=4):
    """Several random hints joined with ``+``."""
    among = st.sampled_from(fitting(kinds, shape[1]))
    found = [
        draw(cases(kind, shape)) for kind in draw(st.lists(among, min_size=1, max_size=max_hints))
    ]
    return join(found)


def join(found):
    """The case of all hints together."""
    return Case(
        hints.Hints(c.hint for c in found),
        found[0].n,
        found[0].classes,
        [t for c in found for t in c.hard],
        [t for c in found for t in c.soft],
    )


# Checks --------------------------------------------------------------------------------------


def values(hint, n, codes, Y):
    """Return the library's S(y) of each labeling."""
    return np.array([*map(hint.compile(n, codes).value, Y)])


def check_meaning(case):
    """The compiled program allows and costs what the definition says, for every labeling."""
    Y, program = case.labelings(), case.program()
    expected, found = case.value(Y), np.array([program.value(y) for y in Y])
    assert np.array_equal(found, expected), f"{case.hint!r} does not mean what it says"
    feasible = np.array([program.violation(y) == 0 for y in Y])
    assert np.array_equal(feasible, np.isfinite(expected)), "violation and value disagree"


def check_sum(first, second):
    """``a + b`` costs the sum, in either order."""
    Y, codes = first.labelings(), first.codes
    expected = first.value(Y) + second.value(Y)
    for both in (first.hint + second.hint, second.hint + first.hint):
        found = values(both, first.n, codes, Y)
        assert np.array_equal(found, expected), "the sum of hints is not the sum of their costs"


def check_round_trip(hint, n, codes):
    """Plain data, JSON and YAML give the hint back, and it means the same."""
    data = hints.to_dict(hint)
    assert data == json.loads(json.dumps(data, allow_nan=False)), "not plain JSON data"
    assert data == yaml.safe_load(yaml.safe_dump(data)), "not plain YAML data"
    ways = [hints.from_dict(data)]
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".json", ".yaml"):
            hints.save(hint, Path(folder) / f"known{suffix}")
            ways.append(hints.load(Path(folder) / f"known{suffix}"))
    Y = all_labelings(n, len(codes))
    before = values(hint, n, codes, Y)
    for again in ways:
        assert again == hints.Hints([hint]), "a round trip changes the hint"
        assert np.array_equal(values(again, n, codes, Y), before), "a round trip changes meaning"


def check_restrict_is_sound(case, rows):
    """What is true of all rows stays true of some; soft costs inside them are kept exactly."""
    Y, kept = case.labelings(), [int(r) for r in rows]
    part = case.hint.restrict(np.array(kept, int), case.n)
    found = values(part, len(kept), case.codes, Y[:, kept])
    feasible = np.isfinite(case.value(Y))
    assert np.isfinite(found[feasible]).all(), "restrict forbids what was allowed"
    inside = np.zeros(len(Y))
    for term in case.soft:
        inside += term.on(Y, kept)
    assert np.array_equal(found[feasible], inside[feasible]), "restrict changes a cost"


def check_restrict_forgets_nothing(case, rows):
    """Every statement on its own keeps what it says about the rows that remain."""
    Y, kept = case.labelings(), [int(r) for r in rows]
    part = case.hint.restrict(np.array(kept, int), case.n)
    found = np.isfinite(values(part, len(kept), case.codes, Y[:, kept]))
    if not np.isfinite(case.value(Y)).any():
        return
    key = np.zeros(len(Y), int)
    for r in kept:
        key = key * len(case.classes) + Y[:, r]
    for term in case.hard:
        can = np.zeros(key.max() + 1, bool)
        can[key[term.of(Y)]] = True  # labels of the kept rows that some others complete
        assert can[key[found]].all(), "restrict forgets a statement"


def check_permutation(case, order):
    """Restricting to all rows in another order, and `LabelProgram.take`, only renumber."""
    Y, order = case.labelings(), np.array(order)
    before = case.value(Y)
    moved = values(case.hint.restrict(order, case.n), case.n, case.codes, Y[:, order])
    assert np.array_equal(moved, before), "restrict to a permutation is no renumbering"
    program = case.program().take(order)
    taken = np.array([program.value(y) for y in Y[:, order]])
    assert np.array_equal(taken, before), "take is no renumbering"


def check_split(case):
    """The pieces together forbid the same labelings; each can be put into words."""
    Y = case.labelings()
    together, pieces = np.ones(len(Y), bool), list(case.hint.split())
    for piece in pieces:
        allowed = np.isfinite(values(piece, case.n, case.codes, Y))
        together &= allowed
        said = piece.describe(case.codes)
        assert said, "a piece without words"
        assert "number" not in said, f"a class without its name: {said}"
        assert set(piece.rows()) <= set(range(case.n))
    assert np.array_equal(together, np.isfinite(case.value(Y))), "split changes what is allowed"


def check_immutable(hint):
    """Every array that the hint holds is read-only."""
    for path, array in _arrays(hint, type(hint).__name__, set()):
        assert not array.flags.writeable, f"{path} can be written to"


def _arrays(thing, path, seen):
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield path, thing
    elif sp.issparse(thing):
        for name in ("data", "indices", "indptr"):
            yield f"{path}.{name}", getattr(thing, name)
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield from _arrays(value, f"{path}[{key!r}]", seen)
    elif isinstance(thing, list | tuple):
        for i, value in enumerate(thing):
            yield from _arrays(value, f"{path}[{i}]", seen)
    elif type(thing).__module__.startswith("tacit"):
        for key, value in vars(thing).items():
            yield from _arrays(value, f"{path}.{key}", seen)
