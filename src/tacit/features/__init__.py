"""Kernels and feature maps."""

from tacit.features.distances import paired_distances, square_distances, square_norms
from tacit.features.kernels import KERNELS, Kernel
from tacit.features.maps import (
    APPROXIMATIONS,
    FeatureMap,
    FourierMap,
    KernelMap,
    LinearMap,
    NystroemMap,
    make_map,
    score,
)
from tacit.features.pairs import PAIR_KINDS, pair_features

__all__ = [
    "APPROXIMATIONS",
    "KERNELS",
    "PAIR_KINDS",
    "FeatureMap",
    "FourierMap",
    "Kernel",
    "KernelMap",
    "LinearMap",
    "NystroemMap",
    "make_map",
    "pair_features",
    "paired_distances",
    "score",
    "square_distances",
    "square_norms",
]
