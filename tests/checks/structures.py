"""Random cliques, flows, matchings, partitions and orders, with their meaning by enumeration.

Flows are all whole numbers on all arcs, partitions all maps from items to groups, orders all
permutations: nothing here is shared with the library's way of deciding.
"""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from checks.terms import EIGHTHS, Term, as_given, some_rows
from tacit import hints


def clique_cost(Y, rows, weight, truncate):
    """weight * min(m / truncate, 1) with m rows that have another label than most."""
    if not len(rows):
        return np.zeros(len(Y))
    most = np.max([(Y[:, rows] == c).sum(axis=1) for c in range(4)], axis=0)
    return weight * np.minimum((len(rows) - most) / truncate, 1.0)


def _same(draw, n, classes):
    groups = draw(st.lists(some_rows(n, min_size=1), max_size=3))
    entry = st.integers(0, 24).map(lambda v: v / 8) | st.just(np.inf)
    cost = [draw(entry) for _ in groups]
    # Powers of two: shares of a cost are exact.
    truncate = [1.0 if np.isinf(w) else draw(st.sampled_from([1.0, 2.0, 4.0])) for w in cost]
    hard, soft = [], []
    for g, w, t in zip(groups, cost, truncate, strict=True):
        if np.isinf(w):
            hard.append(Term(tuple(g), lambda Y, g=g: (Y[:, g] == Y[:, g[:1]]).all(axis=1)))
        else:

            def rest(Y, kept, g=g, w=w, t=t):
                return clique_cost(Y, [i for i in g if i in kept], w, t)

            soft.append(Term(tuple(g), lambda Y, g=g, w=w, t=t: clique_cost(Y, g, w, t), rest))
    given = [as_given(draw, g, n) for g in groups]
    plain = all(t == 1.0 for t in truncate) and draw(st.booleans())
    return hints.Same(given, cost, None if plain else truncate), hard, soft


def _flow(draw, n, classes):
    n_nodes = draw(st.integers(2, 3))
    arc = st.tuples(st.integers(0, n_nodes - 1), st.integers(0, n_nodes - 1))
    arcs = draw(st.lists(arc.filter(lambda a: a[0] != a[1]), min_size=1, max_size=5))
    m = len(arcs)
    lower = [draw(st.sampled_from([0, 0, 0, 1])) for _ in arcs]
    upper = [low + draw(st.integers(0, 1)) for low in lower]
    tied = draw(st.lists(st.integers(0, m - 1), max_size=3, unique=True))
    for a in tied:
        upper[a] = 1
    ties = [(draw(st.integers(0, n - 1)), draw(st.integers(0, len(classes) - 1))) for _ in tied]
    cost = [draw(EIGHTHS) for _ in arcs]
    flows = np.array(list(itertools.product(*map(range, lower, np.array(upper) + 1))), int)
    ends = np.zeros((n_nodes, m), int)
    for a, (u, v) in enumerate(arcs):
        ends[u, a] += 1
        ends[v, a] -= 1
    supply = ends @ flows[draw(st.integers(0, len(flows) - 1))]  # so that some flow exists
    flows = flows[(flows @ ends.T == supply).all(axis=1)]

    def least(Y, kept):
        agree = np.ones((len(Y), len(flows)), bool)
        for a, (i, c) in zip(tied, ties, strict=True):
            if i in kept:
                agree &= (Y[:, i] == c)[:, None] == flows[:, a]
        return np.where(agree, flows @ np.array(cost), np.inf).min(axis=1)

    def finite(Y, kept):
        found = least(Y, kept)
        return np.where(np.isfinite(found), found, 0.0)

    every = list(range(n))
    rows = tuple({i for i, _ in ties})
    hard = [Term(rows, lambda Y: np.isfinite(least(Y, every)))]
    soft = [Term(rows, lambda Y: finite(Y, every), finite)]
    given = (tied, [i for i, _ in ties], [classes[c] for _, c in ties])
    net = hints.Network(n_nodes, arcs, lower, upper, cost, supply, given)
    return hints.Flow(net), hard, soft


def _matching(draw, n, classes):
    sides = [[draw(st.integers(0, 2)) for _ in range(n)] for _ in range(2)]
    degrees, hard = [], []
    for node in sides:
        per_node = draw(st.booleans())
        low = [draw(st.sampled_from([0, 0, 1])) for _ in range(3)]
        high = [v + draw(st.integers(0, 2)) for v in low]
        if per_node:
            degrees.append((low, high))
        else:
            low, high = [low[0]] * 3, [high[0]] * 3
            degrees.append((low[0], None if draw(st.booleans()) else high[0]))
            high = [np.inf] * 3 if degrees[-1][1] is None else high
        for u in range(3):
            rows = [k for k in range(n) if node[k] == u]
            if not rows and not per_node:
                continue  # a single bound is about nodes in pairs
            hard.append(Term(tuple(rows), lambda Y, r=rows, b=low[u]: Y[:, r].sum(axis=1) >= b))
            hard.append(Term(tuple(rows), lambda Y, r=rows, b=high[u]: Y[:, r].sum(axis=1) <= b))
    return hints.Matching(*sides, *degrees), hard, []


def _items(kind, patterns):
    """Rows are pairs of up to 4 items; labels must be one of the patterns of those pairs."""

    def build(draw, n, classes):
        rows = draw(some_rows(n))
        whole = draw(st.booleans())
        rows = list(range(n)) if whole else rows
        pair = st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda p: p[0] != p[1])
        items = [draw(pair) for _ in rows]
        can = {tuple(pattern(items)) for pattern in patterns}

        def of(Y):
            return np.array([tuple(y) in can for y in Y[:, rows].tolist()], bool)

        given = (
            kind(items) if whole and draw(st.booleans()) else kind(items, as_given(draw, rows, n))
        )
        if not rows and n:
            given = kind([], [])
        return given, [Term(tuple(rows), of)] if rows else [], []

    return build


def _together(groups):
    return lambda items: [int(groups[a] == groups[b]) for a, b in items]


def _ranked(places):
    return lambda items: [int(places[a] < places[b]) for a, b in items]


STRUCTURES = {
    "same": _same,
    "flow": _flow,
    "matching": _matching,
    "partition": _items(
        hints.Partition, [_together(g) for g in itertools.product(range(4), repeat=4)]
    ),
    "order": _items(hints.Order, [_ranked(p) for p in itertools.permutations(range(4))]),
}
