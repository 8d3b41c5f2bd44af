"""How a cell's source is prepared, and what that gives in the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import InterpreterStack, Session
from interpstack_javascript.cells import OutOfTime, ThreadClock, prepare


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    stack = InterpreterStack()
    async with stack.session("s") as opened:
        yield opened
    stack.close()


@pytest.mark.parametrize(
    ("source", "prepared"),
    [
        ("let a = 1", "var a = 1"),
        ("const a = 1", "var   a = 1"),
        ("let a = 1,\n    b = 2", "var a = 1,\n    b = 2"),
        ("const {a, b: [c]} = x", "var   {a, b: [c]} = x"),
        ("let [a, {b = class {}, ...c}] = x", "var [a, {b = class {}, ...c}] = x"),
        ("class A {}", "var A = class A {};"),
        (
            "class A extends B {\n  m() {}\n}\nlet b",
            "var A = class A extends B {\n  m() {}\n};\nvar b",
        ),
        ("class A {} class B {}", "var A = class A {}; var B = class B {};"),
        ("const a = class B {}", "var   a = class B {}"),
        ("const f = () => { let x; }", "var   f = () => { let x; }"),
        ("let é = 1; const ü = '😀'; class Ö {}", "var é = 1; var   ü = '😀'; var Ö = class Ö {};"),
        ("#!sh\nlet a = 1", "#!sh\nvar a = 1"),
        ("let a = 1 /* let */ + 2; // let", "var a = 1 /* let */ + 2; // let"),
        ("let a = `\n${1}\n`; class A {}", "var a = `\n${1}\n`; var A = class A {};"),
        ("let a = 1; }", "let a = 1; }"),
        ("'\ud800'", "'\\ud800'"),
        ("'\0'", "'\\u0000'"),
    ],
)
def test_top_level_declarations(source: str, prepared: str) -> None:
    assert prepare(source) == prepared


@pytest.mark.parametrize(
    "source",
    [
        "",
        "1 + 1",
        "var a = 1; function f() {} async function g() {}",
        "if (1) { let b = 1; const c = 2; class D {} }",
        "for (let i of x) {} for (const k in x);",
        "async function f() { const x = 1; class C {} }",
        "label: { const x = 1 }",
        "switch (1) { case 1: let x = 1 }",
        "try { let a } catch (e) { const b = 1 } finally { class C {} }",
        "(class A {}); x = class B {}",
        "'let a'; \"const b\"; `class C ${'let d'} {}`; /let e/; // const f\n/* class G {} */",
        "x = {let: 1, const: 2, class: 3}; x.let; x.class",
        "letter = constant + classy",
        "var let_ = 1, $const = 2",
    ],
)
def test_everything_else_stays(source: str) -> None:
    assert prepare(source) == source


@given(st.text(max_size=200))
def test_any_text_is_prepared(source: str) -> None:
    assert prepare(source).count("\n") == source.count("\n")


@given(st.text(alphabet="let const class A{}()=;\n'`/*", max_size=80))
def test_text_of_code_is_prepared(source: str) -> None:
    prepared = prepare(source)
    assert prepared.count("\n") == source.count("\n")
    assert len(prepared) >= len(source) - 2 * source.count("const")


@pytest.mark.parametrize(
    "cells",
    [
        ["let x = 1", "let x = 2", "x", "2"],
        ["const x = 1", "const x = 2; x", "2"],
        ["let x = 1", "const x = 2", "x = 3; x", "3"],
        ["var x = 1", "let x", "x", "1"],
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
        ("return 5", 1),
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
    with pytest.raises(OutOfTime):
        ThreadClock(0.0, lambda: False).pause()
    with pytest.raises(OutOfTime):
        ThreadClock(60.0, lambda: True).pause()
