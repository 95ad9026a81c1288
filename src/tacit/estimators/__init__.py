"""The scikit-learn surface."""

from tacit.estimators.hint_classifier import HintClassifier
from tacit.estimators.hint_kmeans import HintKMeans

__all__ = ["HintClassifier", "HintKMeans"]
