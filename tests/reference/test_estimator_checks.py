"""scikit-learn's own checks of an estimator, for the losses, kernels, solvers and weights."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

from tacit import HintClassifier
from tacit.losses import LOSSES

CONFIGURATIONS = [
    {},
    *({"loss": loss} for loss in LOSSES if loss != "hinge"),
    {"kernel": "linear"},
    {"approximation": "nystroem"},
    {"approximation": "fourier"},
    {"solver": "em"},
    {"C": 100.0},
    {"C": 0.01},
]
# Needs an environment variable that changes SciPy for the whole process.
MAY_SKIP = {"check_array_api_input"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("parameters", CONFIGURATIONS, ids=str)
def test_check_estimator(parameters):
    results = check_estimator(HintClassifier(**parameters), on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    skipped = {r["check_name"] for r in results if r["status"] != "passed"}
    assert skipped <= MAY_SKIP
    weights = [r for r in results if "sample_weight_equivalence" in r["check_name"]]
    assert len(weights) == 2, "scikit-learn no longer compares weights with repeated rows"
