"""Several hints at once: combine, compile, restrict, and find the class order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tacit.hints._classes import ClassCodes, class_list, sort_names
from tacit.hints._program import Counts, LabelProgram, Pairs
from tacit.hints._rows import RowMap, Rows, check_range
from tacit.hints._structures import Cliques, FlowNetwork
from tacit.hints.base import Hint
from tacit.hints.pairs import MustLink, close_chains, linked_groups
from tacit.hints.same import Same

__all__ = ["Hints", "HintsOver", "infer_classes"]


class Hints(Hint):
    """All of the given hints hold; what ``a + b`` makes. Without any, nothing is known."""

    kind = "all"

    def __init__(self, parts: Iterable[Hint] = ()) -> None:
        parts, flat = list(parts), list[Hint]()
        for part in parts:
            if not isinstance(part, Hint):
                raise TypeError(
                    f"expected hints, got {type(part).__name__}: {part!r:.60}. Join several with +."
                )
            flat.extend(part.parts if isinstance(part, Hints) else [part])
        self.parts: tuple[Hint, ...] = tuple(flat)
        self._over: int | None = _one_number([p._over for p in parts if isinstance(p, Hints)])

    def __iter__(self) -> Iterator[Hint]:
        return iter(self.parts)

    def compile(self, n: int, classes: ClassCodes) -> LabelProgram:  # noqa: D102
        if self._over not in {None, n}:
            raise ValueError(
                f"the hints were wrapped with .over({self._over}) but there are {n} rows; "
                f"wrap them with .over({n}) if they are about these rows."
            )
        return merge(n, len(classes), (_compiled(part, n, classes) for part in self.parts))

    def rows(self) -> npt.NDArray[np.intp]:  # noqa: D102
        return np.unique(np.concatenate([np.empty(0, np.intp), *(p.rows() for p in self.parts)]))

    def names(self) -> list[Any]:  # noqa: D102
        return [name for part in self.parts for name in part.names()]

    def width(self) -> int | None:  # noqa: D102
        return _agree((p.width() for p in self.parts), self.parts, "classes")

    def length(self) -> int | None:  # noqa: D102
        found = _agree((p.length() for p in self.parts), self.parts, "rows")
        return found if self._over is None else self._over

    def restrict(self, rows: Any, n: int | None = None) -> Hints:
        """Restrict each hint; hard must-links of several hints are closed up together."""
        row_map = self._row_map(rows, n)
        parts = [part.restrict(rows, row_map.n) for part in self.parts]
        links = _across(_hard_links(self.parts), _hard_links(parts), row_map)
        return Hints([*parts, MustLink(links)] if len(links) else parts)

    def about(self, rows: npt.NDArray[np.intp]) -> Hints:  # noqa: D102
        return Hints(part.about(rows) for part in self.parts)

    def split(self) -> Iterator[Hint]:  # noqa: D102
        for part in self.parts:
            yield from part.split()

    def describe(self, classes: ClassCodes | None = None) -> str:  # noqa: D102
        return "; ".join(part.describe(classes) for part in self.parts)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"hints": [{"kind": p.kind} | p.to_dict() for p in self.parts]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Hints:  # noqa: D102
        from tacit.hints.files import read_hint

        return cls(read_hint(item) for item in data["hints"])

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts)) or "Hints()"


class HintsOver(Hints):
    """Hints about exactly `n` rows: has a shape, and indexing restricts it.

    Parameters
    ----------
    hints : Hint
        One hint, or several joined with ``+``.
    n : int
        Number of rows.
    """

    def __init__(self, hints: Hint, n: int) -> None:
        super().__init__([hints])
        self._over = _rows_of(self, n)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows, as of an array."""
        return (len(self),)

    def __len__(self) -> int:
        assert self._over is not None
        return self._over

    def __getitem__(self, rows: Any) -> HintsOver:
        if isinstance(rows, tuple):  # scikit-learn writes hints[rows, ...]
            rows = rows[0]
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        part = self.restrict(rows, len(self))
        return HintsOver(part, len(Rows.read(rows, "hints")))


def _hard_links(parts: Iterable[Hint]) -> npt.NDArray[np.intp]:
    found = [part.hard for part in parts if isinstance(part, MustLink | Same)]
    return np.concatenate([np.empty((0, 2), np.intp), *found])


def _across(
    before: npt.NDArray[np.intp], after: npt.NDArray[np.intp], row_map: RowMap
) -> npt.NDArray[np.intp]:
    """Pairs of kept rows that `before` links through rows left out, and `after` does not."""
    closed = close_chains(before, row_map.new)
    if not len(closed):
        return closed
    group = linked_groups(after, len(row_map.kept))
    return closed[group[closed[:, 0]] != group[closed[:, 1]]]


def _rows_of(hints: Hints, n: Any) -> int:
    """Check that hints can be about `n` rows."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 0:
        raise ValueError(f"over({n!r}): expected the number of rows, such as len(X).")
    if (length := hints.length()) not in {None, n}:
        raise ValueError(f"over({n}): {hints!r} is about {length} rows.")
    check_range(hints.rows(), int(n), f"over({n})")
    return int(n)


def _one_number(found: list[int | None]) -> int | None:
    numbers = sorted({n for n in found if n is not None})
    if len(numbers) > 1:
        raise ValueError(
            f"hints over {numbers[0]} rows and over {numbers[1]} rows cannot be joined; join "
            "them first, then wrap them with .over(n)."
        )
    return numbers[0] if numbers else None


def _compiled(part: Hint, n: int, classes: ClassCodes) -> LabelProgram:
    """Compile one hint; an error says where it was read."""
    try:
        return part.compile(n, classes)
    except ValueError as error:
        if not part.origin:
            raise
        raise ValueError(f"{part.origin}: {error}") from error


def _named(part: Hint) -> str:
    return f"{part.origin}: {part!r}" if part.origin else repr(part)


def _agree(values: Iterable[int | None], parts: tuple[Hint, ...], what: str) -> int | None:
    known = [(v, p) for v, p in zip(values, parts, strict=True) if v is not None]
    for v, part in known:
        if v != known[0][0]:
            raise ValueError(
                f"{_named(known[0][1])} speaks of {known[0][0]} {what} but {_named(part)} of {v}."
            )
    return known[0][0] if known else None


def infer_classes(classes: Any, found: Iterable[Any], hint: Hint) -> ClassCodes:
    """Return the class order: the given one, else the sorted names, else 0..C-1 by array width.

    Parameters
    ----------
    classes : sequence or None
        The estimator's `classes`.
    found : iterable
        Names found in y.
    hint : Hint
        Its names and array widths.
    """
    width = hint.width()
    if classes is not None:
        codes = ClassCodes(class_list(classes))
        if width is not None and width != len(codes):
            raise ValueError(f"classes names {len(codes)} classes but the hints have {width}.")
        return codes
    names = sort_names([*found, *hint.names()])
    if width is None or width == len(names):
        return ClassCodes(names)
    # 0.0, 1.0, ... as pandas and NaN make of whole numbers are the same names as 0, 1, ...
    if all(isinstance(v, int | float) and v in range(width) for v in names):
        return ClassCodes(list(range(width)))
    shown = ", ".join(repr(v) for v in names[:6])
    raise ValueError(
        f"the hints' arrays have {width} classes but the names found are {shown}; "
        "give the estimator classes=[...] in the order of the arrays."
    )


def merge(n: int, n_classes: int, programs: Iterable[LabelProgram]) -> LabelProgram:
    """Put programs over the same rows and classes together."""
    programs = list(programs)
    allowed = [p.allowed for p in programs if p.allowed is not None]
    unary = [p.unary for p in programs if p.unary is not None]
    linear = [p for p in programs if p.linear is not None]
    return LabelProgram(
        n,
        n_classes,
        allowed=reduce(np.logical_and, allowed) if allowed else None,
        unary=reduce(np.add, unary) if unary else None,
        pairs=_merge_pairs(n_classes, [p.pairs for p in programs if len(p.pairs)]),
        counts=_merge_counts(n_classes, [p.counts for p in programs if len(p.counts)]),
        linear=sp.csr_array(sp.vstack([p.linear for p in linear])) if linear else None,
        linear_lower=np.concatenate([np.empty(0), *(p.linear_lower for p in linear)]),
        linear_upper=np.concatenate([np.empty(0), *(p.linear_upper for p in linear)]),
        cliques=Cliques.joined([p.cliques for p in programs if len(p.cliques)]),
        flow=FlowNetwork.joined([p.flow for p in programs if p.flow is not None]),
        partitions=tuple(part for p in programs for part in p.partitions),
        orders=tuple(part for p in programs for part in p.orders),
    )


def _merge_pairs(n_classes: int, parts: list[Pairs]) -> Pairs:
    if not parts:
        return Pairs.none(n_classes)
    if len(parts) == 1:  # of a large grid a copy is as much as its hint
        return parts[0]
    shift = np.cumsum([0, *(len(p.tables) for p in parts[:-1])])
    return Pairs(
        np.concatenate([p.edges for p in parts]),
        np.concatenate([p.weight for p in parts]),
        np.concatenate([p.table + s for p, s in zip(parts, shift, strict=True)]),
        np.concatenate([p.tables for p in parts]),
    )


def _merge_counts(n_classes: int, parts: list[Counts]) -> Counts:
    if not parts:
        return Counts.none(n_classes)
    sizes = np.concatenate([p.sizes for p in parts])
    return Counts(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
        np.concatenate([p.members for p in parts]),
        np.concatenate([p.lower for p in parts]),
        np.concatenate([p.upper for p in parts]),
    )
