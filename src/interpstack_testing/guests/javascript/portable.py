"""Variables with and without a portable form, in JavaScript."""

from __future__ import annotations

from typing import Final

__all__ = ["CHANGING", "PORTABLE", "SHARED"]

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
    ("Array", "[Array(200_000).fill(0), /b/.exec('abc')]"),
    ("object", "Object.setPrototypeOf(new Map([[1, 2]]), null)"),
    ("object", "Object.setPrototypeOf(new Date(0), null)"),
    ("object", "Object.setPrototypeOf(Uint8Array.of(1), null)"),
    ("object", "Object.setPrototypeOf(new Number(1), null)"),
    ("Object", "({inside: [/a/]})"),
    ("Object", "[1, 2].values()"),
    ("Object", "(function* () { yield 1; })()"),
    ("Object", "Math"),
    ("Object", "({[Symbol('s')]: 1})"),
    ("Object", "({inside: [Object.defineProperty({a: 1}, 'hidden', {value: 1})]})"),
    ("Array", "Object.assign([1], {[Symbol.iterator]: 1})"),
    ("Map", "Object.defineProperty(new Map(), 'hidden', {value: 1})"),
    ("Array", "Object.assign([1], {method() {}})"),
    ("DOMException", "new DOMException('m', 'AbortError')"),
    ("Late", "new (class Late extends Error {})('m')"),
    ("Error", "Object.defineProperty(new Error('m'), 'message', {value: 1})"),
    ("Object", "Object.defineProperty({}, 'k', {value: 1, enumerable: true})"),
    ("Object", "Object.seal(Object.defineProperty({a: 1}, 'k', {value: 1, enumerable: true}))"),
    ("Object", "Object.defineProperty({k: 1}, 'k', {configurable: false})"),
    ("Array", "Object.defineProperty([1], 'length', {writable: false})"),
    ("Map", "Object.defineProperty(new Map(), 'k', {value: 1, enumerable: true})"),
    ("Uint8Array", "new Uint8Array(4).subarray(1)"),
    ("Array", "[new Uint8Array(4)].map((one) => [one, new Uint8Array(one.buffer)])[0]"),
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
            "['ab-c'.match(/(?<first>a)(x)?/), ...'abab'.matchAll(/b/g)]",
            "even.map((m) => [m.index, m.input, m.length, m.groups?.first].join()).join(' ')",
            "0,ab-c,3,a 1,abab,1, 3,abab,1,",
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
        (
            "(() => { try { null.x; } catch (error) { return error; } })()",
            "[even instanceof TypeError, even.constructor.name, Object.keys(even).length].join()",
            "true,TypeError,0",
        ),
        (
            "[new RangeError('', {cause: new URIError('u')}), new AggregateError([1], 'm')]",
            "[even[0] instanceof RangeError, even[0].cause instanceof URIError,"
            " even[1] instanceof AggregateError, even[1].errors[0],"
            " Object.hasOwn(even[0], 'message')].join()",
            "true,true,true,1,false",
        ),
        (
            "Object.assign(new Error('m'), {name: 'Late', cause: 1})",
            "[even.name, Object.keys(even)].join()",
            "Late,name,cause",
        ),
        (
            "[{n: 0}].map((one) => ({one, again: [one], map: new Map([[one, one]])}))[0]",
            "even.one.n = 5; [even.again[0].n, even.map.get(even.one).n].join()",
            "5,5",
        ),
        (
            "[new Date(0)].map((at) => [at, at, new Set([at])])[0]",
            "[even[0] === even[1], even[2].has(even[0])].join()",
            "true,true",
        ),
        (
            "[{list: [1]}].map((one) => Object.assign(one, {own: one, $: [one.list]}))[0]",
            "[even.own === even, even.own.$[0] === even.list].join()",
            "true,true",
        ),
        (
            "Object.freeze([Object.freeze({})].flatMap((one) => [one, one]))",
            "[even[0] === even[1], Object.isFrozen(even[1])].join()",
            "true,true",
        ),
    )
)

#: Cells that declare variables with one object, what changes it, and what another shows then.
SHARED: Final = (
    ("const rows = [{n: 0}]; const byId = {1: rows[0]}; 0", "byId[1].n = 5; rows[0].n", "5"),
    ("const all = new Map(); const last = {all}; all.set(all, last); 0",
     "last.all.set(1, 2); [all.get(1), all.get(all) === last].join()", "2,true"),
    ("const bytes = new Uint8Array(2); const view = new Uint8Array(bytes.buffer); 0",
     "view[0] = 1; bytes[0]", "1"),
)  # fmt: skip
