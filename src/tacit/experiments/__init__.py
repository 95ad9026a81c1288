"""Published figures and tables, done again with this library.

`EXPERIMENTS` names them; `load` imports one.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from tacit.experiments.base import Cell, Experiment, Report
from tacit.experiments.runner import Written, reproduce

__all__ = ["EXPERIMENTS", "Cell", "Experiment", "Report", "Written", "load", "reproduce"]

# Module and class of each, imported when it is asked for.
EXPERIMENTS: dict[str, str] = {
    "moons-balance": "weak_supervision.moons_balance:MoonsBalance",
    "moons-negative": "weak_supervision.moons_negative:MoonsNegative",
    "mnist-negative": "weak_supervision.mnist_negative:MnistNegative",
    "ssl": "weak_supervision.ssl:SSL",
    "scaling": "weak_supervision.scaling:Scaling",
}


def load(name: str, **options: Any) -> Experiment:
    """Import an experiment.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    **options
        What the experiment can be asked for beside its size.
    """
    if name not in EXPERIMENTS:
        raise ValueError(
            f"experiment {name!r} is not known; choose one of {', '.join(EXPERIMENTS)}."
        )
    module, cls = EXPERIMENTS[name].split(":")
    kind = getattr(importlib.import_module(f"tacit.experiments.{module}"), cls)
    known = list(inspect.signature(kind).parameters)
    for option in options:
        if option not in known:
            raise ValueError(
                f"experiment {name!r} has no option {option!r}; "
                + (f"it has {', '.join(known)}." if known else "it has none.")
            )
    made: Experiment = kind(**options)
    return made
