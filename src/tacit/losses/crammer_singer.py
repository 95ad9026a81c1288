"""Crammer and Singer's multiclass hinge loss."""

from __future__ import annotations

from array_api_compat import device

from tacit.backends import Array, array_namespace, clip
from tacit.losses._simplex import SimplexLoss, diagonal, pick
from tacit.losses.base import one_hot, per_row

__all__ = ["CrammerSinger"]


class CrammerSinger(SimplexLoss):
    r"""Multiclass hinge loss, :math:`\ell(y, s) = \max_j (s_j + [j \neq y]) - s_y`.

    Notes
    -----
    With z_j = V_j + 1 for the other classes and a level mu, the prox is u_y = min(V_y + tau, mu)
    and u_j = min(V_j, mu - 1): scores above the level are cut, and the own score takes what was
    cut off, at most tau. With cs_k the sum of the k largest z,

        mu = max_{k >= 0} (V_y + cs_k) / (k + 1)        if that is at most V_y + tau,
        mu = max_{k >= 1} (cs_k - tau) / k              otherwise,

    so tau is never added to what it is later taken from. The conjugate is -(1 - q_y) for
    q = dual + e_y on the simplex.

    Equation: (11) in 000
    """

    name = "crammer_singer"
    # Where the margin to another class is one; ties between other classes above it are kinks too.
    kinks = (1.0,)

    def table(self, scores: Array) -> Array:  # noqa: D102
        xp = array_namespace(scores)
        first = xp.argmax(scores, axis=1)[:, None] == _columns(scores)
        highest = xp.max(scores, axis=1, keepdims=True)
        second = xp.max(xp.where(first, -xp.inf, scores), axis=1, keepdims=True)
        rival = xp.where(first, second, highest)
        return clip(rival - scores + 1.0, min=0.0)

    def gradient(self, scores: Array, y: Array) -> Array:  # noqa: D102
        xp = array_namespace(scores)
        own = one_hot(y, scores.shape[1], scores)
        winner = xp.argmax(scores + (1.0 - own), axis=1)
        return one_hot(winner, scores.shape[1], scores) - own

    def prox(self, V: Array, tau: Array | float, y: Array) -> Array:  # noqa: D102
        xp = array_namespace(V)
        tau = per_row(tau, V)
        own, level = _own_and_level(V, tau, y)
        return xp.where(own, xp.minimum(V + tau, level), xp.minimum(V, level - 1.0))

    def prox_jacobian(self, V: Array, tau: Array | float, y: Array) -> Array:
        """Identity, but the mean among the scores that the level ties together."""
        xp = array_namespace(V)
        tau = per_row(tau, V)
        own, level = _own_and_level(V, tau, y)
        tied = xp.where(own, level < V + tau, level - 1.0 < V) & (tau > 0.0)
        tied = xp.astype(tied, V.dtype)
        mean = tied / clip(xp.sum(tied, axis=1, keepdims=True), min=1.0)
        return diagonal(1.0 - tied) + tied[:, :, None] * mean[:, None, :]

    def envelope(self, V: Array, tau: Array | float) -> Array:  # noqa: D102
        xp = array_namespace(V)
        tau = per_row(tau, V)
        descending, rank = _sorted(V)
        columns = []
        # One label at a time: all at once would need an (N, C, C) array.
        for c in range(V.shape[1]):
            z = _others(descending, rank[:, c : c + 1]) + 1.0
            columns.append(_cost(V[:, c : c + 1], z, tau))
        return xp.stack(columns, axis=1)

    def _conjugate_inside(self, dual: Array, own: Array) -> Array:
        xp = array_namespace(dual)
        # -(1 - q_y) = dual_y.
        return xp.sum(xp.where(own, dual, 0.0), axis=1)


def _own_and_level(V: Array, tau: Array, y: Array) -> tuple[Array, Array]:
    """Return where the own class is, (N, P), and mu, (N, 1)."""
    xp = array_namespace(V)
    own = one_hot(y, V.shape[1], V) > 0.0
    descending, rank = _sorted(V)
    rank = xp.sum(xp.where(own, rank, 0), axis=1, keepdims=True)
    return own, _level(pick(V, y)[:, None], _others(descending, rank) + 1.0, tau)


def _columns(like: Array) -> Array:
    """Return the column numbers as (1, P)."""
    xp = array_namespace(like)
    return xp.arange(like.shape[1], device=device(like))[None, :]


def _sorted(V: Array) -> tuple[Array, Array]:
    """Rows in descending order, (N, C), and each entry's position in it, (N, C)."""
    xp = array_namespace(V)
    rank = xp.argsort(xp.argsort(V, axis=1, descending=True), axis=1)
    return xp.sort(V, axis=1, descending=True), rank


def _others(descending: Array, rank: Array) -> Array:
    """Drop the entry at position `rank` (N, 1) of each row, (N, C - 1)."""
    xp = array_namespace(descending)
    before = _columns(descending)[:, :-1] < rank
    return xp.where(before, descending[:, :-1], descending[:, 1:])


def _level(v_own: Array, z: Array, tau: Array) -> Array:
    """Return mu, (N, 1), from the own score (N, 1) and the others plus one, descending."""
    xp = array_namespace(z)
    k = xp.arange(1, z.shape[1] + 1, dtype=z.dtype, device=device(z))
    sums = xp.cumulative_sum(z, axis=1)
    free = xp.max((v_own + sums) / (k + 1.0), axis=1, keepdims=True)
    free = xp.maximum(v_own, free)
    full = xp.max((sums - tau) / k, axis=1, keepdims=True)
    return xp.where(free <= v_own + tau, free, full)


def _cost(v_own: Array, z: Array, tau: Array) -> Array:
    """Return tau * loss + |u - V|^2 / 2 at the prox, (N,)."""
    xp = array_namespace(z)
    level = _level(v_own, z, tau)
    u_own = xp.minimum(v_own + tau, level)
    cut = clip(z - level, min=0.0)
    cost = tau * (level - u_own) + 0.5 * (u_own - v_own) ** 2
    return cost[:, 0] + 0.5 * xp.sum(cut**2, axis=1)
