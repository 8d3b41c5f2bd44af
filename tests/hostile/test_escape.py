"""Ways out of the sandbox, and ways into the kernel: there are none."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from typing import Any

import pytest

_ABSENT = [
    "require", "process", "module", "exports", "__dirname", "fetch", "XMLHttpRequest", "WebSocket", "Deno", "Bun",
    "std", "os", "bjson", "scriptArgs", "print", "gc", "load", "read", "WebAssembly", "Worker", "navigator", "window",
    "self", "document", "importScripts", "postMessage", "kernel", "dispatch", "interpstack", "__kernel", "host_call",
]  # fmt: skip


@pytest.mark.parametrize("name", _ABSENT)
async def test_absent(victim: Any, name: str) -> None:
    assert await victim.run(f"typeof {name} + typeof globalThis[{name!r}]") == "undefinedundefined"


@pytest.mark.parametrize(
    "specifier",
    ["os", "std", "qjs:os", "fs", "node:fs", "/etc/passwd", "./x.js", "interpstack:kernel", "interpstack:web", "eval_script", "data:text/javascript,1", "https://example.com/x.js", "", "\\ud800", "x".ljust(100000, "x")],
)  # fmt: skip
async def test_imports_are_refused(victim: Any, specifier: str) -> None:
    for source in (
        f"await import('{specifier}')",
        f"import('{specifier}')",
        f"eval(`import('{specifier}')`)",
    ):
        outcome = await victim.attack(source)
        assert outcome.error is not None, outcome.text
        assert "passwd:" not in outcome.error.message


@pytest.mark.parametrize(
    "source",
    [
        "import os from 'os'",
        "export default 1",
        "import.meta",
        "import('os', {with: {type: 'json'}})",
    ],
)
async def test_module_syntax_is_an_error(victim: Any, source: str) -> None:
    assert (await victim.attack(source)).error is not None


@pytest.mark.parametrize(
    "source",
    {
        "Function": "Function('return this')()",
        "constructor chain": "(() => {}).constructor('return this')()",
        "generator": "(function* () {}).constructor('yield this')().next().value",
        "of a bridge": "host.echo.constructor('return this')()",
        "of a timer": "setTimeout.constructor('return this')()",
        "of a web class": "URL.prototype.constructor.constructor('return this')()",
        "indirect eval": "(0, eval)('this')",
        "of an answer": "(await host.echo([1])).constructor.constructor('return this')()",
        "of an error": "await host.echo(Symbol()).catch(e => e.constructor.constructor('return this')())",
    }.values(),
)
async def test_every_function_lives_in_the_same_global(victim: Any, source: str) -> None:
    assert (await victim.attack(f"({source}) === globalThis")).text == "true"


@pytest.mark.parametrize(
    "source",
    {
        "prepareStackTrace": """
            Error.prepareStackTrace = (e, frames) => { seen.push(...frames.map(f => f.getFunction())); return ''; };
            Object.defineProperty(TypeError, 'prepareStackTrace', {value: (e, f) => { seen.push(f); }});
            String(new Error().stack); String(new TypeError().stack); host.echo({get a() { String(new Error().stack); return 1; }})""",
        "caller": "function f() { try { seen.push(f.caller); } catch {} }; host.echo({get a() { f(); return 1; }})",
        "arguments": "host.echo({get a() { try { seen.push(host.echo.arguments, host.echo.caller); } catch {} return 1; }})",
        "callee": "function f() { try { seen.push(arguments.callee.caller); } catch {} }; host.echo({get a() { f(); return 1; }})",
        "this of a getter": "const o = {get a() { if (this !== o) seen.push(this); return 1; }}; host.echo(o)",
        "this of a thenable": "const t = {then(go) { if (this !== t) seen.push(this); go(1); }}; await t",
        "this of toJSON": "class J { toJSON(...a) { if (!(this instanceof J)) seen.push(this); seen.push(...a.filter(x => typeof x === 'object')); return 1; } }; await host.echo(new J)",
        "prototype setters": "Object.setPrototypeOf(Array.prototype, new Proxy({}, {set(t, k, v) { seen.push(v); return true; }, get(t, k, r) { if (r !== Array.prototype && typeof k === 'string' && k !== 'then') seen.push(r); }})); await host.echo([1])",
        "Map callbacks": "const f = Map.prototype.forEach; Map.prototype.forEach = function (c) { seen.push(c); }; await host.echo(new Map([[1, 2]])); Map.prototype.forEach = f",
        "Promise callbacks": "const t = Promise.prototype.then; Promise.prototype.then = function (...a) { seen.push(...a); return t.apply(this, a); }; await host.echo(1); Promise.prototype.then = t",
        "Function.prototype.call": "const c = Function.prototype.call; Function.prototype.call = function () { seen.push(this); }; await host.echo([new Map, new Date(0), /x/]); Function.prototype.call = c",
    }.values(),
)
async def test_the_kernel_hands_nothing_out(victim: Any, source: str) -> None:
    outcome = await victim.session.eval(f"globalThis.seen = []; {source}; 0")
    assert outcome.error is None, outcome.error
    assert (
        await victim.run(
            "seen.filter(x => typeof x === 'function' || typeof x === 'object' && x !== null).length"
        )
        == "0"
    )


async def test_no_host_or_kernel_paths_in_stacks(victim: Any) -> None:
    for source in (
        "null.x", "host.echo(Symbol())", "await host.echo(Symbol())", "new URL('x')", "structuredClone(() => 1)",
        "new Error('x').stack", "JSON.parse('{')", "[1].map(() => { throw new Error('x'); })", "setTimeout(1)",
        "await host.missing()", "new TextDecoder('nope')", "atob('*')", "eval('throw new Error(1)')",
    ):  # fmt: skip
        outcome = await victim.attack(source)
        text = victim.session.render(outcome)
        if "stack" not in source:
            assert "interpstack" not in text, text
        for path in ("/usr", "/home", "site-packages", ".py", ".wasm", "native)"):
            assert path not in text, text


async def test_time_and_chance_are_the_hosts(victim: Any) -> None:
    code = "const t = Date.now(); for (let i = 0; i < 1e5; i++); Date.now() - t + performance.now() * 0"
    assert await victim.run(code) == "0"
    assert (
        await victim.run(
            "new Date().constructor === Date && new (new Date().constructor)().getTime() === Date.now()"
        )
        == "true"
    )
    assert await victim.run("Math.abs(Date.prototype.constructor.now() - Date.now())") == "0"


async def test_memory_of_other_sessions_is_out_of_reach(victim: Any) -> None:
    other = victim.session._stack.session("other")
    async with other:
        await other.eval("globalThis.secret = 'a very secret text ' + 42; 0")
        assert await victim.run("typeof secret") == "undefined"
        assert "very secret" not in await victim.run(
            "new Uint8Array(1e5).reduce((a, b) => a + b, 0) + ''"
        )


async def test_symbols_of_the_registry_are_no_channel(victim: Any) -> None:
    assert await victim.run(
        "Reflect.ownKeys(globalThis).filter(k => typeof k === 'symbol').map(String).join()"
    ) in ("Symbol(Symbol.toStringTag)", "")
