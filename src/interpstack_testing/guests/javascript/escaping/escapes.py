"""Ways out of the sandbox, and ways into the kernel: there are none."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack_testing.guests.guest import ANY_ERROR, Attack, group

__all__ = ["ATTACKS"]

_ABSENT = [
    "require", "process", "module", "exports", "__dirname", "fetch", "XMLHttpRequest", "WebSocket", "Deno", "Bun",
    "std", "os", "bjson", "scriptArgs", "print", "gc", "load", "read", "WebAssembly", "Worker", "navigator", "window",
    "self", "document", "importScripts", "postMessage", "kernel", "dispatch", "interpstack", "__kernel", "host_call",
]  # fmt: skip

_SPECIFIERS = ["os", "std", "qjs:os", "fs", "node:fs", "child_process", "node:vm", "/etc/passwd", "./x.js", "interpstack:kernel", "interpstack:web", "eval_script", "data:text/javascript,1", "https://example.com/x.js", "", "\\ud800", "x".ljust(100000, "x")]  # fmt: skip

_NO_MODULES = [
    "import os from 'os'",
    "export default 1",
    "import.meta",
    "import('os', {with: {type: 'json'}})",
]

#: Every function lives in the one global of its realm.
_GLOBALS = {
    "Function": "Function('return this')()",
    "constructor chain": "(() => {}).constructor('return this')()",
    "generator": "(function* () {}).constructor('yield this')().next().value",
    "of a bridge": "host.echo.constructor('return this')()",
    "of a timer": "setTimeout.constructor('return this')()",
    "of a web class": "URL.prototype.constructor.constructor('return this')()",
    "indirect eval": "(0, eval)('this')",
    "of an answer": "(await host.echo([1])).constructor.constructor('return this')()",
    "of an error": "await host.echo(Symbol()).catch(e => e.constructor.constructor('return this')())",
}

#: Where the kernel calls guest code, it hands nothing of its own out.
_LEAKS = {
    "prepareStackTrace": """
        Error.prepareStackTrace = (e, frames) => { seen.push(...frames.map(f => f.getFunction())); return ''; };
        Object.defineProperty(TypeError, 'prepareStackTrace', {value: (e, f) => { seen.push(f); }});
        String(new Error().stack); String(new TypeError().stack); host.echo({get a() { String(new Error().stack); return 1; }})""",
    "caller": """
        const o = {get a() { f(); return 1; }}, own = Object.getOwnPropertyDescriptor(o, 'a').get
        function f() { try { for (let c = f.caller; c; c = c.caller) if (c !== own) seen.push(c); } catch {} }
        host.echo(o)""",
    "arguments": "host.echo({get a() { try { seen.push(host.echo.arguments, host.echo.caller); } catch {} return 1; }})",
    "callee": """
        const o = {get a() { f(); return 1; }}, own = Object.getOwnPropertyDescriptor(o, 'a').get
        function f() { try { const c = arguments.callee.caller; seen.push(c === own ? c.caller : c); } catch {} }
        host.echo(o)""",
    "this of a getter": "const o = {get a() { if (this !== o) seen.push(this); return 1; }}; host.echo(o)",
    "this of a thenable": "const t = {then(go) { if (this !== t) seen.push(this); go(1); }}; await t",
    "this of toJSON": "class J { toJSON(...a) { if (!(this instanceof J)) seen.push(this); seen.push(...a.filter(x => typeof x === 'object')); return 1; } }; await host.echo(new J)",
    "prototype setters": "Object.setPrototypeOf(Array.prototype, new Proxy({}, {set(t, k, v) { seen.push(v); return true; }, get(t, k, r) { if (r !== Array.prototype && typeof k === 'string' && k !== 'then') seen.push(r); }})); await host.echo([1])",
    "Map callbacks": "const f = Map.prototype.forEach; Map.prototype.forEach = function (c) { seen.push(c); }; await host.echo(new Map([[1, 2]])); Map.prototype.forEach = f",
    "Promise callbacks": "const t = Promise.prototype.then; Promise.prototype.then = function (...a) { seen.push(...a); return t.apply(this, a); }; await host.echo(1); Promise.prototype.then = t",
    "Function.prototype.call": "const c = Function.prototype.call; Function.prototype.call = function () { seen.push(this); }; await host.echo([new Map, new Date(0), new Set([1])]); Function.prototype.call = c",
}

_LEAKED = "seen.filter(x => typeof x === 'function' || typeof x === 'object' && x !== null).length"

#: What could show a path of the host's, or of the kernel.
_STACKS = [
    "null.x", "host.echo(Symbol())", "await host.echo(Symbol())", "new URL('x')", "structuredClone(() => 1)",
    "JSON.parse('{')", "[1].map(() => { throw new Error('x'); })", "setTimeout(1)",
    "await host.missing()", "new TextDecoder('nope')", "atob('*')", "eval('throw new Error(1)')",
]  # fmt: skip

_HOSTS = {
    "only readings move the time": (
        "const t = Date.now(); for (let i = 0; i < 1e5; i++); [Date.now() - t, Date.now() - t, performance.now()]", "[1, 2, 3]",
    ),
    "one Date": (
        "new Date().constructor === Date && new (new Date().constructor)().getTime() - Date.now()", "-1",
    ),
    "the formatted time": (
        "const shown = (...given) => typeof Intl !== 'object' ? `${(given[0] ?? Date.now()) % 1000}` : "
        "new Intl.DateTimeFormat('en', {fractionalSecondDigits: 3}).format(...given); "
        "const parts = () => typeof Intl !== 'object' ? shown() : "
        "new Intl.DateTimeFormat('en', {fractionalSecondDigits: 3}).formatToParts()[0].value; "
        "const seen = [shown(Date.now()), shown(), shown(undefined), parts()]; "
        "seen.map(text => (text - seen[0] + 1000) % 1000)", "[0, 1, 2, 3]",
    ),
    "the same clock": ("Date.prototype.constructor.now() - Date.now()", "-1"),
    "symbols": (
        "Reflect.ownKeys(globalThis).filter(k => typeof k === 'symbol' && k !== Symbol.toStringTag).length", "0",
    ),
    "fresh memory": ("new Uint8Array(1e5).reduce((a, b) => a + b, 0)", "0"),
}  # fmt: skip


def _absent(name: str) -> Attack:
    return Attack(f"typeof {name} + typeof globalThis[{name!r}]", shows="undefinedundefined")


def _imports(specifier: str) -> dict[str, Attack]:
    shown = specifier[:20] or "nothing"
    return {
        f"import {shown}": Attack(f"await import('{specifier}')", (ANY_ERROR,)),
        f"import {shown} without await": Attack(f"import('{specifier}')", (ANY_ERROR,)),
        f"import {shown} by eval": Attack(f"eval(`import('{specifier}')`)", (ANY_ERROR,)),
    }


def _leak(source: str) -> Attack:
    return Attack(f"globalThis.seen = []; {source}; 0", shows="0", then=((_LEAKED, "0"),))


ATTACKS: Final[Mapping[str, Attack]] = {
    **group("absent", {name: _absent(name) for name in _ABSENT}),
    **group("modules", {key: a for s in _SPECIFIERS for key, a in _imports(s).items()}),
    **group("modules", {s: Attack(s, (ANY_ERROR,)) for s in _NO_MODULES}),
    **group(
        "global", {k: Attack(f"({v}) === globalThis", shows="true") for k, v in _GLOBALS.items()}
    ),
    **group("leaks", {k: _leak(v) for k, v in _LEAKS.items()}),
    **group("stacks", {v: Attack(v, (ANY_ERROR,)) for v in _STACKS}),
    "stacks/shown": Attack("new Error('x').stack"),
    **group("host", {k: Attack(v, shows=shown) for k, (v, shown) in _HOSTS.items()}),
}
