"""The solves with 2 nu I + rho K."""

from tacit.linalg.base import ScoreSpace
from tacit.linalg.choose import EIGEN_LIMIT, GRAM_LIMIT, feature_space, kernel_space
from tacit.linalg.features import IterativeSpace, LinearSpace, WideSpace
from tacit.linalg.kernel import EigenSpace, GramSpace
from tacit.linalg.lowrank import LowRankSpace, low_rank

__all__ = [
    "EIGEN_LIMIT",
    "GRAM_LIMIT",
    "EigenSpace",
    "GramSpace",
    "IterativeSpace",
    "LinearSpace",
    "LowRankSpace",
    "ScoreSpace",
    "WideSpace",
    "feature_space",
    "kernel_space",
    "low_rank",
]
