"""Reserved names can be neither redefined, deleted, shadowed, proxied nor frozen away."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack_testing.guests.guest import ANY_ERROR, VALUE, Attack, group

__all__ = ["ATTACKS"]

_ATTEMPTS = {
    "assign": "host = 1",
    "assign on the global": "globalThis.host = 1",
    "var": "var host = 1",
    "let": "let host = 1",
    "const": "const host = 1",
    "class": "class host {}",
    "function": "function host() {}",
    "async function": "async function host() {}",
    "destructured": "const {host} = {host: 1}",
    "destructured array": "let [host] = [1]",
    "for": "for (var host of [1]);",
    "block function": "{ function host() {} }",
    "catch": "try { throw 1; } catch (e) { var host = e; }",
    "eval": "eval('var host = 1')",
    "indirect eval": "(0, eval)('var host = 1; let keepHost = host')",
    "new Function": "new Function('host = 1')()",
    "delete": "delete globalThis.host",
    "strict delete": "'use strict'; delete globalThis.host",
    "Reflect.deleteProperty": "Reflect.deleteProperty(globalThis, 'host')",
    "defineProperty": "Object.defineProperty(globalThis, 'host', {value: 1})",
    "defineProperty getter": "Object.defineProperty(globalThis, 'host', {get: () => 1})",
    "defineProperties": "Object.defineProperties(globalThis, {host: {value: 1}})",
    "Reflect.defineProperty": "Reflect.defineProperty(globalThis, 'host', {value: 1})",
    "Reflect.set": "Reflect.set(globalThis, 'host', 1)",
    "Object.assign": "Object.assign(globalThis, {host: 1})",
    "__defineGetter__": "globalThis.__defineGetter__('host', () => 1)",
    "member": "host.echo = () => 1",
    "member deleted": "delete host.echo",
    "member defined": "Object.defineProperty(host, 'echo', {value: 1})",
    "new member": "host.other = 1",
    "prototype": "Object.setPrototypeOf(host, {echo: () => 1})",
    "member of the function": "host.echo.call = host.echo.apply = () => 1",
    "the function's prototype": "Object.setPrototypeOf(host.echo, null)",
    "freeze": "Object.freeze(globalThis)",
    "seal": "Object.seal(globalThis)",
    "preventExtensions": "Object.preventExtensions(globalThis)",
    "Reflect.preventExtensions": "Reflect.preventExtensions(globalThis)",
    "freeze by call": "Object.freeze.call(null, globalThis)",
    "freeze what exists": "for (const k of Reflect.ownKeys(globalThis)) try { Object.defineProperty(globalThis, k, {writable: false, configurable: false}); } catch {}",
    "Proxy as globalThis": "globalThis = new Proxy(globalThis, {get: () => 1})",
    "globalThis replaced": "Object.defineProperty(globalThis, 'globalThis', {value: {}})",
    "prototype of the global": "Object.setPrototypeOf(globalThis, {host: 1})",
    "shadow by prototype": "globalThis.__proto__ = new Proxy({}, {has: () => true, get: () => 1})",
    "undefined": "var undefined = 1; var NaN = 2; var Infinity = 3",
    "Object.prototype": "Object.prototype.host = 1",
    "symbols": "for (const s of Object.getOwnPropertySymbols(globalThis)) delete globalThis[s]",
    "module": "export const host = 1",
    "import": "import host from 'host'",
    "label": "host: for (;;) break host",
    "unfinished declaration": "let host =",
    "let with a syntax error behind": "let host = 1; }",
    "let in odd places": "if (1) let\n{}; let\nhost = 1",
    "let with escapes": r"let \u0068ost = 1",
    "class with escapes": r"class \u{68}ost {}",
    "Annex B": "switch (1) { case 1: function host() {} }",
    "using": "using host = null",
}

_LOCAL = [
    "{ let host = 1; host; }",
    "((host) => host)(1)",
    "(() => { const host = 1; return host; })()",
]

_STAYS = (
    ("Object.keys(host).join() + typeof host.echo", "echofunction"),
    ("const fresh = 1; let other = 2; class Third {}; fresh + other", "3"),
    ("fresh + other + typeof Third", "3function"),
)

#: Names that some engine locks, or the host has: a cell that declares one sees its own value, or an
#: error; never another value without a word.
_NAMES = (
    "host",
    "Error",
    "undefined",
    "NaN",
    "Infinity",
    "$mport",
    "globalThis",
    "console",
    "Object",
)
_DECLARATIONS = {
    "const": "const {0} = 'mine'; {0}",
    "let": "let {0} = 'mine'; {0}",
    "awaited": "await null; const {0} = 'mine'; {0}",
    "destructured": "const {{other: {0}}} = {{other: 'mine'}}; {0}",
    "second": "let one = 1, {0} = 'mine'; {0}",
}
_OWN = ("TypeError", "SyntaxError", VALUE)

_KEYS = "const all = []; for (const k in globalThis) all.push(k); all.join()"
_MESSAGE = "host is reserved by the interpreter; use another name"

ATTACKS: Final[Mapping[str, Attack]] = {
    **group(
        "reserved",
        {
            k: Attack(v, (VALUE, ANY_ERROR), then=_STAYS, noticed="Object.prototype." in v)
            for k, v in _ATTEMPTS.items()
        },
    ),
    **group("reserved", {v: Attack(v, shows="1") for v in _LOCAL}),
    **group(
        "reserved",
        {
            f"{kind} {name}": Attack(source.format(name), _OWN, shows="mine", healthy=False)
            for kind, source in _DECLARATIONS.items()
            for name in _NAMES
        },
    ),
    "reserved/closed by a trick": Attack(
        "Object.freeze(new Proxy(globalThis, {}))",
        (VALUE, ANY_ERROR),
        then=(("try { (0, eval)('var fresh = 1'); 'made'; } catch (e) { e.name; }", "TypeError"),),
    ),
    "reserved/message": Attack("const host = 1", ("TypeError",), message=_MESSAGE),
    "reserved/keys": Attack(
        "Object.keys(globalThis).join()", shows="keep", then=((_KEYS, "keep,all"),)
    ),
}
