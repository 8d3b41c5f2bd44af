"""Code that wants all memory: the cell ends, the session and the host do not."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Limits

#: Cases that must end with `OutOfMemory`: the memory is held by something that outlives the code.
_HELD = {
    "objects": "const a = []; for (;;) a.push({})",
    "strings": "const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)",
    "arrays": "const a = []; for (;;) a.push(new Array(1000).fill(1))",
    "typed arrays": "const a = []; for (;;) a.push(new Uint8Array(1e5))",
    "array buffers": "const a = []; for (;;) a.push(new ArrayBuffer(1e5))",
    "Map": "const m = new Map(); for (let i = 0; ; i++) m.set(i, {})",
    "Set": "const m = new Set(); for (;;) m.add({})",
    "symbols": "const o = {}; for (let i = 0; ; i++) o[Symbol(i)] = i",
    "globals": "for (let i = 0; ; i++) globalThis['g' + i] = 'x'.repeat(1e4) + i",
    "closures": "let f = () => 0; for (;;) { const g = f; f = () => g; }",
    "BigInts": "const a = []; for (;;) a.push(2n ** 100000n + BigInt(a.length))",
    "errors": "const a = []; for (;;) a.push(new Error('x'.repeat(1000) + a.length))",
    "regexes": "const a = []; for (;;) a.push(new RegExp('a'.repeat(1000) + a.length))",
    "functions": "const a = []; for (;;) a.push(new Function('return ' + a.length))",
    "promises": "const a = []; for (;;) a.push(new Promise(() => {}))",
    "promise chain": "const on = () => Promise.resolve().then(on); await on()",
    "one big fill": "const a = new Array(2 ** 32 - 1).fill(0); a",
    "swallowed": "const a = []; try { for (;;) a.push({}); } catch {}; 'survived'",
    "swallowed, small pieces": """
        const a = []; for (const size of [1e5, 1e4, 1e3, 100, 10, 1])
            try { for (;;) a.push(new Uint8Array(size)); } catch {}
        'survived'""",
    "in a timer": """
        globalThis.z = []; setTimeout(() => { for (;;) z.push({}); }, 0); await new Promise(() => {})""",
    "before a request": """
        globalThis.z = []; await host.echo(1); try { for (;;) z.push({}); } catch {}
        await host.echo('x'.repeat(1000))""",
    "arguments": "const p = []; for (;;) p.push(host.echo('x'.repeat(1e5) + p.length))",
}

#: Cases that may end in more ways, none of them at the session's cost.
_BOMBS = {
    "doubling": "let s = 'a'; for (;;) s += s",
    "rope": "let s = ''; for (;;) s = 'a' + s + 'b'",
    "repeat": "'x'.repeat(2 ** 29)",
    "join": "new Array(1e6).join('x'.repeat(100))",
    "typed array": "new Uint8Array(2 ** 31)",
    "array buffer": "new ArrayBuffer(2 ** 40)",
    "resizable buffer": "new ArrayBuffer(1, {maxByteLength: 2 ** 40})",
    "squares": "let b = 3n; for (;;) b = b * b",
    "shift": "1n << (2n ** 60n)",
    "BigInt.asUintN": "BigInt.asUintN(2 ** 53 - 1, -1n)",
    "template": "const t = 'x'.repeat(1e6); `${t}${t}${t}${t}${t}${t}${t}${t}${t}${t}${t}${t}${t}${t}`",
    "split": "'a'.repeat(1e6).split('')",
    "spread": "[...'a'.repeat(1e6)]",
    "stringify": r"JSON.stringify(Array(1e6).fill('\\u0000'))",
    "structuredClone": "structuredClone(Array(1e5).fill(0).map(i => ({i})))",
    "TextEncoder": "new TextEncoder().encode('x'.repeat(5e6)).length",
    "temporary": "for (;;) (() => { const a = []; for (;;) a.push({}); })()",
    "swallowed for ever": "globalThis.a = []; for (;;) try { for (;;) a.push({}); } catch {}",
    "swallowed in a timer": """
        globalThis.z = []; setTimeout(() => { for (;;) try { for (;;) z.push({}); } catch {} }, 0)
        await new Promise(() => {})""",
    "while rendering": "({get a() { const a = []; for (;;) a.push({}); }})",
    "toJSON of an argument": """
        class J { toJSON() { const a = []; for (;;) a.push({}); } }; await host.echo(new J)""",
    "thrown by a getter": """
        throw Object.defineProperty(new Error, 'message', {get() { return 'x'.repeat(2 ** 28); }})""",
    "big argument": "await host.echo(Array(5e5).fill(1.5))",
    "big bytes": "await host.echo(new Uint8Array(8e6))",
    "answer": "const t = 'x'.repeat(3e6); [await host.echo(t), await host.echo(t), await host.echo(t)].length",
}

#: Results that are huge in one way: shown in part, at once.
_RESULTS = {
    "string": "'x'.repeat(5e6)",
    "wide characters": r"'\\u{1F600}'.repeat(5e5)",
    "NUL": r"'\\u0000'.repeat(1e6)",
    "array": "Array(2e5).fill('x'.repeat(10))",
    "object": "const o = {}; for (let i = 0; i < 5e4; i++) o['k' + i] = i; o",
    "long key": "({['k'.repeat(2e6)]: 1})",
    "shared parts": "let a = ['x']; for (let i = 0; i < 40; i++) a = [a, a]; a",
    "shared parts of a Map": "let a = new Map; for (let i = 0; i < 40; i++) a = new Map([[a, a]]); a",
    "wide and deep": "const a = []; for (let i = 0; i < 100; i++) a.push(Array(100).fill(a)); a",
    "symbol": "Symbol('x'.repeat(3e6))",
    "function name": "Object.defineProperty(() => 1, 'name', {value: 'x'.repeat(3e6)})",
    "class name": "const C = Object.defineProperty(class {}, 'name', {value: 'x'.repeat(3e6)}); new C",
    "BigInt": "7n ** 100000n",
    "Set": "new Set(Array(5e4).keys())",
    "Map": "new Map(Array(3e4).fill(0).map((_, i) => [i, i]))",
    "typed array": "new Uint8Array(5e6)",
    "error message": "new Error('x'.repeat(3e6))",
    "error causes": "let e = 0; for (let i = 0; i < 5e3; i++) e = new Error('y', {cause: e}); e",
    "regex": "new RegExp('a'.repeat(1e5))",
    "boxed string": "new String('x'.repeat(1e5))",
}


@pytest.fixture
def limits() -> Limits:
    return Limits(cpu_seconds=0.6, wall_seconds=20, memory_bytes=16 * 2**20)


@pytest.mark.parametrize("source", _HELD.values(), ids=_HELD)
async def test_memory_runs_out(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error is not None, outcome.text[:100]
    assert outcome.error.name in ("OutOfMemory", "Timeout"), outcome.error
    if outcome.error.name == "OutOfMemory":
        assert outcome.error.message.startswith("the guest may use 16 MiB; ")


async def test_the_error_says_what_happened(victim: Any) -> None:
    outcome = await victim.attack("globalThis.a = []; for (;;) a.push(new Uint8Array(1e5))")
    assert (outcome.error.name, outcome.error.message) == (
        "OutOfMemory",
        "the guest may use 16 MiB; what this cell did to variables is undone",
    )
    assert await victim.run("typeof a") == "undefined"


@pytest.mark.parametrize("source", _BOMBS.values(), ids=_BOMBS)
async def test_bombs_do_no_harm(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error is None or outcome.error.name in {
        "OutOfMemory", "Timeout", "RangeError", "TypeError", "InternalError", "Error", "Deadlock",
    }, outcome.error  # fmt: skip


@pytest.mark.parametrize("source", _RESULTS.values(), ids=_RESULTS)
async def test_huge_results_are_cut(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error is None, outcome.error
    assert 0 < len(outcome.text) <= 2**18
    shown = victim.session.render(outcome)
    assert len(shown) < 8 * 4000


@pytest.mark.parametrize(
    "source",
    [
        "throw new Error('x'.repeat(5e6))",
        "throw 'x'.repeat(5e6)",
        "throw {a: 'x'.repeat(5e6)}",
        "const e = new Error('m'); e.name = 'N'.repeat(3e6); throw e",
        "const e = new Error('m'); e.stack = 's'.repeat(3e6); throw e",
        "const e = new Error('m'); e.stack = 'at <eval>\\n'.repeat(3e5); throw e",
        "throw Symbol('x'.repeat(3e6))",
        "await Promise.reject(new Error('x'.repeat(3e6)))",
        "await host.missing({}, new Error('x'.repeat(3e6)))",
    ],
)
async def test_huge_errors_are_cut(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error is not None
    assert len(outcome.error.name) + len(outcome.error.message) + len(outcome.error.stack) < 2**18
    assert len(victim.session.render(outcome)) < 8 * 4000


async def test_console_is_bounded(victim: Any) -> None:
    if not victim.has_console:
        pytest.skip("the console plugin is not installed")
    for source in (
        "for (let i = 0; i < 3e4; i++) console.log('line', i)",
        "console.log('x'.repeat(3e6))",
        "console.log(Array(1e5).fill('x'.repeat(10)))",
        "console.log(...Array(1e4).fill('%s'))",
        "for (;;) console.log('x'.repeat(1e4))",
        "console.table(Array(1e4).fill({a: 1}))",
        "for (let i = 0; ; i++) console.count('x'.repeat(1000) + i)",
        "for (let i = 0; ; i++) console.time('x'.repeat(1000) + i)",
    ):
        outcome = await victim.attack(source)
        assert len(outcome.console) <= 4000
        assert outcome.error is None or outcome.error.name in ("Timeout", "OutOfMemory"), source


async def test_full_but_not_overfull(victim: Any) -> None:
    """Filling what there is over many cells ends in errors, never in a dead session."""
    assert await victim.run("globalThis.hoard = []; 'ok'") == "ok"
    for _ in range(40):
        outcome = await victim.session.eval("hoard.push(new Uint8Array(6e5).fill(1)); hoard.length")
    assert outcome.error is not None
    assert outcome.error.name == "OutOfMemory"
    await victim.assert_healthy()
    assert int(await victim.run("hoard.length")) >= 15
    assert await victim.run("hoard = null; 'freed'") == "freed"
    assert await victim.run("new Uint8Array(5e6).length") == "5000000"


async def test_many_realms_do_not_share_a_fate(victim: Any) -> None:
    other = victim.session._stack.session("other")
    async with other:
        await other.eval("const keep = 1")
        await victim.attack("const a = []; for (;;) a.push({})")
        assert (await other.eval("keep")).text == "1"
