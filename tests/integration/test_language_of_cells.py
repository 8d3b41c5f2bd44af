"""Cells are JavaScript: every engine gives what the language gives, and a REPL's declarations.

Each row is a session; the cells run in order, and the last one has the value or the error.
"""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import pytest
from engines import OnEngine

from interpstack import InterpreterStack

VALUES = {
    # declarations of later cells
    "let without a value": (["let best = 4", "let best; best"], "undefined"),
    "let without a value, awaiting": (["let best = 4", "let best\nawait 0; best"], "undefined"),
    "several, awaiting": (["let a, b = 2, c\ntry { await 0 } catch {}\nb"], "2"),
    "let in front of a block": (["let a\n{ await 0 }\n({a}).a"], "undefined"),
    "let in front of a loop": (["let a\nfor await (const x of [1]) a = x\na"], "1"),
    "let of several": (["let p = 1, q = 2", "let p, q = 5; [p, q]"], "[undefined, 5]"),
    "let with a type": (["let x = 1", "let x: number; x"], "undefined"),
    "let beside await": (["let x = 1", "let x; await 0; x"], "undefined"),
    "let over a builtin": (["let escape; typeof escape"], "undefined"),
    "var keeps its value": (["var x = 1", "var x; x"], "1"),
    "const after let": (["let c = 1", "const c = 2; c"], "2"),
    "let after const": (["const c = 1", "let c = 2; c = 3; c"], "3"),
    "a constant of an earlier cell is a variable": (["const c = 1", "c = 2; c"], "2"),
    "class again": (["class A {}", "class A { m() { return 1 } }; new A().m()"], "1"),
    "function again": (["function f() { return 1 } function g() { return f() }", "function f() { return 2 }", "g()"], "2"),
    "function again beside await": (["function f() { return 1 } function g() { return f() } await 0", "await 0; function f() { return 2 }", "g()"], "2"),
    "function over let": (["let f = 1", "function f() {} typeof f"], "function"),
    "var over const": (["const a = 1", "var a = 2; a"], "2"),
    "enum again": (["enum E { A, B }", "enum E { C = 7 }; [E.C, E.A]"], "[7, undefined]"),
    "a name whose cell failed": (["let d = 1", "let d = JSON.parse('{')", "let d = 5; d"], "5"),
    "a new name whose cell failed": (["const n = 1; null.x; const d = 2", "[n, typeof d]"], '[1, "undefined"]'),
    "a new name whose cell failed, again": (["await 0; null.x; let d = 2", "let d = 5; d"], "5"),
    # each round of a loop has variables of its own
    "a loop that is continued: plain": (["const a = []; for (let i = 0; i < 3; i++) { a.push(() => i); continue } a.map(f => f()).join()"], "0,1,2"),
    "a loop that is continued: if": (["const a = []; for (let i = 0; i < 4; i++) { if (i % 2) { a.push(() => i); continue } a.push(() => -i) } a.map(f => f()).join()"], "0,1,-2,3"),
    "a loop that is continued: without a block": (["const a = []; for (let i = 0; i < 3; i++) if (a.push(() => i)) continue; a.map(f => f()).join()"], "0,1,2"),
    "a loop that is continued: labels": (["const a = []; o: for (let i = 0; i < 3; i++) { for (let j = 0; j < 2; j++) { a.push(() => i + '-' + j); if (j === 0) continue; continue o } } a.map(f => f()).join()"], "0-0,0-1,1-0,1-1,2-0,2-1"),
    "a loop that is continued: a label of that name": (["const a = []; $1: for (let i = 0; i < 3; i++) { a.push(() => i); continue $1 } a.map(f => f()).join()"], "0,1,2"),
    "a loop that is continued: try and switch": (["const a = []; for (let i = 0, k = 9; i < 3; i++) try { switch (i) { case 1: continue } a.push(() => i); continue } finally { a.push(() => k + i) } a.map(f => f()).join()"], "0,9,10,2,11"),
    "a loop that is continued: closures in the head": (["const a = []; for (let i = 0, see = () => i; i < 3; a.push(() => i), i++) { if (i) continue; a.push(see) } a.map(f => f()).join()"], "0,1,2,3"),
    "a loop that is continued: in a function": (["function f() { const a = []; for (let i = 0; i < 3; i++) { class C { n = i }; a.push(C); continue } return a.map(C => new C().n) } f().join()"], "0,1,2"),
    "a loop that is continued: awaiting": (["const a = []; for (let i = 0; i < 3; i++) { a.push(async () => i); await null; continue } (await Promise.all(a.map(f => f()))).join()"], "0,1,2"),
    "a loop that is continued: value": (["for (let i = 0; i < 3; i++) { (() => i); i * 10; if (i === 2) continue; i + 100 }"], "undefined"),
    "a loop that is continued: types": (["const a: (() => number)[] = []; for (let i: number = 0; i < 3; i++) { a.push(() => i as number); continue } a.map(f => f()).join()"], "0,1,2"),
    "an enum member after a value that is not known": (["const k = 'z'; enum E { A = k, B } [E.A, E.B]"], '["z", undefined]'),
    # a statement begins where another one ends
    "side by side: loops that await": (["const a = []; for await (const x of [1, 2]) {a.push(x)}for await (const y of [3]) {a.push(y)}a.join()"], "1,2,3"),
    "side by side: a loop in a block": (["{for await (const x of [1, 2]) {}5}"], "5"),
    "side by side: a loop and a function": (["for await (const x of [1]) {}function f() { return 3 }f()"], "3"),
    "side by side: a function and a loop": (["let n = 0; function f() { return n }for await (const x of [1, 2]) {n += x}f()"], "3"),
    "side by side: loops in a function": (["async function f() { for await (const x of [1]) {}for await (const y of [2]) {}return 4 }await f()"], "4"),
    "side by side: loops in loops": (["for await (const x of [1]) {for await (const y of [2]) {}}6"], "6"),
    "side by side: a function and a constant": (["await 0; const c = 1; let e; try {function g() {}c = 5} catch ({name}) {e = name}e"], "TypeError"),
    "side by side: a block of a function": (["await 0; let f = 1; {function f() {}}f + 1"], "2"),
    "side by side: words and brackets": (["let n = 0; for await(const{x}of[{x: 1}, {x: 2}])if(x > 1)n = 5;else[n]\nif(0)1;else[n]"], "[5]"),
    "side by side: a word and a text": (["await 0; if(0)1;else'x'"], "x"),
    "side by side: a loop without a block": (["const a = []; for await (const x of [1, 2])a.push(x)"], "2"),
    # functions in parameters
    "a default beside a variable of its name": (["function f(a, g = () => a) { var a = 2; return [a, g()] } f(1)"], "[2, 1]"),
    "a default that counts alone": (["function f(n = 0, next = () => ++n) { return [next(), next()] } f()"], "[1, 2]"),
    "a default of another variable of that name": (["const f = (x, map = x => x * 2) => { x = map(x); return x }; f(2)"], "4"),
    "a default that declares the name": (["function f(a, g = () => { let a = 1; a++; return a }) { a = 5; return g() + a } f(1)"], "7"),
    "a default with members of that name": (["function f(a, g = b => b.a) { a = g({a: 3}); return a } f(1)"], "3"),
    "a default and a block with the name": (["function f(a, g = () => a) { { let a = 3; a = 4 } return g() } f(1)"], "1"),
    "a default and a parameter with the name": (["function f(a, g = () => a) { return (a => { a = 9; return a })(2) + g() } f(1)"], "10"),
    "a default of options": (["const f = (opts = {}, done = () => {}) => { opts = {...opts, z: 1}; done(); return opts.z }; f()"], "1"),
    "functions with defaults stay as they are": (["function f(a, { g = () => a }, z) { return g() } [f.length, String(f)]"], '[3, "function f(a, { g = () => a }, z) { return g() }"]'),
    # hoisting, blocks and values
    "functions are hoisted": (["const v = f(); function f() { return 3 } await 0; v"], "3"),
    "functions keep their names": (["await 0; function f(a, b) { return a }", "[f.name, f.length, String(f)]"], '["f", 2, "function f(a, b) { return a }"]'),
    "a function that is assigned to": (["function f() { return 1 } await 0; f = () => 2", "f()"], "2"),
    "functions in blocks": (["{ function inner() { return 4 } } inner()"], "4"),
    "functions in blocks beside await": (["await 0; { function inner() { return 4 } } inner()", "inner()"], "4"),
    "functions in blocks stay there": (["let f = 1; { function f() {} } f"], "1"),
    "var in a block": (["await 0; if (1) { var x = 2 }", "x"], "2"),
    "var in a loop": (["for (var i of await [1, 2]);", "i"], "2"),
    "loops have their own variables": (["const fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); await 0; fs.map(f => f())"], "[0, 1, 2]"),
    "names of functions": (["const a = () => {}, b = class {}; await 0; [a.name, b.name]"], '["a", "b"]'),
    "destructuring": (["const {a, b: [c = 3], ...d} = await {a: 1, b: [], e: 5}; [a, c, d]"], "[1, 3, {e: 5}]"),
    "the value of a loop": (["for (const k of [1, 2]) k"], "2"),
    "the value of a loop beside await": (["await 0; for (const k of [1, 2]) k"], "2"),
    "no value of an if": (["1; await 0; if (false) 2"], "undefined"),
    "no value of a catch": (["try { 1; null.x } catch (e) { var seen = e.name }"], "undefined"),
    "no value of a catch that continues": (["for (let i = 0; i < 2; i++) { try { i; null.x } catch {continue} finally { 7 } }"], "undefined"),
    "no value of a catch behind an expression": (["5; try { 1; null.x } catch {}", "5; try { 1; null.x } catch {} var t"], "undefined"),
    "the value of a catch": (["try { 1; null.x } catch { 2 } finally { 3 }"], "2"),
    "a declaration in a block has no value": (["await 0; 5; { var q = 6 }"], "5"),
    "a declaration has a value": (["await 0; 5; var q = 6"], "6"),
    "undeclared": (["total = 5; total"], "5"),
    "this": (["await 0; this === globalThis"], "true"),
    "strict where it says so": (["'use strict'; (function () { return this })()"], "undefined"),
    "strict cells declare globals": (["'use strict'; var s = 1; function t() { return s } let u = 2", "[s, t(), u]"], "[1, 1, 2]"),
    # what a scan of tokens misreads
    "a method named import": (["const o = { import\n(x)\n{ return x } }; o.import(3)"], "3"),
    "a member named import": (["const o = { import: 1 }; o.import"], "1"),
    "combining marks": (["class Ä\u0301 {}; new Ä\u0301()"], "Ä\u0301 {}"),
    "wide spaces": (["let\u3000x\u00a0=\u20032; x"], "2"),
    "a slash behind a function": (["let g = 2, x = function () { return 8 } / 4 / g; x"], "NaN"),
    "a slash behind of": (["const of = 8, g = 2; `${of /4/ g}`"], "1"),
    "a slash behind a private name": (["class P { #return = 8; m(g) { return this.#return /4/ g } } new P().m(2)"], "1"),
    "a regular expression behind a bracket": (["if (1) /a'/.test(\"a'\")"], "true"),
    "a hashbang": (["#!/usr/bin/env node\nawait 1"], "1"),
    "await as a name": (["var await = 3; await"], "3"),
    "await with brackets": (["await (5)"], "5"),
    "await in a list": (["await [6]"], "[6]"),
    "for await": (["for await (const x of [1, 2]) x"], "2"),
    "escapes in names": (["let \\u0061b = 1; ab"], "1"),
    "a comment of HTML": (["1\n<!-- 2\n"], "1"),
    "astral characters": (["let a = '😀'; const b = '😀'; await 0; a + b"], "😀😀"),
    "a label": (["out: for (const i of [1]) { break out }"], "undefined"),
    # TypeScript
    "types": (["const n: number = 3; n as number"], "3"),
    "a generic function": (["function id<T>(x: T): T { return x } id<number>(4)"], "4"),
    "an interface": (["interface P { x: number }\nconst p: P = { x: 1 }; await 0; p.x!"], "1"),
    "less than": (["const a = 1, b = 2, c = 3; a < b > (c)"], "false"),
}  # fmt: skip

FAULTS = {
    "const without a value": (["const x;"], "SyntaxError", "initializer", (1, 7)),
    "declared twice": (["let a; let a"], "SyntaxError", "'a' has already been declared", (1, 12)),
    "declared as two kinds": (["var a;\n const a = 1"], "SyntaxError", "'a' has already been declared", (2, 8)),
    "let of let": (["let  // a name\nlet = 1"], "SyntaxError", "'let' cannot be declared here", (2, 1)),
    "eval in strict code": (["'use strict'; var eval;"], "SyntaxError", "'eval' cannot be declared here", (1, 19)),
    "before its declaration": (["let x = x"], "ReferenceError", "Cannot access 'x' before initialization", None),
    "typeof before": (["typeof x; let x = 1"], "ReferenceError", "Cannot access 'x'", None),
    "assigned before": (["x = 1; let x"], "ReferenceError", "Cannot access 'x'", None),
    "before, in a function": (["f(); let x = 1; function f() { return x }"], "ReferenceError", "Cannot access 'x'", None),
    "before, beside await": (["await 0; y; let y = 1"], "ReferenceError", "Cannot access 'y'", None),
    "a constant": (["const c = 1; c = 2"], "TypeError", "Assignment to constant variable 'c'", None),
    "a constant that is counted": (["const c = 1; await 0; c++"], "TypeError", "constant variable 'c'", None),
    "a constant in a pattern": (["const c = 1; ({c} = {c: 2})"], "TypeError", "constant variable 'c'", None),
    "a constant in a loop": (["const c = 1; for (c of [2]);"], "TypeError", "constant variable 'c'", None),
    "a constant in a function": (["const c = 1; (() => { c += 1 })()"], "TypeError", "constant variable 'c'", None),
    "a name whose cell failed": (["let d = 1", "let d = JSON.parse('{')", "d"], "ReferenceError", "'d' has no value", None),
    "a global of the language": (["let undefined = 1"], "TypeError", "undefined is reserved", None),
    "new import": (["new import('x')"], "SyntaxError", "new", (1, 5)),
    "import defer": (["1;\nimport defer * as x from '@/skills/x'"], "SyntaxError", "import defer is not available", (2, 1)),
    "import source": (["import source x from '@/skills/x'"], "SyntaxError", "import source is not available", (1, 1)),
    "export": (["1;\nexport const q = 1"], "SyntaxError", "later cells can use it", (2, 1)),
    "a place that V8 does not tell": (["async function f() { for await (const [...x = []] of y) {} }"], "SyntaxError", "rest", (1, 43)),
    "a decorator": (["@sealed class A {}"], "SyntaxError", "ecorator", (1, 1)),
    "a type that is no type": (["const n: = 3"], "SyntaxError", "", (1, 10)),
}  # fmt: skip


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("name", VALUES)
async def test_a_cell_has_the_value_that_the_language_gives(on_engine: OnEngine, name: str) -> None:
    cells, expected = VALUES[name]
    stack = InterpreterStack(on_engine.name)
    async with stack.session("s") as session:
        for cell in cells[:-1]:
            await session.eval(cell)
        outcome = await session.eval(cells[-1])
    stack.close()
    assert (outcome.error, outcome.text) == (None, expected)


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("name", FAULTS)
async def test_a_cell_fails_as_the_language_says(on_engine: OnEngine, name: str) -> None:
    cells, kind, part, place = FAULTS[name]
    stack = InterpreterStack(on_engine.name)
    async with stack.session("s") as session:
        for cell in cells[:-1]:
            await session.eval(cell)
        outcome = await session.eval(cells[-1])
        after = await session.eval("1 + 1")
    stack.close()
    error = outcome.error
    assert error is not None
    assert (error.name, part in error.message) == (kind, True), error
    assert (error.place and (error.place.line, error.place.column)) == place
    assert after.text == "2"


#: Functions that share a parameter with a default value, and what the language gives.
SHARED = {
    "assigned by the body": ("function f(a, b = () => a) { a = 5; return b() } f(1)", "5"),
    "assigned by the default": ("function f(a, set = v => { a = v }) { set(9); return a } f(1)", "9"),
    "in an arrow function": ("const f = (n, g = () => n) => (n = n + 1, g()); f(1)", "2"),
    "beside await": ("await null; const f = (a, g = () => a) => a = g() + 1\nf(1)", "2"),
    "beside types": ("const f = (a: number, g = () => a): (() => number) => { a = 2; return g }; f(1)(1)", "2"),
    "in a pattern": ("function f({ page = 1 } = {}, url = () => `/${page}`) { const out = []; for (; page < 3; page++) out.push(url()); return out.join() } f()", "/1,/2"),
    "by a pattern": ("const o = { m(a, g = () => a) { [a] = [3]; return g() } }; o.m(1)", "3"),
    "by a loop": ("function f(a, g = () => a) { for (a of [1, 2]); return g() } f(1)", "2"),
    "by a function of the body": ("function f(a, g = () => a) { const h = () => { a++ }; h(); return g() } f(1)", "2"),
    "in a setter": ("const o = { set v([p, q = () => p]) { p = 'new'; this.r = q() } }; o.v = ['old']; o.r", "new"),
    "in a constructor": ("class B { constructor(private n: number, public g = () => n) { n = 7 } } new B(1).g()", "7"),
    "in a class": ("function f(a, K = class { x = a }) { a = 2; return new K().x } f(1)", "2"),
    "in a generator": ("function* f(a, g = () => a) { a = 2; yield g() } [...f(1)].join()", "2"),
    "beside names of the body": ("const x = 1; function f(a, g = () => x + a) { a = 2; let x = 10; return g() } f(1)", "3"),
}  # fmt: skip


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("name", SHARED)
async def test_a_shared_parameter_is_shared_or_refused(on_engine: OnEngine, name: str) -> None:
    """QuickJS would make two of it, so it refuses the function."""
    code, expected = SHARED[name]
    stack = InterpreterStack(on_engine.name)
    async with stack.session("s") as session:
        outcome = await session.eval(code)
    stack.close()
    if "quickjs" not in on_engine.name:
        assert (outcome.error, outcome.text) == (None, expected)
        return
    assert outcome.error is not None
    assert outcome.error.name == "SyntaxError"
    assert "QuickJS cannot share the parameter '" in outcome.error.message
    assert outcome.error.place is not None
