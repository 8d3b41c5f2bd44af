"""Answers taken apart."""

from __future__ import annotations

import pytest

from interpstack import GuestError, Outcome, render
from interpstack_inspect.shown.answers import answer_parts


def test_the_parts_of_an_envelope() -> None:
    outcome = Outcome(text="1 < 2 && </result>", console="a\n<b>", notices=["careful"], error=None)
    assert list(answer_parts(render(outcome))) == [
        ("Notice", "careful"),
        ("Console", "a\n<b>"),
        ("Result", "1 < 2 && </result>"),
    ]


def test_an_error_says_its_type() -> None:
    text = render(Outcome(error=GuestError("TypeError", "no <b>")))
    ((title, shown),) = answer_parts(text)
    assert title == 'Error (type="TypeError")'
    assert "no <b>" in shown


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("", []),
        ("plain text", [("Answer", "plain text")]),
        ("<b>bold</b>", [("Answer", "<b>bold</b>")]),
        ("<result>1", [("Answer", "<result>1")]),
        ("<result>1</result>\n[image]", [("Result", "1"), ("Further text", "[image]")]),
    ],
)
def test_other_forms_stay_whole(answer: str, parts: list[tuple[str, str]]) -> None:
    assert list(answer_parts(answer)) == parts
