"""Which array library an array belongs to, and what the array standard lacks."""

from tacit.backends._linalg import (
    NotPositiveDefinite,
    cholesky,
    cholesky_solve,
    eigh,
    solve_lower,
)
from tacit.backends._namespace import (
    Array,
    array_namespace,
    as_like,
    clip,
    double,
    is_torch,
    norm,
    place,
    to_numpy,
)
from tacit.backends._scalars import is_number, is_whole

__all__ = [
    "Array",
    "NotPositiveDefinite",
    "array_namespace",
    "as_like",
    "cholesky",
    "cholesky_solve",
    "clip",
    "double",
    "eigh",
    "is_number",
    "is_torch",
    "is_whole",
    "norm",
    "place",
    "solve_lower",
    "to_numpy",
]
