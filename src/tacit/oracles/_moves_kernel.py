"""Compiled moves: residuals and excess of the cut in which each node keeps its label or changes it.

x = 0 keeps the label (of a swap: has the first label), x = 1 takes alpha (has the second). Nodes
that a move does not ask have no excess and no capacities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tacit.oracles._cut_graph import mate

__all__ = [
    "add_cliques",
    "first_beyond_expansion",
    "first_beyond_swap",
    "load_expansion",
    "load_swap",
]

# Part of a table's largest entry that may be missing to an inequality: rounding.
SLACK = 1e-12


def _jit(function: Any) -> Any:
    """Compile with numba, keep the machine code on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


@_jit
def load_expansion(  # type: ignore[no-untyped-def]
    graph, offset, arc, edges, weight, table, tables, cost, labels, alpha, res, excess
):
    """Each node may change to alpha."""
    excess[:] = 0.0
    for i in range(len(labels)):
        if labels[i] != alpha:
            excess[offset + i] = cost[i, alpha] - cost[i, labels[i]]
    for m in range(len(weight)):
        u, v = edges[m, 0], edges[m, 1]
        p, q, w, t = labels[u], labels[v], weight[m], table[m]
        i, j, slope = u + offset, v + offset, 0.0
        if p != alpha and q != alpha:
            a, b = w * tables[t, p, q], w * tables[t, p, alpha]
            c, d = w * tables[t, alpha, q], w * tables[t, alpha, alpha]
            excess[i] += 0.5 * ((c - a) + (d - b))
            excess[j] += 0.5 * ((d - c) + (b - a))
            slope = max(0.5 * ((b - a) - (d - c)), 0.0)
        elif p != alpha:
            excess[i] += w * (tables[t, alpha, alpha] - tables[t, p, alpha])
        elif q != alpha:
            excess[j] += w * (tables[t, alpha, alpha] - tables[t, alpha, q])
        res[arc[m]] = slope
        res[mate(graph, i, np.int64(arc[m]))] = slope


@_jit
def load_swap(  # type: ignore[no-untyped-def]
    graph, offset, arc, edges, weight, table, tables, cost, labels, alpha, beta, res, excess
):
    """Each node that has alpha or beta may have the other one."""
    excess[:] = 0.0
    for i in range(len(labels)):
        if labels[i] == alpha or labels[i] == beta:
            excess[offset + i] = cost[i, beta] - cost[i, alpha]
    for m in range(len(weight)):
        u, v = edges[m, 0], edges[m, 1]
        p, q, w, t = labels[u], labels[v], weight[m], table[m]
        i, j, slope = u + offset, v + offset, 0.0
        ours, theirs = p in (alpha, beta), q in (alpha, beta)
        if ours and theirs:
            a, b = w * tables[t, alpha, alpha], w * tables[t, alpha, beta]
            c, d = w * tables[t, beta, alpha], w * tables[t, beta, beta]
            excess[i] += 0.5 * ((c - a) + (d - b))
            excess[j] += 0.5 * ((d - c) + (b - a))
            slope = max(0.5 * ((b - a) - (d - c)), 0.0)
        elif ours:
            excess[i] += w * (tables[t, beta, q] - tables[t, alpha, q])
        elif theirs:
            excess[j] += w * (tables[t, p, beta] - tables[t, p, alpha])
        res[arc[m]] = slope
        res[mate(graph, i, np.int64(arc[m]))] = slope


@_jit
def add_cliques(  # type: ignore[no-untyped-def]
    graph, offset, first, arc, indptr, members, times, weight, truncate, labels, alpha, res, excess
):
    """Robust P^n Potts terms of an expansion: two nodes for each clique, from node `first` on.

    With d the most frequent other label, a clique costs no more than
    ``min(w, s_a (rows without alpha)) + min(w, s_d (rows without d)) - w``, and just that before
    the move. The slopes are w / truncate, unless both terms could be below w at once: then the one
    of the rarer label is steeper. The first node is 0 where the first term is cut off at w, the
    second is 1 where the second is.
    """
    tally = np.zeros(int(labels.max()) + 1)
    for k in range(len(weight)):
        low, high, total, with_alpha = indptr[k], indptr[k + 1], 0.0, 0.0
        tally[:] = 0.0
        for s in range(low, high):
            total += times[s]
            if labels[members[s]] == alpha:
                with_alpha += times[s]
            else:
                tally[labels[members[s]]] += times[s]
        d = np.argmax(tally)
        reach = min(truncate[k], total)
        cap = weight[k] * (reach / truncate[k])
        rest = min(reach, total + 1.0 - np.ceil(reach))
        often = tally[d] >= with_alpha
        slope_a, slope_d = cap / (rest if often else reach), cap / (reach if often else rest)
        i = first + 2 * k + offset
        excess[i] = -cap
        excess[i + 1] = cap - slope_d * (total - tally[d])
        for s in range(low, high):
            keeps = labels[members[s]] != alpha
            back = mate(graph, i, np.int64(arc[2 * s]))
            res[arc[2 * s]] = 0.0
            res[back] = slope_a * times[s] if keeps else 0.0
            res[arc[2 * s + 1]] = slope_d * times[s] if keeps and labels[members[s]] == d else 0.0
            res[mate(graph, i + 1, np.int64(arc[2 * s + 1]))] = 0.0


@_jit
def first_beyond_expansion(tables):  # type: ignore[no-untyped-def]
    """Table, and labels a, b, c with T(a, a) + T(b, c) > T(b, a) + T(a, c); -1 if none."""
    n_tables, n_classes = tables.shape[0], tables.shape[1]
    for t in range(n_tables):
        slack = SLACK * np.abs(tables[t]).max()
        for a in range(n_classes):
            for b in range(n_classes):
                for c in range(n_classes):
                    over = tables[t, a, a] + tables[t, b, c] - tables[t, b, a] - tables[t, a, c]
                    if over > slack:
                        return t, a, b, c
    return -1, 0, 0, 0


@_jit
def first_beyond_swap(tables):  # type: ignore[no-untyped-def]
    """Table, and labels a, b with T(a, a) + T(b, b) > T(a, b) + T(b, a); -1 if none."""
    n_tables, n_classes = tables.shape[0], tables.shape[1]
    for t in range(n_tables):
        slack = SLACK * np.abs(tables[t]).max()
        for a in range(n_classes):
            for b in range(n_classes):
                over = tables[t, a, a] + tables[t, b, b] - tables[t, a, b] - tables[t, b, a]
                if over > slack:
                    return t, a, b
    return -1, 0, 0
