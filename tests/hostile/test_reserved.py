"""Reserved names can be neither redefined, deleted, shadowed, proxied nor frozen away."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Bridge, BridgeRegistry, BridgeSet, Limits
from interpstack_quickjs.engine import QuickJSEngine

_ATTEMPTS = {
    "assign": "host = 1",
    "assign on the global": "globalThis.host = 1",
    "var": "var host = 1",
    "let": "let host = 1",
    "const": "const host = 1",
    "class": "class host {}",
    "function": "function host() {}",
    "async function": "async function host() {}",
    "destructured": "const {host} = {host: 1}",
    "destructured array": "let [host] = [1]",
    "for": "for (var host of [1]);",
    "block function": "{ function host() {} }",
    "catch": "try { throw 1; } catch (e) { var host = e; }",
    "eval": "eval('var host = 1')",
    "indirect eval": "(0, eval)('var host = 1; let keepHost = host')",
    "new Function": "new Function('host = 1')()",
    "delete": "delete globalThis.host",
    "strict delete": "'use strict'; delete globalThis.host",
    "Reflect.deleteProperty": "Reflect.deleteProperty(globalThis, 'host')",
    "defineProperty": "Object.defineProperty(globalThis, 'host', {value: 1})",
    "defineProperty getter": "Object.defineProperty(globalThis, 'host', {get: () => 1})",
    "defineProperties": "Object.defineProperties(globalThis, {host: {value: 1}})",
    "Reflect.defineProperty": "Reflect.defineProperty(globalThis, 'host', {value: 1})",
    "Reflect.set": "Reflect.set(globalThis, 'host', 1)",
    "Object.assign": "Object.assign(globalThis, {host: 1})",
    "__defineGetter__": "globalThis.__defineGetter__('host', () => 1)",
    "member": "host.echo = () => 1",
    "member deleted": "delete host.echo",
    "member defined": "Object.defineProperty(host, 'echo', {value: 1})",
    "new member": "host.other = 1",
    "prototype": "Object.setPrototypeOf(host, {echo: () => 1})",
    "member of the function": "host.echo.call = host.echo.apply = () => 1",
    "the function's prototype": "Object.setPrototypeOf(host.echo, null)",
    "freeze": "Object.freeze(globalThis)",
    "seal": "Object.seal(globalThis)",
    "preventExtensions": "Object.preventExtensions(globalThis)",
    "Reflect.preventExtensions": "Reflect.preventExtensions(globalThis)",
    "freeze by call": "Object.freeze.call(null, globalThis)",
    "freeze what exists": "for (const k of Reflect.ownKeys(globalThis)) try { Object.defineProperty(globalThis, k, {writable: false, configurable: false}); } catch {}",
    "Proxy as globalThis": "globalThis = new Proxy(globalThis, {get: () => 1})",
    "globalThis replaced": "Object.defineProperty(globalThis, 'globalThis', {value: {}})",
    "prototype of the global": "Object.setPrototypeOf(globalThis, {host: 1})",
    "shadow by prototype": "globalThis.__proto__ = new Proxy({}, {has: () => true, get: () => 1})",
    "undefined": "var undefined = 1; var NaN = 2; var Infinity = 3",
    "Object.prototype": "Object.prototype.host = 1",
    "symbols": "for (const s of Object.getOwnPropertySymbols(globalThis)) delete globalThis[s]",
    "module": "export const host = 1",
    "import": "import host from 'host'",
    "label": "host: for (;;) break host",
    "unfinished declaration": "let host =",
    "let with a syntax error behind": "let host = 1; }",
    "let in odd places": "if (1) let\n{}; let\nhost = 1",
    "let with escapes": r"let \u0068ost = 1",
    "class with escapes": r"class \u{68}ost {}",
    "Annex B": "switch (1) { case 1: function host() {} }",
    "using": "using host = null",
}


@pytest.mark.parametrize("source", _ATTEMPTS.values(), ids=_ATTEMPTS)
async def test_bridges_stay(victim: Any, source: str) -> None:
    await victim.attack(source)
    assert await victim.run("Object.keys(host).join() + typeof host.echo") == "echofunction"
    assert await victim.run("const fresh = 1; let other = 2; class Third {}; fresh + other") == "3"
    assert await victim.run("fresh + other + typeof Third") == "3function"


@pytest.mark.parametrize(
    "source",
    [
        "{ let host = 1; host; }",
        "((host) => host)(1)",
        "(() => { const host = 1; return host; })()",
    ],
)
async def test_local_names_are_the_guests_own(victim: Any, source: str) -> None:
    assert (await victim.attack(source)).text == "1"


async def test_a_global_closed_by_a_trick_still_answers(victim: Any) -> None:
    await victim.attack("Object.freeze(new Proxy(globalThis, {}))")
    outcome = await victim.attack("const fresh = 1")
    assert outcome.error.name == "TypeError"


async def test_the_message_names_the_way_out(victim: Any) -> None:
    outcome = await victim.attack("const host = 1")
    assert outcome.error.name == "TypeError"
    assert outcome.error.message == "host is reserved by the interpreter; use another name"


async def test_bridges_are_hidden_from_enumeration(victim: Any) -> None:
    assert await victim.run("Object.keys(globalThis).join()") == "keep"
    assert (
        await victim.run("const all = []; for (const k in globalThis) all.push(k); all.join()")
        == "keep,all"
    )
    assert await victim.session.names() == ["keep", "all"]


def _offer(*names: str) -> BridgeSet:
    return BridgeRegistry(
        [Bridge(name=name, handler=lambda value: value, raw=True) for name in names]
    ).freeze()


@pytest.mark.parametrize(
    "source",
    {
        "variable": "var tools = 1",
        "property": "globalThis.tools = 1",
        "endless setter": "Object.defineProperty(globalThis, 'tools', {set() { for (;;); }})",
        "endless getter": "Object.defineProperty(globalThis, 'tools', {get() { for (;;); }})",
        "constant": "Object.defineProperty(globalThis, 'tools', {value: 1})",
        "throwing setter": "Object.defineProperty(globalThis, 'tools', {set() { throw 1; }, configurable: true})",
        "prototype": "Object.setPrototypeOf(globalThis, new Proxy({}, {get() { for (;;); }, has() { for (;;); }, set() { for (;;); }}))",
    }.values(),
)
def test_names_taken_before_the_host_offers_them(source: str) -> None:
    from interpstack import Cell

    realm = QuickJSEngine().open(Limits(cpu_seconds=0.3), _offer("host.a"))

    def run(code: str) -> Any:
        execution = realm.start(Cell(source=code))
        progress = execution.poll(0.0, 0.3)
        execution.abort("done")
        return progress

    assert run(f"var keep = 41; {source}; 0").completion.text == "0"
    for names in (("host.a", "tools.x"), ("tools.y",), ("host.a",)):
        realm.bind(_offer(*names))
        assert run("keep + 1").completion.text == "42"
    realm.bind(_offer("tools.y"))
    if source in ("var tools = 1", "globalThis.tools = 1"):
        assert run("Object.keys(tools).join()").completion.text == "y"
    realm.close()
