"""Cliques, flows, matchings, partitions and orders: their labelings and costs worked by hand."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from tacit import hints, oracles
from tacit.hints import Flow, Labels, Matching, MustLink, Network, Order, Partition, Same
from tacit.hints._classes import ClassCodes

NO_YES = ["no", "yes"]


def compiled(hint, n, classes=(0, 1)):
    return hint.compile(n, ClassCodes(classes))


def value(hint, labels, classes=(0, 1)):
    return compiled(hint, len(labels), classes).value(np.array(labels))


def feasible(hint, n):
    """All feasible labelings of two classes, as text."""
    program = compiled(hint, n)
    every = itertools.product((0, 1), repeat=n)
    return {"".join(map(str, y)) for y in every if program.violation(np.array(y)) == 0}


# Cliques -------------------------------------------------------------------------------------


def test_any_disagreement_costs_all():
    hint = Same([[0, 1, 2, 3]], cost=3.0)
    assert value(hint, [1, 1, 1, 1]) == 0.0
    assert value(hint, [1, 1, 2, 1], (0, 1, 2)) == 3.0
    assert value(hint, [0, 1, 2, 1], (0, 1, 2)) == 3.0


@pytest.mark.parametrize(("others", "cost"), [(0, 0.0), (1, 0.75), (2, 1.5), (3, 2.25), (4, 3.0)])
def test_a_truncated_cost_grows_with_the_rows_that_differ(others, cost):
    """3 / 4 for each row without the most frequent label, 3 from four on."""
    labels = [0] * (10 - others) + [1] * others
    assert value(Same([range(10)], 3.0, truncate=4), labels) == cost


def test_the_most_frequent_label_counts_and_no_more_than_all_is_paid():
    hint = Same([range(6)], 2.0, truncate=3)
    assert value(hint, [0, 0, 1, 1, 2, 2], (0, 1, 2)) == 2.0  # 4 others, cut off at 3
    assert value(hint, [0, 0, 0, 0, 1, 2], (0, 1, 2)) == pytest.approx(4 / 3, rel=1e-15)


def test_cliques_overlap_and_repeat():
    hint = Same([[0, 1], [1, 2], [1, 2]], cost=[1.0, 2.0, 4.0])
    assert value(hint, [0, 0, 1]) == 6.0
    assert value(hint, [1, 0, 0]) == 1.0
    assert value(Same([0, 0, 1, 1], 5.0), [0, 1, 1, 1]) == 5.0  # a clique for each row


def test_hard_cliques_are_must_links():
    hint = Same([[2, 0, 3], [1]])
    assert feasible(hint, 4) == {"0000", "0100", "1011", "1111"}
    program = compiled(hint, 4)
    assert len(program.cliques) == 0
    assert program.contraction.component.tolist() == [0, 1, 0, 0]
    assert feasible(hint.restrict([2, 3, 1], 4), 3) == {"000", "001", "110", "111"}
    meet = Same([[0, 1], [1, 2]]).restrict([0, 2], 3)  # closed up though row 1 is gone
    assert feasible(meet, 2) == {"00", "11"}
    several = (Same([[0, 1]]) + MustLink([[1, 2]])).restrict([0, 2], 3)
    assert feasible(several, 2) == {"00", "11"}


def test_must_links_merge_members_of_cliques():
    """Rows 0 and 1 are one component that counts twice."""
    program = compiled(Same([[0, 1, 2], [0, 1]], 6.0, 3) + MustLink([[0, 1]]), 3)
    cliques = program.contraction.cliques
    assert (len(cliques), cliques.members.tolist(), cliques.times.tolist()) == (1, [0, 1], [2, 1])
    assert cliques.cost(np.array([0, 1])).tolist() == [2.0]  # one of three rows differs
    cost = np.array([[0.0, 9.0], [0.0, 9.0], [9.0, 0.0]])
    assert oracles.MixedIntegerOracle(program).solve(cost).value == pytest.approx(2.0)


def test_a_clique_in_part():
    """Two of ten rows differ; one of the four that are kept does."""
    hint = Same([range(10)], 4.0, truncate=2)
    assert value(hint, [0] * 8 + [1, 1]) == 4.0
    assert value(hint.restrict([0, 1, 2, 9], 10), [0, 0, 0, 1]) == 2.0


# Flows ---------------------------------------------------------------------------------------

# Two rows take a unit each from node 0 to node 1 if they have class 1; it returns for 1 or for 5.
RETURN = Network(
    2, [[0, 1], [0, 1], [1, 0], [1, 0]], cost=[0.0, 0.5, 1.0, 5.0], ties=([0, 1], [0, 1], 1)
)


def test_a_flow_costs_the_cheapest_way():
    assert value(Flow(RETURN), [0, 0]) == 0.0
    assert value(Flow(RETURN), [1, 0]) == 1.0
    assert value(Flow(RETURN), [0, 1]) == 1.5
    assert value(Flow(RETURN), [1, 1]) == 6.5
    assert value(Flow(RETURN) + Flow(RETURN), [1, 1]) == 13.0  # side by side


def test_bounds_and_supplies_of_a_flow():
    """A unit enters at node 0 and ends at node 2, by way of one row or the other."""
    arcs = [[0, 1], [0, 1], [1, 2]]
    net = Network(3, arcs, supply=[1, 0, -1], ties=([0, 1], [0, 1], ["yes", "yes"]))
    assert feasible_names(net) == {("no", "yes"), ("yes", "no")}
    net = Network(3, arcs, [0, 1, 0], [1, 1, 1], 0.0, [1, 0, -1], ([0, 1], [0, 1], "yes"))
    assert feasible_names(net) == {("no", "yes")}
    net = Network(3, arcs, 0, [1, 1, 2], [1, 1, -4.0], [2, 0, -2], ([0, 1], [0, 1], "yes"))
    assert feasible_names(net) == {("yes", "yes")}
    assert value(Flow(net), [1, 1], NO_YES) == -6.0


def feasible_names(net):
    program = compiled(Flow(net), 2, NO_YES)
    every = itertools.product((0, 1), repeat=2)
    return {tuple(NO_YES[c] for c in y) for y in every if program.violation(np.array(y)) == 0}


def test_cycles_that_pay_are_used():
    """Without any labels: a cycle of cost -1 carries both of its units."""
    net = Network(3, [[0, 1], [1, 2], [2, 0]], upper=2, cost=[1.0, 1.0, -3.0])
    assert value(Flow(net), [0]) == -2.0


def test_a_tie_left_out_is_a_free_arc():
    part = Flow(RETURN).restrict([1], 2)
    assert value(part, [0]) == 0.0
    assert value(part, [1]) == 1.5
    negative = Network(2, [[0, 1], [1, 0]], cost=[-2.0, 1.0], ties=([0], [0], 1))
    assert value(Flow(negative), [0]) == 0.0
    assert value(Flow(negative).restrict([1], 2), [0]) == -1.0  # as if row 0 had class 1


# Matchings -----------------------------------------------------------------------------------


def test_matchings_with_null_links():
    """Pairs (0, 0), (0, 1), (1, 0), (1, 1)."""
    none_to_two = {"0000", "1000", "0100", "0010", "0001", "1001", "0110"}
    assert feasible(Matching(2, 2), 4) == none_to_two
    assert feasible(Matching(2, 2, (1, 1), (1, 1)), 4) == {"1001", "0110"}
    assert feasible(Matching(2, 2, (1, 1)), 4) == {"1001", "0110"}
    assert feasible(Matching(1, 2, (0, None)), 2) == {"00", "01", "10", "11"}
    assert feasible(Matching([0, 0, 1], [0, 0, 0], (0, 2), (2, 2)), 3) == {"110", "101", "011"}


def test_degrees_of_each_node():
    """Three pairs with node 0 on the left; the right nodes 0, 1, 1."""
    hint = Matching([0, 0, 0], [0, 1, 1], (2, 2), ([0, 1], [1, 1]))
    assert feasible(hint, 3) == {"110", "101"}
    assert feasible(hint.restrict([1, 2], 3), 2) == {"01", "10"}
    assert feasible(hint.restrict([0, 1], 3), 2) == {"01", "10", "11"}
    assert feasible(Matching([0], [0], ([0, 1], [1, 1])), 1) == set()  # node 1 is in no pair
    assert compiled(hint, 3).separable is False


# Partitions and orders -----------------------------------------------------------------------


def test_partitions_of_three_items():
    """Rows (0, 1), (0, 2), (1, 2): the five partitions of three items."""
    assert feasible(Partition(3), 3) == {"000", "100", "010", "001", "111"}
    assert len(feasible(Partition(4), 6)) == 15


def test_a_square_of_pairs_may_not_lack_one():
    square = Partition([[0, 1], [1, 2], [2, 3], [3, 0]])
    assert feasible(square, 4) == {
        "".join(y) for y in itertools.product("01", repeat=4) if y.count("1") != 3
    }
    twice = Partition([[5, 7], [7, 5]])
    assert feasible(twice, 2) == {"00", "11"}
    assert feasible(Partition([[0, 1], [1, 2], [0, 2]], rows=[3, 0, 1]).restrict([0, 1], 4), 2) == {
        "00", "01", "10", "11",
    }  # fmt: skip


def test_orders_of_three_items():
    """Of the eight ways to compare three items two are cycles."""
    assert feasible(Order(3), 3) == {"000", "001", "011", "100", "110", "111"}
    assert len(feasible(Order(4), 6)) == 24
    ring = Order([[0, 1], [1, 2], [2, 3], [3, 0]])
    assert len(feasible(ring, 4)) == 14
    assert feasible(Order([[0, 1], [1, 0]]), 2) == {"01", "10"}


def test_several_partitions_hold_together():
    """Of the same rows: 111 is all that a chain joins and a triangle allows, or few joined."""
    both = Partition([[0, 1], [1, 2]], rows=[0, 1]) + Partition(3, rows=[1, 2, 3])
    program = compiled(both, 4)
    assert len(program.partitions) == 2
    assert len(feasible(both, 4)) == 2 * 5


@pytest.mark.parametrize(
    ("known", "n", "text"),
    [
        (Partition(4) + Labels([0, 3], "yes") + Labels([1], "no"), 6,
            "Partition: rows 0 and 3 join items 0 and 2 but row 1 keeps them apart."),
        (Partition([[8, 9], [9, 8]]) + Labels([1], "yes") + Labels([0], "no"), 2,
            "Partition: row 1 joins items 8 and 9 but row 0 keeps them apart."),
        (Order([[0, 1], [1, 2], [0, 2]]) + Labels([0, 1], "yes") + Labels([2], "no"), 3,
            "Order: rows 0, 1 and 2 put item 0 before 1 before 2 before 0, which is a cycle."),
        (Matching(2, 2) + Labels([0, 2], "yes"), 4,
            "right node 0 may have at most 1 of class 'yes' but 2 rows must have it."),
        (Partition(3) + MustLink([[0, 1]]) + Labels([0], "yes") + Labels([2], "no"), 3,
            "these cannot all be true: the 3 pairs of Partition divide their items into groups; "
            "rows 0 and 1 must have the same label; row 0 has label 'yes'; row 2 has label 'no'."),
        (Flow(Network(2, [[0, 1]], ties=([0], [0], "yes"))) + Labels([0], "yes"), 1,
            "the labels of 1 rows are a flow in the network of 2 nodes and 1 arcs but row 0 has "
            "label 'yes'."),
        (Same([[0, 1]]) + Labels([0], "yes") + Labels([1], "no"), 2,
            "these cannot all be true: rows 0 and 1 must have the same label; row 0 has label "
            "'yes'; row 1 has label 'no'."),
    ],
)  # fmt: skip
def test_contradictions_in_words(known, n, text):
    answer = hints.check(known, n, NO_YES)
    assert not answer
    assert answer.message == text


def test_many_pairs_are_checked_without_a_program_for_all():
    """400 items in ten groups, 79,800 pairs: what is joined closes, one more pair contradicts."""
    pairs = Partition(400)
    joined = np.flatnonzero(pairs.items[:, 0] % 10 == pairs.items[:, 1] % 10)
    known = pairs + Labels(joined, "yes")
    answer = hints.check(known, len(pairs.items), NO_YES)
    assert np.array_equal(np.flatnonzero(answer.labels == "yes"), joined)
    loose = joined[777]
    less = pairs + Labels(np.setdiff1d(joined, [loose]), "yes") + Labels([loose], "no")
    message = hints.check(less, len(pairs.items), NO_YES).message
    assert re.match(rf"Partition: rows .* join items .* but row {loose} keeps", message)


# What is refused -----------------------------------------------------------------------------


def network(**other):
    return Network(**({"n_nodes": 2, "arcs": [[0, 1], [1, 0]]} | other))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Same([[0, 1]], np.nan), "Same: costs must be 0 or more, got nan; inf makes"),
        (lambda: Same([[0, 1]], -1.0), "Same: costs must be 0 or more"),
        (lambda: Same([[0, 1]], [1.0, 2.0]), "Same: cost has shape (2,); expected one number or"),
        (lambda: Same([[0, 1]], 1.0, 0.5), "Same: truncate must be a number of rows, 1 or more"),
        (lambda: Same([[0, 1]], 1.0, -2), "Same: truncate must be a number of rows, 1 or more"),
        (lambda: Same([[0, 1]], 1.0, np.nan), "Same: truncate must be a number of rows, 1 or more"),
        (lambda: Same([[0, 1]], np.inf, 2), "clique 0 has an infinite cost and truncate 2; give"),
        (lambda: Same([[0, 1, 0]], 1.0), "Same: group 0 lists a row twice."),
        (lambda: network(n_nodes=-1), "Network: n_nodes=-1; expected the number of nodes."),
        (lambda: network(arcs=[[0, 2]]), "Network: an arc ends at node 2; there are 2 nodes"),
        (lambda: network(arcs=[[0, -1]]), "Network: an arc ends at node -1; there are 2 nodes"),
        (lambda: network(arcs=[[1, 1]]), "Network: arc 0 joins node 1 with itself; leave it out"),
        (lambda: network(arcs=[0, 1]), "Network: arcs must be pairs (from, to), shape (M, 2)"),
        (lambda: network(upper=-1), "Network: upper of arc 0 is -1; flows are finite whole"),
        (lambda: network(upper=[1, np.inf]), "Network: upper of arc 1 is inf; flows are finite"),
        (lambda: network(upper=[1.5, 1]), "Network: upper of arc 0 is 1.5; flows are finite whole"),
        (lambda: network(lower=[0, -2]), "Network: lower of arc 1 is -2; flows are finite whole"),
        (lambda: network(lower=2), "Network: arc 0 has lower 2 above upper 1."),
        (lambda: network(cost=[0, np.nan]), "Network: the cost of arc 1 is nan; costs must be"),
        (lambda: network(cost=[np.inf, 0]), "cost of arc 0 is inf; costs must be finite, upper=0"),
        (lambda: network(cost=[1, 2, 3]), "Network: cost has shape (3,); expected one number or"),
        (lambda: network(supply=[1, 1]), "Network: the supplies add up to 2, not to 0"),
        (lambda: network(supply=[1]), "Network: supply has shape (1,); expected one number for"),
        (lambda: network(ties=[(0, 1)]), "Network: ties must be (arcs, rows, classes), one entry"),
        (lambda: network(ties=([0, 1], [0], "a")), "ties hold 2 arcs, 1 rows and 2 classes; give"),
        (lambda: network(ties=([0, 0], [0, 1], "a")), "Network: arc 0 has two ties; give each"),
        (lambda: network(ties=([2], [0], "a")), "Network: arc 2 of ties is out of range; there"),
        (lambda: network(upper=2, ties=([1], [0], "a")), "arc 1 is tied to a label but its upper"),
        (lambda: Matching([0, 1], [0]), "Matching: 2 rows but 1 cols; a pair has one of each."),
        (lambda: Matching([0, -1], [0, 0]), "Matching: rows has node -1; nodes count from 0."),
        (lambda: Matching(2, [0, 1]), "Matching: rows must be the node of each pair"),
        (lambda: Matching(-1, 2), "Matching: -1 and 2 nodes; expected 0 or more."),
        (lambda: Matching(2, 2, 1), "Matching: row_degree=1; expected (lower, upper), such as"),
        (lambda: Matching(2, 2, (2, 1)), "Matching: row_degree: node 0 has lower 2 above upper 1."),
        (lambda: Matching(2, 2, (0, -1)), "Matching: row_degree: expected whole numbers of links"),
        (lambda: Matching(2, 2, (0, 1), (0, 0.5)), "Matching: col_degree: expected whole numbers"),
        (lambda: Matching(2, 2, ([0], [1])), "row_degree bounds 1 nodes but there are 2; give one"),
        (lambda: Matching([0, 3], [0, 0], (0, [1, 1])), "bounds 2 nodes but a pair has node 3."),
        (lambda: Partition([[0, 0]]), "Partition: pair 0 is item 0 with itself; leave it out."),
        (lambda: Partition([[0, -3]]), "Partition: item -3 is negative; items are numbered from"),
        (lambda: Partition(-2), "Partition: -2 items; give how many there are, or the pairs."),
        (lambda: Order([0, 1]), "Order: expected the two items of each row, shape (N, 2), or the"),
        (lambda: Order([[0, 1], [2]]), "Order: items: row 0 has 2 entries but row 1 has 1 entry."),
        (lambda: Order(3, rows=[0, 1]), "Order: 3 pairs of items but 2 rows; give one row for"),
        (lambda: Order(3, rows=[0, 1, 1]), "Order: a row is listed twice; a row is one pair"),
        (lambda: compiled(Order(3), 4), "Order: 3 pairs of items but 4 rows; give the rows that"),
        (lambda: compiled(Matching(2, 2), 3), "Matching: 4 pairs but 3 rows; every row is a pair."),
        (lambda: compiled(Partition(2), 1, "abc"), "Partition: there are 3 classes; it needs two, "
            "of which the first means apart and the second joined."),
        (lambda: compiled(Flow(network(ties=([0], [0], "c"))), 1, "ab"), "Flow names the class"),
        (lambda: compiled(Flow(network(ties=([0], [4], "a"))), 1, "ab"), "Flow: row 4 is out of"),
    ],
)  # fmt: skip
def test_wrong_structures(make, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        make()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Partition([[0.0, 1.0]]), "Partition: items must be whole numbers, got float64."),
        (lambda: network(arcs=[[0.0, 1.0]]), "Network: arcs must hold nodes (whole numbers), got"),
        (lambda: Flow([[0, 1]]), "Flow: expected a hints.Network, got list."),
    ],
)
def test_wrong_types(make, text):
    with pytest.raises(TypeError, match=re.escape(text)):
        make()
