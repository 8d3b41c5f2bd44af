"""Edits of a source, and the table that leads back from columns of the result."""

from __future__ import annotations

import pytest

from interpstack_javascript.edits import Edit, edited, merged, written_column


@pytest.mark.parametrize(
    ("source", "edits", "text", "shifts"),
    [
        ("abc", [], "abc", ()),
        ("let a", [(0, 3, "var")], "var a", ()),
        ("a b c", [(4, 4, "+"), (2, 3, "long")], "a long +c", (1, 1, 2, 6, 2, 3, 1, 7, 8, 4, 4)),
        ("é😀b", [(2, 2, "+")], "é😀+b", (1, 1, 3, 4, 3, 3)),
        ("x\r\na b\u2028c", [(3, 4, "")], "x\r\n b\u2028c", (3, 2, 0, 0, 0, 1)),
        ("i{\n}m; n", [(0, 5, "call\n")], "call\n; n", (2, 1, 0, 4, 0, 0, 2, 0, 0, 0, 2)),
    ],
)
def test_edits_are_made_and_leave_a_way_back(
    source: str, edits: list[Edit], text: str, shifts: tuple[int, ...]
) -> None:
    made = edited(source, edits)
    assert (made.text, made.shifts) == (text, shifts)


def test_columns_of_too_many_parts_are_given_up() -> None:
    edits = [(n, n, "+") for n in range(20_001)]
    assert edited("a" * 30_000, edits).shifts is None
    shifts = edited("a" * 30_000, edits[1:]).shifts
    assert shifts is not None
    assert len(shifts) == 100_001


@pytest.mark.parametrize(
    ("line", "column", "written"),
    [(1, 1, 1), (1, 3, 3), (1, 5, 3), (1, 7, 4), (1, 8, 5), (1, 9, 5), (1, 10, 6), (2, 1, None)],
)
def test_columns_of_the_result_lead_back(line: int, column: int, written: int | None) -> None:
    made = edited("a b c", [(4, 4, "+"), (2, 3, "long")])  # "a long +c"
    assert written_column(made.shifts, line, column) == written


def test_without_a_table_columns_stay_or_are_unknown() -> None:
    assert written_column((), 3, 7) == 7
    assert written_column(None, 3, 7) is None


def test_two_scripts_of_one_source_have_one_table() -> None:
    one, other = edited("ab\ncd", [(0, 1, "xyz")]).shifts, edited("ab\ncd", [(4, 5, "")]).shifts
    both = merged(one, other)
    assert merged(one, ()) == one
    assert merged((), other) == other
    assert merged(None, other) is None
    assert written_column(both, 1, 4) == 2
    assert written_column(both, 2, 2) == 3
