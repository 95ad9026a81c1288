"""Kernels and feature maps."""

from tacit.features.kernels import KERNELS, Kernel
from tacit.features.maps import (
    FeatureMap,
    FourierMap,
    KernelMap,
    LinearMap,
    NystroemMap,
    make_map,
)

__all__ = [
    "KERNELS",
    "FeatureMap",
    "FourierMap",
    "Kernel",
    "KernelMap",
    "LinearMap",
    "NystroemMap",
    "make_map",
]
