"""All labels given: the same classifier as scikit-learn's, on the training and on 2000 new rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from tacit import HintClassifier
from tacit.datasets import make_four_moons
from tacit.features import Kernel

OBJECTIVE, AGREE = 1e-3, 0.995


@pytest.fixture(scope="module")
def data():
    X, y = make_four_moons(400, "chain", noise=0.25, random_state=0)
    X_new, y_new = make_four_moons(2000, "chain", noise=0.25, random_state=1)
    return X, y, X_new, y_new


def svc_without_intercept(K, K_new, t, C):
    """SVC on every row and its mirror image, which leaves no room for an intercept.

    Returns the dual objective for one copy of the rows and the scores of new rows; t is -1 or +1.
    """
    both = np.block([[K, -K], [-K, K]])
    svc = SVC(kernel="precomputed", C=C / 2, tol=1e-6).fit(both, np.concatenate([t, -t]))
    alpha = np.zeros(len(both))
    alpha[svc.support_] = svc.dual_coef_[0]
    assert abs(svc.intercept_[0]) < 1e-3
    dual = np.abs(alpha).sum() - 0.5 * alpha @ both @ alpha
    return dual, np.hstack([K_new, -K_new]) @ alpha


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("gamma", [0.5, 4.0])
def test_two_classes_are_svc(data, gamma, C):
    X, y, X_new, y_new = data
    y, kernel = y % 2, Kernel("rbf", gamma)
    dual, scores = svc_without_intercept(kernel(X, X), kernel(X_new, X), 2 * y - 1, C)
    clf = HintClassifier(gamma=gamma, C=C).fit(X, y)
    assert C * clf.objective_ == pytest.approx(dual, rel=OBJECTIVE)
    assert np.mean((scores > 0) == clf.predict(X_new)) >= AGREE
    given = HintClassifier(kernel="precomputed", C=C).fit(kernel(X, X), y)
    assert given.objective_ == pytest.approx(clf.objective_, rel=OBJECTIVE)
    assert np.mean(given.predict(kernel(X_new, X)) == clf.predict(X_new)) >= AGREE
    assert np.mean(clf.predict(X_new) == y_new % 2) > 0.8  # something was learned


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_four_classes_are_svc_one_against_all(data, C):
    X, y, X_new, _ = data
    kernel = Kernel("rbf", 4.0)
    parts = [
        svc_without_intercept(kernel(X, X), kernel(X_new, X), np.where(y == c, 1, -1), C)
        for c in range(4)
    ]
    clf = HintClassifier(gamma=4.0, C=C).fit(X, y)
    assert C * clf.objective_ == pytest.approx(sum(dual for dual, _ in parts), rel=OBJECTIVE)
    theirs = np.argmax([scores for _, scores in parts], axis=0)
    assert np.mean(theirs == clf.predict(X_new)) >= AGREE


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize(("loss", "n_classes"), [("logistic", 2), ("softmax", 4)])
def test_smooth_losses_are_logistic_regression(data, loss, n_classes, C):
    X, y, X_new, _ = data
    y = y % n_classes
    theirs = LogisticRegression(C=C, fit_intercept=False, tol=1e-8, max_iter=10_000).fit(X, y)
    proba = theirs.predict_proba(X)[np.arange(len(y)), y]
    objective = -np.log(proba).sum() + (theirs.coef_**2).sum() / (2 * C)
    clf = HintClassifier(loss=loss, kernel="linear", C=C).fit(X, y)
    assert clf.objective_ == pytest.approx(objective, rel=OBJECTIVE)
    assert np.mean(theirs.predict(X_new) == clf.predict(X_new)) >= AGREE
    np.testing.assert_allclose(
        clf.predict_proba(X_new), theirs.predict_proba(X_new), atol=5 * OBJECTIVE
    )
