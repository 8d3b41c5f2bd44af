"""What cells may be: top-level await, declarations, values, errors, TypeScript."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import pytest

from interpstack import Cell, Session


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (["let a = 1; const b = 2; class C { m() { return a + b } }", "new C().m()"], "3"),
        (["const a = await host.echo(1), [b, {c: d = 3, ...e}] = [2, {x: 4}]", "[a, b, d, e.x]"], "[1, 2, 3, 4]"),
        (["let a = 1", "const a = await host.echo(2)", "let a = a + 1; a"], "3"),
        (["await null; function f() { return g() } function g() { return 7 }", "f()"], "7"),
        (["const x = f(); await null; function f() { return 8 }", "x"], "8"),
        (["for (var i = 0, n; i < 3; i++) await null; for (var k of [4, 5]) await k;", "[i, n, k]"], "[3, undefined, 5]"),
        (["let total = 0; for await (const x of [1, 2]) total += x; total"], "3"),
        (["await 1; if (true) { 5 } else { 6 }"], "5"),
        (["await 1; for (let i = 0; i < 3; i++) { i * 2 }"], "4"),
        (["await 1; 'value' // and a comment"], "value"),
        (["await 1; [1, 2]\n;[3].map(String)"], '["3"]'),
        (["await (async () => 4)()"], "4"),
        (["await (host.echo)(6)"], "6"),
        (["await Promise.all([1, 2].map(async (x) => { const y = await host.echo(x); return y * 2 }))"], "[2, 4]"),
        (["try { await host.echo(1); throw new Error('x') } catch (e) { e.message } finally { var done = 1 }", "done"], "1"),
        (["const {a, b} = await host.echo({a: 1, b: 2}); `${a}${b}`"], "12"),
        (["let x; await 1", "typeof x"], "undefined"),
        (["class A { static v = 3 } await 1; A.v", "A.v"], "3"),
        (["await 1; this === globalThis"], "true"),
        (["'use strict'; await 1; (function () { return this })()"], "undefined"),
        (["const await_ = 1; await_"], "1"),
        (["Promise.resolve(9)"], "9"),
        (["1; Promise.reject(new Error('nobody looks')); 2"], "2"),
        (["typeof __bootstrap + typeof WebAssembly + typeof Temporal + typeof ReadableStream"], "undefined" * 4),
        (["Object.keys(globalThis).filter((name) => !name.startsWith('queue'))"], "[]"),
    ],
)  # fmt: skip
async def test_cells(session: Session, cells: list[str], text: str) -> None:
    for cell in cells:
        outcome = await session.eval(cell)
        assert outcome.error is None, (cell, outcome.error)
    assert outcome.text == text


@pytest.mark.parametrize(
    ("cell", "name", "message", "place"),
    [
        ("1;\n  null.x", "TypeError", "null", "cell:2:8"),
        ("await 1;\nnull.x", "TypeError", "null", "cell:2:"),
        ("function f() {\n throw new RangeError('r') }\nf()", "RangeError", "r", "at f (cell:2:8)"),
        ("1;\nlet q = ;", "SyntaxError", "Unexpected token", "cell:2:9"),
        ("await 1;\nlet q = ;", "SyntaxError", "Unexpected token", "cell:2:"),
        ("await 1; return 2", "SyntaxError", "Illegal return", ""),
        ("return 2", "SyntaxError", "Illegal return", ""),
        ("JSON.parse('{')", "SyntaxError", "JSON", "cell:1:6"),
        ("tools = 1; host = 2", "TypeError", "reserved", "cell:1:"),
        ("$interpstack('', 'say', '[\"names\"]')", "TypeError", "reserved", "cell:1:1"),
        ("$interpstack = 1; 'use strict'; delete globalThis.$interpstack || null.x", "TypeError", "null", ""),
        ("await import('nothing')", "ModuleNotFound", "nothing", ""),
        ("eval('import(\"nothing\")')", "TypeError", "nothing", ""),
    ],
)  # fmt: skip
async def test_errors(session: Session, cell: str, name: str, message: str, place: str) -> None:
    error = (await session.eval(cell)).error
    assert error is not None
    assert error.name == name
    assert message in error.message
    assert place in error.stack
    for hidden in ("ext:core", "interpstack:", "<eval_async>", "guest:cell", "<anonymous>"):
        assert hidden not in error.stack


async def test_typescript_is_stripped(session: Session) -> None:
    source = "enum E { A = 4 }\nconst x: number = await host.echo(E.A) as number; x"
    outcome = await session.eval(Cell(source=source, language="typescript"))
    assert (outcome.error, outcome.text) == (None, "4")
    outcome = await session.eval(Cell(source="let = : number", language="typescript"))
    assert outcome.error is not None
    assert outcome.error.name == "SyntaxError"


async def test_time_and_chance_come_from_the_host(session: Session) -> None:
    source = (
        "[Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(4))].join()"
    )
    texts = [(await session.eval(Cell(source=source, seed=seed))).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    still = "const t = Date.now(); for (let i = 0; i < 1e6; i++); [Date.now() - t, new Date() - t].join()"
    assert (await session.eval(still)).text == "1,2"  # readings move it, and nothing else


async def test_lone_surrogates_and_nul_survive_both_ways(session: Session) -> None:
    source = r"const t = '\ud800\0é😀'; (await host.echo(t)) === t"
    assert (await session.eval(source)).text == "true"


@pytest.mark.parametrize(
    "name", ["Error", "undefined", "NaN", "Infinity", "$mport", "$interpstack"]
)
@pytest.mark.parametrize(
    "source",
    [
        "const {0} = 1; {0}",
        "let {0}",
        "var one = 1, {0} = 2",
        "class {0} {{}}",
        "const {{a: {{{0}}}}} = {{a: {{}}}}",
        "const [, ...{0}] = []",
        "for (var {0} of [1]);",
        "await 1; let {0} = 2",
        "await 1; function {0}() {{}}",
    ],
)
async def test_globals_that_ignore_declarations_are_refused(
    session: Session, source: str, name: str
) -> None:
    """V8 itself says nothing, and the cell would go on with another value."""
    error = (await session.eval(source.format(name))).error
    assert error is not None
    assert (error.name, error.message) == (
        "TypeError",
        f"{name} is reserved by the interpreter; use another name",
    )


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{ let Error = 1; Error }", "1"),
        ("((undefined) => undefined)(1)", "1"),
        ("(() => { const NaN = 1; return NaN })()", "1"),
        ("const o = {Error: 1, NaN: 2}; o.Error + o.NaN", "3"),
        ("[undefined, NaN].length", "2"),
        ("const {a: one = undefined} = {}; one", "undefined"),
        ("// const Error = 1\n'const Error = 1'.length", "15"),
        ("class E extends Error {}; new E() instanceof Error", "true"),
        ("function named() { var Error = 5; return Error }; named()", "5"),
        ("const x = [Error, undefined]; x.length", "2"),
    ],
)
async def test_other_uses_of_their_names_are_fine(
    session: Session, source: str, shown: str
) -> None:
    outcome = await session.eval(source)
    assert (outcome.error, outcome.text) == (None, shown)
