"""Choosing settings from labelled rows and hints alone."""

from tacit.model_selection.folds import HintFolds
from tacit.model_selection.likelihood import calibrated_likelihood
from tacit.model_selection.scoring import cross_val_hints
from tacit.model_selection.search import HintSearchCV

__all__ = ["HintFolds", "HintSearchCV", "calibrated_likelihood", "cross_val_hints"]
