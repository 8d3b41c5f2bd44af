"""Code that attacks: limits hold wherever guest code runs, and the session goes on."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from contextlib import nullcontext

import pytest
from brief import brief

from interpstack import InterpreterStack, Limits, Outcome, Session

pytestmark = pytest.mark.timeout(90)

_SPIN = "for (;;);"


@pytest.fixture
def limits() -> Limits:
    return Limits(memory_bytes=16 * 2**20)


async def _attack(session: Session, source: str, *, endless: bool = False) -> Outcome:
    await session.eval("const keep = {n: 41}")
    with brief(session.stack) if endless else nullcontext():
        outcome = await session.eval(source)
    for check, text in {
        "keep.n + 1": "42",
        "(await host.echo({a: [1, 'x']})).a[1]": "x",
        "await new Promise((go) => setTimeout(() => go('rang'), 1))": "rang",
    }.items():
        after = await session.eval(check)
        assert (after.error, after.text) == (None, text)
    heard = await session.eval("console.log('heard')")
    assert heard.console == "heard"
    return outcome


@pytest.mark.parametrize(
    "source",
    [
        _SPIN,
        f"({{get a() {{ {_SPIN} }}}})",
        f"new Proxy({{}}, {{ownKeys() {{ {_SPIN} }}}})",
        f"'' + {{toString() {{ {_SPIN} }}}}",
        f"JSON.stringify({{toJSON() {{ {_SPIN} }}}})",
        f"class J {{ toJSON() {{ {_SPIN} }} }}; host.echo(new J)",
        f"[3, 1, 2].sort(() => {{ {_SPIN} }})",
        f"throw Object.defineProperty(new Error, 'stack', {{get() {{ {_SPIN} }}}})",
        f"await {{then() {{ {_SPIN} }}}}",
        f"await host.echo(1); {_SPIN}",
        f"setTimeout(() => {{ {_SPIN} }}, 1); await new Promise(() => {{}})",
        "/(a*)*b/.test('a'.repeat(40))",
        "const again = () => queueMicrotask(again); again(); await new Promise(() => {})",
        "let p = Promise.resolve(); const on = () => { p = p.then(on); }; on(); await new Promise(() => {})",
        f"for (;;) {{ try {{ {_SPIN} }} catch {{}} finally {{ continue; }} }}",
        f"await Promise.resolve().finally(() => {{ {_SPIN} }})",
        "console.log('x'); for (;;) console.log('y')",
    ],
)
async def test_endless_code_is_stopped(session: Session, source: str) -> None:
    outcome = await _attack(session, source, endless=True)
    assert outcome.error is not None
    assert outcome.error.name == "Timeout"


@pytest.mark.parametrize(
    "source",
    [
        "console.log('said'); globalThis.a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
        "console.log('said'); await 1; const b = []; for (;;) b.push(Array(1000).fill(1.5))",
        "console.log('said'); const a = []; for (;;) a.push('x'.repeat(2 ** 25).toUpperCase())",
        "console.log('said'); globalThis.f = new Array(2e7).fill(1.5); 1",
        "console.log('said'); const a = []; for (;;) a.push(new Uint8Array(1e6))",
        "console.log('said'); const a = []; for (;;) a.push(new ArrayBuffer(1e6).slice(0))",
        "console.log('said'); const one = new Uint8Array(1e6), a = []; for (;;) a.push(one.toSorted())",
        "console.log('said'); class X extends Uint8Array {}; const a = []; for (;;) a.push(new X(1e6))",
    ],
)
async def test_memory_bombs_end_the_cell_and_keep_what_was_said(
    session: Session, source: str
) -> None:
    limits = Limits(cpu_seconds=60, wall_seconds=None, memory_bytes=16 * 2**20)
    with InterpreterStack(engine="v8", plugins=["console"], limits=limits) as stack:
        bomb = stack.session("bomb")
        await bomb.eval("const keep = 41; const lost = () => 1")
        outcome = await bomb.eval(source)
        assert outcome.error is not None
        assert outcome.error.name == "OutOfMemory"
        assert "16 MiB" in outcome.error.message
        assert "functions and classes are lost" in outcome.error.message
        assert outcome.console == "said"
        assert (await bomb.eval("keep + 1")).text == "42"
        error = (await bomb.eval("lost()")).error
        assert error is not None
        assert "was not restored" in error.message


@pytest.mark.parametrize(
    "source",
    [
        "new ArrayBuffer(1e9)",
        "new Float64Array(2e8)",
        "new Uint8Array(1).buffer.transfer(1e9)",
        "Uint8Array.from({length: 3e8})",
    ],
)
async def test_large_buffers_are_refused(session: Session, source: str) -> None:
    outcome = await session.eval(source)
    assert outcome.error is not None
    assert (outcome.error.name, outcome.error.message) == (
        "RangeError",
        "Array buffer allocation failed",
    )
    assert (await session.eval("new Uint8Array([1, 2]).map((x) => x * 2)")).text.endswith("[2, 4]")


@pytest.mark.parametrize(
    "source",
    [
        "const f = () => f() + 1; f()",
        "const f = async () => await f(); await f()",
        "const o = {get x() { return this.x }}; o.x",
        "new Proxy({}, {get(t, k, p) { return p[k] }}).x",
        "await host.echo(1); const f = () => f() + 1; f()",
    ],
)
async def test_recursion_is_a_range_error(session: Session, source: str) -> None:
    outcome = await _attack(session, source)
    assert outcome.error is not None
    assert outcome.error.name == "RangeError"


@pytest.mark.parametrize(
    "source",
    [
        "Array.prototype[Symbol.iterator] = () => { throw 1 }",
        "Object.defineProperty(Array.prototype, 0, {set() { throw 1 }, configurable: true})",
        "JSON.stringify = JSON.parse = () => { throw 1 }; Promise.prototype.then = null",
        "globalThis.eval = Function.prototype.call = Function.prototype.apply = null",
        "String.prototype.slice = String.prototype.indexOf = () => { throw 1 }",
        "Error.stackTraceLimit = 0; Error.captureStackTrace = null",
        "Object.defineProperty(Error, 'stackTraceLimit', {get() { throw 1 }})",
        "Date.now = Math.random = null; Promise = Date = Math = null",
        "for (const name of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[name] } catch {} }",
    ],
)
async def test_replaced_builtins_change_nothing_for_the_host(session: Session, source: str) -> None:
    await session.eval("var keep = 41")
    await session.eval(source)
    outcome = await session.eval("keep + 1")
    if "delete" not in source:
        assert outcome.text == "42"
    assert (await session.eval("console.log('heard')")).console in ("heard", "")
    failed = await session.eval("null.x")
    assert failed.error is not None
    assert failed.error.name in ("TypeError", "Error")


@pytest.mark.parametrize(
    "source",
    [
        "'a'.repeat(2 ** 28).split('')",
        "'a,'.repeat(2 ** 27).split(',')",
        "String.prototype.split.call({toString() { return 'a'.repeat(2 ** 28) }}, '')",
        "'a'.repeat(2 ** 28).split({toString() { return '' }}, 2 ** 32 - 1)",
    ],
)
async def test_more_parts_than_an_array_can_have_do_not_end_the_process(
    session: Session, source: str
) -> None:
    outcome = await _attack(session, f"try {{ {source} }} catch (e) {{ e.name }}")
    assert outcome.text == "RangeError"


async def test_strings_are_split_as_ever(session: Session) -> None:
    source = """
    const own = {[Symbol.split](text, limit) { return [text, limit] }};
    JSON.stringify([
      'a,b'.split(','), 'abc'.split(''), 'a1b2'.split(/\\d/), 'a,b,c'.split(',', 2), ''.split(),
      'x'.split(own, 3), String.prototype.split.call(12, ''), [1, 2].join().split(),
      String.prototype.split.name, String.prototype.split.length,
      (() => { try { String.prototype.split.call(null) } catch (e) { return e.name } })(),
    ])"""
    expected = (
        '[["a","b"],["a","b","c"],["a","b",""],["a","b"],[""],["x",3],["1","2"],["1,2"],'
        '"split",2,"TypeError"]'
    )
    assert (await session.eval(source)).text == expected
