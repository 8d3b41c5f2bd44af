"""Values at the limits of engines: each built-in ends cleanly, and the next cell runs.

A cell tries one built-in, and catches its exception. So the tests also see values that a guest
could obtain: values of no type, and errors that are not errors.
"""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits
from interpstack_testing.guests.guest import VALUE, Attack, group

__all__ = ["ATTACKS"]

_TEXTS = {
    "normalize, eighteen for one": r"'\ufdfa'.repeat(4e5).normalize('NFKD').length",
    "normalize, composed": r"'\u0344'.repeat(4e5).normalize('NFC').length",
    "normalize, many marks": r"('a' + '\u0301'.repeat(2e4)).normalize('NFC').length",
    "repeat": "'ab'.repeat(2 ** 29).length",
    "repeat without end": "'a'.repeat(Infinity)",
    "padStart": "'a'.padStart(2 ** 30, 'bc').length",
    "padEnd": "'a'.padEnd(2 ** 53 - 1, 'bc').length",
    "toUpperCase": r"'\ufb03'.repeat(3e6).toUpperCase().length",
    "replaceAll": "'a'.repeat(5e4).replaceAll('a', 'b'.repeat(5e4)).length",
    "replacement of itself": "'a'.repeat(2e4).replace(/a/g, '$`').length",
    "join": "Array(1e6).join('ab'.repeat(1e4)).length",
    "split": "'a'.repeat(4e6).split('').length",
    "template": "const t = 'a'.repeat(2 ** 26); `${t}${t}${t}${t}${t}${t}${t}${t}`.length",
    "concat": "let t = 'ab'; for (let i = 0; i < 40; i++) t = t.concat(t); t.length",
    "fromCharCode": "String.fromCharCode(...Array(2e5).fill(97)).length",
    "encodeURIComponent": r"encodeURIComponent('\u{10ffff}'.repeat(1e6)).length",
    "localeCompare": r"('\ufdfa'.repeat(3e5)).localeCompare('\ufdfa'.repeat(3e5) + 'a')",
    "raw": "String.raw({raw: {length: 2 ** 53 - 1}})",
}

_BYTES = {
    "typed array": "new Float64Array(2 ** 53 - 1).length",
    "typed array of a negative length": "new Uint8Array(-1).length",
    "typed array from a length": "Uint8Array.from({length: 2 ** 40}).length",
    "array buffer": "new ArrayBuffer(2 ** 53).byteLength",
    "resized": "const b = new ArrayBuffer(8, {maxByteLength: 2 ** 30}); b.resize(2 ** 30); b.byteLength",
    "resized under a view": "const b = new ArrayBuffer(1e6, {maxByteLength: 1e6}); const v = new Uint8Array(b, 1000); b.resize(10); [v.length, v[0], b.byteLength].length",
    "resized while it is filled": "const b = new ArrayBuffer(1e5, {maxByteLength: 1e5}); new Uint8Array(b).fill({valueOf() { b.resize(0); return 1; }}); b.byteLength",
    "resized while it is sorted": "const b = new ArrayBuffer(8e3, {maxByteLength: 8e3}); new Float64Array(b).sort((x, y) => { b.resize(8); return y - x; }); b.byteLength",
    "transferred": "const b = new ArrayBuffer(1e6); const c = b.transfer(2 ** 40); c.byteLength",
    "transferred, 32 bits and more": "const b = new ArrayBuffer(1e6).transfer(2 ** 32 + 5); new Uint8Array(b)[2 ** 31]",
    "transferred, fixed": "new ArrayBuffer(8).transferToFixedLength(2 ** 33).byteLength",
    "detached": "const b = new ArrayBuffer(1e6); const v = new Uint8Array(b); b.transfer(); [v.length, v[0]].length",
    "subarrays": "let v = new Uint8Array(1e6); for (let i = 0; i < 1e5; i++) v = v.subarray(0); v.length",
    "data view": "new DataView(new ArrayBuffer(8), 0, 8).getFloat64(2 ** 53)",
    "set": "new Uint8Array(8).set({length: 2 ** 53 - 1}, 0)",
    "base64": "new Uint8Array(9e6).toBase64().length",
    "structured clone": "structuredClone(new Uint8Array(9e6)).length",
}

_NUMBERS = {
    "power": "(2n ** (2n ** 40n)).toString().length",
    "shift": "(1n << (2n ** 40n)) > 0n",
    "shift the other way": "(1n >> -(2n ** 40n)) > 0n",
    "digits": "(2n ** 400000n).toString().length",
    "parsed": "BigInt('9'.repeat(1e6)) > 0n",
    "parsed hexadecimal": "BigInt('0x' + 'f'.repeat(4e6)) > 0n",
    "product": "let b = 3n ** 100000n; for (let i = 0; i < 20; i++) b = b * b; b > 0n",
    "remainder": "(7n ** 200000n) % (3n ** 100000n) > 0n",
    "asIntN": "BigInt.asIntN(2 ** 53 - 1, -(2n ** 100000n)) < 0n",
    "radix": "(2 ** 1023).toString(2).length",
    "toFixed": "(1e21).toFixed(101).length",
    "Date": "new Date(8.64e15 + 1).toISOString().length",
}

_LISTS = {
    "length": "const a = []; a.length = 2 ** 32; a.length",
    "fill": "new Array(2 ** 26).fill(0).length",
    "sparse": "const a = []; a[2 ** 32 - 2] = 1; a.concat(a).length",
    "flat": "let a = [1]; for (let i = 0; i < 26; i++) a = [a, a]; a.flat(Infinity).length",
    "from": "Array.from({length: 2 ** 32 - 1}).length",
    "arguments": "Math.max(...Array(1e6).fill(1))",
    "apply": "Math.max.apply(null, {length: 2 ** 31})",
    "spread of itself": "let a = [1]; for (let i = 0; i < 40; i++) a = [...a, ...a]; a.length",
    "entries": "Object.fromEntries(Array(3e5).fill(0).map((_, i) => ['k' + i, i])) !== null",
    "Map": "new Map(Array(3e5).fill(0).map((_, i) => [i, [i]])).size",
    "iterator": "Iterator.from({next: () => ({done: false})}).toArray().length",
}

_PARSERS = {
    "JSON, nested": "JSON.parse('['.repeat(2e5) + ']'.repeat(2e5)).length",
    "JSON, long": "JSON.parse('[' + '1,'.repeat(3e6) + '1]').length",
    "JSON, one text": "JSON.stringify('\\u0000'.repeat(2e6)).length",
    "JSON, indented": "let a = []; for (let i = 0; i < 2e3; i++) a = [a]; JSON.stringify(a, null, 10).length",
    "JSON, a key again": "JSON.parse('{' + '\"a\":1,'.repeat(5e5) + '\"a\":1}').a",
    "JSON, a number": "JSON.parse('9'.repeat(1e6))",
    "regex, made": "new RegExp('a'.repeat(3e6)).source.length",
    "regex, nested": "new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).source.length",
    "regex, counted": "new RegExp('(?:a{1000}){1000}{1000}').source.length",
    "regex, classes": r"new RegExp('[\\p{L}--[\\p{Lu}&&[^\\p{ASCII}]]]', 'vi').test('a')",
    "regex, many groups": "new RegExp('()'.repeat(1e5)).exec('').length",
    "regex, back": "/(a*)*b/.exec('a'.repeat(1e5) + 'c')",
    "regex, captures": "'ab'.repeat(5e5).match(/(?:(a)|b)*/)[0].length",
    "regex, all": "[...'a'.repeat(3e5).matchAll(/a/g)].length",
    "function": "Function('return [' + '1,'.repeat(3e5) + ']')().length",
    "function, arguments": "Function(...Array(1e5).fill(0).map((_, i) => 'a' + i), 'return 1')()",
    "code, nested": "eval('('.repeat(1e5) + '1' + ')'.repeat(1e5))",
    "no Intl": "new Intl.NumberFormat('en').format(1)",
    "URL": "new URL('http://a/?' + 'b&'.repeat(1e5)).searchParams.size",
}

#: Shows the thrown value, unless it is an error, or undefined for lack of memory.
_TRY: Final = """
let end = 'value';
try {{ (() => {{ {source} }})(); }} catch (thrown) {{
  end = thrown === null || (typeof thrown === 'object' && thrown instanceof Error) ? 'error' : typeof thrown; }}
end === 'value' || end === 'error' ? 'clear' : end"""

#: More than an engine has room for in one list: promises left rejected, and parts of a string.
_MANY = {
    "errors in microtasks": "for (let i = 0; i < 3; i++) globalThis.queueMicrotask?.(() => { throw new Error(i) }); 'clear'",
    "rejections": "for (let i = 0; i < 1e5; i++) Promise.reject(i); 'clear'",
    "rejections of jobs": "for (let i = 0; i < 1e5; i++) Promise.resolve().then(() => { throw i }); 'clear'",
    "parts": _TRY.format(source="return 'a'.repeat(2 ** 28).split('').length"),
}

_NEEDS: Final = Capability.MEMORY_LIMIT
_LIMITS: Final = Limits(cpu_seconds=0.5, wall_seconds=20, memory_bytes=16 * 2**20)
_ENDS: Final = (VALUE, "OutOfMemory", "Timeout", "RangeError")
#: What the kernel of an engine has to read.
_PASSED = {
    "bytes": "await host.echo(new Uint8Array(12e6))",
    "bytes beyond the limit": "await host.echo(new Uint8Array(13e6))",
    "buffer beyond the limit": "await host.echo(new ArrayBuffer(13e6))",
    "many bytes": "await host.echo(Array(9).fill(new Uint8Array(2e6)))",
    "text": "await host.echo('x'.repeat(1.7e7))",
    "wide text": r"await host.echo('\u{1F600}'.repeat(3e6))",
    "BigInt": "await host.echo(2n ** 1000000n)",
    "resizable buffer": "const b = new ArrayBuffer(8, {maxByteLength: 2 ** 30}); await host.echo(b)",
    "detached buffer": "const b = new ArrayBuffer(8); b.transfer(); await host.echo(b)",
    "view out of bounds": "const b = new ArrayBuffer(99, {maxByteLength: 99}); const v = new Uint8Array(b, 50, 9); b.resize(1); await host.echo(v)",
    "view of nothing": "await host.echo(new Float64Array(0))",
    "typed BigInts": "await host.echo(new BigInt64Array([-1n, 2n ** 63n - 1n]))",
}
_PASSED_ENDS: Final = (VALUE, "OutOfMemory", "Timeout", "RangeError", "TypeError", "ToolError")

_SHOWN = {
    "view out of bounds": "const b = new ArrayBuffer(99, {maxByteLength: 99}); const v = new Uint8Array(b, 50, 9); b.resize(1); v",
    "detached": "const b = new ArrayBuffer(8); const v = new Uint8Array(b); b.transfer(); [b, v, new Uint8Array(0)]",
    "BigInt": "2n ** 3000000n",
    "long view": "new Float64Array(1e6).fill(-1.7976931348623157e308)",
    "text and marks": r"'e' + '\u0301'.repeat(1e6)",
}


def _tried(source: str) -> str:
    last = source.rpartition("; ")
    body = f"{last[0]}{last[1]}return {last[2]}" if last[1] else f"return {source}"
    return _TRY.format(source=body)


def _edges(name: str, sources: Mapping[str, str]) -> dict[str, Attack]:
    return group(
        name,
        {
            key: Attack(_tried(source), _ENDS, shows="clear", limits=_LIMITS, needs=_NEEDS)
            for key, source in sources.items()
        },
    )


ATTACKS: Final[Mapping[str, Attack]] = {
    **_edges("edges of texts", _TEXTS),
    **_edges("edges of bytes", _BYTES),
    **_edges("edges of numbers", _NUMBERS),
    **_edges("edges of lists", _LISTS),
    **_edges("edges of parsers", _PARSERS),
    **group(
        "edges that are passed",
        {k: Attack(v, _PASSED_ENDS, limits=_LIMITS, needs=_NEEDS) for k, v in _PASSED.items()},
    ),
    **group(
        "edges of many things",
        {k: Attack(v, _ENDS, shows="clear", noticed=True) for k, v in _MANY.items()},
    ),
    **group(
        "edges that are shown",
        {
            k: Attack(v, (VALUE, "OutOfMemory", "RangeError"), limits=_LIMITS, needs=_NEEDS)
            for k, v in _SHOWN.items()
        },
    ),
}
