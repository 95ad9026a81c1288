"""Hints: what is known about the labels.

One file per kind of hint; `KINDS` lists every member by its name in files. Hints are values:
they combine with ``+``, restrict to rows, and round-trip through files.
"""

from __future__ import annotations

from tacit.hints._check import Check, check
from tacit.hints._network import Network
from tacit.hints.base import Hint
from tacit.hints.combine import Hints, HintsOver
from tacit.hints.costs import Cost, Votes
from tacit.hints.counts import AtLeast, Count, Share
from tacit.hints.files import KINDS, from_dict, load, save, to_dict
from tacit.hints.flow import Flow
from tacit.hints.labels import Labels, Not, OneOf
from tacit.hints.linear import Linear
from tacit.hints.matching import Matching
from tacit.hints.order import Order
from tacit.hints.pairs import CannotLink, MustLink, Pairwise, Potts
from tacit.hints.partition import Partition
from tacit.hints.same import Same

__all__ = [
    "KINDS",
    "AtLeast",
    "CannotLink",
    "Check",
    "Cost",
    "Count",
    "Flow",
    "Hint",
    "Hints",
    "HintsOver",
    "Labels",
    "Linear",
    "Matching",
    "MustLink",
    "Network",
    "Not",
    "OneOf",
    "Order",
    "Pairwise",
    "Partition",
    "Potts",
    "Same",
    "Share",
    "Votes",
    "check",
    "from_dict",
    "load",
    "save",
    "to_dict",
]

KINDS.update(
    {
        cls.kind: cls
        for cls in (
            Labels,
            Not,
            OneOf,
            Cost,
            Votes,
            MustLink,
            CannotLink,
            Potts,
            Pairwise,
            Count,
            Share,
            AtLeast,
            Linear,
            Same,
            Flow,
            Matching,
            Partition,
            Order,
        )
    }
)
