"""Problems: data, model and hints; no algorithm."""

from tacit.problem._classifier import Problem
from tacit.problem._clusters import ClusterProblem, cluster_codes
from tacit.problem._memory import Memory, memory_estimate, require_memory
from tacit.problem._rows import HintedRows, read_rows, require_finite
from tacit.problem._sample import draw_rows, sample

__all__ = [
    "ClusterProblem",
    "HintedRows",
    "Memory",
    "Problem",
    "cluster_codes",
    "draw_rows",
    "memory_estimate",
    "read_rows",
    "require_finite",
    "require_memory",
    "sample",
]
