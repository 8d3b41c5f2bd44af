"""Variables with and without a portable form, in JavaScript."""

from __future__ import annotations

from typing import Final

__all__ = ["CHANGING", "PORTABLE"]

#: Types, as the reason names them, and values.
_EXPRESSIONS: Final = (
    ("RegExp", "/a+/g"),
    ("WeakMap", "new WeakMap()"),
    ("WeakSet", "new WeakSet()"),
    ("WeakRef", "new WeakRef({})"),
    ("Promise", "Promise.resolve(1)"),
    ("ArrayBuffer", "new ArrayBuffer(2)"),
    ("DataView", "new DataView(new ArrayBuffer(2))"),
    ("Float64Array", "new Float64Array([1.5, 2])"),
    ("Int16Array", "Int16Array.of(-1)"),
    ("BigInt64Array", "BigInt64Array.of(-1n)"),
    ("URL", "new URL('http://a/')"),
    ("TextEncoder", "new TextEncoder()"),
    ("Number", "new Number(1)"),
    ("Iterator", "new (class Iterator { constructor() { this.items = [1, 2].values(); } })()"),
    ("Point", "new (class Point { constructor() { this.x = 1; } })()"),
    ("Items", "new (class Items extends Array {})(1, 2)"),
    ("Table", "new (class Table extends Map {})([[1, 2]])"),
    ("Clock", "new (class Clock { toJSON() { return 1; } })()"),
    ("Map", "Object.create(Map.prototype)"),
    ("Array", "/b/.exec('abc')"),
    ("Object", "({inside: [/a/]})"),
    ("Object", "[1, 2].values()"),
    ("Object", "(function* () { yield 1; })()"),
    ("Object", "Math"),
    ("Object", "({[Symbol('s')]: 1})"),
    ("Object", "({inside: [Object.defineProperty({a: 1}, 'hidden', {value: 1})]})"),
    ("Array", "Object.assign([1], {[Symbol.iterator]: 1})"),
    ("Map", "Object.defineProperty(new Map(), 'hidden', {value: 1})"),
    ("Array", "Object.assign([1], {method() {}})"),
)

#: Cells, with the types of values that cannot come back as they are.
CHANGING: Final = tuple((f"const odd = {source}; 0", kind) for kind, source in _EXPRESSIONS)

#: Cells, with expressions over values that come back, and the texts that these show.
PORTABLE: Final = tuple(
    (f"const even = {source}; 0", recall, shown)
    for source, recall, shown in (
        (
            "{a: [1, 'x', null, undefined, true, NaN, -0, 5n]}",
            "even",
            '{a: [1, "x", null, undefined, true, NaN, -0, 5n]}',
        ),
        ("new Map([[new Date(0), new Set([1])]])", "even.keys().next().value.getTime()", "0"),
        ("Uint8Array.of(1, 2)", "even", "Uint8Array(2) [1, 2]"),
        (
            "Object.assign(Object.create(null), {a: 1})",
            "even.a + typeof even.toString",
            "1undefined",
        ),
        ("new TypeError('x')", "even instanceof Error && even.name + even.message", "TypeErrorx"),
        (
            "[1, , undefined, , ]",
            "[even.length, 0 in even, 1 in even, 2 in even, 3 in even].join()",
            "4,true,false,true,false",
        ),
        (
            "Object.assign([1], {total: {a: [, 2]}})",
            "[even.length, 0 in even.total.a, Object.keys(even)].join()",
            "1,false,0,total",
        ),
        (
            "Object.assign(new Map([[1, 2]]), {length: 5})",
            "[even.get(1), even.length].join()",
            "2,5",
        ),
        ("Object.assign(new Set([1]), {note: 'x'})", "even.size + even.note", "1x"),
        (
            "Object.assign(new Error('m', {cause: [1]}), {code: 5})",
            "[even.cause[0], even.code, Object.keys(even)].join()",
            "1,5,code",
        ),
        (
            "new AggregateError([new RangeError('x')], 'm')",
            "even.errors[0].name + even.message",
            "RangeErrorm",
        ),
        (
            "Object.freeze({a: Object.freeze([1]), $: 'x'})",
            "[Object.isFrozen(even), Object.isFrozen(even.a), even.a.length, even.$].join()",
            "true,true,1,x",
        ),
        (
            "Object.seal({a: 1})",
            "[Object.isFrozen(even), Object.isSealed(even)].join()",
            "false,true",
        ),
        (
            "Object.preventExtensions([1])",
            "[Object.isSealed(even), Object.isExtensible(even)].join()",
            "false,false",
        ),
    )
)
