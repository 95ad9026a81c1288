"""Choosing settings from labelled rows and hints alone."""

from tacit.model_selection.folds import HintFolds
from tacit.model_selection.scoring import cross_val_hints, log_likelihood
from tacit.model_selection.search import HintSearchCV

__all__ = ["HintFolds", "HintSearchCV", "cross_val_hints", "log_likelihood"]
