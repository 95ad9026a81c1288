"""tacit: learning from labels that were never stated, only known about."""

from tacit import convex, datasets, hints, losses, oracles
from tacit.convex import certify
from tacit.estimators import HintClassifier, HintClusterer, HintKMeans, HintRanker
from tacit.exceptions import (
    CollapseWarning,
    DamagedFile,
    InfeasibleHints,
    MissingData,
    NoOracle,
    NotConverged,
    NotEnoughMemory,
    TacitError,
)
from tacit.persistence import load, save
from tacit.problem import ClusterProblem, Problem
from tacit.result import Certificate, Clustering, History, Iteration, Solution, Status
from tacit.solvers import solve

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "ClusterProblem",
    "Clustering",
    "CollapseWarning",
    "DamagedFile",
    "HintClassifier",
    "HintClusterer",
    "HintKMeans",
    "HintRanker",
    "History",
    "InfeasibleHints",
    "Iteration",
    "MissingData",
    "NoOracle",
    "NotConverged",
    "NotEnoughMemory",
    "Problem",
    "Solution",
    "Status",
    "TacitError",
    "certify",
    "convex",
    "datasets",
    "hints",
    "load",
    "losses",
    "oracles",
    "save",
    "solve",
]
