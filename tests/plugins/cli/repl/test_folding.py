"""Values that are broken into lines."""

from __future__ import annotations

import time

import pytest

from interpstack_cli.repl.folding import fold


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("[1, 2, 3]", ["[1, 2, 3]"]),
        ('{a: 1, b: "xxxxxxxxxxxxxxx"}', ["{", "  a: 1,", '  b: "xxxxxxxxxxxxxxx"', "}"]),
        ("[11, 22, 33, 44, 55, 66, 77]", ["[", "  11, 22, 33, 44,", "  55, 66, 77", "]"]),
        (
            "{a: [1, 2], b: {c: 333333333333333333}}",
            ["{", "  a: [1, 2],", "  b: {", "    c: 333333333333333333", "  }", "}"],
        ),
        ('Map(1) {"a" => [1, 2, 3]}', ["Map(1) {", '  "a" => [1, 2, 3]', "}"]),
        ('["a, [b", "c\\"], d, eeeee"]', ["[", '  "a, [b",', '  "c\\"], d, eeeee"', "]"]),
        ("[]" * 20, ["[]" * 20]),
        ("[a] is a text, and goes on [b]", ["[a] is a text, and goes on [b]"]),
        ("a text, (not a value) and long", ["a text, (not a value) and long"]),
        ("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10", ["[1, 2, 3, 4, 5, 6, 7, 8, 9, 10"]),
        ("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10}", ["[1, 2, 3, 4, 5, 6, 7, 8, 9, 10}"]),
        ("[1, 2, 3,\n 4, 5, 6, 7, 8, 9, 10]", ["[1, 2, 3,", " 4, 5, 6, 7, 8, 9, 10]"]),
    ],
)
def test_values_are_broken_at_their_brackets(text: str, lines: list[str]) -> None:
    assert fold(text, 20).split("\n") == lines


@pytest.mark.parametrize("text", ["[" * 500 + "]" * 500, "[" + "{a: 1}, " * 200 + "]"])
def test_nothing_but_white_space_is_added(text: str) -> None:
    folded = fold(text, 40)
    assert "".join(folded.split()) == "".join(text.split())
    assert folded != text


def test_what_is_huge_is_left_alone() -> None:
    text = "[" + "1, " * 100_000 + "1]"
    assert fold(text, 80) is text


def test_quotes_that_are_not_closed_take_time_in_proportion() -> None:
    text = '[/"' + '\\"' * 90_000 + "/, can't, [1, 2]]"
    began = time.thread_time()
    shown = fold(text, 80)
    assert time.thread_time() - began < 5  # minutes, if each quote is looked for to the end
    assert "".join(shown.split()) == "".join(text.split())
    assert shown.count("\n") > 2
