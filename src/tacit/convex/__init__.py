"""Convex extensions of losses with unknown labels: lower bounds on what any labels can reach."""

from tacit.convex import plot
from tacit.convex.base import Extension
from tacit.convex.extension import extension
from tacit.convex.perspective import tightest

__all__ = ["Extension", "extension", "plot", "tightest"]
