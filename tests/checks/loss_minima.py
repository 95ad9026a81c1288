"""Losses with coupled scores written out, and minimisers, that share nothing with the package."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.special


def _crammer_singer(s, y):
    return np.max(s + (np.arange(len(s)) != y)) - s[y]


def _softmax(s, y):
    return scipy.special.logsumexp(s) - s[y]


def _crammer_singer_minimum(V, tau, y):
    """Every set of other classes at the top, with the own class there too or moved by tau."""
    others = [j for j in range(len(V)) if j != y]
    sets = [list(top) for k in range(len(V)) for top in itertools.combinations(others, k)]
    best = tau * _crammer_singer(V, y)
    for top in sets:
        raised = V[top] + 1.0
        level = (V[y] + np.sum(raised)) / (len(top) + 1)
        moves = [(level, level)]
        if top:
            moves.append((V[y] + tau, (np.sum(raised) - tau) / len(top)))
        for own, level in moves:
            u = V.copy()
            u[y], u[top] = own, level - 1.0
            best = min(best, tau * _crammer_singer(u, y) + 0.5 * np.sum((u - V) ** 2))
    return best


def _softmax_minimum(V, tau, y):
    """Damped Newton with the whole Hessian, along a sequence of growing steps."""
    own = (np.arange(len(V)) == y).astype(float)
    u = V
    for step in np.geomspace(min(tau, 1.0), tau, 9):
        u = _newton(u, V, step, own)
    return tau * _softmax(u, y) + 0.5 * np.sum((u - V) ** 2)


def _newton(u, V, tau, own):
    def cost(u):
        return tau * (np.log(np.sum(np.exp(u - u.max()))) + u.max() - own @ u) + (
            0.5 * np.sum((u - V) ** 2)
        )

    for _ in range(60):
        p = np.exp(u - u.max())
        p /= p.sum()
        hessian = tau * (np.diag(p) - np.outer(p, p)) + np.eye(len(V))
        step = np.linalg.solve(hessian, tau * (p - own) + u - V)
        while cost(u - step) > cost(u) and np.max(np.abs(step)) > 1e-9:
            step = 0.5 * step
        u = u - step
        if np.max(np.abs(step)) < 1e-9 * (1.0 + np.max(np.abs(u))):
            break
    return u


DEFINITIONS = {"crammer_singer": _crammer_singer, "softmax": _softmax}
REFERENCES = {"crammer_singer": _crammer_singer_minimum, "softmax": _softmax_minimum}
