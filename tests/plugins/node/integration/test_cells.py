"""Cells on Node: one live scope, awaits, types, tools, time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from interpstack import Bridge, Cell, InterpreterStack, Limits, ModuleBundle, Session, hookimpl
from interpstack.contracts.modules import ModuleLoader
from interpstack_testing import JAVASCRIPT


async def _echo(value: Any) -> Any:
    return value


async def _fail(value: Any) -> Any:
    raise ValueError(f"no {value}")


@pytest.fixture(scope="module")
def stack() -> Iterator[InterpreterStack]:
    handlers = {"host.echo": _echo, "host.fail": _fail}
    bridges = [Bridge(name=name, handler=one, raw=True) for name, one in handlers.items()]
    limits = Limits(cpu_seconds=30, wall_seconds=120)
    with InterpreterStack("node", ["console"], bridges=bridges, limits=limits) as opened:
        yield opened


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (["1 + 1"], "2"),
        (["let x = 1", "x = 2", "x"], "2"),
        (["let x = 1", "let x = 2; x"], "2"),
        (["const x = 1", "const x = 2; x"], "2"),
        (["class A { who() { return 1; } }", "class A { who() { return 2; } } new A().who()"], "2"),
        (["function f() { return 1; }", "function f() { return 2; } f()"], "2"),
        (["let n = 0; const inc = () => ++n", "inc(); inc(); n = 100", "inc()"], "101"),
        (["const {a, b: [c, ...d]} = {a: 1, b: [2, 3, 4]}", "[a, c, d]"], "[1, 2, [3, 4]]"),
        (["await Promise.resolve(3)"], "3"),
        (["const x = await new Promise((r) => setTimeout(r, 5, 7)); x", "x"], "7"),
        (["for await (const x of [1, 2]) var last = x", "last"], "2"),
        (["if (true) { var q = 1 }", "q"], "1"),
        (["({a: 1})"], "{a: 1}"),
        (["new Promise((r) => setTimeout(r, 5, 8))"], "8"),
        (["globalThis.y = 5", "y"], "5"),
        (["const e = new TypeError('x'); e instanceof Error && e instanceof TypeError"], "true"),
        (["typeof process + typeof require + typeof module"], "undefinedundefinedundefined"),
        (["typeof Buffer + typeof setImmediate + (global === globalThis)"], "functionfunctiontrue"),
        (["typeof setTimeout + typeof URL + typeof structuredClone"], "functionfunctionfunction"),
        (["typeof gc + typeof WebAssembly + typeof SharedArrayBuffer"], "undefined" * 3),
        (["await host.echo({a: [1n, -0, undefined]})"], "{a: [1n, -0, undefined]}"),
        (["(await Promise.all([1, 2, 3].map((n) => host.echo(n)))).join()"], "1,2,3"),
        (["try { await host.fail(1) } catch (error) { `${error.message}` }"], "no 1"),
        (["const u = await host.echo('\\u2028'); u.charCodeAt(0)"], "8232"),
        (["new Uint8Array([1, 2, 3])", "typeof Uint8Array.prototype.at"], "function"),
    ],
)
async def test_cells(session: Session, cells: list[str], text: str) -> None:
    for cell in cells:
        outcome = await session.eval(cell)
        assert outcome.error is None, outcome.error
    assert outcome.text == text


@pytest.mark.parametrize(
    ("cell", "later", "text"),
    [
        ("const a = 1; throw 0; const b = 2", "[a, typeof b]", '[1, "undefined"]'),
        ("var e = 1; throw 0; var late; function fn() {}", "[e, typeof fn]", '[1, "function"]'),
        ("function foo() {} throw 0", "typeof foo", "function"),
        ("for (var i of [2]) {} throw 0", "i", "2"),
        ("let x = 5; x = 6; throw 0", "x", "6"),
        ("var a = 1, b = boom()", "a", "1"),
        ("const a = 1; await null; throw 0", "a", "1"),
        ("const a = 1; const a = ;", "typeof a", "undefined"),
    ],
)
async def test_what_a_failed_cell_leaves(
    session: Session, cell: str, later: str, text: str
) -> None:
    assert not (await session.eval(cell)).ok
    assert (await session.eval(later)).text == text


async def test_errors_name_the_cell_and_nothing_of_node(session: Session) -> None:
    source = "function f() {\n  throw new RangeError('no');\n}\nf()"
    error = (await session.eval(Cell(source=source, name="sum.js"))).error
    assert error is not None
    assert (error.name, error.message) == ("RangeError", "no")
    assert error.stack == "    at f (sum.js:2:9)\n    at <cell> (sum.js:4:1)"


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("let x = ;", 1, 9),
        ("let x = 1;\nlet y = x +* 2", 2, 12),
        ("1 +", 1, 4),
        ("await 1; (", 1, 11),
    ],
)
async def test_syntax_errors_have_a_place(
    session: Session, source: str, line: int, column: int
) -> None:
    error = (await session.eval(source)).error
    assert error is not None
    assert error.name == "SyntaxError"
    assert error.place is not None
    assert (error.place.line, error.place.column) == (line, column)


async def test_typescript(session: Session) -> None:
    source = "interface P { n: number }\nconst p: P = {n: 41};\n(p.n as number) + 1"
    assert (await session.eval(Cell(source=source, language="typescript"))).text == "42"
    assert (await session.eval("p.n")).text == "41"


async def test_console_of_a_failed_and_of_a_stopped_cell(session: Session) -> None:
    outcome = await session.eval("console.log('a', {b: 1}); console.error('c'); throw 1")
    assert outcome.console == "a {b: 1}\nc"
    outcome = await session.eval("console.log('x'.repeat(10_000)); 1")
    assert outcome.console == "x" * 4000


async def test_output_is_heard_as_it_comes(session: Session) -> None:
    heard: list[str] = []
    source = "console.log('one'); await host.echo(1); console.log('two'); console.log('three')"
    outcome = await session.eval(source, on_console=heard.append)
    assert "".join(heard) == outcome.console == "one\ntwo\nthree"


async def test_the_clock_is_the_hosts(session: Session) -> None:
    import time

    before = time.time() * 1000
    assert float((await session.eval("Date.now()")).text) == pytest.approx(before, abs=60_000)
    assert (await session.eval("const t = Date.now(); while (Date.now() < t + 50); 1")).text == "1"


async def test_a_late_rejection_costs_nothing(session: Session) -> None:
    await session.eval(
        "for (let i = 0; i < 1000; i++) Promise.reject(new Error('late')); let n = 1"
    )
    assert (await session.eval("n")).text == "1"


async def test_a_cancelled_cell_leaves_its_session_usable(session: Session) -> None:
    await session.eval("let n = 1")
    task = asyncio.create_task(session.eval("n = 2; for (;;);"))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await session.eval("n")).text in ("1", "2")


async def test_a_guest_that_computes_holds_no_thread(stack: InterpreterStack) -> None:
    """More cells compute at once than there are guest threads."""
    import threading

    sessions = [stack.session() for _ in range(4)]
    for session in sessions:
        await session.eval("1")
    before = threading.active_count()
    tasks = [asyncio.create_task(session.eval("for (;;);")) for session in sessions]
    await asyncio.sleep(0.3)
    assert threading.active_count() <= before
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for session in sessions:
        session.close()


class _Throwing:
    """A plugin with the modules that the kit's guests throw from."""

    @hookimpl
    def interpstack_resolve_module(self, specifier: str) -> ModuleLoader | None:
        async def load() -> ModuleBundle:
            return ModuleBundle("hostile", {"hostile": JAVASCRIPT.hostile_modules[specifier]})

        return load if specifier in JAVASCRIPT.hostile_modules else None


@pytest.mark.parametrize(
    "module", [name for name in JAVASCRIPT.hostile_modules if "getters" in name or "error" in name]
)
def test_what_a_module_throws_is_not_read_outside_the_guest(module: str) -> None:
    """The kernel would not stop there, and its process would be ended."""
    with InterpreterStack("node", [_Throwing()]) as opened, opened.session() as session:
        session.eval_sync("const kept = () => 41")
        caught = session.eval_sync(f"try {{ await import({module!r}) }} catch {{ kept() + 1 }}")
        assert (caught.error, caught.text) == (None, "42")
        assert session.eval_sync("kept()").text == "41"
