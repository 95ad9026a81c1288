"""Four moons and what is known about them, by the formulas."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit import hints
from tacit.datasets import make_batches, make_four_moons, make_links, make_tree
from tacit.hints._classes import ClassCodes


@pytest.mark.parametrize("layout", ["chain", "grid"])
def test_moons_without_noise_lie_on_their_half_circles(layout):
    X, y = make_four_moons(600, layout, noise=0.0, random_state=0)
    assert np.bincount(y).tolist() == [150] * 4
    for c in range(4):
        shift = (1.25 * c, 0.0) if layout == "chain" else (c % 2, 2.5 * (c // 2))
        x, height = (X[y == c] - shift).T
        sine = height if c % 2 == 0 else 0.5 - height
        np.testing.assert_allclose(x**2 + sine**2, 1.0)
        assert sine.min() >= -1e-12
        assert [x.min(), x.max()] == pytest.approx([-1.0, 1.0])


def test_noise_and_seed():
    still, y = make_four_moons(2000, noise=0.0, random_state=3)
    X, again = make_four_moons(2000, noise=0.08, random_state=3)
    assert np.array_equal(y, again)
    assert np.std(X - still) == pytest.approx(0.08, rel=0.05)
    assert np.array_equal(X, make_four_moons(2000, noise=0.08, random_state=3)[0])
    assert not np.array_equal(y, make_four_moons(2000, random_state=4)[1])
    assert not np.array_equal(y, np.sort(y))  # the order tells nothing


def test_sizes_differ_by_at_most_one():
    assert np.bincount(make_four_moons(10, random_state=0)[1]).tolist() == [3, 3, 2, 2]


@pytest.mark.parametrize(
    ("arguments", "words"), [({"layout": "ring"}, "layout='ring'"), ({"n": 3}, "n=3; four moons")]
)
def test_wrong_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        make_four_moons(**arguments)


def test_batches_hold_the_truth_within_their_slack():
    y = make_four_moons(600, random_state=0)[1]
    counts = make_batches(y, random_state=0).compile(600, ClassCodes(range(4))).counts
    tally = counts.tally(y)
    assert len(counts) == 25
    assert (counts.sizes == 25).all()
    assert np.array_equal(counts.lower, np.maximum(tally - 3, 0))
    assert np.array_equal(counts.upper, tally + 3)


def test_links_are_one_tree_and_one_false_label_each():
    y = make_four_moons(200, random_state=0)[1]
    known = make_links(y, cost=5.0, random_state=0)
    program = known.compile(200, ClassCodes(range(4)))
    assert (program.mask.sum(axis=1) == 3).all()
    assert program.mask[np.arange(200), y].all()
    assert len(program.pairs) == 199
    assert program.value(y) == 0.0  # the truth breaks no link
    assert program.contraction.trivial  # links are soft
    parent = list(range(200))

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    for a, b in program.pairs.edges:
        assert root(a) != root(b)
        parent[root(a)] = root(b)
    flipped = y.copy()
    flipped[0] = (y[0] + 1) % 4
    cost = program.pairs.cost(flipped)
    assert set(cost) <= {0.0, 5.0}
    assert cost.sum() > 0
    assert hints.check(known, 200, range(4))


def test_a_tree_of_true_links():
    y = np.random.default_rng(0).integers(0, 3, 50)
    tree = make_tree(y, cost=2.0, random_state=1)
    program = tree.compile(50, ClassCodes([0, 1, 2]))
    edges = program.pairs.edges
    assert len(edges) == 49
    graph = sp.coo_array((np.ones(49), edges.T), (50, 50))
    assert sp.csgraph.connected_components(graph, directed=False)[0] == 1
    assert program.value(y) == 0.0
    should = y[edges[:, 0]] == y[edges[:, 1]]
    # All rows of one class: every should-link holds, every should-not-link is broken.
    assert program.value(np.zeros(50, np.int32)) == 2.0 * (~should).sum()
    assert not np.array_equal(edges, _edges(y, seed=2))
    assert np.array_equal(edges, _edges(y, seed=1))


def _edges(y, seed):
    return make_tree(y, random_state=seed).compile(50, ClassCodes([0, 1, 2])).pairs.edges
