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
        ("Object.assign(Object.create(null), {a: 1})", "even.a", "1"),
        ("new TypeError('x')", "even instanceof Error && even.name + even.message", "TypeErrorx"),
    )
)
