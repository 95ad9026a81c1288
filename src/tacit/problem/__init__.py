"""Problems: data, model and hints; no algorithm."""

from tacit.problem._classifier import Problem
from tacit.problem._clusters import ClusterProblem, cluster_codes
from tacit.problem._rows import HintedRows, read_rows, require_finite

__all__ = [
    "ClusterProblem",
    "HintedRows",
    "Problem",
    "cluster_codes",
    "read_rows",
    "require_finite",
]
