"""Compiled parts of the min-cost flow: dual ascent, the flow that fits the prices, its dual bound.

Arcs run from ``tail`` to ``head`` with flow 0 .. ``cap``; lower bounds are taken off before. The
reduced cost of an arc is cost + pi[tail] - pi[head], pi the potentials (prices) of the nodes.
`_flow_paths` sends what is left where it lacks.
"""

from __future__ import annotations

import numpy as np

from tacit.oracles._assignment_kernel import jit, jit_inner

__all__ = ["ascend", "certify", "fit", "incidence", "parts", "surplus"]

# More than the rounding in a reduced cost and in the arc's cost itself, over the size of the terms.
ROUNDING = 2.0**-51


@jit
def incidence(tail, head, cap, n_nodes):  # type: ignore[no-untyped-def]
    """Arcs of each node: arc e as e where it leaves, as -1 - e where it enters.

    Loops and arcs without capacity are left out: no path takes them.
    """
    first = np.zeros(n_nodes + 2, np.int64)
    for e in range(len(tail)):
        if cap[e] > 0 and tail[e] != head[e]:
            first[tail[e] + 2] += 1
            first[head[e] + 2] += 1
    for v in range(2, n_nodes + 2):
        first[v] += first[v - 1]
    arcs = np.empty(first[n_nodes + 1], np.int32)
    for e in range(len(tail)):
        if cap[e] > 0 and tail[e] != head[e]:
            arcs[first[tail[e] + 1]] = e
            first[tail[e] + 1] += 1
            arcs[first[head[e] + 1]] = -1 - e
            first[head[e] + 1] += 1
    return first[:-1], arcs


@jit
def parts(tail, head, first, arcs):  # type: ignore[no-untyped-def]
    """Return the number of the connected part of each node, and the size of each part."""
    n_nodes = len(first) - 1
    part, size = np.full(n_nodes, -1, np.int64), np.zeros(n_nodes, np.int64)
    stack, n_parts = np.empty(n_nodes, np.int64), 0
    for start in range(n_nodes):
        if part[start] >= 0:
            continue
        part[start], stack[0], left = n_parts, start, 1
        while left:
            left -= 1
            v = stack[left]
            size[n_parts] += 1
            for k in range(first[v], first[v + 1]):
                w = head[arcs[k]] if arcs[k] >= 0 else tail[-1 - arcs[k]]
                if part[w] < 0:
                    part[w], stack[left] = n_parts, w
                    left += 1
        n_parts += 1
    return part, size[:n_parts]


@jit
def surplus(tail, head, flow, supply):  # type: ignore[no-untyped-def]
    """Return what each node has too much: its supply and what enters, less what leaves."""
    excess = supply.copy()
    for e in range(len(tail)):
        excess[tail[e]] -= flow[e]
        excess[head[e]] += flow[e]
    return excess


@jit
def fit(tail, head, cap, cost, pi, flow, excess):  # type: ignore[no-untyped-def]
    """Fill arcs of negative reduced cost, empty those of positive; return the excess in all.

    Where rounding decides the sign, the flow stays as it is.
    """
    for e in range(len(tail)):
        c, p, q = cost[e], pi[tail[e]], pi[head[e]]
        reduced, slip = c + p - q, ROUNDING * (abs(c) + abs(p) + abs(q))
        change = -flow[e] if reduced > slip else cap[e] - flow[e] if reduced < -slip else 0
        if change != 0:
            excess[tail[e]] -= change
            excess[head[e]] += change
            flow[e] += change
    total = 0
    for v in range(len(excess)):
        total += max(excess[v], 0)
    return total


@jit
def ascend(tail, head, cap, supply, cost, pi, first, arcs, downwards):  # type: ignore[no-untyped-def]
    """Set each potential to its best given the others, nodes in order or in reverse.

    The lower the potential of v, the cheaper its arcs out and the dearer its arcs in: what would
    leave v less what would enter is a step function that falls as the potential rises. The best
    one is where it crosses the supply.
    """
    n_nodes = len(supply)
    most = 0
    for v in range(n_nodes):
        most = max(most, first[v + 1] - first[v])
    point, weight = np.empty(most), np.empty(most, np.int64)
    for i in range(n_nodes):
        v = n_nodes - 1 - i if downwards else i
        size, need = 0, -supply[v]
        for place in range(first[v], first[v + 1]):
            e = arcs[place]
            if e >= 0:
                point[size], weight[size] = pi[head[e]] - cost[e], cap[e]
                need += cap[e]
            else:
                e = -1 - e
                point[size], weight[size] = pi[tail[e]] + cost[e], cap[e]
            size += 1
        if size:
            pi[v] = _crossing(point[:size], weight[:size], need)


@jit_inner
def _crossing(point, weight, need):  # type: ignore[no-untyped-def]
    """First point at which the weights up to it reach `need`; if exactly, halfway to the next.

    The last point if all weights are too little. Reorders both (Hoare's find, by weight).
    """
    low, high, passed = 0, len(point) - 1, 0  # `passed`: weight before `low`
    while low < high:
        a, b, c = point[low], point[(low + high) >> 1], point[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while point[i] < pivot:
                i += 1
            while point[j] > pivot:
                j -= 1
            if i <= j:
                point[i], point[j] = point[j], point[i]
                weight[i], weight[j] = weight[j], weight[i]
                i += 1
                j -= 1
        # low .. j are at most the pivot, i .. high at least; one between them equals it.
        upto = passed
        for k in range(low, j + 1):
            upto += weight[k]
        if need <= upto:
            high = j
            continue
        for k in range(j + 1, i):
            upto += weight[k]
        if need <= upto:
            low = high = j + 1
        else:
            low, passed = i, upto
    reached = 0
    for k in range(low + 1):
        reached += weight[k]
    here = point[low]
    if reached != need or low + 1 == len(point):
        return here
    following = np.inf
    for k in range(low + 1, len(point)):
        following = min(following, point[k])
    return 0.5 * (here + following)


@jit
def certify(tail, head, cap, cost, pi, flow):  # type: ignore[no-untyped-def]
    """Return a gap such that no flow costs less than this one minus the gap, and its size.

    At any potentials the cost of a flow x exceeds the dual bound by the sum over the arcs of r x
    where r > 0 and of -r (cap - x) where r < 0, r the reduced cost: terms that are zero at the
    optimum, so that nothing cancels. Each is taken as large as the rounding in r allows.
    """
    gap = size = 0.0
    for e in range(len(tail)):
        c, p, q, x = cost[e], pi[tail[e]], pi[head[e]], flow[e]
        reduced, slip = c + p - q, ROUNDING * (abs(c) + abs(p) + abs(q))
        gap += max((reduced + slip) * x, (slip - reduced) * (cap[e] - x), 0.0)
        size += (abs(c) + abs(p) + abs(q)) * x
    return gap * (1.0 + len(tail) * ROUNDING), size
