"""Tensors in, tensors on their device: every formula gives what numpy gives.

`make test-gpu` runs this file on a GPU; otherwise the device is the processor.
"""

import os

import numpy as np
import pytest
import torch

from tacit import HintClassifier, Problem, hints, oracles, solve
from tacit.backends import to_numpy
from tacit.datasets import make_batches, make_four_moons
from tacit.features import Kernel
from tacit.linalg import feature_space, kernel_space
from tacit.losses import LOSSES, get_loss

DEVICE = os.environ.get("TACIT_TEST_DEVICE", "cpu")
# Polished to this gap: numpy's arrays, if few, go to a Newton method that ends at rounding.
TOL = 1e-2


@pytest.fixture(scope="module", autouse=True)
def device():
    if DEVICE == "cuda" and not torch.cuda.is_available():
        pytest.fail("TACIT_TEST_DEVICE=cuda, but torch finds no GPU here.")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small arrays gain nothing from more
    yield DEVICE
    torch.set_num_threads(threads)


def there(array):
    return torch.from_numpy(np.array(array)).to(DEVICE)


def close(tensor, array, tol=1e-10):
    assert tensor.device.type == torch.device(DEVICE).type
    np.testing.assert_allclose(to_numpy(tensor), array, rtol=tol, atol=tol)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("classes", [2, 4])
def test_tables_and_proxes(name, classes):
    loss, rng = get_loss(name), np.random.default_rng(0)
    V = rng.normal(size=(30, loss.n_columns(classes)), scale=3.0)
    step, labels = rng.uniform(0.01, 10.0, 30), rng.integers(0, classes, 30)
    close(loss.envelope(there(V), there(step)), loss.envelope(V, step))
    close(loss.prox(there(V), there(step), there(labels)), loss.prox(V, step, labels))
    close(loss.value(there(V), there(labels)), loss.value(V, labels))
    close(loss.table(there(V)), loss.table(V))


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_kernels(name):
    X, Z = (np.random.default_rng(s).normal(size=(20, 3)) for s in (0, 1))
    kernel = Kernel(name, gamma=0.5)
    close(kernel(there(X), there(Z)), kernel(X, Z))
    close(kernel.gram(there(X)), kernel.gram(X))


@pytest.mark.parametrize("kind", ["eigen", "linear", "wide"])
def test_alpha_steps(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 60 if kind == "wide" else 4))
    T = rng.normal(size=(30, 3))
    make = (lambda A: kernel_space(A @ A.T, np.random.default_rng(0))) if kind == "eigen" else None
    for rho in (1e-2, 1.0, 30.0):
        F, coef = (make or feature_space)(X).project(T, rho, 0.5)
        found, weights = (make or feature_space)(there(X)).project(there(T), rho, 0.5)
        close(found, F, 1e-9)
        close(weights, coef, 1e-7)


def test_separable_steps_stay_there():
    known = hints.Not(np.arange(20), np.arange(20) % 3)
    program = known.compile(20, Problem(np.zeros((20, 1)), known, classes=range(3)).codes)
    cost = np.random.default_rng(0).normal(size=(20, 3))
    oracle = oracles.select_oracle(program).oracle(program)
    assert oracle.anywhere
    close(oracle.solve(there(cost)).labels, oracle.solve(cost).labels)


def moons(n=80):
    X, y = make_four_moons(n, "grid", random_state=0)
    return X, y, make_batches(y, 10, 10, 1, random_state=0)


@pytest.mark.parametrize("loss", ["hinge", "crammer_singer", "softmax"])
@pytest.mark.parametrize("solver", ["admm", "em"])
def test_fits(loss, solver):
    X, _, known = moons(60)
    given = {"loss": loss, "gamma": 4.0, "classes": range(4)}
    how = {"n_init": 1, "n_reheats": 0, "tol": TOL, "random_state": 0}
    here = solve(Problem(X, known, **given), solver, **how)
    found = solve(Problem(there(X), known, **given), solver, **how)
    assert (found.labels == here.labels).all()
    assert found.objective == pytest.approx(here.objective, rel=TOL)
    assert found.fixed_bound <= found.objective


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("approximation", [None, "lowrank", "nystroem"])
def test_models_predict_as_in_numpy(kernel, approximation):
    X, y, known = moons()
    given = {"kernel": kernel, "gamma": 1.0, "approximation": approximation, "n_components": 30}
    here, far = (
        HintClassifier(range(4), random_state=0, n_init=1, n_reheats=0, tol=TOL, **given)
        for _ in range(2)
    )
    here.fit(X, hints=known)
    far.fit(there(X), hints=known)
    assert far.objective_ == pytest.approx(here.objective_, rel=2.0 * TOL)
    assert np.mean(far.predict(X) == here.predict(X)) > 0.95
    far.set_params(device=DEVICE).fit(X, y)  # the other way to a device
    assert far.score(X, y) > 0.8 or kernel != "rbf"
