"""The scikit-learn surface."""

from tacit.estimators.hint_classifier import HintClassifier
from tacit.estimators.hint_clusterer import HintClusterer
from tacit.estimators.hint_kmeans import HintKMeans
from tacit.estimators.hint_ranker import HintRanker

__all__ = ["HintClassifier", "HintClusterer", "HintKMeans", "HintRanker"]
