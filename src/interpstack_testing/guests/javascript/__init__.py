"""Samples in JavaScript, for every engine that uses the kernel."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from interpstack.values.decoding import UNDEFINED, BigInt, ErrorValue, MapValue, SetValue
from interpstack_testing.guests.guest import GuestSamples
from interpstack_testing.guests.javascript import edges, keys, portable, text
from interpstack_testing.guests.javascript.escaping import (
    escapes,
    intrinsics,
    readings,
    reserved,
    throws,
)
from interpstack_testing.guests.javascript.exhausting import (
    endless,
    memory,
    nesting,
    requests,
    sources,
)

__all__ = ["JAVASCRIPT"]

_SEQUENCE = """
let done = 0, name = "none";
for (let value = 0; value < 6; value++) {
  try { await kit.echo({value}); done++; } catch (error) { name = error.name; break; }
}
`${done} ${name}`
"""

_AFTER_END = """
let late = "";
const goOn = async () => {
  await kit.echo({value: 1});
  try { await kit.echo({value: 2}); } catch (error) { late = error.message; }
};
goOn(); undefined
"""

_PARALLEL = """
const parts = await Promise.all([...Array(100).keys()].map((value) => kit.echo({value})));
parts.reduce((a, b) => a + b)
"""


def _set(items: Any) -> SetValue:
    return SetValue(items)


#: Guest values and the host's values; the last ones only look like tags of the codec.
_SENDS = {
    "undefined": ("[undefined]", [UNDEFINED]),
    "null": ("null", None),
    "minus zero": ("-0", -0.0),
    "infinity": ("-Infinity", float("-inf")),
    "bigint": ("-(2n ** 70n)", BigInt(-(2**70))),
    "date": ("new Date(1000)", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
    "bytes": ("new Uint8Array([0, 255])", b"\x00\xff"),
    "map": ("new Map([[{a: 1}, [2]]])", MapValue([({"a": 1}, [2])])),
    "set": ("new Set([1, 'a', null])", _set([1, "a", None])),
    "error": (
        "Object.assign(new TypeError('m'), {stack: ''})",
        ErrorValue("TypeError", "m", ""),
    ),
    "prototype key": ("JSON.parse('{\"__proto__\": 1}')", {"__proto__": 1}),
    "surrogate": (r"'\ud800'", "\ud800"),
    "tag of undefined": ("{$: 'undefined'}", {"$": "undefined"}),
    "tag of a lost value": ("{$: 'lost', v: 'x'}", {"$": "lost", "v": "x"}),
    "malformed tag": ("{$: 'bytes', v: '!!'}", {"$": "bytes", "v": "!!"}),
    "tag in a tag": ("{$: {$: 'number', v: 'NaN'}}", {"$": {"$": "number", "v": "NaN"}}),
    "tag of pairs": ("[{$: 'object', v: [['a', 1]]}]", [{"$": "object", "v": [["a", 1]]}]),
    "tag in a map": ("new Map([['$', {$: 1}]])", MapValue([("$", {"$": 1})])),
}

_TAKE = "Object.defineProperty(globalThis, 'tools', "

_HEALTH = """
console.log('heard');
[1 + 1, keep.n + 1, (await host.echo({a: [1, 'x']})).a[1],
 await new Promise(go => setTimeout(() => go('rang'), 1)), {a: 1, b: [2, 'x']},
 await (async () => null.x)().catch(e => e.name)]
"""

_WAIT = """
const begun = Date.now();
let read = 1, last = begun;
for (; last < begun + 1000; read++) last = Date.now();
await kit.echo({value: read});
Date.now() > last && performance.now() > last - begun ? 'later' : 'earlier'
"""

_REPEAT = """
setInterval(() => {}, 0);
setTimeout(function again() { setTimeout(again, 0); }, 0);
await kit.echo({value: 1})
"""

JAVASCRIPT: Final = GuestSamples(
    language="javascript",
    store="let kept = 41",
    recall="kept + 1",
    redeclare="const kept = 1",
    error="throw new TypeError('broken by the cell')",
    error_name="TypeError",
    syntax_error="let = = 1",
    print="console.log('heard', 7)",
    print_much="for (let i = 0; i < 3000; i++) console.log('line', i); 'printed'",
    long_text="'x'.repeat(20_000)",
    request="await kit.echo({value: 42})",
    exchange="""
const value = {n: 1, list: [1.5, null, true, "é"], deep: {$: [{}]}};
await kit.echo({value: await kit.echo({value})});
""",
    show="await display(await kit.give({}));",
    relay="await kit.take({value: await kit.give({})}); 'relayed'",
    parallel=_PARALLEL,
    sequence=_SEQUENCE,
    send_much="await kit.echo({value: 'x'.repeat(20_000)})",
    notifications="for (const value of [0, 1, 2]) kit.note({value})",
    unawaited="kit.echo({value: 1}); 'left'",
    unawaited_first="kit.echo({value: 1}); await kit.give({}); 'left'",
    timers="setTimeout(() => 0, 60000); setInterval(() => 0, 60000); 'left'",
    rejected="(async () => { throw new Error('lost'); })(); 'left'",
    handled="""
const failing = (async () => { throw new Error('lost'); })(), call = kit.echo({value: 1});
await kit.give({});
for (const one of [failing, call]) try { await one; } catch {}
'left'
""",
    after_end=_AFTER_END,
    after_end_recall="late",
    repeat=_REPEAT,
    deadlock="await new Promise(() => {})",
    loop="for (;;);",
    chance="Math.random()",
    clock="Date.now()",
    wait=_WAIT,
    sends={
        name: (f"const sent = {source}; await kit.echo({{value: sent}}); 0", value)
        for name, (source, value) in _SENDS.items()
    },
    hoard="globalThis.hoard = []; for (;;) hoard.push(new Uint8Array(1e5).fill(1))",
    hold="globalThis.held = Array(24).fill(0).map(() => new Uint8Array(2 ** 20).fill(1)); 'held'",
    store_unportable="const handler = () => 1",
    recall_unportable="handler()",
    store_additions=(
        "Array.prototype.last = function () { return this.at(-1); }; Math.twice = (n) => 2 * n;"
        "String.prototype[Symbol('mark')] = 1; globalThis[Symbol('secret')] = 1;"
        "delete Math.cbrt; delete globalThis.escape; 0",
        (
            "Array.prototype.last",
            "Math.cbrt",
            "Math.twice",
            "globalThis.escape",
            "String.prototype[Symbol(mark)]",
            "globalThis[Symbol(secret)]",
        ),
    ),
    store_changing=portable.CHANGING,
    store_portable=portable.PORTABLE,
    store_shared=portable.SHARED,
    store_unsteady=readings.GLOBALS,
    load_module="(await import('kit/answer')).answer",
    miss_module="await import('kit/absent')",
    hostile_modules=throws.MODULES,
    catch_module="try { await import('kit/answer'); 'imported' } catch { 'caught' }",
    modules={
        "answer/index.js": "import {half} from './half.js'; export const answer = 2 * half;",
        "answer/half.js": "export const half = 21;",
    },
    dialect="typescript",
    typed="enum Answer { Right = 42 }; const found: number = Answer.Right; found as number",
    reach=(
        "process.env.{name}",
        "Deno.env.get('{name}')",
        "std.getenv('{name}')",
        "require('fs').readFileSync('{path}', 'utf8')",
        "(await import('node:fs')).readFileSync('{path}', 'utf8')",
        "(await import('{path}')).default",
        "std.loadFile('{path}')",
        "read('{path}')",
        "await (await fetch('file://{path}')).text()",
        "globalThis.constructor.constructor('return process')().env.{name}",
    ),
    exits=("process.exit(3)", "quit(3)", "std.exit(3)", "process.kill(process.pid, 9)"),
    pollute="Object.prototype.leak = 1; Array.prototype.push = Math.max = null; 0",
    polluted="[({}).leak, typeof [].push, typeof Math.max].join() === ',function,function'"
    " ? 'clean' : 'polluted'",
    squats=(
        "var tools = 1; 0",
        "globalThis.tools = 1; 0",
        _TAKE + "{set() { for (;;); }}); 0",
        _TAKE + "{get() { for (;;); }}); 0",
        _TAKE + "{value: 1}); 0",
        _TAKE + "{set() { throw 1; }, configurable: true}); 0",
        "Object.setPrototypeOf(globalThis, new Proxy({}, {get() { for (;;); }, "
        "has() { for (;;); }, set() { for (;;); }})); 0",
    ),
    prepare="const keep = {n: 41}",
    health=((_HEALTH, '[2, 42, "x", "rang", {a: 1, b: [2, "x"]}, "TypeError"]'),),
    attacks={
        name: attack
        for module in (
            edges,
            endless,
            escapes,
            intrinsics,
            keys,
            memory,
            nesting,
            readings,
            requests,
            reserved,
            sources,
            text,
            throws,
        )
        for name, attack in module.ATTACKS.items()
    },
)
