"""Bindings from cell to cell, row by row; `docs/reference/node.md` lists where they differ.

`UNSET` in place of a value: another notebook for JavaScript has no such variable there. Here one
global scope holds all declarations of a cell from its beginning, so the variable is `undefined`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interpstack import InterpreterStack, Limits, Session

UNSET = "undefined"
#: The text of a name that is not declared, since its line was not reached: there is none.
GONE = ""


@pytest.fixture(scope="module")
def stack() -> Iterator[InterpreterStack]:
    limits = Limits(cpu_seconds=30, wall_seconds=120)
    with InterpreterStack("node", ["console"], limits=limits) as opened:
        yield opened


async def _values(session: Session, names: list[str]) -> list[str]:
    return [(await session.eval(f"String({name})")).text for name in names]


_FAILED: list[tuple[str, dict[str, str]]] = [
    ("const a = 1; throw 0; const b = 2", {"a": "1", "b": GONE}),
    ("const {a, b} = {a: 1, get b() { throw 0 }}", {"a": "1", "b": GONE}),
    ("var {a, b} = {a: 1, get b() { throw 0 }}", {"a": "1", "b": UNSET}),
    ("var e = 1; throw 0; var late; function fn() {}", {"e": "1", "late": UNSET}),
    ("function foo() {} throw 0", {"typeof foo": "function"}),
    ("foo(); throw 0; function foo() {}", {"typeof foo": "function"}),
    ("x = 5; y = 1; y += 2; z = 1; z++; throw 0; var x, y, z", {"x": "5", "y": "3", "z": "2"}),
    ("x &&= 1; y ||= 2; z ??= 3; throw 0; var x, y, z", {"x": UNSET, "y": "2", "z": "3"}),
    ("{ let x = 1; x = 2 } throw 0; var x", {"x": UNSET}),
    ("x = (y = 1); throw 0; var x, y", {"x": "1", "y": "1"}),
    ("for (var i of [2]) {} for (var e of []) {} throw 0", {"i": "2", "e": UNSET}),
    ("var v; throw 0", {"v": "undefined"}),
    ("var a = 1, b = boom()", {"a": "1", "b": UNSET}),
    ("let a = 1; await null; throw 0; let b", {"a": "1", "b": GONE}),
    ("const a = await 1; const b = await Promise.reject(2)", {"a": "1", "b": GONE}),
    ("class A {} throw 0; class B {}", {"typeof A": "function", "B": GONE}),
]


@pytest.mark.parametrize(("cell", "values"), _FAILED)
async def test_a_failed_cell_keeps_what_it_initialised(
    session: Session, cell: str, values: dict[str, str]
) -> None:
    assert not (await session.eval(cell)).ok
    assert await _values(session, list(values)) == list(values.values())
    for name in values:  # and each name can be declared again
        if name.isidentifier():
            assert (await session.eval(f"let {name} = 7; {name}")).text == "7"


_KEPT: list[tuple[list[str], str, str]] = [
    (["let x = 1", "try { x = 2; throw 0 } catch {}"], "x", "2"),
    (["let x = 1", "x = 2; throw 0"], "x", "2"),
    (["let x = 1", "x = 2; import 'no-such-package'; let y = 3"], "x + typeof y", "2undefined"),
    (["if (true) { var q = 1 }"], "q", "1"),
    (["on: for (;;) { var q = 1; break on } switch (q) { case 1: var r = 2 }"], "q + r", "3"),
    (["try { var q = 1 } finally {}", "while (true) { var w = 1; break }"], "q + w", "2"),
    (["g = 1"], "g", "1"),
    (["globalThis.x = 4"], "x", "4"),
    (["const x = 1", "const x = 2"], "x", "2"),
    (["let x = 1", "var x = 2"], "x", "2"),
    (["const x = 1", "var x = 2"], "x", "2"),
    (["function f() { return 1 }", "function f() { return 2 }"], "f()", "2"),
    (["class A {}", "class A { who() { return 2 } }"], "new A().who()", "2"),
    (["const c = 1", "c = 2"], "c", "2"),
    (["let n = 0; function inc() { n++; return n }", "inc()", "n = 100"], "inc()", "101"),
    (["let t; setTimeout(() => { t = 5 }, 1)", "await new Promise((r) => setTimeout(r, 5))"],
        "t", UNSET),
    (["let __prev = 1"], "__prev", "1"),
    (["{ const globalThis = 1; var ok = 5 }"], "ok", "5"),
    (["function f() { /* c */ return 1 }"], "f.toString()", "function f() { /* c */ return 1 }"),
    (["const {a, b: [c = 3], ...rest} = {a: 1, b: [], d: 4}"], "a + c + rest.d", "8"),
    (["for (var i = 0; i < 2; i++) {}"], "i", "2"),
    (["const a = 1; const a = 2"], "typeof a", UNSET),
    (["const a = ;"], "typeof a", "undefined"),
]  # fmt: skip


@pytest.mark.parametrize(("cells", "later", "text"), _KEPT)
async def test_bindings_outlive_their_cell(
    session: Session, cells: list[str], later: str, text: str
) -> None:
    for cell in cells:
        await session.eval(cell)
    assert (await session.eval(later)).text == text


async def test_export_is_a_syntax_error(session: Session) -> None:
    error = (await session.eval("export const z = 1")).error
    assert error is not None
    assert error.name == "SyntaxError"


@pytest.mark.parametrize(
    ("source", "console"),
    [
        ("const a = 1; console.log(a)", "1"),
        ("console.log({a: {b: {c: {d: {e: {f: 1}}}}}})", "{a: {b: {c: {d: {e: [Object]}}}}}"),
        ("console.log('%s x', 'y', 1n)", "y x 1n"),
        ("console.log('kept'); throw 1", "kept"),
        ("console.table([{a: 1}])", "a"),
    ],
)
async def test_output(session: Session, source: str, console: str) -> None:
    assert console in (await session.eval(source)).console


async def test_a_busy_loop_ends_and_the_next_cell_works() -> None:
    limits = Limits(cpu_seconds=0.5, wall_seconds=60)
    with InterpreterStack("node", limits=limits) as stack, stack.session() as session:
        await session.eval("let n = 1")
        error = (await session.eval("n = 2; for (;;);")).error
        assert error is not None
        assert error.name == "Timeout"
        assert (await session.eval("n")).error is None


async def test_one_callback_that_fires_in_a_later_cell_is_no_part_of_it(session: Session) -> None:
    await session.eval("globalThis.fired = 0; setTimeout(() => { fired++; boom() }, 1)")
    outcome = await session.eval("await new Promise((r) => setTimeout(r, 20)); fired")
    assert outcome.error is None
