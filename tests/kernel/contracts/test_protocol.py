"""Values of the engine protocol: what a cell may be, and how a fault in its source is shown."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Cell, ConfigurationError, Image, Place


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"source": b"1"}, "cell: source takes a string; got b'1'"),
        ({"source": None}, "cell: source takes a string; got None"),
        ({"source": "1", "name": 5}, "cell: name takes a string; got 5"),
        ({"source": "1", "language": 1}, "cell: language takes a string or None; got 1"),
        ({"source": "1", "seed": "1"}, "cell: seed takes an integer or None; got '1'"),
        ({"source": "1", "seed": True}, "cell: seed takes an integer or None; got True"),
        ({"source": "1", "value_name": "a-b"}, "cell: value_name takes an identifier; got 'a-b'"),
        ({"source": "1", "value_name": "é"}, "cell: value_name takes an identifier"),
    ],
)
def test_wrong_fields_of_a_cell_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Cell(**fields)
    assert message in str(raised.value)


def test_long_wrong_fields_are_cut() -> None:
    with pytest.raises(ConfigurationError) as raised:
        Cell(source=["x" * 10_000])  # type: ignore[arg-type]
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("before", "columns"),
    [
        ("let a = ", 8),
        ("'日本' ", 7),  # two columns for each wide character
        ("'e\u0301' ", 4),  # none for an accent on the character before it
        ("", 0),
    ],
)
def test_the_caret_stands_below_the_fault(before: str, columns: int) -> None:
    shown = Place(line=12, column=len(before) + 1, before=before, after="]").excerpt()
    source, caret = shown.split("\n")
    assert source == f"12 | {before}]"
    assert caret == "   | " + " " * columns + "^"


def test_an_excerpt_is_escaped_before_it_is_shown_and_the_caret_moves_along() -> None:
    place = Place(line=1, column=3, before="a<", after="<b")
    source, caret = place.excerpt(lambda text: text.replace("<", "&lt;")).split("\n")
    assert source == "1 | a&lt;&lt;b"
    assert caret.index("^") == source.index("&lt;b")


def test_an_image_shows_its_size_in_place_of_its_content() -> None:
    assert repr(Image("quickjs", "v1", b"secret" * 100)) == (
        "Image(engine='quickjs', base='v1', data=<600 bytes>)"
    )
