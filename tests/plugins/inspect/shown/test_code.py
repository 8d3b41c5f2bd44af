"""Marked code: it is escaped, and each of its lines is complete."""

from __future__ import annotations

import time

import pytest
from inspected import HOSTILE, HOSTILE_SEEN, Page

from interpstack_inspect.shown.code import code_style, highlighted


@pytest.mark.parametrize("language", ["javascript", "python", "made up", ""])
def test_code_stays_text(language: str) -> None:
    marked = str(highlighted(HOSTILE, language))
    page = Page(marked)
    assert {tag for tag, _ in page.elements} <= {"span"}
    assert page.text == f"{HOSTILE_SEEN}\n"


def test_a_token_of_several_lines_is_marked_in_each() -> None:
    marked = str(highlighted("\n`a\nb`", "javascript")).split("\n")
    assert [line.count("<span") - line.count("</span>") for line in marked] == [0] * 4
    assert "a" in Page(marked[1]).text
    assert "<span" in marked[2]


def test_code_that_takes_long_to_mark_is_not_marked() -> None:
    code = "..." * 30_000
    began = time.thread_time()
    marked = str(highlighted(code, "typescript"))
    assert time.thread_time() - began < 5  # more than a minute, if all of it is marked
    assert marked == f"{code}\n"


def test_the_style_has_both_themes() -> None:
    style = code_style(".code")
    assert ".code .k " in style.partition("@media")[0]
    assert ".code .k " in style.partition("@media (prefers-color-scheme: dark)")[2]
