"""Four moons from one negative label each and a tree of soft links."""

from __future__ import annotations

from tacit.experiments.weak_supervision._moon_experiment import NAMES, MoonsExperiment

__all__ = ["MoonsNegative"]


class MoonsNegative(MoonsExperiment):
    """Each row has one class it is not, and a tree of should-links and should-not-links, T = 5.

    Notes
    -----
    Equation: (16) in 000, the experiment of Fig. 1
    """

    name = "moons-negative"
    title = "Four moons from negative labels and soft links"
    source = "000 Fig. 1"
    kind = "links"
    names = NAMES | {"supervised": "supervised, training error"}
    panels = ("known", "hints", "supervised", "tacit")
