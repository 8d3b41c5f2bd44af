"""How values are shown."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack import BridgeSet, Cell, Completion, Limits, Outcome, Realm, render
from interpstack_quickjs.engine import QuickJSEngine


@pytest.fixture(scope="module")
def realm() -> Iterator[Realm]:
    opened = QuickJSEngine().open(Limits(cpu_seconds=5), BridgeSet())
    yield opened
    opened.close()


def _run(realm: Realm, source: str) -> Completion:
    execution = realm.start(Cell(source=source))
    progress = execution.poll(0.0, 0.5)
    execution.abort("done")
    assert progress.completion is not None, progress
    return progress.completion


_TABLE = [
    # plain data
    ("[1, 2]", "[1, 2]"),
    ("({a: 1, b: 'x'})", '{a: 1, b: "x"}'),
    ("'top \"level\"'", 'top "level"'),
    ("['nested \"q\"\\n']", '["nested \\"q\\"\\n"]'),
    ("[[], {}, [[]], [{}]]", "[[], {}, [[]], [{}]]"),
    ("[1, 1.5, 3.0, 1e21, 1e-7]", "[1, 1.5, 3, 1e+21, 1e-7]"),
    ("[NaN, Infinity, -Infinity, -0, 0]", "[NaN, Infinity, -Infinity, -0, 0]"),
    ("undefined", "undefined"),
    ("null", "null"),
    ("[undefined, null, true, false]", "[undefined, null, true, false]"),
    ("-0", "-0"),
    ("[5n, -5n, 2n ** 70n]", "[5n, -5n, 1180591620717411303424n]"),
    ("({'c d': 1, 'a-b': 2, '': 3, '01': 4, 7: 5, $x: 6, _y: 7, 'é': 8})",
     '{7: 5, "c d": 1, "a-b": 2, "": 3, "01": 4, $x: 6, _y: 7, "é": 8}'),
    ("({[Symbol('s')]: 1, [Symbol.iterator]: 2})", "{[Symbol(s)]: 1, [Symbol(Symbol.iterator)]: 2}"),
    ("Symbol('s')", "Symbol(s)"),
    ("({a: undefined})", "{a: undefined}"),
    # arrays
    ("[1, , 3]", "[1, <1 empty item>, 3]"),
    ("new Array(5)", "[<5 empty items>]"),
    ("Object.assign([1, , 3], {k: 4, '01': 5, '-1': 6})",
     '[1, <1 empty item>, 3, k: 4, "01": 5, "-1": 6]'),
    ("new Proxy([1, 2], {ownKeys: () => ['0', '1', 'y', '3', '1.0', '7', 'length'],"
     " getOwnPropertyDescriptor: (t, k) => Reflect.getOwnPropertyDescriptor(t, k) ??"
     " {value: 5, configurable: true, enumerable: true}, get: (t, k) => t[k] ?? 5})",
     '[1, 2, y: 5, "1.0": 5]'),
    ("const far = []; far[4294967290] = 1; far", "[<4294967290 empty items>, 1]"),
    ("Object.assign([1], {x: 2, '-1': 3})", '[1, x: 2, "-1": 3]'),
    ("new (class L extends Array {})(1, 2)", "L(2) [1, 2]"),
    ("(function () { return arguments; })(1, 'x')", '[Arguments] [1, "x"]'),
    # Map, Set, bytes
    ("new Map([['k', {a: 1}]])", 'Map(1) {"k" => {a: 1}}'),
    ("new Map([[{a: 1}, new Map]])", "Map(1) {{a: 1} => Map(0) {}}"),
    ("new Set([1])", "Set(1) {1}"),
    ("new (class M extends Map {})([[1, 2]])", "M(1) {1 => 2}"),
    ("Object.assign(new Set([1]), {x: 2})", "Set(1) {1, x: 2}"),
    ("new Uint8Array([7, 8])", "Uint8Array(2) [7, 8]"),
    ("new Float64Array([1.5, NaN])", "Float64Array(2) [1.5, NaN]"),
    ("new BigInt64Array([1n])", "BigInt64Array(1) [1n]"),
    ("[new ArrayBuffer(), Uint8Array.of(0, 1, 255).buffer]",
     "[ArrayBuffer {[Uint8Contents]: <>, byteLength: 0}, ArrayBuffer {[Uint8Contents]: <00 01 ff>, byteLength: 3}]"),
    ("new ArrayBuffer(60)", f"ArrayBuffer {{[Uint8Contents]: <{'00 ' * 50}... 10 more bytes>, byteLength: 60}}"),
    ("new ArrayBuffer(51)", f"ArrayBuffer {{[Uint8Contents]: <{'00 ' * 50}... 1 more byte>, byteLength: 51}}"),
    ("const gone = new ArrayBuffer(8); structuredClone(gone, {transfer: [gone]}); gone",
     "ArrayBuffer {(detached), byteLength: 0}"),
    ("new DataView(Uint8Array.of(1, 2).buffer, 1)",
     "DataView {byteLength: 1, byteOffset: 1, buffer: ArrayBuffer {[Uint8Contents]: <01 02>, byteLength: 2}}"),
    ("[new WeakMap, new WeakSet]", "[WeakMap {<items unknown>}, WeakSet {<items unknown>}]"),
    # dates, expressions, boxes
    ("new Date(0)", "1970-01-01T00:00:00.000Z"),
    ("[new Date(NaN)]", "[Invalid Date]"),
    ("[Object.assign(new Date(0), {zone: 'UTC'}), Object.assign(new Date(NaN), {a: 1})]",
     '[1970-01-01T00:00:00.000Z {zone: "UTC"}, Invalid Date {a: 1}]'),
    ("[Object.assign(new Number(1), {unit: 'kg'}), Object.assign(new String('ab'), {x: 1})]",
     '[[Number: 1] {unit: "kg"}, [String: "ab"] {x: 1}]'),
    ("/a\\/b/gimsuyd", "/a\\/b/dgimsuy"),
    ("[new RegExp('[a]', 'u'), new RegExp('')]", "[/[a]/u, /(?:)/]"),
    ("[new Number(1), new String('s'), new Boolean(false), Object(1n), Object(Symbol('q'))]",
     '[[Number: 1], [String: "s"], [Boolean: false], [BigInt: 1n], [Symbol: Symbol(q)]]'),
    # functions and classes
    ("({a() {}, b: 2})", "{a: [Function: a], b: 2}"),
    ("[() => 1, async () => 1, function* g() {}, async function* h() {}]",
     "[[Function (anonymous)], [AsyncFunction (anonymous)], [GeneratorFunction: g], [AsyncGeneratorFunction: h]]"),
    ("[class A {}, class B extends Array {}, class {}]", "[[class A], [class B extends Array], [class (anonymous)]]"),
    ("[Object.assign(() => 1, {x: 1})]", "[[Function (anonymous)] {x: 1}]"),
    ("[Math.max]", "[[Function: max]]"),
    # objects
    ("class P { x = 1; #y = 2; static z = 3; get w() { return 4; } }; new P", "P {x: 1}"),
    ("class Q extends (class { x = 1 }) { y = 2 }; new Q", "Q {x: 1, y: 2}"),
    ("Object.create(null)", "[Object: null prototype] {}"),
    ("Object.assign(Object.create(null), {a: 1})", "[Object: null prototype] {a: 1}"),
    ("Object.create({a: 1})", "{}"),
    ("({get a() { return 1; }})", "{a: 1}"),
    ("({get a() { throw new Error('no'); }, b: 1})", "{a: [Throws: Error: no], b: 1}"),
    ("({[Symbol.toStringTag]: 'T', a: 1})", 'Object [T] {a: 1, [Symbol(Symbol.toStringTag)]: "T"}'),
    ("[Math, JSON]", "[Object [Math] {}, Object [JSON] {}]"),
    ("[Promise.resolve(1)]", "[Promise {…}]"),
    # classes of the web
    ("[new URL('http://u@a/b?c=1#d'), new (class Link extends URL {})('http://a')]",
     '[URL {href: "http://u@a/b?c=1#d"}, Link [URL] {href: "http://a/"}]'),
    ("const link = new URL('http://a/?b=1'); [link, link.searchParams, Object.getOwnPropertySymbols(link).length > 0]",
     '[URL {href: "http://a/?b=1"}, URLSearchParams {"b" => "1"}, true]'),
    ("[new URLSearchParams('a=1&b=x y'), new URLSearchParams]", '[URLSearchParams {"a" => "1", "b" => "x y"}, URLSearchParams {}]'),
    ("[new TextDecoder(), new AbortController()]",
     '[TextDecoder {encoding: "utf-8", fatal: false, ignoreBOM: false},'
     ' AbortController {signal: AbortSignal {aborted: false, reason: undefined, onabort: null}}]'),
    ("Object.create(URLSearchParams.prototype)",
     "[Throws: TypeError: 'entries' called on an object that is not a valid instance of URLSearchParams.]"),
    # cycles and depth
    ("const o = {a: 1}; o.o = o; o", "{a: 1, o: [Circular]}"),
    ("const twice = {x: 1}; [twice, twice]", "[{x: 1}, {x: 1}]"),
    ("const m = new Map; m.set(m, m); m", "Map(1) {[Circular] => [Circular]}"),
    ("({deep: [[[[[[1]]]]]]})", "{deep: [[[[[[1]]]]]]}"),
    # proxies
    ("new Proxy({a: 1}, {})", "{a: 1}"),
    ("new Proxy([1, 2], {})", "[1, 2]"),
    ("new Proxy({}, {ownKeys() { throw new Error('trap'); }})", "[Throws: Error: trap]"),
    ("[new Proxy({a: 1}, {get() { throw 'x'; }})]", "[{a: [Throws: x]}]"),
    # errors
    ("[new Error('x')]", "[Error: x\n    at <cell> (cell:1:6)]"),
    ("new TypeError('x', {cause: 1})", "TypeError: x\n    at <cell> (cell:1:5) {[cause]: 1}"),
    ("Object.assign(new Error('x'), {code: 5})", "Error: x\n    at <cell> (cell:1:19) {code: 5}"),
    ("new AggregateError([1], 'm')", "AggregateError: m\n    at <cell> (cell:1:5) {[errors]: [1]}"),
    ("new SuppressedError(1, {a: 2}, 'm')",
     "SuppressedError: m\n    at <cell> (cell:1:5) {[error]: 1, [suppressed]: {a: 2}}"),
    ("const bare = new Error('x'); bare.stack = ''; [bare]", "[[Error: x]]"),
    ("(() => { function inner() { return new RangeError('r'); } return inner(); })()",
     "RangeError: r\n    at inner (cell:1:40)\n    at <anonymous> (cell:1:66)\n    at <cell> (cell:1:75)"),
    # text
    ("['\\ud800', '\\u2028', '\\u0000', '😀']", '["\\ud800", "\u2028", "\\u0000", "😀"]'),
]  # fmt: skip


@pytest.mark.parametrize(("source", "shown"), _TABLE, ids=[source[:50] for source, _ in _TABLE])
def test_table(realm: Realm, source: str, shown: str) -> None:
    done = _run(realm, source)
    assert (done.error, done.text) == (None, shown)


def test_entries_that_never_end_are_cut(realm: Realm) -> None:
    source = (
        "class Endless { entries() { return {next: () => ({value: ['k', 1]})}; } }\n"
        "Object.defineProperty(Endless.prototype, Symbol.toStringTag, {value: 'Endless'});\n"
        "Object.defineProperty(Endless.prototype, 'entries', {enumerable: true}); new Endless()"
    )
    done = _run(realm, source)
    assert done.error is None
    assert done.text.startswith('Endless {"k" => 1, "k" => 1')
    assert len(done.text) < 100_000


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("function fn(a, b) {}; fn", "[Function: fn] arity=2"),
        ("(() => 1)", "[Function (anonymous)] arity=0"),
        ("class A { constructor(x) {} }; A", "[class A] arity=1"),
        ("Symbol('s')", "Symbol(s)"),
    ],
)
def test_values_without_a_data_form_are_handles(realm: Realm, source: str, shown: str) -> None:
    done = _run(realm, source)
    assert (done.handle, done.text) == (True, shown)
    text = render(Outcome(text=done.text, handle=done.handle))
    assert text == f'<result kind="handle">{shown}</result>'


@pytest.mark.parametrize(
    ("source", "omitted", "exact"),
    [
        ("'x'.repeat(70000)", 70000 - 8192, True),
        ("Array(1e5).fill(1)", 0, True),
        ("'short'", 0, True),
    ],
)
def test_what_is_left_out_is_reported(realm: Realm, source: str, omitted: int, exact: bool) -> None:
    done = _run(realm, source)
    assert (done.omitted_chars, done.omitted_exact) == (omitted, exact)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(data=_json)
@settings(max_examples=150, deadline=None)
def test_plain_data_can_be_read_back(realm: Realm, data: Any) -> None:
    """The text of plain data is an expression for the same data."""
    text = json.dumps(json.dumps(data))
    shown = _run(realm, f"[JSON.parse({text})]").text
    again = _run(
        realm,
        f"const norm = v => JSON.stringify(v); const sent = JSON.parse({text});"
        # A key `__proto__` in a literal sets the prototype; as data it is read back differently.
        f"norm({shown}[0]) === norm(sent) || {json.dumps(shown)}.includes('__proto__')",
    )
    assert (again.error, again.text) == (None, "true")
