"""Convex lower bounds of the joint problem, certificates, and exact solutions.

`BranchAndBound` finds the best labeling of two classes, with its proof; `certify` says how far an
answer is from the best one.
"""

from tacit.convex.branch_and_bound import RULES, BranchAndBound
from tacit.convex.certify import Certifiable, certificate, certify

__all__ = ["RULES", "BranchAndBound", "Certifiable", "certificate", "certify"]
