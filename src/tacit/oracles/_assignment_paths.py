"""Compiled augmenting paths of the count-bounded assignment; terms as in `_assignment_kernel`.

Out-of-kilter method: a count bound is in kilter when its count lies within the bounds, p > 0 only
at the upper and p < 0 only at the lower one. Each search either moves one row across a bound that
is not, along a shortest path, or brings its price to zero; no other bound gets worse, so this ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.oracles._assignment_kernel import imbalance, jit, jit_inner, sweep
from tacit.oracles._assignment_lists import (
    build_lists,
    cheapest_move,
    empty_lists,
    link_rows,
    move_row,
)

__all__ = ["INFEASIBLE", "SOLVED", "STALLED", "solve_trees"]

FloatArray = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]

SOLVED, INFEASIBLE, STALLED = 0, 1, 2

# Prices are sums of cost differences; differences below this part of the largest are rounding.
PRICE_ROUNDING = 2.0**-46

UP, DOWN = -1, -2


class Tree(NamedTuple):
    """One tree of the forest; nodes and groups count from its own first."""

    parent: Int64Array  # (V,) node above; the last node is the sink
    end: Int64Array  # (groups,) one past the subtree
    lower: Int64Array  # (V - 1,)
    upper: Int64Array  # (V - 1,)
    tally: Int64Array  # (V - 1,) rows at and below each node
    price: FloatArray  # (V,)
    scale: FloatArray  # (1,) largest price so far


class Search(NamedTuple):
    """Scratch of the shortest path search."""

    dist: FloatArray  # (V,)
    origin: Int64Array  # (V,) node before it on the path
    via: Int64Array  # (V,) row that moves, or UP or DOWN
    done: npt.NDArray[np.bool_]
    touched: Int64Array
    heap_key: FloatArray
    heap_node: Int64Array


@jit_inner
def _tree(forest, root, price, tally, n_classes):  # type: ignore[no-untyped-def]
    """Cut one tree out of the forest."""
    n_groups = forest.end[root] - root
    n_nodes = n_groups * n_classes
    low, high = root * n_classes, root * n_classes + n_nodes
    parent = np.empty(n_nodes + 1, np.int64)
    parent[n_nodes] = -1
    for v in range(n_nodes):
        above = forest.parent[root + v // n_classes] - root
        parent[v] = above * n_classes + v % n_classes if v >= n_classes else n_nodes
    prices, scale = np.zeros(n_nodes + 1), np.zeros(1)
    for v in range(n_nodes):
        prices[v] = price[low + v]
        scale[0] = max(scale[0], abs(prices[v]))
    return Tree(
        parent,
        forest.end[root : root + n_groups] - root,
        forest.lower[low:high],
        forest.upper[low:high],
        tally[low:high],
        prices,
        scale,
    )


@jit_inner
def _scratch(n_nodes, n_classes):  # type: ignore[no-untyped-def]
    """Search arrays; the heap holds each arc at most once."""
    n_arcs = n_nodes * (n_classes + 2) + 2
    return Search(
        np.full(n_nodes + 1, np.inf),
        np.empty(n_nodes + 1, np.int64),
        np.empty(n_nodes + 1, np.int64),
        np.zeros(n_nodes + 1, np.bool_),
        np.empty(n_nodes + 1, np.int64),
        np.empty(n_arcs),
        np.empty(n_arcs, np.int64),
    )


@jit_inner
def _bound_price(tree, v):  # type: ignore[no-untyped-def]
    """Price of the count bound above a node, without rounding noise."""
    p = tree.price[v] - tree.price[tree.parent[v]]
    return 0.0 if abs(p) <= PRICE_ROUNDING * tree.scale[0] else p


@jit_inner
def _relax(search, heap, x, y, length, via):  # type: ignore[no-untyped-def]
    """Offer node y the path through x; `heap` holds the sizes of heap and touched list."""
    dist, keys, nodes = search.dist, search.heap_key, search.heap_node
    if not length < dist[y]:
        return
    if dist[y] == np.inf:
        search.touched[heap[1]] = y
        heap[1] += 1
    dist[y], search.origin[y], search.via[y] = length, x, via
    j = heap[0]
    heap[0] += 1
    while j > 0 and keys[(j - 1) >> 1] > length:
        keys[j], nodes[j] = keys[(j - 1) >> 1], nodes[(j - 1) >> 1]
        j = (j - 1) >> 1
    keys[j], nodes[j] = length, y


@jit_inner
def _pop(search, heap):  # type: ignore[no-untyped-def]
    """Take the nearest node off the heap."""
    keys, nodes = search.heap_key, search.heap_node
    top = nodes[0]
    heap[0] -= 1
    size = heap[0]
    last, node = keys[size], nodes[size]
    j = 0
    while 2 * j + 1 < size:
        child = 2 * j + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= last:
            break
        keys[j], nodes[j] = keys[child], nodes[child]
        j = child
    keys[j], nodes[j] = last, node
    return top


@jit_inner
def _expand(tree, lists, chains, cost, labels, search, heap, x):  # type: ignore[no-untyped-def]
    """Relax all arcs out of a node."""
    n_classes, sink, here = cost.shape[1], len(tree.price) - 1, search.dist[x]
    if x == sink:
        for c in range(n_classes):
            if tree.tally[c] > tree.lower[c]:
                _relax(search, heap, x, c, here + max(0.0, _bound_price(tree, c)), DOWN)
        return
    group, a = x // n_classes, x % n_classes
    if tree.tally[x] < tree.upper[x]:
        _relax(search, heap, x, tree.parent[x], here + max(0.0, -_bound_price(tree, x)), UP)
    child = group + 1
    while child < tree.end[group]:
        y = child * n_classes + a
        if tree.tally[y] > tree.lower[y]:
            _relax(search, heap, x, y, here + max(0.0, _bound_price(tree, y)), DOWN)
        child = tree.end[child]
    if chains.head[x] < 0:
        return
    if not lists.limit[x]:
        build_lists(lists, chains, cost, x)
    base = x - a
    price, done, dist, key, row = tree.price, search.done, search.dist, lists.key, lists.row
    size = lists.size
    for b in range(n_classes):
        if b == a or done[base + b]:
            continue
        k = size[x, b] - 1
        if k < 0 or labels[row[x, b, k]] != a:
            k = cheapest_move(lists, chains, cost, labels, x, b)
        if k >= 0:
            length = here + max(0.0, key[x, b, k] + (price[base + b] - price[x]))
            if length < dist[base + b]:
                _relax(search, heap, x, base + b, length, row[x, b, k])


@jit_inner
def _shortest(tree, lists, chains, cost, labels, search, source, target, cap):  # type: ignore[no-untyped-def]
    """Search from source to target, no farther than cap, and raise the prices of what is nearer.

    Returns whether target was reached, and the distance; (False, inf) if it cannot be.
    """
    heap = np.zeros(2, np.int64)
    _relax(search, heap, -1, source, 0.0, UP)
    reached, length = False, cap
    while heap[0] > 0:
        x = _pop(search, heap)
        if search.done[x]:
            continue
        if search.dist[x] >= cap:
            break
        if x == target:
            reached, length = True, search.dist[x]
            break
        search.done[x] = True
        _expand(tree, lists, chains, cost, labels, search, heap, x)
    for k in range(heap[1]):
        x = search.touched[k]
        if search.dist[x] < length < np.inf:
            tree.price[x] += length - search.dist[x]
            tree.scale[0] = max(tree.scale[0], abs(tree.price[x]), length)
        search.dist[x], search.done[x] = np.inf, False
    return reached, length


@jit_inner
def _augment(tree, lists, chains, cost, labels, search, source, target):  # type: ignore[no-untyped-def]
    """Send one unit along the path found last."""
    y = target
    while y != source:
        x, via = search.origin[y], search.via[y]
        if via == UP:
            tree.tally[x] += 1
        elif via == DOWN:
            tree.tally[y] -= 1
        else:
            move_row(lists, chains, cost, labels, via, x, y % cost.shape[1])
        y = x


@jit_inner
def _settle(tree, lists, chains, cost, labels, search, v):  # type: ignore[no-untyped-def]
    """Bring one count bound into kilter."""
    for _ in range(2 * len(labels) + 2):
        p, count = _bound_price(tree, v), tree.tally[v]
        low, high = tree.lower[v], tree.upper[v]
        if count > high or (count > low and p < 0):
            source, target, change = v, tree.parent[v], -1
        elif count < low or (count < high and p > 0):
            source, target, change = tree.parent[v], v, 1
        else:
            return SOLVED
        # Within the bounds it is enough to bring the price to zero.
        cap = abs(p) if low <= count <= high else np.inf
        reached, length = _shortest(tree, lists, chains, cost, labels, search, source, target, cap)
        if reached:
            _augment(tree, lists, chains, cost, labels, search, source, target)
            tree.tally[v] += change
        elif length == np.inf:
            return INFEASIBLE
    return STALLED


@jit_inner
def _store(tree, price):  # type: ignore[no-untyped-def]
    """Write the prices back, relative to the sink's, rounding noise taken out of the bounds'."""
    sink = len(price)
    for v in range(sink):
        above = price[tree.parent[v]] if tree.parent[v] < sink else 0.0
        price[v] = above + _bound_price(tree, v)


@jit
def solve_trees(cost, forest, price, labels, tally):  # type: ignore[no-untyped-def]
    """Settle all bounds of all trees in place; returns a status and the group it arose in.

    `labels` must be argmin(cost + price) and `tally` its counts; both and `price` are updated.
    """
    n_classes, root = cost.shape[1], 0
    after, before = np.empty(len(labels), np.int32), np.empty(len(labels), np.int32)
    while root < len(forest.parent):
        stop = forest.end[root]
        low, high = root * n_classes, stop * n_classes
        if imbalance(forest, price, tally, root, n_classes) > 0:
            sweep(cost, forest, price, labels, tally, root)
            tree = _tree(forest, root, price, tally, n_classes)
            chains = link_rows(forest, root, labels, n_classes, after, before)
            lists = empty_lists(high - low, n_classes, forest.first[stop] - forest.first[root])
            search = _scratch(high - low, n_classes)
            for v in range(high - low):
                status = _settle(tree, lists, chains, cost, labels, search, v)
                if status != SOLVED:
                    return status, root + v // n_classes
            _store(tree, price[low:high])
        root = stop
    return SOLVED, -1
