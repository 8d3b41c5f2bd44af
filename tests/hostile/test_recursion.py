"""Recursion and nesting without end: a `RangeError`, never a dead host."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from typing import Any

import pytest

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


@pytest.mark.parametrize("source", _RECURSION.values(), ids=_RECURSION)
async def test_endless_recursion_ends(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error is None or outcome.error.name in {
        "RangeError", "Timeout", "OutOfMemory", "InternalError", "TypeError", "SyntaxError",
    }, outcome.error  # fmt: skip


@pytest.mark.parametrize("source", ["function r(n) { return r(n + 1) + 1; }; r(0)"])
async def test_plain_recursion_is_a_range_error(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error.name == "RangeError"
    assert "Maximum call stack size exceeded" in outcome.error.message


@pytest.mark.parametrize("depth", [300, 50_000])
@pytest.mark.parametrize("parts", _SOURCES.values(), ids=_SOURCES)
async def test_deeply_nested_source(victim: Any, parts: tuple[str, str, str], depth: int) -> None:
    before, middle, after = parts
    outcome = await victim.attack(before * depth + middle + after * depth)
    assert outcome.error is None or outcome.error.name in {
        "RangeError", "SyntaxError", "OutOfMemory", "Timeout", "TypeError", "ReferenceError",
    }, outcome.error  # fmt: skip


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


@pytest.mark.parametrize("depth", [40, 180, 5_000])
@pytest.mark.parametrize("make", _NEST.values(), ids=_NEST)
async def test_deeply_nested_results(victim: Any, make: str, depth: int) -> None:
    outcome = await victim.attack(f"let a = 1; for (let i = 0; i < {depth}; i++) a = {make}; a")
    assert outcome.error is None, outcome.error
    assert len(outcome.text) < 2**16


@pytest.mark.parametrize(
    "make", [_NEST[k] for k in ("arrays", "objects", "keys with a dollar", "Maps", "Sets")]
)
@pytest.mark.parametrize("depth", [10, 180, 2_000])
async def test_deeply_nested_arguments(victim: Any, make: str, depth: int) -> None:
    outcome = await victim.attack(
        f"let a = 1; for (let i = 0; i < {depth}; i++) a = {make}; typeof await host.echo(a)"
    )
    if depth < 190:
        assert (outcome.error, outcome.text) == (None, "object")
    else:
        assert outcome.error.name == "TypeError"
        assert outcome.error.message.startswith("the value is nested too deep, or contains itself")


@pytest.mark.parametrize(
    "make",
    [
        "a[0] = a",
        "a.push({a})",
        "a.push(new Map([[a, a]]))",
        "a.push(new Set([a]))",
        "a.self = a; a.push(1)",
    ],
)
async def test_cycles(victim: Any, make: str) -> None:
    outcome = await victim.attack(f"const a = []; {make}; a")
    assert outcome.error is None
    assert "[Circular]" in outcome.text
    if "self" not in make:  # JSON has no place for it
        outcome = await victim.attack(f"const a = []; {make}; await host.echo(a)")
        assert outcome.error.name == "TypeError"
        assert "contains itself" in outcome.error.message
