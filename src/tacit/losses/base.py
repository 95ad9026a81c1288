"""What every loss offers, and the one-vs-all scheme that margin losses share.

=========  ===========  ==================================================================
symbol     shape        meaning
=========  ===========  ==================================================================
scores     (N, P)       classifier outputs; P = C, or 1 for two classes under one-vs-all
y          (N,)         integer class codes 0..C-1
V          (N, P)       the point a prox is taken at
tau        () or (N,)   prox step (1/rho, times the row's weight)
dual       (N, P)       a slope of the loss in the scores
=========  ===========  ==================================================================

All formulas are written against the array's own namespace, so numpy and torch share them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from array_api_compat import device

from tacit.backends import Array, array_namespace

__all__ = ["Loss", "MarginLoss", "one_hot", "per_row", "signs"]


def one_hot(y: Array, n_columns: int, like: Array) -> Array:
    """Rows of the identity, (N, P), in the dtype of `like`."""
    xp = array_namespace(like)
    columns = xp.arange(n_columns, dtype=y.dtype, device=device(like))
    return xp.astype(y[:, None] == columns[None, :], like.dtype)


def signs(y: Array, n_columns: int, like: Array) -> Array:
    """Return +1 in the row's own class and -1 elsewhere; one column holds +1 for class 1."""
    if n_columns == 1:
        xp = array_namespace(like)
        return xp.astype(2 * y[:, None] - 1, like.dtype)
    return 2.0 * one_hot(y, n_columns, like) - 1.0


def per_row(tau: Array | float, like: Array) -> Array:
    """Return a step as () or (N, 1), so that it broadcasts over columns, in the dtype of `like`.

    The cast matters: a float64 scalar or step per row would turn float32 scores into float64.
    """
    xp = array_namespace(like)
    tau = xp.asarray(tau, dtype=like.dtype, device=device(like))
    return tau[:, None] if tau.ndim == 1 else tau


class Loss(ABC):
    """A convex function of a row's scores for each of its possible labels.

    Subclasses state `name`, `kinks` (where the loss, as a function of its own argument, has no
    derivative; the suites sample around them) and `smooth`.
    """

    name: ClassVar[str]
    kinks: ClassVar[tuple[float, ...]] = ()
    smooth: ClassVar[bool] = False
    probabilistic: ClassVar[bool] = False

    @abstractmethod
    def n_columns(self, n_classes: int) -> int:
        """Return how many score columns P the loss needs for `n_classes` classes."""

    @abstractmethod
    def value(self, scores: Array, y: Array) -> Array:
        """Loss of each row for its label, (N,)."""

    @abstractmethod
    def table(self, scores: Array) -> Array:
        """Loss of each row for every label, (N, C)."""

    @abstractmethod
    def gradient(self, scores: Array, y: Array) -> Array:
        """Gradient of `value` in the scores, (N, P); a subgradient at kinks."""

    @abstractmethod
    def prox(self, V: Array, tau: Array | float, y: Array) -> Array:
        """argmin_u tau * loss(y, u) + |u - V|^2 / 2, row by row, (N, P)."""

    @abstractmethod
    def prox_jacobian(self, V: Array, tau: Array | float, y: Array) -> Array:
        """Jacobian of `prox` in V, symmetric with eigenvalues in [0, 1]; one of several at kinks.

        The identity where tau = 0. (N, P, P), or its diagonal (N, P) for a `MarginLoss`.
        """

    @abstractmethod
    def envelope(self, V: Array, tau: Array | float) -> Array:
        """min_u tau * loss(c, u) + |u - V|^2 / 2 for every label c, (N, C).

        Divided by tau this is the Moreau envelope; undivided it stays finite for tau = 0
        (a row of weight zero).
        """

    @abstractmethod
    def conjugate(self, dual: Array, y: Array) -> Array:
        """sup_u <dual, u> - loss(y, u), (N,); +inf outside its domain."""

    @abstractmethod
    def project_dual(self, dual: Array, y: Array) -> Array:
        """Return a nearby point of the conjugate's domain, (N, P): undoes rounding errors."""

    def predict_proba(self, scores: Array) -> Array:
        """Class probabilities, (N, C); only where `probabilistic` is true."""
        raise AttributeError(f"loss {self.name!r} gives no probabilities")

    @classmethod
    def examples(cls) -> list[Loss]:
        """Instances on which the conformance suite runs."""
        return [cls()]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MarginLoss(Loss):
    r"""One-vs-all: :math:`\ell(y, s) = \sum_c \varphi(t_c s_c)`, t = +1 for the own class, else -1.

    Two classes need one column only, :math:`\varphi(\pm s)`, as in scikit-learn. A member
    writes the scalar function `phi` and its derivative, prox and conjugate.

    Notes
    -----
    The table of all labels costs two prox evaluations per entry, not C: with e+ and e- the
    envelopes for t = +1 and -1, label j costs e+_j + sum_{c != j} e-_c.

    Equation: (13) in 004
    """

    @abstractmethod
    def phi(self, z: Array) -> Array:
        """Value of the scalar loss at the margin z."""

    @abstractmethod
    def phi_slope(self, z: Array) -> Array:
        """Return the derivative of `phi`; a subgradient at kinks."""

    @abstractmethod
    def phi_prox(self, v: Array, tau: Array | float) -> Array:
        """argmin_z tau * phi(z) + (z - v)^2 / 2."""

    @abstractmethod
    def phi_prox_slope(self, v: Array, tau: Array | float) -> Array:
        """Return the derivative of `phi_prox` in v; one of several at kinks, 1 where tau = 0."""

    @abstractmethod
    def phi_conjugate(self, s: Array) -> Array:
        """sup_z s z - phi(z); +inf outside its domain."""

    @abstractmethod
    def phi_project_dual(self, s: Array) -> Array:
        """Nearest slope at which the conjugate is finite."""

    def n_columns(self, n_classes: int) -> int:  # noqa: D102
        return 1 if n_classes == 2 else n_classes

    def value(self, scores: Array, y: Array) -> Array:  # noqa: D102
        xp = array_namespace(scores)
        return xp.sum(self.phi(signs(y, scores.shape[1], scores) * scores), axis=1)

    def table(self, scores: Array) -> Array:  # noqa: D102
        return _all_labels(self.phi(scores), self.phi(-scores))

    def gradient(self, scores: Array, y: Array) -> Array:  # noqa: D102
        t = signs(y, scores.shape[1], scores)
        return t * self.phi_slope(t * scores)

    def prox(self, V: Array, tau: Array | float, y: Array) -> Array:  # noqa: D102
        t = signs(y, V.shape[1], V)
        return t * self.phi_prox(t * V, per_row(tau, V))

    def prox_jacobian(self, V: Array, tau: Array | float, y: Array) -> Array:
        """Diagonal of the prox's Jacobian in V, (N, P)."""
        return self.phi_prox_slope(signs(y, V.shape[1], V) * V, per_row(tau, V))

    def envelope(self, V: Array, tau: Array | float) -> Array:  # noqa: D102
        tau = per_row(tau, V)
        return _all_labels(self._phi_envelope(V, tau), self._phi_envelope(-V, tau))

    def conjugate(self, dual: Array, y: Array) -> Array:  # noqa: D102
        xp = array_namespace(dual)
        return xp.sum(self.phi_conjugate(signs(y, dual.shape[1], dual) * dual), axis=1)

    def project_dual(self, dual: Array, y: Array) -> Array:  # noqa: D102
        t = signs(y, dual.shape[1], dual)
        return t * self.phi_project_dual(t * dual)

    def _phi_envelope(self, v: Array, tau: Array | float) -> Array:
        z = self.phi_prox(v, tau)
        return tau * self.phi(z) + 0.5 * (z - v) ** 2


def _all_labels(own: Array, other: Array) -> Array:
    """Cost of every label (N, C) from the columns' costs as own class and as another class."""
    xp = array_namespace(own)
    if own.shape[1] == 1:
        return xp.concat((other, own), axis=1)
    # The other columns are added from both sides, not by subtracting the own one from the sum of
    # all: other_c may exceed the rest by more digits than the dtype has.
    return own + _sum_before(other) + xp.flip(_sum_before(xp.flip(other, axis=1)), axis=1)


def _sum_before(costs: Array) -> Array:
    """Sum of the columns left of each column, (N, C)."""
    xp = array_namespace(costs)
    return xp.cumulative_sum(costs, axis=1, include_initial=True)[:, :-1]
