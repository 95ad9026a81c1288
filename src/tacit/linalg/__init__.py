"""The solves with 2 nu I + rho K."""

from tacit.linalg.spaces import (
    CholeskySpace,
    EigenSpace,
    IterativeSpace,
    LinearSpace,
    ScoreSpace,
    WideSpace,
    feature_space,
    kernel_space,
)

__all__ = [
    "CholeskySpace",
    "EigenSpace",
    "IterativeSpace",
    "LinearSpace",
    "ScoreSpace",
    "WideSpace",
    "feature_space",
    "kernel_space",
]
