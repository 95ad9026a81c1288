"""The scikit-learn surface."""

from tacit.estimators.hint_classifier import HintClassifier

__all__ = ["HintClassifier"]
