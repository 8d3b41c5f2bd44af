"""Sequences side by side, and the places where texts differ."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack_inspect.shown.differences import Part, aligned, alone, parted

LETTERS = st.lists(st.sampled_from("abc"), max_size=12)


def _pairs(left: str, right: str) -> str:
    pairs = aligned(left, right, lambda letter: letter, str.lower)
    return " ".join(f"{one or '-'}{other or '-'}" for one, other in pairs)


@pytest.mark.parametrize(
    ("left", "right", "pairs"),
    [
        ("", "", ""),
        ("ab", "", "a- b-"),
        ("abc", "abc", "aa bb cc"),
        ("abc", "ac", "aa b- cc"),
        ("abcd", "aBcd", "aa bB cc dd"),
        ("aab", "b", "a- a- bb"),
        ("xyab", "abz", "x- y- aa bb -z"),
        ("ab", "ba", "-b aa b-"),
    ],
)
def test_pairs(left: str, right: str, pairs: str) -> None:
    assert _pairs(left, right) == pairs


@given(LETTERS, LETTERS)
def test_each_entry_is_there_once_and_in_order(left: Sequence[str], right: Sequence[str]) -> None:
    pairs = [*aligned(left, right, lambda letter: letter, lambda letter: letter == "a")]
    assert [one for one, _ in pairs if one is not None] == left
    assert [other for _, other in pairs if other is not None] == right
    assert all(
        (one == "a") == (other == "a")
        for one, other in pairs
        if one is not None and other is not None
    )


def test_sequences_that_are_too_long_to_pair_well_are_paired_by_the_next_key() -> None:
    left = [f"{number}" for number in range(20_000)]
    right = [f"{number}" for number in range(20_000, 0, -1)]
    pairs = [*aligned(left, right, lambda text: text, lambda text: None)]
    assert len(pairs) == 20_000
    assert all(one is not None and other is not None for one, other in pairs)


@given(st.text("ab", max_size=30), st.text("ab", max_size=30))
def test_parts_of_two_texts(left: str, right: str) -> None:
    one, other = parted(left, right)
    assert one.before + one.different + one.after == left
    assert other.before + other.different + other.after == right
    assert one.before == other.before
    assert one.after == other.after
    assert (left == right) == (not one.different and not other.different)


def test_long_texts_are_cut_around_the_difference() -> None:
    left, right = parted("x" * 1000 + "1" + "y" * 1000, "x" * 1000 + "22" + "y" * 1000)
    assert left == Part("…" + "x" * 80, "1", "y" * 80 + "…")
    assert right.different == "22"
    assert alone("z" * 1000) == Part(different="z" * 500 + "…")
