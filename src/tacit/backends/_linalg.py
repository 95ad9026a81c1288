"""Factorisations that the array standard lacks, for numpy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from tacit.backends._namespace import Array, is_torch

__all__ = ["NotPositiveDefinite", "cholesky", "cholesky_solve", "eigh", "solve_lower"]


class NotPositiveDefinite(ValueError):
    """A matrix has no Cholesky factor."""


def eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix."""
    if is_torch(A):
        import torch

        d, U = torch.linalg.eigh(A)
        return d, U
    d, U = scipy.linalg.eigh(A, driver="evd")
    return d, U


def cholesky(A: Array) -> Any:
    """Lower factor of a symmetric positive definite matrix, which may be overwritten."""
    if is_torch(A):
        import torch

        L, info = torch.linalg.cholesky_ex(A)
        if int(info):
            raise NotPositiveDefinite(f"the minor of order {int(info)} is not positive definite.")
        return L
    try:
        # The transpose of a symmetric matrix in C order is itself in LAPACK's order: no copy.
        return scipy.linalg.cholesky(A.T, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError as error:
        raise NotPositiveDefinite(str(error)) from None


def cholesky_solve(L: Array, b: Array) -> Array:
    """Solve L L' x = b."""
    if is_torch(L):
        import torch

        return torch.cholesky_solve(b, L)
    return np.asarray(scipy.linalg.cho_solve((L, True), b, check_finite=False))


def solve_lower(L: Array, b: Array) -> Array:
    """Solve L x = b; `b` may be overwritten."""
    if is_torch(L):
        import torch

        return torch.linalg.solve_triangular(L, b, upper=False)
    return np.asarray(
        scipy.linalg.solve_triangular(L, b, lower=True, overwrite_b=True, check_finite=False)
    )
