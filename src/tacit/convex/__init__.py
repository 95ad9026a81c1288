"""Convex lower bounds of the joint problem, certificates, and exact solutions.

`branch_and_bound` finds the best labeling of two classes, with its proof.
"""

from tacit.convex.branch_and_bound import RULES, BranchAndBound

__all__ = ["RULES", "BranchAndBound"]
