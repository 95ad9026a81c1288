"""Bounds on class counts: given by group and class, by class, by name, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.hints._classes import ClassCodes, check_name, nth_class, plain
from tacit.hints._data import (
    as_numbers,
    name_from_data,
    name_to_data,
    numbers_to_data,
)
from tacit.hints._rows import frozen

__all__ = ["Bound", "OneBound"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OneBound:
    """One number that bounds one class, given by column or by name, or every class."""

    side: str
    value: float
    every: bool = False
    name: Any = None
    column: int | None = None
    width: int | None = None

    @property
    def spec(self) -> Any:
        """Return what `Bound` reads as this bound alone."""
        if self.column is not None:
            missing = -np.inf if self.side == "lower" else np.inf
            return np.where(np.arange(self.width or 0) == self.column, self.value, missing)[None]
        return self.value if self.every else {self.name: self.value}

    def bounds(self, code: int, classes: ClassCodes) -> bool:
        """Whether this bound is about the class with the given code."""
        if self.column is not None:
            return code == self.column
        return self.every or bool(classes[code] == self.name)

    def subject(self, classes: ClassCodes | None) -> str:
        """Put the class into words; a column's name is used once it is known."""
        if self.column is not None:
            return f"class {nth_class(self.column, classes)}"
        return "every class" if self.every else f"class {self.name!r}"


class Bound:
    """One side of count bounds for G groups, before the classes are known.

    Parameters
    ----------
    spec : None, number, array of shape (C,) or (G, C), or dict
        No bound; one number for every class; per class; per group and class; or by class
        name with one number, or one per group. Classes that a dict leaves out are unbounded.
    n_groups : int
        Number of groups.
    missing : float
        What stands for "no bound": -inf below, +inf above.
    who : str
        Prefix of error messages.
    """

    def __init__(self, spec: Any, n_groups: int, missing: float, who: str) -> None:
        self.n_groups, self.missing, self.who = n_groups, missing, who
        self.named: dict[Any, FloatArray] | None = None
        self.table: FloatArray | None = None
        if isinstance(spec, dict):
            for name in spec:
                check_name(name)
            self.named = {plain(name): self._per_group(v, name) for name, v in spec.items()}
        elif spec is not None:
            self.table = frozen(self._read(spec))

    def _read(self, spec: Any) -> FloatArray:
        array = self._numbers(spec)
        if array.ndim == 0:
            array = array[None]
        if array.ndim == 1:
            array = np.tile(array, (self.n_groups, 1))
        if array.ndim != 2 or len(array) != self.n_groups:
            raise ValueError(
                f"{self.who} has shape {np.shape(spec)}; expected one number, one per class, "
                f"({self.n_groups} groups, classes), or a dict by class."
            )
        return array

    def _per_group(self, value: Any, name: Any) -> FloatArray:
        array = self._numbers(value, f"[{name!r}]")
        if array.shape not in {(), (self.n_groups,)}:
            raise ValueError(
                f"{self.who}[{name!r}] has shape {array.shape}; expected one number or one for "
                f"each of the {self.n_groups} groups."
            )
        return frozen(np.broadcast_to(array, (self.n_groups,)))

    def _numbers(self, value: Any, of: str = "") -> FloatArray:
        array = as_numbers(self._without_none(value), self.who + of)
        if np.isnan(array).any():
            raise ValueError(f"{self.who} contains NaN; leave a bound out with None.")
        if (array == -self.missing).any():
            raise ValueError(
                f"{self.who} contains {-self.missing:g}, which nothing can meet; "
                "leave a bound out with None."
            )
        return array

    def _without_none(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._without_none(v) for v in value]
        return self.missing if value is None else value

    def resolve(self, classes: ClassCodes) -> FloatArray:
        """Bounds as (G, C), with `missing` where there is none."""
        if self.named is not None:
            full = np.full((self.n_groups, len(classes)), self.missing)
            for name, values in self.named.items():
                full[:, classes.code(name, self.who)] = values
            return full
        if self.table is None:
            return np.full((self.n_groups, len(classes)), self.missing)
        if self.table.shape[1] not in {1, len(classes)}:
            raise ValueError(
                f"{self.who} has bounds for {self.table.shape[1]} classes but there are "
                f"{len(classes)}."
            )
        return np.array(np.broadcast_to(self.table, (self.n_groups, len(classes))))

    @property
    def width(self) -> int | None:
        """Number of classes, where an array fixes it."""
        return None if self.table is None or self.table.shape[1] == 1 else self.table.shape[1]

    @property
    def names(self) -> list[Any]:
        """Class names used."""
        return [] if self.named is None else list(self.named)

    def changed(self, groups: npt.NDArray[np.intp], change: Any) -> Any:
        """Return the bound of some groups as a spec, after `change(values)`."""
        if self.named is not None:
            return {k: change(v[groups][:, None])[:, 0] for k, v in self.named.items()}
        return None if self.table is None else change(self.table[groups])

    def entries(self, group: int) -> list[OneBound]:
        """Bounds of one group, one class each where classes are told apart."""
        side = "lower" if self.missing < 0 else "upper"
        if self.named is not None:
            found = [OneBound(side, float(v[group]), name=k) for k, v in self.named.items()]
        elif self.table is None:
            found = []
        elif self.table.shape[1] == 1:
            found = [OneBound(side, float(self.table[group, 0]), every=True)]
        else:
            row, width = self.table[group], self.table.shape[1]
            found = [OneBound(side, float(v), column=j, width=width) for j, v in enumerate(row)]
        return [one for one in found if np.isfinite(one.value)]

    def to_data(self) -> Any:
        """Plain data for files."""
        if self.named is not None:
            return {
                "by_class": [[name_to_data(k), numbers_to_data(v)] for k, v in self.named.items()]
            }
        return numbers_to_data(self.table) if self.table is not None and self.n_groups else None

    @staticmethod
    def from_data(data: Any) -> Any:
        """Return the spec that `to_data` wrote; plain mappings by class name are read too."""
        if isinstance(data, dict) and set(data) == {"by_class"}:
            pairs = data["by_class"]
            if not isinstance(pairs, list) or any(
                not isinstance(pair, list) or len(pair) != 2 for pair in pairs
            ):
                raise ValueError("'by_class' must be a list of pairs [class, bound].")
            names = [name_from_data(name) for name, _ in pairs]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"'by_class' names {name!r} twice.")
            return dict(zip(names, (bound for _, bound in pairs), strict=True))
        return data  # lists may hold None; `Bound` reads them
