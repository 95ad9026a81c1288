"""Every kind of hint means what its definition says; a new kind is picked up from `KINDS`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.hints import (
    BUILDERS,
    cases,
    check_immutable,
    check_meaning,
    check_permutation,
    check_restrict_forgets_nothing,
    check_restrict_is_sound,
    check_round_trip,
    check_split,
    check_sum,
    mixed_cases,
    values,
)
from checks.terms import Case, all_labelings, fitting, pairs_of, shapes, some_rows
from tacit.hints import KINDS, Count, Hints, Labels, MustLink, OneOf
from tacit.hints._classes import ClassCodes

every_kind = pytest.mark.parametrize("kind", list(KINDS))
few = settings(max_examples=25, deadline=None, derandomize=True)


def test_every_kind_has_a_generator():
    assert set(BUILDERS) == set(KINDS)


@every_kind
@few
@given(data=st.data())
def test_meaning(kind, data):
    check_meaning(data.draw(cases(kind)))


@every_kind
@few
@given(data=st.data())
def test_sum(kind, data):
    shape = data.draw(shapes(kind=kind))
    other = data.draw(st.sampled_from(fitting(KINDS, shape[1])))
    check_sum(data.draw(cases(kind, shape)), data.draw(cases(other, shape)))


@every_kind
@settings(few, max_examples=15)
@given(data=st.data())
def test_round_trip(kind, data):
    case = data.draw(cases(kind, data.draw(shapes(max_rows=3, kind=kind))))
    check_round_trip(case.hint, case.n, case.codes)


@every_kind
@few
@given(data=st.data())
def test_restrict(kind, data):
    case = data.draw(cases(kind))
    rows = data.draw(some_rows(case.n))
    check_restrict_is_sound(case, rows)
    # Tables that bind a row whatever the other is are not looked for; arcs of rows left out of a
    # network are free, though only one label of a row can be used.
    if kind not in {"pairwise", "flow"}:
        check_restrict_forgets_nothing(case, rows)


@every_kind
@few
@given(data=st.data())
def test_permutation(kind, data):
    case = data.draw(cases(kind))
    check_permutation(case, data.draw(st.permutations(range(case.n))))


@every_kind
@few
@given(data=st.data())
def test_split(kind, data):
    check_split(data.draw(cases(kind)))


@every_kind
@few
@given(data=st.data())
def test_immutable(kind, data):
    case = data.draw(cases(kind))
    check_immutable(case.hint)
    for piece in case.hint.split():
        check_immutable(piece)


@every_kind
@few
@given(data=st.data())
def test_equal_hints_are_equal_and_hash_alike(kind, data):
    case = data.draw(cases(kind))
    again = type(case.hint).from_dict(case.hint.to_dict())
    assert again == case.hint
    assert hash(again) == hash(case.hint)
    assert case.hint != Hints([case.hint])


@few
@given(data=st.data())
def test_several_together(data):
    shape = data.draw(shapes())
    case = data.draw(mixed_cases(list(KINDS), shape))
    check_meaning(case)
    check_round_trip(case.hint, case.n, case.codes)
    check_split(case)
    check_permutation(case, data.draw(st.permutations(range(case.n))))
    check_restrict_is_sound(case, data.draw(some_rows(case.n)))


@few
@given(data=st.data())
def test_links_mean_the_same_in_one_hint_and_in_several(data):
    n = data.draw(st.integers(2, 6))
    pairs, kept = data.draw(pairs_of(n)), data.draw(some_rows(n, min_size=1))
    several = Hints(MustLink([pair]) for pair in pairs)
    Y, codes = all_labelings(len(kept), 2), ClassCodes("ab")
    one = values(MustLink(pairs).restrict(kept, n), len(kept), codes, Y)
    np.testing.assert_array_equal(values(several.restrict(kept, n), len(kept), codes, Y), one)


def test_nothing_is_known_by_empty_hints():
    check_meaning(_empty(3, ["a", "b"]))
    check_round_trip(Hints(), 2, _empty(2, ["a", "b"]).codes)
    check_split(_empty(2, ["a"]))
    check_permutation(_empty(3, ["a", "b"]), [2, 0, 1])


def _empty(n, classes):
    return Case(Hints(), n, classes)


@few
@given(data=st.data())
def test_masks_mean_positions(data):
    n = data.draw(st.integers(1, 6))
    rows = sorted(data.draw(some_rows(n, min_size=1)))
    mask = np.isin(np.arange(n), rows)
    assert Labels(mask, "a") == Labels(rows, "a")
    assert OneOf(mask, [["a", "b"]] * len(rows)) == OneOf(rows, [["a", "b"]] * len(rows))
    assert Count([mask], 1) == Count([rows], 1) == Count((rows,), 1)
    assert Count(np.where(mask, 0, -1), 1) == Count([rows], 1)
    keep = data.draw(some_rows(n, min_size=1))
    keep_mask = np.isin(np.arange(n), keep)
    hint = Labels(rows, "a") + Count([rows], 1)
    assert hint.restrict(keep_mask) == hint.restrict(sorted(keep), n)
