"""How a cell's source is prepared, and what that gives in the engine."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import InterpreterStack, Session
from interpstack_javascript.cells import (
    ENDLESS,
    CellTimeout,
    Prepared,
    SourceError,
    ThreadClock,
    escape,
    is_plain,
    prepared,
)
from interpstack_javascript.preparation import join_cells, prepare


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    stack = InterpreterStack()
    async with stack.session("s") as opened:
        yield opened
    stack.close()


#: Pieces of sources whose order makes many kinds of them.
_PIECES = st.sampled_from(
    [
        *("let ", "const ", "var ", "class ", "function ", "import ", "await ", "async ", "for "),
        *("of ", "return ", "if ", "enum ", "type ", "as ", "=>", "//", "/*", "*/", "${", "'s'"),
        *"(){}[];,=<>.:?!\n `'/#@\u3000ab1😀\ud800\0",
    ]
)


def _prepared(source: str) -> Prepared | SourceError:
    try:
        return prepared(source)
    except SourceError as error:
        return error


def _lines(text: str) -> int:
    return len(re.findall("\r\n|[\n\r\u2028\u2029]", text))


@given(st.one_of(st.text(max_size=100), st.lists(_PIECES, max_size=30).map("".join)))
def test_any_text_is_prepared_or_refused_with_a_place(source: str) -> None:
    found = _prepared(source)
    if isinstance(found, SourceError):
        assert 0 <= found.offset <= len(escape(source))
        assert str(found)
    else:
        assert _lines(found.source) == _lines(escape(source)) + found.awaits
        assert _lines(found.functions) in (0, _lines(escape(source)))


@given(st.lists(st.sampled_from("ab1.,;()[]+-*%?=!<>\"' \n"), max_size=12).map("".join))
def test_a_plain_source_is_the_same_after_preparation(source: str) -> None:
    if is_plain(source):
        try:
            script = prepare(source, None, ENDLESS)
        except SourceError:
            return  # the engine refuses it, too
        assert (script.source, script.awaits, script.declared) == (source, False, {})


@pytest.mark.parametrize("source", ["1+1", "a.b(c)[0] = 'd'", "x", "", "f();\ng(1, 2)"])
def test_expressions_are_plain(source: str) -> None:
    assert is_plain(source)


@pytest.mark.parametrize(
    "source",
    ["let a", "a / b", "`a`", "{}", "await 1", "a < b", "x as y", "\\u0061", "\u3000", "a:b"],
)
def test_what_may_need_preparation_is_not_plain(source: str) -> None:
    assert not is_plain(source)


def test_names_are_reported_by_kind() -> None:
    source = "let a, b; const {c} = 1; var d; function e() {} class F {} import g from 'h'"
    source += "; enum I {}"
    declared = prepared(source).declared
    assert declared == {
        "let": ["a", "b", "F", "g"], "const": ["c"], "var": ["d", "I"], "function": ["e"],
    }  # fmt: skip


def test_a_large_source_is_prepared_under_the_clock_of_its_cell() -> None:
    source = "let a = 1;\n" + "a += [1, 2, {b: 3}].length;\n" * 20_000
    with pytest.raises(CellTimeout):
        prepared(source, None, ThreadClock(0.0, lambda: False))
    with pytest.raises(CellTimeout):
        prepared(source, None, ThreadClock(None, lambda: True))


@pytest.mark.parametrize("piece", ["[", "(", "{", "`${", "f(", "a=>", "!", "[...", "({a:"])
def test_a_deep_source_is_refused(piece: str) -> None:
    with pytest.raises(SourceError):
        prepared("let a = 1;" + piece * 100_000)


@pytest.mark.parametrize(
    "cells",
    [
        ["let x = 1", "let x = 2", "x", "2"],
        ["const x = 1", "const x = 2; x", "2"],
        ["let x = 1", "const x = 2", "x = 3; x", "3"],
        ["var x = 1", "let x", "x", "undefined"],
        ["class A { v = 1 }", "class A { v = 2 }", "new A().v", "2"],
        ["class A { v = 1 }", "class B extends A { w = 2 }; const b = new B; b.v + b.w", "3"],
        ["class A {}", "A.name", "A"],
        ["function f() { return 1; }", "function f() { return 2; }", "f()", "2"],
        ["function f() { return 1; }", "const f = () => 2; f()", "2"],
        ["const {a, b: [c]} = {a: 1, b: [2]}", "a + c", "3"],
        ["const [p, ...q] = [1, 2, 3]", "q.length", "2"],
        ["const x = await Promise.resolve(5)", "x", "5"],
        ["let x = 1; { let x = 2; } x", "1"],
        ["for (let i = 0; i < 3; i++); typeof i", "undefined"],
        ["async function later() { return 7; }", "await later()", "7"],
        ["function* gen() { yield 1; }", "[...gen()].length", "1"],
        ["let x = 1; throw 1", "x", "1"],
        ["if (true) { 'branch' }", "branch"],
        ["const o = {a: 1}; o", "{a: 1}"],
        ["let a = 1; a;", "1"],
        ["'use strict'; 5", "5"],
        ["1; // comment", "1"],
        ["await 1;\n\n/* end */", "1"],
    ],
)
async def test_variables_persist_and_may_be_declared_again(
    session: Session, cells: list[str]
) -> None:
    *sources, expected = cells
    for source in sources:
        outcome = await session.eval(source)
    assert outcome.text == expected, outcome.error


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("let a = 1;\nconst b = 2;\nthrow new Error('x')", 3),
        ("class A {\n  m() {\n    throw new Error('x');\n  }\n}\nnew A().m()", 3),
        ("const s = `\n\n`;\nnull.x", 4),
        ("const {\n  a,\n  b,\n} = {};\na.x", 5),
        ("// é😀\nlet é = 1;\nmissing", 3),
        ("await null;\nawait null;\nnull.x", 3),
        ("const f = async () => {\n  await null;\n  null.x;\n};\nawait f()", 3),
    ],
)
async def test_errors_name_the_line(session: Session, source: str, line: int) -> None:
    outcome = await session.eval(source)
    assert outcome.error is not None
    assert f"(cell:{line}:" in outcome.error.stack.splitlines()[0]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("let x = ;", 1),
        ("let a = 1;\nlet b = ;", 2),
        ("if (1) {\n  let x = 1;\n", 2),
        ("const a = 1;\n\nfunction (", 3),
        ("return 5;\nlet b = ;", 2),
        ("class A {\n  x = \n}", 3),
    ],
)
async def test_syntax_errors_name_the_line(session: Session, source: str, line: int) -> None:
    outcome = await session.eval(source)
    assert outcome.error is not None
    assert outcome.error.name == "SyntaxError"
    assert outcome.error.message
    assert outcome.error.stack.strip().startswith(f"at cell:{line}:"), outcome.error.stack


async def test_a_syntax_error_runs_nothing(session: Session) -> None:
    await session.eval("let a = 1; a = 2; let b = ;")
    assert (await session.eval("typeof a")).text == "undefined"


def test_time_runs_out() -> None:
    ThreadClock(60.0, lambda: False).pause()
    endless = ThreadClock(None, lambda: False)
    endless.pause()
    assert endless.left() is None
    with pytest.raises(CellTimeout):
        ThreadClock(0.0, lambda: False).pause()
    with pytest.raises(CellTimeout):
        ThreadClock(60.0, lambda: True).pause()


@pytest.mark.parametrize(
    ("cells", "whole"),
    [
        (["let a = 1", "a + 1"], "let a = 1\na + 1"),
        (["let a = 1", "const a = 2, b = 3; a"], "var a = 1\nvar a = 2, b = 3; a"),
        (["class A {}", "class A { x() {} }"], "var A = class A {};\nvar A = class A { x() {} };"),
        (["function f() {}", "let f = '😀'"], "function f() {}\nvar f = '😀'"),
        (["1", "[2]", "(3)"], "1\n;[2]\n;(3)"),
        (["let t: number = 1", "let t: string = ''"], "var t: number = 1\nvar t: string = ''"),
    ],
)
async def test_cells_are_joined_to_one(session: Session, cells: list[str], whole: str) -> None:
    assert join_cells(cells) == whole
    assert (await session.eval(whole)).ok
