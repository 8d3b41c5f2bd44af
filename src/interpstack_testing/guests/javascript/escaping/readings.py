"""Values that answer differently each time they are looked at.

The host must get a single reading of the value, complete and within every bound: a second reading
could pass values that the first one refused.
"""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack.contracts.limits import Limits
from interpstack_testing.guests.guest import VALUE, Attack, group

__all__ = ["ATTACKS", "GLOBALS"]

_LIMITS: Final = Limits(
    cpu_seconds=5, wall_seconds=20, memory_bytes=32 * 2**20, value_bytes=100_000
)

#: What stands there at the second look, and must never arrive where the first saw a 1.
_SECOND = {
    "deep": "Array(2000).fill(0).reduce(a => [a], 1)",
    "deep objects": "Array(2000).fill(0).reduce(a => ({a}), 1)",
    "long": "'x'.repeat(5e5)",
    "tag": "({$: 'date', v: 0})",
    "unknown tag": "({$: 'nothing', v: [1]})",
    "tag in a list": "[{$: 'bigint', v: 'zz'}]",
    "NaN": "NaN",
    "-0": "-0",
    "undefined": "undefined",
    "BigInt": "5n",
    "Date": "new Date(0)",
    "function": "() => 1",
    "itself": "value",
}

#: Values that give `first` once, then `second()`.
_SHAPES = {
    "getter": "const value = {get x() { return n++ ? second() : 1; }}",
    "getter in a list": "const value = [0]; Object.defineProperty(value, 0, {enumerable: true, get: () => n++ ? second() : 1})",
    "getter of a class": "class C { constructor() { Object.defineProperty(this, 'x', {enumerable: true, get: () => n++ ? second() : 1}); } } const value = new C()",
    "Proxy": "const value = new Proxy({x: 0}, {get: (o, k) => k !== 'x' ? undefined : n++ ? second() : 1})",
    "Proxy of a list": "const value = new Proxy([0], {get: (o, k) => k !== '0' ? o[k] : n++ ? second() : 1})",
    "toJSON": "class C { toJSON() { return n++ ? second() : 1; } } const value = new C()",
    "getter of toJSON": "class C { get toJSON() { return n++ ? second : () => 1; } } const value = new C()",
    "in a Map": "const value = new Map([[0, {get x() { return n++ ? second() : 1; }}]])",
}

_TELLS = """
    let n = 0; const second = () => {second};
    {shape};
    const echoed = await host.echo({{value, also: {also}}});
    [n, JSON.stringify(echoed.value instanceof Map ? [...echoed.value] : echoed.value)].join(' ')"""

_SHOWN = {
    "getter": '1 {"x":1}',
    "getter in a list": "1 [1]",
    "getter of a class": '1 {"x":1}',
    "Proxy": '1 {"x":1}',
    "Proxy of a list": "1 [1]",
    "toJSON": "1 1",
    "getter of toJSON": "1 1",
    "in a Map": '1 [[0,{"x":1}]]',
}

#: Code that runs while a value is read; the answer is shown as JSON.
_MEANWHILE = {
    "a nested request": (
        "({at: undefined, get x() { host.echo({}); return 0; }, n: NaN})",
        '{"x":0,"n":null}',
    ),
    "a nested request, plain": (
        "({get x() { host.echo({u: undefined}); return {$: 'date', v: 0}; }})",
        '{"x":{"$":"date","v":0}}',
    ),
    "a nested request that fails": (
        "({get x() { try { host.echo(Symbol()); } catch {} return 1; }, y: [2]})",
        '{"x":1,"y":[2]}',
    ),
    "growing a list": (
        "Object.defineProperty([0, 1], 0, {get() { for (let i = 0; i < 1e4; i++) this.push('zzzz'); return 7; }})",
        "[7,1]",
    ),
    "shrinking a list": (
        "Object.defineProperty([0, null, 2], 0, {get() { this.length = 2; return 7; }})",
        "[7,null,null]",
    ),
    "tampering with all lists": (
        "({get x() { for (let i = 0; i < 9; i++) Object.defineProperty(Array.prototype, i, {configurable: true, get: () => ({$: 'date', v: 0}), set() {}}); return [1, [2]]; }})",
        '{"x":[1,[2]]}',
    ),
    "tampering with all objects": (
        "({get x() { Object.defineProperty(Object.prototype, 'valueOf', {configurable: true, get: () => 5, set() {}}); return JSON.parse('{\"valueOf\":1,\"__proto__\":2}'); }})",
        '{"x":{"valueOf":1,"__proto__":2}}',
    ),
    "replacing JSON": ("({get x() { JSON.stringify = () => '{\"$\":1}'; return 1; }})", '{"x":1}'),
}

_SHOWS = """
    const write = JSON.stringify, shown = await host.echo({value});
    for (let i = 0; i < 9; i++) delete Array.prototype[i];
    write(shown)"""

_REFUSED = {
    "a list of holes": "await host.echo({length: 1, list: new Array(4e9)})",
    "a length out of nowhere": "await host.echo(new Proxy([], {get: (o, k) => k === 'length' ? 2 ** 53 : 1}))",
    "a length that is an object": "await host.echo(new Proxy([], {get: (o, k) => k === 'length' ? {valueOf() { throw new RangeError('no length'); }} : 1}))",
    "many undefined": "await host.echo(Array(2e4).fill(undefined))",
    "many getters": "const o = {}; for (let i = 0; i < 2e3; i++) Object.defineProperty(o, 'k' + i, {enumerable: true, get: () => 'x'.repeat(100)}); await host.echo(o)",
    "one text many times": "const t = 'x'.repeat(5e4); await host.echo({a: t, b: [t, t]})",
    "lists that hold each other twice": "let a = []; for (let i = 0; i < 60; i++) a = [a, a]; await host.echo(a)",
    "long keys": "const k = 'k'.repeat(6e4); await host.echo([{[k]: 1}, {[k]: 2}])",
    "escapes": "await host.echo('\\u0001'.repeat(5e4))",
    "bytes": "await host.echo(new Uint8Array(9e4))",
    "digits": "await host.echo(2n ** 500000n)",
}

_MANY: Final = Limits(cpu_seconds=30, wall_seconds=60, memory_bytes=256 * 2**20)
#: Values with very many parts, each with the text that it shows.
_MANY_PARTS = {
    "keys": (
        "const o = {}; for (let i = 0; i < 300000; i++) o['k' + i] = i; Object.keys(await host.echo({o: [o]}).then(a => a.o[0])).length",
        "300000",
    ),
    "numbers": (
        "(await host.echo(Array.from({length: 300000}, (_, i) => i / 3))).length",
        "300000",
    ),
    "rows": (
        "(await host.echo(Array.from({length: 50000}, (_, i) => ({a: i, b: '' + i, c: [i]})))).at(-1).b",
        "49999",
    ),
    "pairs": (
        "(await host.echo(new Map(Array.from({length: 50000}, (_, i) => [i, {i}])))).get(49999).i",
        "49999",
    ),
    "empty lists": ("(await host.echo(Array.from({length: 200000}, () => []))).length", "200000"),
    "texts that look like JSON": (
        r"""const t = await host.echo(Array.from({length: 20000}, () => ['"},{[', '\\"]', '\ud800,'])); t.every(x => x[0] === '"},{[' && x[1] === '\\"]')""",
        "true",
    ),
}

#: What code gets for an answer, and what it cannot make of one; each with the text that it shows.
_ANSWERS = {
    "a field called then": ("const a = await host.echo({then: 'x', constructor: 1}); [a.then, Object.keys(a)].join()", "x,then,constructor"),
    "a field called then, in a list": ("const [a] = await host.echo([{then: 1}]); (await a) === a", "true"),
    "a field called __proto__": (
        "const a = await host.echo(JSON.parse('{\"__proto__\": {\"x\": 1}, \"toJSON\": 1, \"length\": -1}')); "
        "[Object.getPrototypeOf(a) === Object.prototype, a.x, ({}).x, Object.keys(a)].join()", "true,,,__proto__,toJSON,length",
    ),
    "an input that changes later": ("const a = {x: 1}, p = host.echo(a); a.x = 2; (await p).x", "1"),
    "an answer that changes later": ("const a = {x: [1]}, b = await host.echo(a); b.x.push(2); [a.x, (await host.echo(a)).x].join('; ')", "1; 1"),
    "a call that a call makes": ("let p; const r = await host.echo({get x() { p = host.echo({x: 9}); return 1; }}); [r.x, (await p).x].join()", "1,9"),
    "a promise with its own then": (
        "const p = host.echo(5); p.then = p.catch = () => { throw 1; }; let got = 0; "
        "Promise.prototype.then.call(p, v => { got = v; }); await host.echo(1); got", "5",
    ),
    "a constructor": ("try { new host.echo(1); 'made'; } catch (e) { e.name; }", "TypeError"),
    "other ways to call": ("[await host.echo.call(null, 1), await host.echo.apply({}, [2]), await Reflect.apply(host.echo, undefined, [3])].join()", "1,2,3"),
}  # fmt: skip

#: Errors that code makes to look like those of the host; nothing is stopped or undone for them.
_FORGED = ("EngineFailure", "Timeout", "OutOfMemory", "Deadlock", "CallBudgetExceeded")
_FORGES = "var keepForged = 'kept'; throw Object.assign(new Error('x'), {{name: '{0}', state: 'lost', stopped: true}})"

#: Cells that leave variables which change when they are read, or run code then.
GLOBALS: Final = (
    "globalThis.flips = [0]; let n = 0; Object.defineProperty(flips, 0, {get: () => n++ % 2 ? Array(3000).fill(0).reduce(a => [a], 1) : 1}); 0",
    "class Odd { toJSON() { return (this.n = -~this.n) % 2 ? 1 : {$: 'nothing'}; } } globalThis.odd = new Odd(); 0",
    "globalThis.proxy = new Proxy({x: 1}, {get: (o, k) => k === 'x' ? Array(3000).fill(0).reduce(a => [a], 1) : undefined}); 0",
    "globalThis.first = new (class { toJSON() { delete globalThis.second; return 1; } })(); globalThis.second = 2; 0",
    "globalThis.first = new (class { toJSON() { Object.defineProperty(globalThis, 'second', {get() { throw 1; }}); return 1; } })(); globalThis.second = 2; 0",
    "globalThis.maps = Array(180).fill(0).reduce(m => new Map([[0, m]]), 1); 0",
    "globalThis.revoked = (() => { const r = Proxy.revocable({}, {}); r.revoke(); return [r.proxy]; })(); 0",
    "globalThis.wild = {get a() { throw 1; }, set b(v) {}, c: 1}; 0",
)


def _flips() -> dict[str, Attack]:
    found = {}
    for shape, source in _SHAPES.items():
        for what, second in _SECOND.items():
            for also in ("1", "undefined"):
                cell = _TELLS.format(second=second, shape=source, also=also)
                name = f"{shape}, {what}{'' if also == '1' else ', tagged'}"
                found[name] = Attack(cell, shows=_SHOWN[shape], limits=_LIMITS)
    return found


ATTACKS: Final[Mapping[str, Attack]] = {
    **group("readings", _flips()),
    **group(
        "meanwhile",
        {
            k: Attack(
                _SHOWS.replace("{value}", v), shows=shown, limits=_LIMITS, noticed="fails" in k
            )
            for k, (v, shown) in _MEANWHILE.items()
        },
    ),
    **group(
        "bounded readings",
        {k: Attack(v, ("RangeError", "TypeError"), limits=_LIMITS) for k, v in _REFUSED.items()},
    ),
    **group(
        "many parts", {k: Attack(v, shows=n, limits=_MANY) for k, (v, n) in _MANY_PARTS.items()}
    ),
    **group("answers", {k: Attack(v, shows=shown) for k, (v, shown) in _ANSWERS.items()}),
    "answers/a getter that makes its own call": Attack(
        "let n = 0; const a = {get x() { if (n++ < 1000) host.echo(a).catch(() => {}); return 1; }}; (await host.echo(a)).x",
        (VALUE, "RangeError", "CallBudgetExceeded"),
        shows="1",
        limits=_LIMITS,
        noticed=True,  # of calls that are made where the engine's stack ends
    ),
    **group(
        "forged",
        {
            name: Attack(_FORGES.format(name), (name,), message="x", then=(("keepForged", "kept"),))
            for name in _FORGED
        },
    ),
    "bounded readings/wide text": Attack(
        r"await host.echo('\u6f22'.repeat(5e4))",
        ("RangeError", "TypeError", "ToolError"),
        limits=_LIMITS,
    ),
    "readings/a time to wait": Attack(
        "let n = 0; await new Promise(go => setTimeout(go, {valueOf: () => n++ ? NaN : 1})); 'rang'",
        (VALUE,),
        shows="rang",
    ),
}
