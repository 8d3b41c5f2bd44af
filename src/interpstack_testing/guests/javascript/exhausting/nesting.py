"""Recursion and nesting without end: an error, never a dead host."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack_testing.guests.guest import VALUE, Attack, group

__all__ = ["ATTACKS"]

_RECURSION = {
    "plain": "function r(n) { return r(n + 1) + 1; }; r(0)",
    "mutual": "const a = () => b() + 1, b = () => a() + 1; a()",
    "caught": "function r() { try { r(); } catch { r(); } }; r()",
    "getter": "const o = {get x() { return this.x; }}; o.x",
    "getter of the result": "const o = {get x() { return this.x; }}; o",
    "setter": "const o = {set x(v) { this.x = v; }}; o.x = 1",
    "Proxy get": "const p = new Proxy({}, {get(t, k, r) { return r[k]; }}); p.x",
    "Proxy chain": "let p = {}; for (let i = 0; i < 1e4; i++) p = new Proxy(p, {}); p.x",
    "Proxy chain as the result": "let p = {}; for (let i = 0; i < 1e4; i++) p = new Proxy(p, {}); p",
    "Proxy chain as an argument": "let p = {}; for (let i = 0; i < 1e4; i++) p = new Proxy(p, {}); host.echo(p)",
    "Proxy prototype": "const p = new Proxy({}, {getPrototypeOf() { return Object.getPrototypeOf(p); }}); p",
    "toString": "class A { toString() { return '' + this; } }; '' + new A",
    "toString of a nested array": "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; '' + a",
    "valueOf": "const v = {valueOf() { return +v; }}; +v",
    "constructor": "class K { constructor() { new K; } }; new K",
    "field": "class F { f = new F; }; new F",
    "generator": "function* g() { yield* g(); }; [...g()]",
    "iterator": "const i = {[Symbol.iterator]: () => [...i]}; [...i]",
    "callback": "const f = () => [1].map(f); f()",
    "sort": "const f = () => [1, 2].sort(f); f()",
    "replace": "const f = () => 'a'.replace(/a/, f); f()",
    "reviver": "const f = () => JSON.parse('[1]', f); f()",
    "replacer": "const f = () => JSON.stringify([1], f); f()",
    "apply": "function f() { return Reflect.apply(f, null, []); }; f()",
    "bind": "let f = () => 1; for (let i = 0; i < 2e4; i++) f = f.bind(null); f()",
    "eval": "globalThis.e = () => eval('e()'); e()",
    "new Function": "globalThis.f = () => new Function('return f()')(); f()",
    "nested Function": "let s = '1'; for (let i = 0; i < 20; i++) s = `new Function(${JSON.stringify(`return ${s}`)})()`; eval(s)",
    "JSON.parse": "JSON.parse('['.repeat(1e5))",
    "JSON.parse objects": "JSON.parse('{\"a\":'.repeat(1e5))",
    "JSON.stringify": "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)",
    "structuredClone": "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; structuredClone(a)",
    "flat": "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity)",
    "regex": "new RegExp('('.repeat(1e4) + ')'.repeat(1e4))",
    "regex groups": "new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5))",
    "regex classes": "new RegExp('['.repeat(1e5) + ']'.repeat(1e5), 'v')",
    "regex match": "/(?:(a)|b)*c/.test('a'.repeat(1e5))",
    "then": "const t = {get then() { return t.then; }}; await t",
    "toJSON of an argument": "class J { toJSON() { return new J; } }; await host.echo(new J)",
    "getter of an argument": "await host.echo({get a() { return [this.a]; }})",
    "Symbol.hasInstance": "class C { static [Symbol.hasInstance](v) { return v instanceof C; } }; 1 instanceof C",
    "Symbol.toPrimitive": "const o = {[Symbol.toPrimitive]: () => o + 1}; o + 1",
    "with many arguments": "function f(...a) { return f(...a, 1); }; f()",
    "while out of stack": "function f() { try { f(); } finally { host.echo(1); } }; f()",
}

#: Source texts: the opening part, the middle, the closing part.
_SOURCES = {
    "parentheses": ("(", "1", ")"),
    "arrays": ("[", "", "]"),
    "objects": ("({a:", "1", "})"),
    "blocks": ("{", "", "}"),
    "templates": ("`${", "1", "}`"),
    "arrows": ("a=>", "1", ""),
    "functions": ("(function(){", "", "})"),
    "classes": ("(class{a=", "1", "})"),
    "unary": ("- ", "1", ""),
    "if": ("if(1)", ";", ""),
    "ternary": ("1?1:", "1", ""),
    "power": ("1**", "1", ""),
    "sum": ("1+", "1", ""),
    "calls": ("f(", "", ")"),
    "destructuring": ("[", "a", "]=1"),
    "await": ("await ", "1", ""),
    "new": ("new ", "Date", ""),
    "labels": ("a:", "1", ""),
}

#: What puts the value `a` one level deeper.
_NEST = {
    "arrays": "[a]",
    "objects": "{a}",
    "keys with a dollar": "{$: a}",
    "Maps": "new Map([[1, a]])",
    "keys of Maps": "new Map([[a, 1]])",
    "Sets": "new Set([a])",
    "errors": "Object.assign(new Error('x'), {a})",
    "causes": "new Error('x', {cause: a})",
    "classes": "Object.assign(new (class P {}), {a})",
    "functions": "Object.assign(() => {}, {a})",
    "null prototypes": "Object.assign(Object.create(null), {a})",
    "boxed": "Object.assign(new Number(1), {a})",
    "WeakRefs": "new WeakRef([a])",
    "arguments": "(function () { return arguments; })(a)",
}

_CYCLES = ["a[0] = a", "a.push({a})", "a.push(new Map([[a, a]]))", "a.push(new Set([a]))"]

_ENDS = (
    VALUE,
    "RangeError",
    "Timeout",
    "OutOfMemory",
    "InternalError",
    "TypeError",
    "SyntaxError",
    "ReferenceError",
)
_DEEP = "the value is nested too deep, or contains itself"


def _sources() -> dict[str, Attack]:
    return {
        f"source of {name}, {depth}": Attack(
            before * depth + middle + after * depth,
            _ENDS,
            noticed=name in ("arrows", "functions"),  # a function that was not called
        )
        for name, (before, middle, after) in _SOURCES.items()
        for depth in (300, 50_000)
    }


def _results() -> dict[str, Attack]:
    return {
        f"result of {name}, {depth}": Attack(
            f"let a = 1; for (let i = 0; i < {depth}; i++) a = {make}; a"
        )
        for name, make in _NEST.items()
        for depth in (40, 180, 5_000)
    }


def _arguments() -> dict[str, Attack]:
    found = {}
    for name in ("arrays", "objects", "keys with a dollar", "Maps", "Sets"):
        for depth in (10, 180, 2_000):
            source = f"let a = 1; for (let i = 0; i < {depth}; i++) a = {_NEST[name]}; "
            fits = Attack(source + "typeof await host.echo(a)", shows="object")
            caught = (
                f"try {{ await host.echo(a); }} catch (e) {{ e.message.slice(0, {len(_DEEP)}); }}"
            )
            found[f"argument of {name}, {depth}"] = (
                fits if depth < 190 else Attack(source + caught, shows=_DEEP)
            )
    return found


def _cycles() -> dict[str, Attack]:
    caught = (
        "try { await host.echo(a); } catch (e) { [e.name, e.message.includes('contains itself')]; }"
    )
    return {
        f"cycle by {make}": Attack(
            f"const a = []; {make}; a", then=((caught, '["TypeError", true]'),)
        )
        for make in _CYCLES
    }


ATTACKS: Final[Mapping[str, Attack]] = {
    **group(
        "recursion",
        {k: Attack(v, _ENDS, noticed="host.echo" in v) for k, v in _RECURSION.items()},
    ),
    "recursion/is a RangeError": Attack(_RECURSION["plain"], ("RangeError",)),
    **group("nesting", _sources() | _results() | _arguments() | _cycles()),
}
