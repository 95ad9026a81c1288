"""Compiled sweeps of sequential tree-reweighted message passing, its bound, and its labels.

``message[e, 0]`` is what the head of edge e tells its tail, a cost for each label of the tail,
``message[e, 1]`` what the tail tells the head; 0 at labels that are forbidden.
"""

from __future__ import annotations

import numpy as np

from tacit.oracles._graph import add_terms, jit

__all__ = ["decode", "lower_bound", "sweep"]

EPS = np.finfo(np.float64).eps


@jit
def _through(v, tables, t, w, to_columns, potts, out):  # type: ignore[no-untyped-def]
    """out[b] = min over a of v[a] + w T[a, b], or T[b, a]; two passes if T is of Potts type."""
    n = len(v)
    if potts and n > 1:
        best, least, second = 0, v[0], np.inf
        for a in range(1, n):
            if v[a] < least:
                best, least, second = a, v[a], least
            elif v[a] < second:
                second = v[a]
        off = w * tables[t, 0, 1]
        for b in range(n):
            other = (second if b == best else least) + off
            same = v[b] + w * tables[t, b, b]
            out[b] = same if same < other else other
    elif to_columns:
        out[:] = np.inf
        for a in range(n):
            for b in range(n):
                value = v[a] + w * tables[t, a, b]
                out[b] = value if value < out[b] else out[b]
    else:
        for b in range(n):
            least = np.inf
            for a in range(n):
                value = v[a] + w * tables[t, b, a]
                least = value if value < least else least
            out[b] = least


@jit
def _gather(own, graph, message, i, total):  # type: ignore[no-untyped-def]
    """Own costs of node i and all that it is told; returns the least."""
    n = len(total)
    for a in range(n):
        total[a] = own[i, a]
    for s in range(graph.start[i], graph.start[i + 1]):
        e, side = graph.edge[s], 0 if s >= graph.middle[i] else 1
        for a in range(n):
            total[a] += message[e, side, a]
    least = np.inf
    for a in range(n):
        least = min(least, total[a])
    return least


@jit
def sweep(own, graph, message, forward):  # type: ignore[no-untyped-def]
    """Pass all messages in one direction; returns the bound that they make, up to rounding.

    A node spreads its total evenly over as many chains as go through it.
    """
    n_nodes, n_classes = own.shape
    total, v, out = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    bound = 0.0
    me = 0 if forward else 1  # the end of each edge that speaks
    for k in range(n_nodes):
        i = k if forward else n_nodes - 1 - k
        least = _gather(own, graph, message, i, total)
        low, middle, high = graph.start[i], graph.middle[i], graph.start[i + 1]
        share = 1.0 / max(middle - low, high - middle, 1)
        first, last = (middle, high) if forward else (low, middle)
        bound += (1.0 - share * (last - first)) * least
        for s in range(first, last):
            e = graph.edge[s]
            j = graph.head[e] if forward else graph.tail[e]
            for a in range(n_classes):
                v[a] = share * total[a] - message[e, me, a]
            t = graph.table[e]
            to_columns = forward != graph.flip[e]
            _through(v, graph.tables, t, graph.weight[e], to_columns, graph.potts[t], out)
            least = np.inf
            for b in range(n_classes):
                if own[j, b] < np.inf:
                    least = min(least, out[b])
            for b in range(n_classes):
                message[e, 1 - me, b] = out[b] - least if own[j, b] < np.inf else 0.0
            bound += least
    return bound


@jit
def lower_bound(own, graph, message):  # type: ignore[no-untyped-def]
    """Compute a lower bound on the energy from any messages, rounding taken off.

    The messages cancel in sum over nodes of total_i + sum over edges of (term - both messages). A
    part of total_i, one share for each lower neighbour, is counted with the edges; each sum is at
    least the sum of the least values.
    """
    n_nodes, n_classes = own.shape
    total, v, out = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    bound = lost = doubt = 0.0
    for i in range(n_nodes):
        least = _gather(own, graph, message, i, total)
        low, middle, high = graph.start[i], graph.middle[i], graph.start[i + 1]
        share = 1.0 / max(middle - low, high - middle, 1)
        size = 0.0
        for a in range(n_classes):
            if own[i, a] < np.inf:
                size = max(size, abs(own[i, a]))
        for s in range(low, high):
            e, side = graph.edge[s], 0 if s >= middle else 1
            most = 0.0
            for a in range(n_classes):
                most = max(most, abs(message[e, side, a]))
            size += most
        doubt += (high - low + 4) * size  # each of its parts adds up to one total
        for s in range(low, middle + 1):
            if s == middle:
                term = (1.0 - share * (middle - low)) * least
            else:
                e = graph.edge[s]
                t, j = graph.table[e], graph.tail[e]
                for a in range(n_classes):
                    v[a] = share * total[a] - message[e, 1, a]
                w = graph.weight[e]
                _through(v, graph.tables, t, w, graph.flip[e], graph.potts[t], out)
                term, most = np.inf, 0.0
                for b in range(n_classes):
                    most = max(most, abs(message[e, 0, b]), abs(message[e, 1, b]))
                    if own[j, b] < np.inf:
                        term = min(term, out[b] - message[e, 0, b])
                doubt += 4.0 * (2.0 * most + abs(w) * graph.largest[t] + share * size)
            new = bound + term
            part = new - bound
            lost += (bound - (new - part)) + (term - part)
            bound = new
            doubt += abs(term)
    return bound + lost - 2.0 * EPS * doubt


@jit
def decode(own, graph, message, forward, labels):  # type: ignore[no-untyped-def]
    """Labels one by one, given those already chosen and what the others say.

    Where every label breaks a hard pair, one that breaks the fewest is taken.
    """
    n_nodes, n_classes = own.shape
    total, soft = np.empty(n_classes), np.empty(n_classes)
    broken = np.empty(n_classes, np.int64)
    for k in range(n_nodes):
        i = k if forward else n_nodes - 1 - k
        for a in range(n_classes):
            total[a] = own[i, a]
            broken[a] = 0 if own[i, a] < np.inf else 1 << 30
        for s in range(graph.start[i], graph.start[i + 1]):
            e = graph.edge[s]
            up = s >= graph.middle[i]  # node i is the tail
            if up == forward:
                for a in range(n_classes):
                    total[a] += message[e, 0 if up else 1, a]
                continue
            j = graph.head[e] if up else graph.tail[e]
            for a in range(n_classes):
                soft[a] = 0.0
            add_terms(graph, e, not up, labels[j], soft)
            for a in range(n_classes):
                if soft[a] < np.inf:
                    total[a] += soft[a]
                else:
                    broken[a] += 1
        best = 0
        for a in range(1, n_classes):
            if (broken[a], total[a]) < (broken[best], total[best]):
                best = a
        labels[i] = best
