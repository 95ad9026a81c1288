"""Solvers of the joint problem; `solve` is what the estimators call."""

from tacit.solvers.kernel_kmeans import assign, cluster
from tacit.solvers.solve import SOLVERS, solve

__all__ = ["SOLVERS", "assign", "cluster", "solve"]
