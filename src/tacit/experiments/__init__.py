"""Published figures and tables, done again with this library.

`EXPERIMENTS` names them; `load` imports one.
"""

from __future__ import annotations

import importlib

from tacit.experiments.base import Cell, Experiment, Report
from tacit.experiments.runner import Written, reproduce

__all__ = ["EXPERIMENTS", "Cell", "Experiment", "Report", "Written", "load", "reproduce"]

# Module and class of each, imported when it is asked for.
EXPERIMENTS: dict[str, str] = {
    "moons-balance": "weak_supervision.moons_balance:MoonsBalance",
    "moons-negative": "weak_supervision.moons_negative:MoonsNegative",
    "ssl": "weak_supervision.ssl:SSL",
    "scaling": "weak_supervision.scaling:Scaling",
}


def load(name: str) -> Experiment:
    """Import an experiment.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    """
    if name not in EXPERIMENTS:
        raise ValueError(
            f"experiment {name!r} is not known; choose one of {', '.join(EXPERIMENTS)}."
        )
    module, cls = EXPERIMENTS[name].split(":")
    made: Experiment = getattr(importlib.import_module(f"tacit.experiments.{module}"), cls)()
    return made
