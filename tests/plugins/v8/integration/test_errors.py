"""The guest's own `Error`, and the traces of errors; see `errors.js`."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import json
import re

import pytest
from brief import brief

from interpstack import Session

#: How native code would meet guests: as getters of what it reads.
_LOOP = "{get() { for (;;); }}"


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("[new Error('a').message, Error('b').message, String(new Error('c'))]", ["a", "b", "Error: c"]),
        ("[Error.name, Error.length, Error.prototype.name, Error.prototype.message]", ["Error", 1, "Error", ""]),
        ("new Error('a', {cause: 1}).cause", 1),
        ("'cause' in new Error('a')", False),
        ("Error.prototype.constructor === Error", True),
        ("[TypeError, RangeError, AggregateError].map((k) => Object.getPrototypeOf(k) === Error)", [True] * 3),
        ("try { null.x } catch (e) { [e instanceof Error, e instanceof TypeError] }", [True, True]),
        ("class A extends Error {}; class B extends A {}; const b = new B('x');"
         " [b instanceof A, b instanceof Error, b.message, b.constructor === B]", [True, True, "x", True]),
        ("[Error.isError(new Error), Error.isError({}), {}.toString.call(new Error)]", [True, False, "[object Error]"]),
        ("const e = new Error; e.name = 'Mine'; [e.name, `${e}`]", ["Mine", "Mine"]),
        ("Error.prototype.name = 'Ours'; const [one, two] = [new Error('x'), new TypeError('y')]; [`${one}`, `${two}`]",
         ["Ours: x", "TypeError: y"]),
        ("new DOMException('x') instanceof Error", True),
        ("const f = function () {}; f.prototype = 1;"
         " Object.getPrototypeOf(Reflect.construct(Error, [], f)) === Error.prototype", True),
        ("await import('nothing').catch((e) => Object.getPrototypeOf(e) === Error.prototype)", True),
        ("const o = {}; Error.captureStackTrace(o); o.stack.startsWith('Error\\n    at ')", True),
        ("Error.stackTraceLimit = 1; const f = () => new Error().stack; f().split('\\n').length", 2),
        ("Error.stackTraceLimit = 'many'; Error.stackTraceLimit", 10),
    ],
)  # fmt: skip
async def test_it_is_as_the_language_says(session: Session, code: str, value: object) -> None:
    outcome = await session.eval(f"JSON.stringify((() => {{}}, eval({json.dumps(code)})))")
    if "await" in code:
        outcome = await session.eval(f"JSON.stringify({code})")
    assert outcome.error is None
    assert json.loads(outcome.text) == value


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        ("function f() { throw new Error('x') } f()", ["f", "<cell>"]),
        ("class K { m() { null.x } } new K().m()", ["K.m", "<cell>"]),
        ("class K { m() { null.x } } const o = {other: new K().m}; o.other()", ["Object.m [as other]", "<cell>"]),
        ("class K { constructor() { null.x } } new K()", ["new K", "<cell>"]),
        ("const o = {get g() { return null.x }}; o.g", ["Object.get g", "<cell>"]),
        ("[1].forEach((n) => null.x)", ["<cell>", "<cell>"]),
        ("const a = async () => { await 1; null.x }; await a()", ["a", "async <cell>"]),
        ("const a = async () => { await 1; null.x }; await Promise.all([a()])",
         ["a", "async Promise.all (index 0)", "async <cell>"]),
    ],
)  # fmt: skip
async def test_traces_tell_where(session: Session, code: str, calls: list[str]) -> None:
    outcome = await session.eval(f"{code}; 1")
    assert outcome.error is not None
    lines = [line.strip() for line in outcome.error.stack.splitlines()]
    assert [re.sub(r"^at | \(cell:1:\d+\)$", "", line) for line in lines] == calls


async def test_a_trace_begins_with_the_error(session: Session) -> None:
    code = "class E extends Error { get name() { return 'Mine' } }; new E('x').stack"
    assert (await session.eval(code)).text.splitlines()[0] == "Mine: x"
    assert (await session.eval("new Error().stack")).text.splitlines()[0] == "Error"
    broken = (
        "const e = new Error('x'); Object.defineProperty(e, 'name', {get() { throw 1 }}); e.stack"
    )
    assert (await session.eval(broken)).text.splitlines()[0] == ""


async def test_traces_go_on_after_a_syntax_error_of_code_that_parses(session: Session) -> None:
    error = "Object.assign(new SyntaxError('x'), {stack: ''})"
    outcome = await session.eval(f"throw {error}")
    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.place) == ("SyntaxError", None)
    assert (await session.eval("Error.stackTraceLimit")).text == "10"
    outcome = await session.eval("null.x")
    assert outcome.error is not None
    assert outcome.error.stack == "    at <cell> (cell:1:6)"


async def test_traces_of_traces_end(session: Session) -> None:
    code = "class E extends Error { get message() { return new E().stack } }; typeof new E().stack"
    assert (await session.eval(code)).text == "string"


@pytest.mark.parametrize(
    "code",
    [
        "Error = 5",
        "'use strict'; Error = 5",
        "globalThis.Error = {get prepareStackTrace() { for (;;); }}",
        "delete globalThis.Error",
        "Error.prepareStackTrace = () => { for (;;); }",
        "delete Error.prepareStackTrace",
        "Object.setPrototypeOf(Error.prototype, new Proxy({}, {get() { for (;;); }}))",
        f"for (const k of ['cause', 'constructor', 'name']) Object.defineProperty(Error.prototype, k, {_LOOP})",
        f"for (const k of ['name', 'length']) Object.defineProperty(Error, k, {_LOOP})",
        f"Object.defineProperty(RangeError.prototype, 'name', {_LOOP}); const f = () => f() + 1; f()",
        f"Object.defineProperty(SyntaxError.prototype, 'name', {_LOOP}); eval('(')",
        f"const e = Object.defineProperty(new Error, 'message', {_LOOP}); e.stack",
        f"throw Object.defineProperty(new Error, 'message', {_LOOP})",
        f"for (const k of ['name', 'message']) Object.defineProperty(Error.prototype, k, {_LOOP}); await import('nothing')",
        "var all = new FinalizationRegistry(() => { for (;;); }); for (let i = 0; i < 1e5; i++) all.register({}, 1)",
    ],
)
async def test_no_guest_is_met_by_native_code(session: Session, code: str) -> None:
    """A guest that was stopped is stopped: its heap need not be given up."""
    await session.eval("var keep = 41")
    for source in (code, "for (;;);"):
        with brief(session.stack):
            outcome = await session.eval(source)
        assert outcome.error is None or "given up" not in outcome.error.message
    assert (await session.eval("keep + 1")).text == "42"


async def test_a_finalization_registry_is_one(session: Session) -> None:
    code = "const r = new FinalizationRegistry(() => 1); [r.register({}, 1), r.unregister({})]"
    assert (await session.eval(code)).text == "[undefined, false]"
    refused = await session.eval("new FinalizationRegistry()")
    assert refused.error is not None
    assert refused.error.name == "TypeError"


@pytest.mark.parametrize(
    "code",
    [
        "const e = new SyntaxError('x'); Error.stackTraceLimit = 0; const f = new SyntaxError('y'); f.stack",
        f"Error.stackTraceLimit = 0; Object.defineProperty(SyntaxError.prototype, 'cause', {_LOOP}); new SyntaxError('y').stack",
        f"Error.stackTraceLimit = 0; const f = Object.defineProperty(new SyntaxError('y'), 'name', {_LOOP}); try {{ f.stack }} catch {{}}",
        f"Error.stackTraceLimit = 0; const f = Object.defineProperty(new SyntaxError('y'), 'message', {_LOOP}); try {{ f.stack }} catch {{}}",
        f"Error.stackTraceLimit = 0; for (const k of ['name', 'cause']) Object.defineProperty(SyntaxError.prototype, k, {_LOOP}); try {{ Object.freeze(new SyntaxError('y')).stack }} catch {{}}",
        "Error.stackTraceLimit = 0; const f = Object.freeze(new SyntaxError('y')); f.stack; Object.getPrototypeOf(f) === SyntaxError.prototype",
    ],
)
async def test_no_guest_is_met_where_the_place_of_a_fault_is_read(
    session: Session, code: str
) -> None:
    await session.eval("var keep = 41")
    for source in (code, "for (;;);"):
        with brief(session.stack):
            outcome = await session.eval(source)
        assert outcome.error is None or "abandoned" not in outcome.error.message
    assert (await session.eval("keep + 1")).text == "42"
