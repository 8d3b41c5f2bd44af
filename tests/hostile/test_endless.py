"""Code that never ends: the CPU limit holds wherever guest code can run."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Limits

_SPIN = "for (;;);"

#: Guest code polls for the limit in these.
_LOOPS = {
    "code": _SPIN,
    "function": f"(function () {{ {_SPIN} }})()",
    "getter": f"({{get a() {{ {_SPIN} }}}}).a",
    "getter of the result": f"({{get a() {{ {_SPIN} }}}})",
    "getter deep in the result": f"[[{{b: {{get a() {{ {_SPIN} }}}}}}]]",
    "getter of a thrown error": f"throw Object.defineProperty(new Error, 'message', {{get() {{ {_SPIN} }}}})",
    "stack getter of a thrown error": f"throw Object.defineProperty(new Error, 'stack', {{get() {{ {_SPIN} }}}})",
    "name getter of a rejection": f"Promise.reject(Object.defineProperty(new Error, 'name', {{get() {{ {_SPIN} }}}}))",
    "then getter of the result": f"({{get then() {{ {_SPIN} }}}})",
    "awaited then": f"await {{then() {{ {_SPIN} }}}}",
    "proxy trap": f"new Proxy({{}}, {{get() {{ {_SPIN} }}}}).x",
    "proxy trap of the result": f"new Proxy({{}}, {{ownKeys() {{ {_SPIN} }}}})",
    "getPrototypeOf trap of the result": f"new Proxy({{}}, {{getPrototypeOf() {{ {_SPIN} }}}})",
    "endless prototype chain": """
        const again = new Proxy({}, {getPrototypeOf: () => again}); again instanceof Map""",
    "toString": f"'' + {{toString() {{ {_SPIN} }}}}",
    "toString of an error's message": f"const e = new Error; e.message = {{toString() {{ {_SPIN} }}}}; for (;;) String(e)",
    "valueOf": f"1 + {{valueOf() {{ {_SPIN} }}}}",
    "Symbol.toPrimitive": f"`${{{{[Symbol.toPrimitive]() {{ {_SPIN} }}}}}}`",
    "Symbol.toStringTag of the result": f"class T {{ get [Symbol.toStringTag]() {{ {_SPIN} }} }}; new T",
    "toJSON": f"JSON.stringify({{toJSON() {{ {_SPIN} }}}})",
    "toJSON of an argument": f"class J {{ toJSON() {{ {_SPIN} }} }}; host.echo(new J)",
    "getter of an argument": f"host.echo({{get a() {{ {_SPIN} }}}})",
    "Proxy argument": f"host.echo(new Proxy([], {{get() {{ {_SPIN} }}}}))",
    "sort callback": f"[3, 1, 2].sort(() => {{ {_SPIN} }})",
    "replace callback": f"'a'.replace(/a/, () => {{ {_SPIN} }})",
    "reviver": f"JSON.parse('[1]', () => {{ {_SPIN} }})",
    "regex": "/(a*)*b/.test('a'.repeat(40))",
    "regex lookahead": "/^(?=(a+)+$)(a|aa)+c/.test('a'.repeat(40))",
    "regex in split": "'a'.repeat(40).split(/(x+x+)+y|(a|a)+c/)",
    "microtask storm": "const again = () => queueMicrotask(again); again(); await new Promise(() => {})",
    "promise chain": "let p = Promise.resolve(); const on = () => { p = p.then(on); }; on(); await new Promise(() => {})",
    "two promise chains": "const on = async () => { for (;;) await null; }; await Promise.all([on(), on()])",
    "thenable that resolves to itself anew": """
        const make = () => ({then(done) { done(make()); }}); await make()""",
    "finally": f"try {{ {_SPIN} }} finally {{ {_SPIN} }}",
    "catch of the interrupt": f"for (;;) {{ try {{ {_SPIN} }} catch {{}} finally {{ continue; }} }}",
    "finally of a promise": f"await Promise.resolve().finally(() => {{ {_SPIN} }})",
    "generator": "function* all() { for (;;) yield 1; }; for (const _ of all());",
    "generator return": f"function* g() {{ try {{ yield 1; }} finally {{ {_SPIN} }} }}; for (const _ of g()) break;",
    "spread of a generator": "function* none() { for (;;) if (false) yield 1; }; [...none()]",
    "async iteration": "async function* all() { for (;;) yield 1; }; for await (const _ of all());",
    "class static block": f"class S {{ static {{ {_SPIN} }} }}",
    "class field": f"new (class {{ f = (() => {{ {_SPIN} }})(); }})",
    "computed key": f"({{[(() => {{ {_SPIN} }})()]: 1}})",
    "default parameter": f"((a = (() => {{ {_SPIN} }})()) => a)()",
    "destructuring": f"const {{a = (() => {{ {_SPIN} }})()}} = {{}}; a",
    "tagged template": f"(() => {{ {_SPIN} }})`x${{1}}`",
    "Array.from": f"Array.from({{length: 3}}, () => {{ {_SPIN} }})",
    "Array.from of an iterator": "Array.from({[Symbol.iterator]: () => ({next() { for (;;); }})})",
    "new Map of an endless iterator": "new Map({[Symbol.iterator]: () => ({next: () => ({value: [1, 1]})})})",
    "Promise.all of an endless iterator": "Promise.all({[Symbol.iterator]: () => ({next() { for (;;); }})})",
    "Map while it grows": "const m = new Map([[1, 1]]); m.forEach((_, k) => { m.delete(k); m.set(k + 1, 1); })",
    "timer callback": f"await new Promise(() => setTimeout(() => {{ {_SPIN} }}, 0))",
    "after an await": f"await host.echo(1); {_SPIN}",
    "after a leftover await": f"host.echo(1).then(() => {{ {_SPIN} }}); await host.echo(2); await host.echo(3); {_SPIN}",
    "FinalizationRegistry": f"new FinalizationRegistry(() => {{}}).register({{}}); {_SPIN}",
    "new Function": f"new Function({_SPIN!r})()",
    "eval": f"eval({_SPIN!r})",
    "labelled blocks": "top: for (;;) { inner: for (;;) continue top; }",
    "with a setter on the global": f"Object.defineProperty(globalThis, 'fresh', {{set() {{ {_SPIN} }}}}); fresh = 1",
    "getter in className": f"class C {{ static get name() {{ {_SPIN} }} }}; for (;;) C.name",
}

#: Builtins that run long without polling; only the host's clock stops them.
_BUILTINS = {
    "indexOf": "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)",
    "includes": "Array.prototype.includes.call({length: 2 ** 53 - 1}, 1)",
    "lastIndexOf": "Array.prototype.lastIndexOf.call({length: 2 ** 53 - 1}, 1)",
    "fill": "Array.prototype.fill.call({length: 2 ** 53 - 1, set 0(v) {}}, 1)",
    "join": "Array.prototype.join.call({length: 2 ** 53 - 1}, '')",
    "reverse": "Array.prototype.reverse.call({length: 2 ** 53 - 1})",
    "copyWithin": "Array.prototype.copyWithin.call({length: 2 ** 53 - 1}, 0, 1)",
    "sort": "Array.prototype.sort.call({length: 2 ** 53 - 1})",
    "sparse sort": "const a = []; a.length = 2 ** 32 - 1; a.sort()",
    "forEach": "const a = []; a.length = 2 ** 32 - 1; a.forEach(() => {})",
    "flat": "const a = []; a.length = 2 ** 32 - 1; a.flat()",
    "shift": "const a = []; a.length = 2 ** 32 - 1; a[1] = 1; for (;;) a.shift()",
    "padEnd": "''.padEnd(2 ** 30 - 1, 'ab')",
    "repeat": "'ab'.repeat(2 ** 29 - 1)",
    "BigInt power": "2n ** (2n ** 40n)",
    "BigInt products": "let b = 3n; for (;;) b = b * b % (2n ** 60000n)",
    "BigInt text": "(7n ** 300000n).toString().length",
    "BigInt parse": "BigInt('7'.repeat(1e6)).toString(16).length",
    "apply": "Math.max.apply(null, {length: 2 ** 32 - 1})",
    "concat": "[].concat(Object.assign([], {length: 2 ** 32 - 1}))",
    "indexOf of texts": "const t = 'a'.repeat(2e6); for (;;) t.indexOf('a'.repeat(1e6) + 'b')",
    "lastIndexOf of texts": "const t = 'a'.repeat(2e6); for (;;) t.lastIndexOf('b' + 'a'.repeat(1e6))",
    "replaceAll": "'a'.repeat(1e6).replaceAll('a', 'bcd'.repeat(1000))",
    "typed array sort": "const t = new Float64Array(1e6); for (;;) t.fill(1).sort()",
    "JSON of a Proxy": "JSON.stringify(new Proxy([], {get: (t, k) => k === 'length' ? 2 ** 53 - 1 : 0}))",
    "own keys": "Object.keys(new String('x'.repeat(5e6))).length",
    "normalize": "const t = 'é'.repeat(5e5); for (;;) t.normalize('NFD').normalize('NFC')",
    "result of a long Proxy": "new Proxy([], {get: (t, k) => k === 'length' ? 2 ** 53 - 1 : t[k]})",
    "result with length 2**32-1": "const a = []; a.length = 2 ** 32 - 1; a",
    "argument with length 2**32-1": "const a = []; a.length = 2 ** 32 - 1; await host.echo(a)",
}

#: Never busy for long, never done.
_WAITS = {
    "interval": "setInterval(() => {}, 0); await new Promise(() => {})",
    "timer chain": "const on = () => setTimeout(on, 0); on(); await new Promise(() => {})",
    "sleep": "await new Promise(go => setTimeout(go, 2 ** 31 - 1))",
    "polling the host": "for (;;) try { await host.echo(1); } catch {}",
    "leftovers": "setInterval(() => host.echo(1), 0); for (;;) try { await host.echo(1); } catch {}",
    "code": "for (;;);",
}

#: How such a builtin may end, besides with a value, quick ones do.
_ENDS = {"Timeout", "OutOfMemory", "RangeError", "TypeError"}


@pytest.mark.parametrize("source", _LOOPS.values(), ids=_LOOPS)
async def test_endless_code_times_out(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error is not None, outcome.text
    assert outcome.error.name == "Timeout", outcome.error


class TestBuiltins:
    @pytest.fixture
    def limits(self, monkeypatch: pytest.MonkeyPatch) -> Limits:
        monkeypatch.setattr("interpstack_quickjs.guest._GRACE_SECONDS", 0.2)
        return Limits(cpu_seconds=0.1, wall_seconds=20, memory_bytes=16 * 2**20)

    @pytest.mark.parametrize("source", _BUILTINS.values(), ids=_BUILTINS)
    async def test_long_builtins_end(self, victim: Any, source: str) -> None:
        outcome = await victim.attack(source)
        assert outcome.error is None or outcome.error.name in _ENDS, outcome.error


async def test_output_so_far_is_kept(victim: Any) -> None:
    if not victim.has_console:
        pytest.skip("the console plugin is not installed")
    for source in ("for (;;);", "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)"):
        outcome = await victim.attack(f"console.log('before'); {source}")
        assert (outcome.console, outcome.error.name) == ("before", "Timeout")


async def test_leftover_promises_do_not_slow_down_later_cells(victim: Any) -> None:
    outcome = await victim.attack("(async () => { for (;;) await null; })(); 'ended'")
    assert outcome.error is None or outcome.error.name == "Timeout"
    assert (await victim.attack("'next'")).text == "next"


class TestWallLimit:
    @pytest.fixture
    def limits(self) -> Limits:
        return Limits(cpu_seconds=5, wall_seconds=0.4, memory_bytes=16 * 2**20)

    @pytest.mark.parametrize("source", _WAITS.values(), ids=_WAITS)
    async def test_waiting_for_ever_times_out(self, victim: Any, source: str) -> None:
        outcome = await victim.session.eval(source)
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert await victim.run("keep.n + 1") == "42"
