"""Tests of interpstack_javascript.rewriting.lexis."""

from __future__ import annotations

import pytest

from interpstack_javascript.rewriting import lexis
from interpstack_javascript.rewriting.lexis import (
    BREAK,
    EVENT,
    REGEX,
    STRING,
    TEMPLATE,
    before_label,
    behind_space,
    classify,
    first_code,
    is_part,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x", lexis.OPERAND),
        ("5", lexis.OPERAND),
        ("5.", lexis.OPERAND),
        ("ö", lexis.OPERAND),
        ("return", lexis.KEYWORD),
        ("x.return", lexis.OPERAND),
        ("...await", lexis.KEYWORD),
        ("myreturn", lexis.OPERAND),
        ("$await", lexis.OPERAND),
        ("instanceof", lexis.KEYWORD),
        ("notinstanceof", lexis.OPERAND),
        ("of", lexis.SOFT),
        ("if", lexis.HEAD),
        ("do", lexis.DO),
        ("else", lexis.CONTROL),
        ("a;", lexis.SEMICOLON),
        ("a:", lexis.COLON),
        ("a +", lexis.OPERATOR),
        ("a++", lexis.OPERAND),
        ("a--", lexis.OPERAND),
        ("a =>", lexis.ARROW),
        ("a =", lexis.OPERATOR),
        ("a.", lexis.OPERATOR),
        ("\\u{61}", lexis.OPERAND),
    ],
)
def test_the_kind_of_the_last_token(text: str, kind: str) -> None:
    assert classify(text) == kind


@pytest.mark.parametrize(
    "text", ['"a"', "'a\\'b'", '"a\\\nb"', "'a\\\r\nb'", '"\\\\"', "''", '"\u2028"']
)
def test_strings_are_whole(text: str) -> None:
    found = STRING.match(f"{text} + 'c'")
    assert found is not None
    assert found[0] == text


@pytest.mark.parametrize("text", ["'a\nb'", '"a', "'a\\'", '"\r"'])
def test_what_has_no_end_is_no_string(text: str) -> None:
    assert STRING.match(text) is None


@pytest.mark.parametrize("text", ["/a/", "/[/]/g", "/\\//u", "/a[\\]/]b/gi", "/(?<n>x)/"])
def test_regular_expressions_are_whole(text: str) -> None:
    found = REGEX.match(f"{text}.test(x)")
    assert found is not None
    assert found[0] == text


@pytest.mark.parametrize("text", ["// a", "/* a */", "/a", "/a\n/", "/[a/"])
def test_other_slashes_begin_none(text: str) -> None:
    assert REGEX.match(text) is None


@pytest.mark.parametrize(
    ("text", "end"),
    [("a`b", "a`"), ("a${b", "a${"), ("$ $$a`", "$ $$a`"), ("\\`a\\${`", "\\`a\\${`")],
)
def test_a_template_ends_or_comes_to_code(text: str, end: str) -> None:
    found = TEMPLATE.match(text)
    assert found is not None
    assert found[0] == end


def test_events_are_what_changes_the_state_of_a_scan() -> None:
    source = "let a = f('(') /* ) */ + classy + x.const; // }\nimport(b) <!-- ]\n--> `"
    assert [found[0] for found in EVENT.finditer(source)] == [
        "let",
        "(",
        "'('",
        ")",
        "/* ) */",
        "const",
        "// }",
        "import",
        "(",
        ")",
        "<!-- ]",
        "-->",
        "`",
    ]


@pytest.mark.parametrize(
    ("before", "part"),
    [
        ("", False),
        (" ", False),
        (";", False),
        ("my", True),
        ("#", True),
        ("$", True),
        ("x.", True),
        ("x .\n ", True),
        ("[...", False),
        ("5.", False),
        ("a5.", True),
    ],
)
def test_words_inside_of_names_and_after_dots_are_no_keywords(before: str, part: bool) -> None:
    assert is_part(f"{before}let", len(before), 0) is part


def test_nothing_is_looked_at_before_the_code_began() -> None:
    assert is_part("x. let", 3, 0)
    assert not is_part("x. let", 3, 2)


@pytest.mark.parametrize(
    ("source", "start"), [("1", 0), ("#!/usr/bin/node\n1", 15), ("#!x\u20281", 3), ("#!x", 3)]
)
def test_code_begins_after_a_hashbang(source: str, start: int) -> None:
    assert first_code(source) == start


@pytest.mark.parametrize(
    "space", ["", " \t\n", "/* a */ ", "// a\n\u00a0", "<!-- a\n/**/", "\ufeff\u2029"]
)
def test_the_next_token_is_behind_space_and_comments(space: str) -> None:
    assert behind_space(f"x{space}y", 1) == 1 + len(space)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x; a:", (lexis.SEMICOLON, False)),
        ("x\na:", (lexis.OPERAND, True)),
        ("x ? a :", (lexis.OPERATOR, False)),
        ("a :", (lexis.OPEN, False)),
        ("(x) :", (lexis.COLON, False)),
    ],
)
def test_what_stands_before_a_label(source: str, found: tuple[str, bool]) -> None:
    assert before_label(source, len(source), 0, lexis.OPEN) == found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (STRING, "'" + "\\a" * 200_000),
        (REGEX, "/" + "[a" * 200_000),
        (TEMPLATE, "$" * 400_000),
        (BREAK, "x" * 400_000),
    ],
)
def test_no_pattern_tries_a_text_in_many_ways(pattern: object, text: str) -> None:
    """One that did would take hours: each has hundreds of thousands of places to go back to."""
    assert pattern.match(text) is None  # type: ignore[attr-defined]
