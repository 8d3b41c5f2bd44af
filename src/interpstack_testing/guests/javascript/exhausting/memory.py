"""Code that wants all memory: the cell ends, the session and the host do not."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits
from interpstack_testing.guests.guest import ANY_ERROR, VALUE, Attack, group

__all__ = ["ATTACKS"]

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
    "normalize": r"'\ufdfa'.repeat(2e7).normalize('NFKD').length",
    "upper case": r"'\u0390'.repeat(1e8).toUpperCase().length",
    "comparison of long texts": "'a'.localeCompare('b'.repeat(2 ** 28))",
    "arguments in one list": "Math.max.apply(null, Array(2 ** 27))",
    "split": "'a'.repeat(1e6).split('')",
    "spread": "[...'a'.repeat(1e6)]",
    "stringify": r"JSON.stringify(Array(1e6).fill('\\u0000'))",
    "stringify, beyond what the process may have": "JSON.stringify(Array(4e6).fill('x'.repeat(100))).length",
    "escapes of a long text": r"encodeURIComponent('\u1234'.repeat(2 ** 26)).length",
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

_ERRORS = [
    "throw new Error('x'.repeat(5e6))",
    "throw 'x'.repeat(5e6)",
    "throw {a: 'x'.repeat(5e6)}",
    "const e = new Error('m'); e.name = 'N'.repeat(3e6); throw e",
    "const e = new Error('m'); e.stack = 's'.repeat(3e6); throw e",
    "const e = new Error('m'); e.stack = 'at <eval>\\n'.repeat(3e5); throw e",
    "throw Symbol('x'.repeat(3e6))",
    "await Promise.reject(new Error('x'.repeat(3e6)))",
    "await host.missing({}, new Error('x'.repeat(3e6)))",
]

_CONSOLE = [
    "for (let i = 0; i < 3e4; i++) console.log('line', i)",
    "console.log('x'.repeat(3e6))",
    "console.log(Array(1e5).fill('x'.repeat(10)))",
    "console.log(...Array(1e4).fill('%s'))",
    "for (;;) console.log('x'.repeat(1e4))",
    "console.table(Array(1e4).fill({a: 1}))",
    "for (let i = 0; ; i++) console.count('x'.repeat(1000) + i)",
    "for (let i = 0; ; i++) console.time('x'.repeat(1000) + i)",
]

_NEEDS: Final = Capability.MEMORY_LIMIT
_LIMITS: Final = Limits(cpu_seconds=0.5, wall_seconds=20, memory_bytes=16 * 2**20)
_RUN_OUT = ("OutOfMemory", "Timeout")
_EXPLODE = (VALUE, *_RUN_OUT, "RangeError", "TypeError", "InternalError", "Error", "Deadlock")


def _held(source: str) -> Attack:
    # Without memory, an engine may reject any promise.
    noticed = "Promise" in source
    return Attack(source, _RUN_OUT, limits=_LIMITS, needs=_NEEDS, noticed=noticed)


def _bomb(source: str) -> Attack:
    return Attack(source, _EXPLODE, limits=_LIMITS, needs=_NEEDS)


def _large(source: str, end: str) -> Attack:
    return Attack(source, (end,), limits=_LIMITS)


ATTACKS: Final[Mapping[str, Attack]] = {
    **group("memory", {k: _held(v) for k, v in _HELD.items()}),
    **group("bombs", {k: _bomb(v) for k, v in _BOMBS.items()}),
    **group("large results", {k: _large(v, VALUE) for k, v in _RESULTS.items()}),
    **group("large errors", {v: _large(v, ANY_ERROR) for v in _ERRORS}),
    **group("large output", {v: Attack(v, (VALUE, *_RUN_OUT), limits=_LIMITS) for v in _CONSOLE}),
}
