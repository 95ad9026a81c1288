"""Convex extensions of losses with unknown labels, certificates, and exact solutions.

`extension` gives the convex functions of parameters and labels; `BranchAndBound` finds the best
labeling of two classes, with its proof; `certify` says how far an answer is from the best one.
"""

from tacit.convex import plot
from tacit.convex.base import Extension
from tacit.convex.branch_and_bound import RULES, BranchAndBound
from tacit.convex.certify import Certifiable, certificate, certify
from tacit.convex.extension import extension
from tacit.convex.perspective import tightest

__all__ = [
    "RULES",
    "BranchAndBound",
    "Certifiable",
    "Extension",
    "certificate",
    "certify",
    "extension",
    "plot",
    "tightest",
]
