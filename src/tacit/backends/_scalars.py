"""What counts as a number where a parameter must be one: Python's and numpy's, not True."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

__all__ = ["is_number", "is_whole"]


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether this is a whole number; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether this is a real number, finite or not; True and False are none."""
    return is_whole(value) or isinstance(value, float | np.floating)
