"""Places of faults, from what an engine was given back to what the user wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from interpstack import Cell
from interpstack_javascript.edits import edited
from interpstack_javascript.positions import faulty, offset_in, offset_of


@pytest.mark.parametrize(
    ("source", "line", "column", "offset"),
    [
        ("abc", 1, 1, 0),
        ("abc", 1, 4, 3),
        ("a\nbc", 2, 2, 3),
        ("a\r\nbc", 2, 1, 3),
        ("a\u2028b", 2, 1, 2),
        ("\U0001f600x", 1, 3, 1),  # two UTF-16 units
        ("a", 2, 4, 1),  # in a line that the engine has added
        ("a\r\nb", 1, 3, 1),  # in the line break
    ],
)
def test_characters_that_an_engine_names(source: str, line: int, column: int, offset: int) -> None:
    assert offset_of(source, line, column) == offset


@pytest.mark.parametrize(
    ("line", "column"), [(0, 0), (0, 1), (1, 0), (-1, 1), (1, -5), (1, 9), (4, 1), (2**70, 2**70)]
)
def test_numbers_that_are_no_place_of_the_source_name_no_character(line: int, column: int) -> None:
    assert offset_of("abc\nd", line, column) is None


_TEXTS = some.text(some.sampled_from("ab\n\r\u2028\U0001f600"), max_size=20)


@given(_TEXTS, some.integers(), some.integers())
def test_whatever_an_engine_names_is_a_character_of_the_source_or_none(
    source: str, line: int, column: int
) -> None:
    for numbers in ((line, column), (line % 9, column % 9)):
        offset = offset_of(source, *numbers)
        assert offset is None or 0 <= offset <= len(source)


@pytest.mark.parametrize(("column", "written"), [(1, 0), (2, 1), (6, 3), (9, 4), (-1, None)])
def test_places_in_what_was_prepared(column: int, written: int | None) -> None:
    source = "abcde"
    shifts = edited(source, [(3, 4, "long"), (1, 2, "xy")]).shifts  # "axyclonge"
    assert offset_in(source, shifts, 1, column) == written


def test_a_place_behind_a_prepared_source_is_its_end() -> None:
    assert offset_in("ab", edited("ab", [(0, 1, "xyz")]).shifts, 2, 1) == 2


def test_a_fault_has_its_line_and_column() -> None:
    error = faulty(Cell(source="1\nlet b = ;", name="cell"), 10, "SyntaxError", "no")
    assert (error.name, error.stack) == ("SyntaxError", "    at cell:2:9")
    assert error.place is not None
    assert (error.place.line, error.place.column) == (2, 9)
