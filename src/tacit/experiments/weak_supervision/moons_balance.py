"""Four moons from class counts of batches: ours beside hard EM and constrained kernel k-means."""

from __future__ import annotations

from tacit.experiments.weak_supervision._moon_experiment import MoonsExperiment

__all__ = ["MoonsBalance"]


class MoonsBalance(MoonsExperiment):
    """Class counts of 25 batches of 25 rows are known within 3.

    Notes
    -----
    Equation: (17) in 000, the experiment of Fig. 2
    """

    name = "moons-balance"
    title = "Four moons from class counts of batches"
    source = "000 Fig. 2 / 004 Fig. 5"
    kind = "batches"
    panels = ("hints", "kmeans", "em", "tacit")
