"""Storms of requests and timers, odd promises, answers that come late or never."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack.contracts.limits import Limits
from interpstack_testing.guests.guest import VALUE, Attack, group

__all__ = ["ATTACKS"]

_STORMS = [
    "for (let i = 0; i < 2e4; i++) host.echo(i); 'sent'",
    "await Promise.allSettled(Array(5000).fill(0).map(() => host.echo(1))); 'sent'",
    "let n = 0; for (;;) { try { await host.echo(1); n++; } catch { break; } } 'sent'",
]

_BUDGET = """
    const all = await Promise.allSettled(Array(400).fill(0).map(() => host.echo(1)));
    [all.filter(a => a.status === 'fulfilled').length,
     ...new Set(all.filter(a => a.reason).map(a => a.reason.name + a.reason.tool + a.reason.message))]"""

_TIMERS = {
    "setTimeout": ("for (let i = 0; i < 1e5; i++) setTimeout(() => {}, 1)", "RangeError"),
    "setInterval": ("for (let i = 0; i < 1e5; i++) setInterval(() => {}, 1)", "RangeError"),
    "cleared": (
        "for (let i = 0; i < 2e4; i++) clearTimeout(setTimeout(() => {}, 1e6)); 'ok'",
        VALUE,
    ),
    "cleared that are not there": (
        "for (let i = 0; i < 1e5; i++) clearTimeout(i); clearTimeout('__proto__'); 'ok'",
        VALUE,
    ),
    "one after another": (
        "let n = 0; const on = () => { if (n++ < 500) setTimeout(on, 0); }; on(); await new Promise(go => setTimeout(go, 5)); 'ok'",
        VALUE,
    ),
    "intervals": ("for (let i = 0; i < 900; i++) setInterval(() => {}, 0); 'ok'", VALUE),
}

_CALLS = {
    "this null": "host.echo.call(null, 7)",
    "this a Proxy": "host.echo.call(new Proxy({}, {get() { throw 1; }}), 7)",
    "apply": "host.echo.apply(undefined, [7])",
    "bound": "host.echo.bind(1, 7)()",
    "a callback's arguments": "host.echo.apply(undefined, [7, 0, [7]])",
    "many arguments": "host.echo(7, ...Array(5e4).fill(0))",
    "Reflect.apply": "Reflect.apply(host.echo, null, [7])",
    "as a getter": "Object.defineProperty({}, 'x', {get: () => host.echo(7)}).x",
    "as a tag": "(host.echo`x`).then(() => 7)",
    "as a then": "({then: go => host.echo(7).then(go)})",
    "kept": "(globalThis.kept ??= host.echo)(7)",
    "in a generator": "(function* () { yield host.echo(7); })().next().value",
    "nested": "host.echo(await host.echo(7))",
    "as a reaction": "Promise.resolve(7).then(host.echo)",
    "in a subclass": "(class P extends Promise {}).resolve(host.echo(7))",
}

_MISUSES = [
    "new host.echo(1)",
    "class X extends host.echo {}; new X",
    "host()",
    "host.echo.prototype.x = 1",
]

#: Promises as results, and their text.
_PROMISES = {
    "thenable, awaited": ("await {then(go) { go(5); }}", "5"),
    "thenable in a promise": ("Promise.resolve({then(go) { go(6); }})", "6"),
    "thenable that settles twice": ("await {then(go, no) { go(1); no(2); go(3); }}", "1"),
    "thenable that throws late": ("await {then(go) { go(1); throw 2; }}", "1"),
    "not a function": ("({then: 1})", "{then: 1}"),
    "not awaited": ("({then(go) { go(5); }})", "{then: [Function: then]}"),
    "subclass": ("class P extends Promise { then() { for (;;); } }; P.resolve(1)", "1"),
    "species": (
        "class P extends Promise { static get [Symbol.species]() { throw 1; } }; P.resolve(7)",
        "7",
    ),
    "own then": ("const p = Promise.resolve(8); p.then = () => { throw 1; }; p", "8"),
    "own constructor getter": (
        "const p = Promise.resolve(9); Object.defineProperty(p, 'constructor', {get() { throw 1; }, configurable: true}); p",
        "9",
    ),
    # an engine that tells promises by their brand awaits this one
    "no prototype": ("Object.setPrototypeOf(Promise.resolve(9), null)", None),
    "no promise": ("Object.create(Promise.prototype)", "Promise {…}"),
    "Proxy of a promise": ("new Proxy(Promise.resolve(1), {})", "Promise {…}"),
    "promise of promises": (
        "Promise.resolve(Promise.resolve([Promise.resolve(1)]))",
        "[Promise {…}]",
    ),
    "request": ("host.echo(1)", "1"),
    "race": ("Promise.race([host.echo('a'), host.echo('b')])", "a"),
    "settled before": ("let go; const p = new Promise(r => { go = r; }); go(3); p", "3"),
}

#: Nothing will ever settle these.
_NEVER = [
    "await new Promise(() => {})",
    "new Promise(() => {})",
    "await {then() {}}",
    "clearTimeout(setTimeout(() => {}, 1e6)); await new Promise(() => {})",
    "const t = setTimeout(() => {}, 1e6); await host.echo(1); clearTimeout(t); await new Promise(() => {})",
]

_LIMITS: Final = Limits(cpu_seconds=2, wall_seconds=20, memory_bytes=32 * 2**20)

_LATE = """
    globalThis.go = null; const wait = new Promise(r => { go = r; });
    wait.then(() => host.echo('late')).catch(e => { globalThis.why = e.message; }); 0"""
_OTHERS = """
    globalThis.go = null;
    (async () => { await new Promise(r => { go = r; }); throw new Error('of the first cell'); })(); 1"""
_OPEN = """
    globalThis.never = host.echo(new Promise(() => {})); globalThis.open = new Promise(() => {}); 0"""


def _storms() -> dict[str, Attack]:
    found = {v: Attack(v, shows="sent", limits=_LIMITS, noticed=True) for v in _STORMS}
    text = '[256, "CallBudgetExceededhost.echothe cell may make 256 calls; this was one more"]'
    found["budget"] = Attack(_BUDGET, shows=text, limits=_LIMITS)
    every = "for (let i = 0; i < 200; i++) await host.echo(i); 'done'"
    found["each cell has its own budget"] = Attack(
        every, shows="done", then=((every, "done"),), limits=_LIMITS
    )
    return found


ATTACKS: Final[Mapping[str, Attack]] = {
    **group("requests", _storms()),
    **group(
        "timers",
        {k: Attack(v, (end,), limits=_LIMITS, noticed=True) for k, (v, end) in _TIMERS.items()},
    ),
    **group(
        "calls",
        {
            k: Attack(f"await {v}", shows="7", then=((f"await {v}", "7"),))
            for k, v in _CALLS.items()
        },
    ),
    **group("calls", {v: Attack(v, ("TypeError", "RangeError")) for v in _MISUSES}),
    "calls/many arguments": Attack(
        "host.echo.apply(null, {length: 1e5})", (VALUE, "TypeError", "RangeError")
    ),
    **group(
        "promises",
        {
            k: Attack(v, shows=shown, noticed=shown is not None and "Promise {" in shown)
            for k, (v, shown) in _PROMISES.items()
        },
    ),
    **group("promises", {v: Attack(v, ("Deadlock",)) for v in _NEVER}),
    "promises/that waits for itself": Attack(
        "let p; p = (async () => { await null; await p; })(); await p", ("Deadlock", "TypeError")
    ),
    "promises/of an earlier cell": Attack("await open", ("Deadlock",), before=_OPEN),
    "promises/late request": Attack(
        "setTimeout(() => { globalThis.rang = 1; }, 30); 1",
        before=_LATE,
        then=(("typeof rang", "undefined"),),
        noticed=True,
    ),
    "promises/error of an earlier cell": Attack(
        "go(); await null; await null; 'of the second'",
        shows="of the second",
        before=_OTHERS,
        noticed=True,
    ),
}
