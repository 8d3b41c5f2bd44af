"""Code that is no plain script, but has one meaning: it is accepted, or the answer says what to do.

A row is a cell, or several in turn, and what the last one gives. The rows of a table share a
session.
"""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from engines import OnEngine

from interpstack import Bridge, Cell, CellContext, InterpreterStack, hookimpl
from interpstack_javascript.cells import SourceError, prepared

Rows = Mapping[str, tuple[Sequence[str], str]]

RETURNED: Rows = {
    "a value": (["return 5"], "5"),
    "an object": (["return {a: 1}"], "{a: 1}"),
    "two": (["return 1, 2;"], "2"),
    "nothing": (["1; return"], "undefined"),
    "nothing on its line": (["return\n7"], "undefined"),
    "what it waits for": (["return await Promise.resolve(6)"], "6"),
    "a promise": (["return Promise.resolve([7])"], "[7]"),
    "in a branch": (["const n = 3; if (n > 2) { return 'big' } 'small'"], "big"),
    "not in a branch": (["const n2 = 1; if (n2 > 2) return 'big'\n'small'"], "small"),
    "in a loop": (["for (const x of [1, 2, 3]) if (x === 2) return x"], "2"),
    "in a loop that awaits": (["for await (const x of [1, 2, 3]) { if (x === 2) return x }"], "2"),
    "in a loop of functions": (["const f1 = []; for (let i = 0; i < 3; i++) { f1.push(() => i); if (i < 2) continue; return f1.map(f => f()) }"], "[0, 1, 2]"),
    "in a switch": (["switch (3) { case 3: return 'three' }"], "three"),
    "in try": (["try { return 1 } finally { 2 }"], "1"),
    "in catch": (["try { null.x } catch (e) { return e.name }"], "TypeError"),
    "in finally": (["try { 1 } finally { return 2 }"], "2"),
    "out of loops with names": (["out: for (;;) { for (;;) { return 4 } }"], "4"),
    "strict": (["'use strict'; return (function () { return this })()"], "undefined"),
    "types": (["const t: number = 4; function g1(x: number): number { return x } return g1(t) as number"], "4"),
    "a function of it": (["function g2(x) { return x * 2 } return g2(4)", "g2(5)"], "10"),
    "what is declared before": (["let d1 = 1; const d2 = 2; class D3 {} return d1; let d4 = 4", "[d1, d2, D3.name]"], '[1, 2, "D3"]'),
    "what is declared behind": (["let e1 = 1; return e1; let e2 = 2", "typeof e2"], "undefined"),
    "what is declared behind, over a value": (["let e3 = 3", "return 1; let e3 = 4", "let e3 = 5; e3"], "5"),
    "what stands behind": (["globalThis.ran = 0; return 1; globalThis.ran = 2", "ran"], "0"),
    "and an object behind": (["if (0) return 1\n{a: 1, b: 2}"], "{a: 1, b: 2}"),
    "beside a function with a return": (["const g3 = () => { return 8 }; return g3()"], "8"),
    "with braces in texts": (["return `}${'{'}`"], "}{"),
}  # fmt: skip

OBJECTS: Rows = {
    "keys and values": (["{a: 1, b: 2}"], "{a: 1, b: 2}"),
    "one": (["{a: 1}"], "{a: 1}"),
    "empty": (["{}"], "{}"),
    "names": (["const oa = 1, ob = 2", "{oa, ob}"], "{oa: 1, ob: 2}"),
    "one name": (["{oa}"], "{oa: 1}"),
    "a name and a value": (["{oa, x: 2,}"], "{oa: 1, x: 2}"),
    "texts as keys": (['{"two words": 1, \'b\': 2}'], '{"two words": 1, b: 2}'),
    "numbers as keys": (["{1: 'a', 2: 'b'}"], '{1: "a", 2: "b"}'),
    "a computed key": (["{[`k${1}`]: 1}"], "{k1: 1}"),
    "spread": (["const os = {q: 1}", "{...os, r: 2}"], "{q: 1, r: 2}"),
    "nested": (["{a: {b: 1, c: [{d: 2}]}, e: {}}"], "{a: {b: 1, c: [{d: 2}]}, e: {}}"),
    "functions in it": (["{a: (() => 3)(), b: function () { return 4 }()}"], "{a: 3, b: 4}"),
    "behind statements": (["const p = 1; const r = [p]\n{p, r, n: r.length}"], "{p: 1, r: [1], n: 1}"),
    "behind an expression": (["globalThis.z = 5\n{z, b: 1}"], "{z: 5, b: 1}"),
    "behind a branch": (["if (true) { 1 } else { 2 }\n{a: 1, b: 2}"], "{a: 1, b: 2}"),
    "behind a function": (["function of1() { return 3 }\n{a: of1(), b: 2}"], "{a: 3, b: 2}"),
    "behind a class": (["class O2 {} {a: 1, b: O2.name}"], '{a: 1, b: "O2"}'),
    "behind a comment": (["// {\n/* } */ {a: 1, b: '}'} // {done"], '{a: 1, b: "}"}'),
    "behind a regular expression": (["const re = /[{'\"]/.test('{')\n{re, b: 1}"], "{re: true, b: 1}"),
    "behind a template": (["const te = `${{a: 1}.a}{`\n{te, b: 1}"], '{te: "1{", b: 1}'),
    "on several lines": (["{\n  a: 1, // one\n  b: [\n    {\n      c: 2,\n    },\n  ],\n}\n"], "{a: 1, b: [{c: 2}]}"),
    "that awaits": (["{a: await Promise.resolve(1)}"], "{a: 1}"),
    "that awaits twice": (["{a: await Promise.resolve(1), b: await 2}"], "{a: 1, b: 2}"),
    "behind what awaits": (["const w = await 4\n{w, b: 1}"], "{w: 4, b: 1}"),
    "with types": (["const ty: number = 1\n{ty, b: ty as unknown as string}"], "{ty: 1, b: 1}"),
    "wide characters": (["const wi = '😀'; {wi, b: '😀'}"], '{wi: "😀", b: "😀"}'),
    # blocks
    "a block": (["{ let bx = 1; bx }"], "1"),
    "a block of a call": (["{ String(2); }"], "2"),
    "a block of a call without a semicolon": (["{ String(3) }"], "3"),
    "a block with an end": (["{a: 4};"], "4"),
    "a block of a loop": (["{ for (const x of [5]) x }"], "5"),
    "a label and a loop": (["{ here: for (;;) { break here } }"], "undefined"),
    "a block that is left": (["{ here: { break here } }"], "undefined"),
    "a block in front": (["{ oa } 7"], "7"),
    "a block that awaits": (["{ await Promise.resolve(6) }"], "6"),
}  # fmt: skip

DECLARED: Rows = {
    "let": (["let q1 = 5"], "5"),
    "const": (["const q2 = [1, 2];"], "[1, 2]"),
    "var": (["var q3 = 'x'"], "x"),
    "without a value": (["let q4"], "undefined"),
    "a var that had one": (["var q5 = 1", "var q5"], "1"),
    "several": (["var q6 = 1, q7 = 2"], "2"),
    "what it waits for": (["const q8 = await Promise.resolve(8)"], "8"),
    "a promise": (["const p1 = Promise.resolve(8)"], "Promise {…}"),
    "a promise, later": (["await 0; const p2 = Promise.resolve(8)", "await p2"], "8"),
    "behind what awaits": (["await 0; let q9 = 9; // nine"], "9"),
    "a pattern": (["const {a1, b1: [b2], ...b3} = {a1: 1, b1: [2], c: 3}"], "{a1: 1, b2: 2, b3: {c: 3}}"),
    "a pattern with defaults": (["const {a2 = 4, x: b4 = 5} = {a2: 1}"], "{a2: 1, b4: 5}"),
    "a list": (["const [c1, , ...c2] = [1, 2, 3];;"], "[1, [3]]"),
    "a pattern that awaits": (["const [c3, {c4}] = await [1, {c4: 2}]"], "[1, 2]"),
    "nothing bound": (["const {} = {a: 1}"], "{}"),
    "types": (["let t1: number = 3"], "3"),
    "behind an expression": (["1; let q10 = 2"], "2"),
    "in the last line": (["let q11 = 1\n// the end\n;"], "1"),
    "wide characters": (["const wide = '😀'"], "😀"),
    "a shadowed name": (["const q12 = 1; { const q12 = 2 }"], "undefined"),
    "strict": (["'use strict'; let q13 = 13"], "13"),
    # like functions and classes, which have no value
    "a function": (["7; function f1() {}"], "7"),
    "a class": (["class C1 {}"], "undefined"),
    "an arrow function": (["const f2 = () => 1"], "undefined"),
    "a function expression": (["const f3 = function () {}"], "undefined"),
    "a class expression": (["const C2 = class {}"], "undefined"),
    "the value of a function": (["const f4 = (() => 2)()"], "2"),
    "a declaration of types": (["declare const no: number"], "undefined"),
}  # fmt: skip

ASSIGNED: Rows = {
    "a name": (["q = 5"], "5"),
    "a type": (["q: list[int] = [6]"], "[6]"),
    "an operator": (["q = 1", "q += 2"], "3"),
    "several": (["a, b = 1, 'x'"], "(1, 'x')"),
    "a chain": (["c = d = 4"], "4"),
    "several lines": (["q = [\n  1,\n]  # done"], "[1]"),
    "behind a block": (["if True:\n    e = 1\nf = 2"], "2"),
    "a text": (["q = '''a\nb'''"], "a\nb"),
    "what it waits for": (["async def g():\n    return 7\nq = await g()"], "7"),
    "None": (["q = None"], "None"),
    "a coroutine, later": (["async def g(): return 7\nlate = g()", "await late"], "7"),
    # statements without a value
    "an item": (["h = {}", "h['x'] = 1"], "None"),
    "a function": (["def g(): return 1"], "None"),
    "a lambda": (["g = lambda x: x"], "None"),
    "in a block": (["if True: q = 1"], "None"),
    "in a loop": (["for i in [1]:\n    q = i"], "None"),
    "in a branch": (["if False: q = 1\nelse: q = 2"], "None"),
    "a comparison": (["q == 2"], "True"),
}  # fmt: skip

MEANT: Mapping[str, Sequence[Rows]] = {
    "javascript": [RETURNED, OBJECTS, DECLARED],
    "python": [ASSIGNED],
}


@pytest.mark.engines("all")
async def test_code_has_the_value_that_is_meant(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name) as stack:
        for table in MEANT[on_engine.language]:
            async with stack.session() as session:
                for name, (cells, text) in table.items():
                    for cell in cells:
                        outcome = await session.eval(cell)
                        assert outcome.error is None, (name, outcome.error)
                    assert outcome.text == text, name


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("let a = 1\n{a, b: null.x}", 2, 13),
        ("let a = 1; {a, b: null.x}", 1, 24),
        ("await 0\n{a: 1, b: null.x}", 2, 16),
        ("if (1) return null.x", 1, 20),
        ("return {a: 1,\n b: null.x}", 2, 10),
    ],
)
async def test_errors_have_the_place_in_the_source(
    on_engine: OnEngine, source: str, line: int, column: int
) -> None:
    with InterpreterStack(on_engine.name) as stack:
        error = (await stack.session("s").eval(source)).error
    assert error is not None
    place = error.stack.split("cell:")[1]
    assert place.startswith(f"{line}:")
    if on_engine.name == "v8":  # which names the member
        assert place.startswith(f"{line}:{column}")


# -- fences --------------------------------------------------------------------------------------

_CODE = {"javascript": "const x = 20\nx + 1", "python": "x = 20\nx + 1"}
_FENCES = {
    "javascript": ["", "js", "javascript", "JavaScript", "ts", "typescript", "mjs", "jsx"],
    "python": ["", "python", "py", "Python", "python3"],
}


@pytest.mark.engines("all")
async def test_a_fence_around_the_code_is_taken_away(on_engine: OnEngine) -> None:
    code = _CODE[on_engine.language]
    with InterpreterStack(on_engine.name) as stack:
        async with stack.session() as session:
            for word in [*_FENCES[on_engine.language], "text", "code"]:
                for source in (
                    f"```{word}\n{code}\n```",
                    f"\n \n``` {word} \n{code}\n```  \n\n",
                    f"~~~{word}\n{code}\n~~~~",
                    f"````{word}\n{code}\n`````",
                    f"  ```{word}\n  {code.replace(chr(10), chr(10) + '  ')}\n  ```",
                    f"```{word}\n{code}\n```\n".replace("\n", "\r\n"),
                ):
                    outcome = await session.eval(source)
                    assert (outcome.error, outcome.text) == (None, "21"), source
            empty = await session.eval("```\n```")
            assert (empty.error, empty.undefined) == (None, True)


@pytest.mark.engines("all")
async def test_lines_count_with_the_fence(on_engine: OnEngine) -> None:
    word = on_engine.language
    faulty = "let = = 1" if word == "javascript" else "kept = = 1"
    raising = "missing" if word == "javascript" else "x = missing"
    with InterpreterStack(on_engine.name) as stack:
        async with stack.session() as session:
            error = (await session.eval(f"\n```{word}\n1\n{faulty}\n```")).error
            assert error is not None
            assert error.place is not None
            assert error.place.line == 4
            error = (await session.eval(f"```{word}\r\n1\r\n2\r\n{raising}\r\n```")).error
            assert error is not None
            assert "cell:4" in error.stack


@pytest.mark.engines("all")
async def test_a_fence_of_another_language_is_refused_in_the_words_of_this_one(
    on_engine: OnEngine,
) -> None:
    title = {"javascript": "JavaScript", "python": "Python"}[on_engine.language]
    other = {"javascript": "python", "python": "js"}[on_engine.language]
    with InterpreterStack(on_engine.name) as stack:
        async with stack.session() as session:
            for word in (other, "json", "bash"):
                outcome = await session.eval(f'\n```{word}\n{{"a": 1}}\n```')
                assert outcome.error is not None
                assert outcome.error.name == "SyntaxError"
                assert outcome.error.message == (
                    f"the code is fenced as {word}, and cells are {title}: write it in {title}"
                )
                assert outcome.error.place is not None
                assert outcome.error.place.line == 2
            for source, said in (
                (f"```{on_engine.language}\n1", "has no end: send the code alone"),
                (f"```{on_engine.language}\n1\n```\nThis is 1.", "text stands behind the fence"),
            ):
                error = (await session.eval(source)).error
                assert error is not None
                assert said in error.message


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("`a`", "a"),
        ("`\n`", "\n"),
        ("`\n```\n`.length", None),
        ("```x```", None),
        ("```\n`.length", None),
        ("const s = `\n\\`\\`\\`\n`; s.length", "5"),
        ("~~~\n5", "-6"),
        ("'```js\\n1\\n```'", "```js\n1\n```"),
    ],
)
async def test_a_template_is_no_fence(on_engine: OnEngine, source: str, text: str | None) -> None:
    with InterpreterStack(on_engine.name) as stack:
        outcome = await stack.session("s").eval(source)
        assert outcome.text == (text or "")
        assert (outcome.error is None) is (text is not None)


@pytest.mark.engines("all")
async def test_what_was_written_is_what_is_recorded(on_engine: OnEngine) -> None:
    seen: dict[str, Cell] = {}

    class Plugin:
        @hookimpl
        def interpstack_transform_cell(self, cell: Cell) -> None:
            seen["transform"] = cell

        @hookimpl
        def interpstack_open_cell(self, cell: Cell) -> None:
            seen["open"] = cell

    def note(context: CellContext) -> None:
        seen["context"] = context.cell

    source = f"```{on_engine.language}\nawait host.note()\n```\n"
    bridge = Bridge(name="host.note", handler=note)
    with InterpreterStack(on_engine.name, [Plugin()], bridges=[bridge]) as stack:
        async with stack.session() as session:
            outcome = await session.eval(source)
            assert outcome.error is None, outcome
    assert seen["transform"].source == "\nawait host.note()\n\n"
    assert seen["open"].source == seen["context"].source == source


async def test_a_fence_of_typescript_is_read_as_typescript() -> None:
    code = "class Point {} const make = (x) => x; make<Point>(3)"
    with InterpreterStack() as stack:
        session = stack.session("s")
        assert (await session.eval(code)).text == "false"  # a comparison, as JavaScript
        assert (await session.eval(f"```ts\n{code}\n```")).text == "3"


# -- await in a function that is not async -------------------------------------------------------

WAITING = {
    "map": ("const list = [1]\nlist.map(q => await f(q))", (2, 15), "make the callback async, and wait for all: await Promise.all(list.map(async q => …))"),
    "forEach": ("list.forEach(q => { const r = await f(q) })", (1, 31), "make the callback async: async q => …. Nothing waits for forEach, so use for (const q of list) { … } or await Promise.all(list.map(async q => …))"),
    "forEach of a pattern": ("rows.forEach(({id}) => { await f(id) })", (1, 26), "for (const {id} of rows) { … }"),
    "filter": ("a.b.filter(function (row) { return await ok(row) })", (1, 36), "filter does not wait for its callback. Use for (const row of a.b) { … }"),
    "flatMap": ("list.flatMap(q => await f(q))", (1, 19), "(await Promise.all(list.map(async q => …))).flat()"),
    "reduce": ("list.reduce((sum, q) => sum + await f(q), 0)", (1, 31), "reduce does not wait for its callback. Use for (const q of list) { … }"),
    "sort": ("list.sort((a, b) => await f(a) - await f(b))", (1, 21), "sort does not wait for its callback. Await what it compares before"),
    "setTimeout": ("setTimeout(() => { await f() }, 10)", (1, 20), "nothing waits for the callback of setTimeout. Wait before the call: await new Promise((resolve) => setTimeout(resolve, ms))"),
    "a promise": ("new Promise(resolve => { resolve(await f()) })", (1, 34), "make the callback async: async resolve => …"),
    "a function": ("function get(a) {\n  return await f(a)\n}", (2, 10), "make the function async: async function get(a) { … }, and await its calls: await get(…)"),
    "a variable": ("const get = (a, b) => { await f(a) }", (1, 25), "make the function async: async (a, b) => …, and await its calls: await get(…)"),
    "a method": ("class A { get(a) { return await f(a) } }", (1, 27), "make the method async, as in async get(…) { … }"),
    "a method of an object": ("const o = { get(a) { return await f(a) } }", (1, 29), "make the method async, as in async get(…) { … }"),
    "a getter": ("const o = { get a() { return await f() } }", (1, 30), "constructors, getters and setters cannot wait"),
    "a constructor": ("class A { constructor() { await f() } }", (1, 27), "constructors, getters and setters cannot wait"),
    "a field": ("class A { a = await f() }", (1, 15), "await the value before the class"),
    "a parameter": ("function f(a = await g()) {}", (1, 16), "make the function async"),
    "a loop": ("list.forEach(q => { for await (const x of q) {} })", (1, 25), "Nothing waits for forEach"),
    "brackets": ("list.map(q => await (f(q)))", (1, 15), "await Promise.all(list.map(async q => …))"),
    "brackets, beside another": ("await f(1); list.map(q => await (f(q)))", (1, 27), "await Promise.all(list.map(async q => …))"),
    "in an async function": ("const g = async () => { list.map(q => await f(q)) }", (1, 39), "await Promise.all(list.map(async q => …))"),
    "with types": ("list.map((q: number) => await f(q))", (1, 25), "await Promise.all(list.map(async (q: number) => …))"),
    "beside a return": ("return list.map(q => await f(q))", (1, 22), "await Promise.all(list.map(async q => …))"),
    "behind a long list": ("[" + "1, " * 30 + "2].map(q => await f(q))", (1, 104), "await Promise.all(list.map(async q => …))"),
}  # fmt: skip


@pytest.mark.engines("javascript")
async def test_await_in_a_plain_function_is_told_with_what_to_write(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name) as stack:
        async with stack.session() as session:
            for name, (source, place, said) in WAITING.items():
                error = (await session.eval(source)).error
                assert error is not None, name
                assert error.name == "SyntaxError", (name, error)
                assert error.message.startswith("await works in async functions only: "), name
                assert said in error.message, (name, error.message)
                assert error.place is not None
                assert (error.place.line, error.place.column) == place, name


@pytest.mark.parametrize(
    "source",
    [
        "await (5)",
        "var await = 3; await",
        "function await(x) { return x } await (3)",
        "const f = await => await(1)",
        "async function f() { return await (3) }",
        "[1].map(async q => await (q))",
    ],
)
def test_await_that_can_wait_or_is_a_name_is_left_alone(source: str) -> None:
    assert "await" in prepared(source).source


# -- another language ----------------------------------------------------------------------------

#: Each with the word of the parser that stays.
PYTHON = [
    "def f(x):\n    return x + 1\nf(3)",
    "import math\nmath.sqrt(2)",
    "import numpy as np\nnp.zeros(3)",
    "from tools import search\nsearch('a')",
    "for x in [1, 2]:\n    print(x)",
    "for i, x in enumerate(rows):\n    print(i, x)",
    "if x > 3:\n    pass",
    "x = 1\nif x == 1:\n    y = 2\nelif x == 2:\n    y = 3",
    "while True:\n    break",
    "try:\n    x = 1\nexcept ValueError as e:\n    print(e)",
    "with open('a') as f:\n    print(f.read())",
    "class A:\n    def m(self):\n        return 1",
    "class A(Base):\n    x = 1",
    "rows = [r for r in rows if r['a'] > 3]",
    "d = {k: v for k, v in items}",
    "total = sum(x for x in range(10))",
    "data = sorted(rows, key=lambda r: r['n'])",
    "print(f'value {x}')",
    "name = 'a'\nmessage = f\"hello {name}\"",
    "result = await tools.search(q='a')\nif not result:\n    print('none')",
    "# the sum\nx = 5 if y else 3",
    "async def main():\n    return await f()\nawait main()",
    "raise ValueError('x')",
    "x = None\nprint(x is not None and True)",
]
JAVASCRIPT = [
    "const x = 5",
    "let x = 5;\nx + 1",
    "const rows = await tools.search({q: 'a'});\nconsole.log(rows)",
    "function f(a) { return a + 1 }",
    "rows = [1, 2].map(x => x * 2)",
    "rows.filter((r) => { return r.a > 3 })",
    "// the sum\nx = 1",
    "/* the sum */\nx = 1",
    "if (x === 3) { y = 1 }",
    "for (let i = 0; i < 3; i++) {\n  console.log(i)\n}",
    "for (const x of rows) {\n  x\n}",
    "x = `a ${q}`",
    "x = new Map()\ny = new Set([1])",
    "import {a} from 'b'",
    "try {\n  f()\n} catch (e) {\n  g()\n}",
    "async function main() {\n  return 1\n}",
    "x = typeof y",
    "x = a && b",
    "throw new Error('x')",
]


@pytest.mark.engines("all")
async def test_another_language_is_named(on_engine: OnEngine) -> None:
    own, other = ("Python", "JavaScript") if on_engine.language == "python" else (
        "JavaScript", "Python",
    )  # fmt: skip
    sources = JAVASCRIPT if on_engine.language == "python" else PYTHON
    with InterpreterStack(on_engine.name) as stack:
        async with stack.session() as session:
            for source in sources:
                error = (await session.eval(source)).error
                assert error is not None, source
                assert error.name == "SyntaxError", (source, error)
                first, _, fault = error.message.partition(". ")
                assert first == f"this looks like {other}; cells are {own}", (source, error)
                assert fault
                assert error.place is not None


#: Python with an ordinary slip.
PYTHON_SLIPS = [
    "x = = 3", "if x => 3:\n    pass", "print('a' 'b'", "def f(x)\n    return x", "x = 5 +",
    "for x in y\n    pass", "x = [1, 2", "class A\n    pass", "return = 3", "d = {'a': 1 'b': 2}",
    "if x = 3:\n    pass", "x = 'abc", "lambda x: = 3", "import", "from x import", "x = 3 4",
    "# const x = 1\ny = = 2", "s = 'let x = 1'\ny = = 2", "x = 5 // 2 3", "f(a, , b)", "x++",
    "while x > 3\n    x -= 1", "try:\n    x\nexcept\n    y", "else:\n    x", "x = {1, 2", "x = )",
    "url = 'http://x'; y = = 1", "def f(:\n    pass", "x ? y : z", "async x = 3", "x: int = = 3",
]  # fmt: skip
#: JavaScript with one.
JAVASCRIPT_SLIPS = [
    "const x = {a: 1, b: 2", "if (a > 2 {\n b()\n}", "for (let i = 0; i < 3; i++ {\n}",
    "const f = async (x) => {\n  return await tools.x(\n}", "const a = [1, 2, 3",
    "const s = \"it's\" + 'it's';", "function f( { return 1 }", "const o = {a: 1, b: 2,, c: 3}",
    "let 1a = 5", "const for = 1", 'console.log("a" "b")',
    'const r = await tools.search({q: "a" limit: 3})', 'const r = await tools.search(q: "a")',
    "if (x) { y() } else if { z() }", "switch (x) { case 1: y(); break; case: z() }",
    "const t = `a ${b`", "x = y ? 1", "const {a, b = await f()",
    "items.forEach(item => { console.log(item) }", "items.map(x => x * 2", "while (true { break }",
    "try { f() } catch e { g() }", "try { f() }", "return return", "let a = 1; let b = a +;",
    "const x = 5 5", "for key in obj {\n  console.log(key)\n}", "const re = /abc(;", "foo(,)",
    "class A extends { }", "new", "const a = b => { return c; ", "import x from", 'var x = "abc',
    'const json = {"a": True, "b": None, c d}', '[["a", 1], ["b" 2]]',
    "// for x in y: only a comment\nconst a = = 1", "// if x: do\nconst a = [1,2 3]",
    'const text = "def f(x):"; let y = ;', 'const p = "for x in xs:"\nconst q = = 3',
    "const msg = `if x > 3:\n  pass`; const = 4", "outer:\nfor (const x of y { }",
    "switch (a) {\n  case 1:\n    f(\n  default:\n    g()\n}", "const a = cond ?\n  b :\n  c d",
    "const x = { if: 1, else: 2, for 3 }", "if (a and b) { c() }", "const n = not b",
    "let a = 1 # a comment", "{a: 1, b: 2} + 1", "{a: 1, b: }", "enum E { A = }", "const y = f'a",
    "import fs\nfs.x", "label: for (;;) { break label", "do { x } while x", "const n = 10_",
]  # fmt: skip


@pytest.mark.engines("all")
async def test_a_slip_is_not_taken_for_another_language(on_engine: OnEngine) -> None:
    sources = PYTHON_SLIPS if on_engine.language == "python" else JAVASCRIPT_SLIPS
    assert len(sources) >= 30
    with InterpreterStack(on_engine.name) as stack:
        async with stack.session() as session:
            for source in sources:
                error = (await session.eval(source)).error
                assert error is not None, source
                assert "looks like" not in error.message, (source, error)


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{a: 1, b: 2};", "this is a block; for an object, leave out the semicolon behind it"),
        ("return 1; let b = ;", "Unexpected token"),
        ("class A { static { return 1 } }", "'return' statement cannot be used inside a class"),
        ("{ f() {} }", "semicolon"),
        ("{a: 1, get b() { return 2 }}", ""),
        ("if (1)\n{a: 1, b: 2}", ""),
        ("const f = () =>\n{a: 1, b: 2}", ""),
        ("x = 1 {a: 1, b: 2}", ""),
        ("{a: 1, b: 2} {c: 3, d: 4}", ""),
    ],
)
async def test_what_has_no_single_meaning_stays_an_error(
    on_engine: OnEngine, source: str, said: str
) -> None:
    with InterpreterStack(on_engine.name) as stack:
        error = (await stack.session("s").eval(source)).error
    assert error is not None
    assert error.name == "SyntaxError"
    assert said in error.message
    assert error.place is not None
    with pytest.raises(SourceError):
        prepared(source)
