"""scikit-learn's own checks of the estimators, for losses, kernels, solvers, starts, weights."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

from tacit import HintClassifier, HintClusterer, HintKMeans, HintRanker
from tacit.losses import LOSSES

CONFIGURATIONS = [
    HintClassifier(),
    *(HintClassifier(loss=loss) for loss in LOSSES if loss != "hinge"),
    HintClassifier(kernel="linear"),
    HintClassifier(approximation="nystroem"),
    HintClassifier(approximation="fourier"),
    HintClassifier(approximation="lowrank"),
    HintClassifier(fit_intercept=True, label_weight=10.0),
    HintClassifier(solver="em"),
    HintClassifier(solver="sdp", loss="softmax"),
    HintClassifier(solver="inductive"),
    HintClassifier(C=100.0),
    HintClassifier(C=0.01),
    HintKMeans(),
    HintKMeans(3),
    HintKMeans(kernel="rbf"),
    HintKMeans(kernel="poly", degree=2),
    HintKMeans(init="random"),
    HintKMeans(n_init=3, tol=1e-3),
    HintClusterer(),
    HintClusterer(3, solver="em"),
    HintRanker(max_pairs=2000),
]
# Needs an environment variable that changes SciPy for the whole process.
MAY_SKIP = {"check_array_api_input"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
# The checks give y of up to four classes, all rows labelled, to any number of clusters.
@pytest.mark.filterwarnings("ignore:n_clusters=. but y and the hints name:UserWarning")
@pytest.mark.filterwarnings("ignore:no row is in cluster:UserWarning")
@pytest.mark.parametrize("estimator", CONFIGURATIONS, ids=str)
def test_check_estimator(estimator):
    results = check_estimator(estimator, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    skipped = {r["check_name"] for r in results if r["status"] != "passed"}
    assert skipped <= MAY_SKIP
    if isinstance(estimator, HintClusterer | HintRanker):  # rows have no weights, pairs have
        return
    weights = [r for r in results if "sample_weight_equivalence" in r["check_name"]]
    assert len(weights) == 2, "scikit-learn no longer compares weights with repeated rows"
