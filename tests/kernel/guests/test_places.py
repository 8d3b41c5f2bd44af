"""Where a source is at fault, as it is shown."""

from __future__ import annotations

import pytest

from interpstack import GuestError, Outcome, render
from interpstack.guests import place_at


@pytest.mark.parametrize(
    ("source", "offset", "line", "column"),
    [
        ("", 0, 1, 1),
        ("abc", 2, 1, 3),
        ("abc", 99, 1, 4),
        ("abc", -5, 1, 1),
        ("a\nb\rc\r\nd\u2028e\u2029f", 2, 2, 1),
        ("a\nb\rc\r\nd\u2028e\u2029f", 4, 3, 1),
        ("a\nb\rc\r\nd\u2028e\u2029f", 7, 4, 1),
        ("a\nb\rc\r\nd\u2028e\u2029f", 9, 5, 1),
        ("a\nb\rc\r\nd\u2028e\u2029f", 11, 6, 1),
        ("\U0001f600\U0001f600 x", 3, 1, 4),
        ("a\n", 2, 2, 1),
    ],
)
def test_lines_and_columns(source: str, offset: int, line: int, column: int) -> None:
    place = place_at(source, offset)
    assert (place.line, place.column) == (line, column)


@pytest.mark.parametrize(
    ("source", "offset", "shown"),
    [
        ("let = 1", 4, "1 | let = 1\n  |     ^"),
        ("\n" * 11 + "a b", 13, "12 | a b\n   |   ^"),
        ("\ta\tb c", 5, "1 |     a    b c\n  |            ^"),
        ("'\u65e5\u672c' x", 5, "1 | '\u65e5\u672c' x\n  |        ^"),
        ("'e\u0301' x", 5, "1 | 'e\u0301' x\n  |     ^"),
        (
            "'\x1b[31m\u202e\x00\x85' x",
            11,
            "1 | '\\x1b[31m\\u202e\\x00\\x85' x\n  |                          ^",
        ),
        ("\ud800\U000e0001 x", 3, "1 | \\ud800\\u{e0001} x\n  |                 ^"),
        ("a", 1, "1 | a\n  |  ^"),
    ],
)
def test_what_cannot_be_seen_is_shown(source: str, offset: int, shown: str) -> None:
    assert place_at(source, offset).excerpt() == shown


def test_a_long_line_is_cut_around_the_place() -> None:
    place = place_at("x" * 500 + "!" + "y" * 500, 500)
    assert (place.before, place.after) == ("…" + "x" * 60, "!" + "y" * 39 + "…")
    text, caret = place.excerpt().splitlines()
    assert text[caret.index("^")] == "!"


def test_the_caret_stands_right_in_escaped_text() -> None:
    error = GuestError("SyntaxError", "m", "    at cell:1:9", place=place_at("a < b && c", 9))
    assert render(Outcome(error=error)) == (
        '<error type="SyntaxError">m\n    at cell:1:9\n'
        "1 | a &lt; b &amp;&amp; c\n  |                     ^</error>"
    )


def test_the_excerpt_counts_and_gives_way() -> None:
    place = place_at("a b", 2)
    error = GuestError("SyntaxError", "m" * 100, place=place)
    size = 1 + len(place.excerpt())
    shown = render(Outcome(error=error), result_chars=size + 10)
    assert shown == (
        f'<error type="SyntaxError">{"m" * 10}… [truncated 90 chars]\n{place.excerpt()}</error>'
    )
    shown = render(Outcome(error=error), result_chars=10)
    assert shown == f'<error type="SyntaxError">{"m" * 10}… [truncated 90 chars]</error>'


def test_a_place_is_plain_data() -> None:
    error = GuestError("SyntaxError", "m", place=place_at("a b", 2))
    found = Outcome(error=error).to_dict()["error"]
    assert found["place"] == {"line": 1, "column": 3, "before": "a ", "after": "b"}
