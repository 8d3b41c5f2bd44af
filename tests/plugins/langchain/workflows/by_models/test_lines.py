"""Texts for a model are printable and bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interpstack_langchain.workflows.by_models.lines import as_json, clipped, fitted, line


@given(st.text(), st.integers(1, 50))
def test_lines_are_printable_and_bounded(text: str, chars: int) -> None:
    shown = line(text, chars)
    assert len(shown) <= chars
    assert shown.isprintable()


def test_values_are_shown_as_json() -> None:
    assert line({"a": ["é", None]}) == '{"a":["é",null]}'
    assert as_json({1}) == '"{1}"', "what is no JSON is text"
    assert clipped("abcdef", 4) == "abc…"


def test_lines_that_do_not_fit_are_counted() -> None:
    assert fitted(["aa", "bb", "cc"], 6, "{count} more") == ["aa", "bb", "1 more"]
    assert fitted(["aa", "bb"], 6, "{count} more") == ["aa", "bb"]
    assert fitted(["aaaaaaa"], 6, "{count} more") == ["1 more"]
