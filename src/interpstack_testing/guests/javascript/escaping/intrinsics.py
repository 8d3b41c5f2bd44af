"""Replaced and polluted intrinsics: kernel, bridges and results do not depend on them.

After such a cell the guest's own code may find its globals changed, and that is its affair. So
health is checked here with code that uses nothing but syntax, bridges and timers.
"""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack_testing.guests.guest import Attack, group

__all__ = ["ATTACKS"]

_POISON = "() => { throw 'poison'; }"

_ATTACKS = {
    "JSON": f"JSON.stringify = JSON.parse = {_POISON}",
    "JSON itself": "globalThis.JSON = null",
    "Promise.prototype.then": f"Promise.prototype.then = {_POISON}",
    "Promise.prototype.then that never settles": "Promise.prototype.then = function () { return this; }",
    "Promise.prototype.then getter": "Object.defineProperty(Promise.prototype, 'then', {get() { for (;;); }})",
    "Promise.prototype.catch and finally": f"Promise.prototype.catch = Promise.prototype.finally = {_POISON}",
    "Promise statics": f"for (const k of ['resolve', 'reject', 'all', 'race', 'allSettled', 'any', 'withResolvers']) Promise[k] = {_POISON}",
    "Promise itself": "globalThis.Promise = class Promise {}",
    "Promise species": "try { Object.defineProperty(Promise, Symbol.species, {get() { throw 1; }}); } catch {}",
    "Promise.prototype.constructor": """
        try { Object.defineProperty(Promise.prototype, 'constructor', {get() { throw 1; }}); } catch {}""",
    "Promise prototype's prototype": "Object.setPrototypeOf(Promise.prototype, {get then() { throw 1; }})",
    "Object.prototype.then": "try { Object.prototype.then = go => go('hijacked'); } catch {}",
    "Object.prototype.toJSON": "try { Object.prototype.toJSON = () => 'hijacked'; } catch {}",
    "Object.prototype getters": """
        for (const k of ['value', 'get', 'set', 'writable', 'configurable', 'done', 'next', 'resolve', 'error',
                         'text', 'name', 'length', '0', '1', '$', 'v', 'callback', 'message', 'chars', 'depth'])
            try { Object.defineProperty(Object.prototype, k, {get() { throw k; }, set() { throw k; }}); } catch {}""",
    "Object.prototype methods": f"for (const k of ['toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf', 'propertyIsEnumerable', 'toLocaleString']) Object.prototype[k] = {_POISON}",
    "Object.prototype.__proto__": "Object.defineProperty(Object.prototype, '__proto__', {get() { throw 1; }, set() { throw 2; }})",
    "Object.prototype.constructor": "Object.prototype.constructor = null",
    "Array.prototype index setters": """
        for (let i = 0; i < 20; i++)
            Object.defineProperty(Array.prototype, String(i), {get() { throw i; }, set() { throw i; }})""",
    "Array.prototype.then": "Array.prototype.then = () => { for (;;); }",
    "Array.prototype.toJSON": "Array.prototype.toJSON = () => 'hijacked'",
    "Array iteration": "Array.prototype[Symbol.iterator] = null",
    "Array iterator prototype": f"Object.getPrototypeOf([][Symbol.iterator]()).next = {_POISON}",
    "Array.isArray": "Array.isArray = () => false",
    "Array species": "Object.defineProperty(Array, Symbol.species, {get() { throw 1; }})",
    "Array prototype's prototype": "Object.setPrototypeOf(Array.prototype, new Proxy({}, {get() { throw 1; }, set() { throw 2; }, has() { throw 3; }}))",
    "Function.prototype": f"for (const k of ['call', 'apply', 'bind', 'toString']) Function.prototype[k] = {_POISON}",
    "Function.prototype[Symbol.hasInstance]": "try { Object.defineProperty(Function.prototype, Symbol.hasInstance, {value: () => true}); } catch {}",
    "Error.prepareStackTrace": f"Error.prepareStackTrace = {_POISON}",
    "Error.prepareStackTrace that loops": "Error.prepareStackTrace = () => { for (;;); }",
    "Error.stackTraceLimit": "Error.stackTraceLimit = 0",
    "Error.stackTraceLimit that loops": "Error.stackTraceLimit = {valueOf() { for (;;); }}",
    "Error.stackTraceLimit getter": "try { Object.defineProperty(Error, 'stackTraceLimit', {get() { throw 1; }}); } catch {}",
    "Error.prototype": "for (const k of ['name', 'message', 'toString', 'constructor']) Object.defineProperty(Error.prototype, k, {get() { throw k; }, set() { throw k; }})",
    "Error itself": "globalThis.Error = globalThis.TypeError = globalThis.RangeError = null",
    "Date": "globalThis.Date = null",
    "Date.prototype": f"for (const k of Reflect.ownKeys(Date.prototype)) try {{ Date.prototype[k] = {_POISON}; }} catch {{}}",
    "Math": "globalThis.Math = null",
    "Math.floor": f"Math.floor = Math.random = {_POISON}",
    "Map and Set": "for (const p of [Map.prototype, Set.prototype]) for (const k of Reflect.ownKeys(p)) Object.defineProperty(p, k, {get() { throw k; }, configurable: true})",
    "Symbol": "globalThis.Symbol = null",
    "Symbol.prototype": f"Symbol.prototype.toString = Symbol.prototype.valueOf = {_POISON}",
    "String.prototype.toString": f"String.prototype.toString = String.prototype.valueOf = {_POISON}",
    "RegExp.prototype": "for (const k of Reflect.ownKeys(RegExp.prototype)) Object.defineProperty(RegExp.prototype, k, {get() { throw k; }, configurable: true})",
    "typed arrays": "for (const k of Reflect.ownKeys(Object.getPrototypeOf(Uint8Array.prototype))) Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), k, {get() { throw k; }, configurable: true})",
    "Uint8Array": "globalThis.Uint8Array = globalThis.ArrayBuffer = null",
    "Reflect": f"for (const k of Reflect.ownKeys(Reflect)) try {{ Reflect[k] = {_POISON}; }} catch {{}}",
    "Object": f"for (const k of Object.getOwnPropertyNames(Object)) try {{ Object[k] = {_POISON}; }} catch {{}}",
    "Object itself": "globalThis.Object = null",
    "everything replaced": """
        const all = [], put = Reflect.set, own = Reflect.ownKeys, targets =
            [String, Array, Function, Map, Set, WeakMap, Date, RegExp, Symbol, BigInt, Number, Boolean, Error,
             Promise, Object, Reflect, Math, JSON, Proxy, Uint8Array, ArrayBuffer, Iterator, queueMicrotask];
        for (let i = 0; i < targets.length; i++) all[2 * i] = targets[i], all[2 * i + 1] = targets[i].prototype;
        for (let i = 0; i < all.length; i++) {
            if (!all[i]) continue;
            const names = own(all[i]);
            for (let j = 0; j < names.length; j++)
                try { put(all[i], names[j], () => { throw 'poison'; }); } catch {}
        }""",
    "everything removed": """
        const all = [], drop = Reflect.deleteProperty, own = Reflect.ownKeys, targets =
            [String, Array, Function, Map, Set, WeakMap, Date, RegExp, Symbol, BigInt, Number, Boolean, Error,
             Promise, Object, Reflect, Math, JSON, Proxy, Uint8Array, ArrayBuffer, Iterator];
        for (let i = 0; i < targets.length; i++) all[2 * i] = targets[i], all[2 * i + 1] = targets[i].prototype;
        for (let i = 0; i < all.length; i++) {
            if (!all[i]) continue;
            const names = own(all[i]);
            for (let j = 0; j < names.length; j++) try { drop(all[i], names[j]); } catch {}
        }""",
    "every global removed": """
        const names = Reflect.ownKeys(globalThis), drop = Reflect.deleteProperty;
        for (let i = 0; i < names.length; i++)
            if (names[i] !== 'setTimeout' && names[i] !== 'keep') try { drop(globalThis, names[i]); } catch {}""",
    "prototype of the global object": "Object.setPrototypeOf(globalThis, new Proxy({}, {get() { throw 1; }, has() { throw 2; }, set() { throw 3; }}))",
    "no prototype of the global object": "Object.setPrototypeOf(globalThis, null)",
    "generators": f"Object.getPrototypeOf(function* () {{}}.prototype).__proto__.next = {_POISON}",
    "async functions": "Object.setPrototypeOf((async () => {}).constructor.prototype, null)",
    "eval and Function": "globalThis.eval = globalThis.Function = null",
    "timers": "globalThis.clearTimeout = globalThis.setInterval = globalThis.queueMicrotask = null",
}

_PREPARED = "const made = [new Map([[1, {a: 2}]]), new Date(0), /x/g, 5n]"

#: Cells and their expected results.
_HEALTH = (
    ("1 + 1", "2"),
    ("keep.n + 1", "42"),
    ("'text'", "text"),
    ("({a: 1, b: [2, 'x', {c: null}], d: undefined, e: true, f: -0})",
     '{a: 1, b: [2, "x", {c: null}], d: undefined, e: true, f: -0}'),
    ("() => 1", "[Function (anonymous)] arity=0"),
    ("await host.echo({a: [1, 'x'], b: {$: 1}, c: 5n, d: undefined})", '{a: [1, "x"], b: {$: 1}, c: 5n, d: undefined}'),
    ("await host.echo([[1], [2]])", "[[1], [2]]"),
    ("const both = [host.echo(1), host.echo(2)]; await both[0] + await both[1]", "3"),
    ("try { await host.echo('fail'); } catch (e) { e.message; }", "as wanted"),
    ("let later = 0; setTimeout(() => { later = 'rang'; }, 0); await host.echo(1); 'set'", "set"),
    ("later", "rang"),
    ("(async () => 'async')()", "async"),
    ("class Fresh { x = 1 }; const fresh = new Fresh; fresh.x", "1"),
    ("made", "[Map(1) {1 => {a: 2}}, 1970-01-01T00:00:00.000Z, /x/g, 5n]"),
    ("try { null.x; } catch (e) { 'caught'; }", "caught"),
    ("try { missing; } catch (e) { 'caught'; }", "caught"),
)  # fmt: skip

_HIJACKED = """
    for (const kind of [Array, Map, Set, Date, Uint8Array]) kind.prototype.then = go => go('hijacked');
    [await host.echo([1]), await host.echo(new Map([[1, 2]])), await host.echo(new Set([1])),
     await host.echo(new Uint8Array([1])), Object.keys(await host.echo([1])).length]"""


def _attack(name: str, source: str) -> Attack:
    # A Map without its own constructor is shown by another name.
    then = tuple(cell for cell in _HEALTH if (name, cell[0]) != ("Map and Set", "made"))
    return Attack(
        f"{source}; 'attacked'",
        shows="attacked",
        before=_PREPARED,
        then=then,
        healthy=False,
        noticed="Object.prototype.t" in source,  # takes no `then` and no `toJSON`
    )


ATTACKS: Final[Mapping[str, Attack]] = {
    **group("intrinsics", {k: _attack(k, v) for k, v in _ATTACKS.items()}),
    "intrinsics/hijacked answers": Attack(
        _HIJACKED,
        shows="[[1], Map(1) {1 => 2}, Set(1) {1}, Uint8Array(1) [1], 1]",
        healthy=False,
    ),
}
