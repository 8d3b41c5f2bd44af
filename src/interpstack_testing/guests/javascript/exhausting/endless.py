"""Code that never ends: the CPU limit holds wherever guest code can run."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits
from interpstack_testing.guests.guest import VALUE, Attack, group

__all__ = ["ATTACKS"]

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
    "microtask storm behind a stopped script": f"const again = () => queueMicrotask(again); again(); {_SPIN}",
    "microtask storm behind a stopped timer": f"const again = () => queueMicrotask(again); await new Promise(() => setTimeout(() => {{ again(); {_SPIN} }}, 0))",
    "microtask storm behind a stopped getter": f"const again = () => queueMicrotask(again); ({{get a() {{ again(); {_SPIN} }}}})",
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
    # What reads errors behind the guest's back: for a trace, or to report how the guest ended.
    "message getter of a trace": f"const e = Object.defineProperty(new Error, 'message', {{get() {{ {_SPIN} }}}}); try {{ e.stack; }} catch {{}} {_SPIN}",
    "name getter of a trace": f"class E extends Error {{ get name() {{ {_SPIN} }} }}; try {{ new E().stack; }} catch {{}} {_SPIN}",
    "toString in a trace": f"const e = new Error; e.message = {{toString() {{ {_SPIN} }}}}; try {{ e.stack; }} catch {{}} {_SPIN}",
    "getters of every error": f"for (const k of ['name', 'message', 'cause', 'errors', 'constructor']) Object.defineProperty(Error.prototype, k, {{get() {{ {_SPIN} }}}}); {_SPIN}",
    "name getters of errors' classes": f"for (const k of [Error, RangeError, TypeError, Object]) Object.defineProperty(k, 'name', {{get() {{ {_SPIN} }}}}); {_SPIN}",
    "name getter of a syntax error": f"Object.defineProperty(SyntaxError.prototype, 'name', {{get() {{ {_SPIN} }}}}); eval('(')",
    "getter in place of Error": f"try {{ Object.defineProperty(globalThis, 'Error', {{get() {{ {_SPIN} }}}}); }} catch {{}} {_SPIN}",
    "another Error with an endless trace": f"try {{ globalThis.Error = {{get prepareStackTrace() {{ {_SPIN} }}}}; }} catch {{}} {_SPIN}",
    "FinalizationRegistry callback": f"var all = new FinalizationRegistry(() => {{ {_SPIN} }}); for (let i = 0; i < 3e4; i++) all.register({{}}, 1); await host.echo(1); for (;;) [{{}}]",
    "FinalizationRegistry": f"new FinalizationRegistry(() => {{}}).register({{}}); {_SPIN}",
    "new Function": f"new Function({_SPIN!r})()",
    "eval": f"eval({_SPIN!r})",
    "labelled blocks": "top: for (;;) { inner: for (;;) continue top; }",
    "with a setter on the global": f"Object.defineProperty(globalThis, 'fresh', {{set() {{ {_SPIN} }}}}); fresh = 1",
    "getter in className": f"class C {{ static get name() {{ {_SPIN} }} }}; for (;;) C.name",
}

#: Builtins that run long without polling for the limit.
_BUILTINS = {
    "indexOf": "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)",
    "fill": "Array.prototype.fill.call({length: 2 ** 53 - 1, set 0(v) {}}, 1)",
    "join": "Array.prototype.join.call({length: 2 ** 53 - 1}, '')",
    "sort": "Array.prototype.sort.call({length: 2 ** 53 - 1})",
    "flat": "const a = []; a.length = 2 ** 32 - 1; a.flat()",
    **{
        f"{name} of holes": f"Array.prototype.{name}.call({{length: 2 ** 53 - 1, 5: 1}}, x => x)"
        for name in (
            "includes",
            "lastIndexOf",
            "map",
            "forEach",
            "reduce",
            "reverse",
            "shift",
            "slice",
            "splice",
            "toLocaleString",
            "unshift",
        )
    },
    "copyWithin": "Array.prototype.copyWithin.call({length: 2 ** 53 - 1}, 0, 5)",
    "concat": "[].concat({length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true})",
    "fill of an array": "const a = []; a.length = 2 ** 32 - 1; a.fill(1)",
    "sort of a Proxy": "Array.prototype.sort.call(new Proxy({}, {get: (t, k) => k === 'length' ? 2 ** 32 - 1 : 1, has: () => true}))",
    "toSorted": "Array.prototype.toSorted.call({length: 2 ** 32 - 1})",
    "Array.from": "Array.from({length: 2 ** 32 - 1})",
    "String.raw": "String.raw({raw: {length: 2 ** 53 - 1}})",
    # Each place of a text that nearly matches is compared for long.
    **{
        f"{name} of what nearly matches": f"const [text, part] = ['a'.repeat(2 ** 21), 'a'.repeat(2 ** 20)]; text.{name}({given})"
        for name, given in {
            "indexOf": "part.slice(0, 240) + 'b' + part",
            "lastIndexOf": "part + 'd'",
            "includes": "part.slice(0, 240) + 'b' + part",
            "split": "part.slice(0, 240) + 'b' + part",
            "replace": "part.slice(0, 240) + 'b' + part, ''",
            "replaceAll": "part.slice(0, 240) + 'b' + part, ''",
        }.items()
    },
    "join of arrays in each other": "let a = ['']; for (let i = 0; i < 45; i++) a = [a, a]; a.join('')",
    "text of arrays in each other": "let a = []; for (let i = 0; i < 45; i++) a = [a, a, ,]; String(a)",
    "sort of long texts": "const long = 'a'.repeat(2 ** 20); Array(1e5).fill(0).map((_, i) => i % 2 ? long : 'b').sort()",
    "BigInt power": "2n ** (2n ** 40n)",
    "BigInt text": "(7n ** 300000n).toString().length",
    "replaceAll": "'a'.repeat(1e6).replaceAll('a', 'bcd'.repeat(1000))",
    "JSON of a Proxy": "JSON.stringify(new Proxy([], {get: (t, k) => k === 'length' ? 2 ** 53 - 1 : 0}))",
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

_CPU: Final = Limits(cpu_seconds=0.25, wall_seconds=20, memory_bytes=16 * 2**20)
_SOON: Final = Limits(cpu_seconds=0.2, wall_seconds=20, memory_bytes=16 * 2**20)
_WALL: Final = Limits(cpu_seconds=5, wall_seconds=0.3, memory_bytes=16 * 2**20)
_NEEDS: Final = Capability.CPU_LIMIT
#: How a builtin may end; quick ones give a value.
_QUICK: Final = (VALUE, "Timeout", "OutOfMemory", "RangeError", "TypeError")


def _endless(source: str, limits: Limits) -> Attack:
    return Attack(source, ("Timeout",), limits=limits, needs=_NEEDS)


ATTACKS: Final[Mapping[str, Attack]] = {
    **group("loops", {k: _endless(v, _CPU) for k, v in _LOOPS.items()}),
    **group(
        "builtins", {k: Attack(v, _QUICK, limits=_SOON, needs=_NEEDS) for k, v in _BUILTINS.items()}
    ),
    **group("waits", {k: _endless(v, _WALL) for k, v in _WAITS.items()}),
    "loops/endless prototype chain": Attack(
        "const again = new Proxy({}, {getPrototypeOf: () => again}); again instanceof Map",
        ("Timeout", "RangeError"),  # some engines recurse
        limits=_CPU,
        needs=_NEEDS,
    ),
    "loops/output so far": Attack(
        "console.log('before'); for (;;);", ("Timeout",), console="before", needs=_NEEDS
    ),
    "loops/leftover promise": Attack(
        "(async () => { for (;;) await null; })(); 'ended'", (VALUE, "Timeout"), needs=_NEEDS
    ),
}
