"""Where the default solver ends: a discrete-continuous critical point, (24) to (26) of 004.

The scores are K alpha (26), the multiplier -2 nu alpha (25) is a subgradient of the losses at the
labels (24), and the labels minimise the discrete step at these scores.
"""

import numpy as np
import pytest

from tacit import Problem, Status, hints, solve
from tacit.datasets import make_batches, make_four_moons, make_links
from tacit.losses import LOSSES
from tacit.oracles import select_oracle

GAP = 1e-4


def known(kind, y):
    if kind == "counts":
        return make_batches(y, 15, 15, 1, random_state=0)
    if kind == "links":
        return make_links(y, 5.0, random_state=0)
    return hints.Not(np.arange(len(y)), (y + 1) % 4) + hints.Share(0.2, 0.3)


def subgradient(loss, alpha, labels, nu):
    """The multiplier, and as near to it as slopes of the losses can be."""
    dual = -2.0 * nu * alpha
    return dual, loss.project_dual(dual, labels)


@pytest.mark.parametrize("kind", ["counts", "links", "shares"])
@pytest.mark.parametrize("loss", LOSSES)
def test_conditions_of_the_paper(loss, kind):
    X, y = make_four_moons(120, "grid", random_state=1)
    problem = Problem(X, known(kind, y), loss=loss, gamma=8.0, classes=range(4))
    found = solve(problem, random_state=0, n_init=1, n_reheats=3)
    assert found.status is Status.CONVERGED
    alpha, labels, f = found.coef, found.labels, problem.loss_
    square = np.sum(X**2, axis=1)
    K = np.exp(-8.0 * (square[:, None] + square - 2.0 * X @ X.T))
    F = K @ alpha
    np.testing.assert_allclose(F, found.scores, atol=1e-8)  # (26)

    dual, slopes = subgradient(f, alpha, labels, problem.nu_)  # (25)
    assert np.abs(dual - slopes).max() <= 1e-3  # units of a row's loss
    young = f.value(F, labels) + f.conjugate(slopes, labels) - np.sum(F * slopes, axis=1)
    assert young.min() >= -1e-10
    fit = found.objective - found.hint_cost
    assert young.sum() <= GAP * fit  # (24), in sum

    # The same as a duality gap: what `tol` is about.
    bound = -f.conjugate(slopes, labels).sum() - np.sum(slopes * (K @ slopes)) / (4 * problem.nu_)
    assert found.objective - (bound + found.hint_cost) <= 2.0 * GAP * fit
    assert found.fixed_gap <= GAP

    step = select_oracle(problem.program).oracle(problem.program).solve(f.table(F))
    here = f.value(F, labels).sum() + problem.program.value(labels)
    assert here <= step.value + GAP * fit
