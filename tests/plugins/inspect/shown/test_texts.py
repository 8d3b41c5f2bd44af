"""Texts in which nothing hides."""

from __future__ import annotations

import pytest

from interpstack_inspect.shown.texts import brief, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("é\n\tx 😀", "é\n\tx 😀"),
        ("plain\n", "plain\n"),
        ("\x1b[0m\u2066", "\\u001b[0m\\u2066"),
        ("\ud800\r", "\\ud800\\u000d"),
    ],
)
def test_characters_that_hide_others_are_shown(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_a_text_is_cut_with_a_mark() -> None:
    assert [brief("abc", chars) for chars in (3, 2)] == ["abc", "ab…"]
