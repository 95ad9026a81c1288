"""What the estimators share: reading rows, names of classes, attributes of a solution."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.backends import is_torch
from tacit.exceptions import CollapseWarning
from tacit.problem import HintedRows, require_finite

__all__ = ["HintEstimator", "name_array", "warn_of_empty_classes"]


class HintEstimator(BaseEstimator):
    """Base of estimators that learn from hints."""

    classes_: npt.NDArray[Any]
    solution_: Any

    def _rows(self, X: Any, reset: bool) -> Any:
        """Check rows as scikit-learn does; sparse ones become CSR, torch tensors stay."""
        if is_torch(X):
            return self._tensor(X, reset)
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,  # our own sentence says where
            reset=reset,
        )
        require_finite(X)
        return sp.csr_array(X) if sp.issparse(X) else X

    def _tensor(self, X: Any, reset: bool) -> Any:
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got a tensor of shape {tuple(X.shape)} instead.")
        if reset:
            self.n_features_in_ = int(X.shape[1])
            self.__dict__.pop("feature_names_in_", None)  # of a data frame before
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        require_finite(X)
        return X.detach()  # nothing is learned through them

    def _take(self, solution: Any) -> None:
        """Set the fitted attributes from a solver's answer; `classes_` is there already."""
        self.solution_ = solution
        if solution.collapse:
            warnings.warn(solution.collapse, CollapseWarning, stacklevel=3)
        self.transduction_ = self.classes_[solution.labels]
        self.objective_ = solution.objective
        self.history_ = solution.history
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.status.good

    def _columns(self) -> int:
        """Return how many columns of coefficients the classes need."""
        return len(self.classes_)

    def _shown(self) -> bool:
        """Return whether progress is shown."""
        if not isinstance(self.verbose, int | np.integer | np.bool_):
            raise ValueError(f"verbose={self.verbose!r}; expected a whole number.")
        return bool(self.verbose > 0)

    def _callbacks(self, shown: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*shown, *(() if self.callback is None else (self.callback,)))

    def explain_oracle(self) -> str:
        """Which solver made the discrete steps, and why not a cheaper one."""
        check_is_fitted(self)
        return self.solution_.oracle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.required = False
        return tags


def warn_of_empty_classes(problem: HintedRows) -> None:
    """Say which classes no row can have: nothing can be learned about them."""
    nowhere = np.flatnonzero(~problem.program.mask.any(axis=0))
    if len(nowhere):
        names = ", ".join(repr(problem.codes[int(c)]) for c in nowhere)
        warnings.warn(
            f"no row can have the class {names} by the labels and hints given, so nothing is "
            "learned about it; leave it out of classes, or give rows that may have it.",
            UserWarning,
            stacklevel=3,
        )


def name_array(names: list[Any], dtype: Any) -> npt.NDArray[Any]:
    """Class names as an array; in y's own type where that holds them all."""
    kinds = {type(v) for v in names}
    if len(kinds) == 1 and kinds <= {int, float, str, bool}:
        array = np.array(names)
        same_kind = dtype is not None and dtype.kind == array.dtype.kind and dtype.kind in "if"
        return array.astype(dtype) if same_kind else array
    array = np.empty(len(names), object)
    array[:] = names
    return array
