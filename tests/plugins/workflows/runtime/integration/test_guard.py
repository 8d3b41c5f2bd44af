"""What scripts cannot do: reach the host, make code, change what they share, or stop the host."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from interpstack_workflows.api import WorkflowModuleError
from interpstack_workflows.runtime.boundary import (
    Complete,
    LogCall,
    Pending,
    ValueResolution,
    WorkflowModuleInput,
)
from interpstack_workflows.runtime.runtime import WorkflowRuntime


def ended(runtime: WorkflowRuntime, source: str, **fields: Any) -> Any:
    """The result of a module whose requests are answered with null."""
    module = WorkflowModuleInput(source=source, **fields)
    with closing(runtime.start_module(module)) as execution:
        while not isinstance(polled := execution.poll(), Complete):
            assert not isinstance(polled, Pending)
            if not isinstance(polled, LogCall):
                execution.resolve_request(polled.id, ValueResolution())  # type: ignore[union-attr]
        return polled.output.result


def value(runtime: WorkflowRuntime, expression: str, **fields: Any) -> Any:
    return ended(runtime, f"export default async (args, ctx) => {expression}", **fields)


_REMOVED = (
    *("eval", "Function", "AsyncFunction", "fetch", "XMLHttpRequest", "WebSocket", "EventSource"),
    *("navigator", "location", "Deno", "Bun", "process", "require", "Buffer", "__dirname"),
    *("__filename", "setTimeout", "setInterval", "queueMicrotask", "performance", "crypto"),
    *("WebAssembly", "SharedArrayBuffer", "Atomics", "WeakRef", "global"),
)


def test_globals_are_removed(runtime: WorkflowRuntime) -> None:
    names = ", ".join(f"'{name}'" for name in _REMOVED)
    body = (
        f"[{names}].filter(n => typeof globalThis[n] !== 'undefined'"
        " || Object.getOwnPropertyDescriptor(globalThis, n)?.writable !== false)"
    )
    assert value(runtime, body) == []


def test_engines_give_scripts_the_same_names(runtime: WorkflowRuntime) -> None:
    body = "Reflect.ownKeys(globalThis).filter(k => globalThis[k] !== undefined).map(String).sort()"
    names = set(value(runtime, body))
    verbs = {"agent", "args", "ask", "budget", "checkpoint", "console", "log", "parallel", "phase"}
    verbs |= {"pipeline", "wait", "workflow", "SW"}
    assert verbs < names
    others = names - verbs - {"Array", "Date", "Intl", "JSON", "Math", "Promise", "URL", "atob"}
    assert not others & {"Blob", "MessagePort", "ReadableStream", "AbortSignal", "EventTarget"}
    assert len(names) < 90


@pytest.mark.parametrize(
    "attempt",
    [
        "(() => {}).constructor('return 42')()",
        "(async () => {}).constructor('return 42')()",
        "(function* () {}).constructor('yield 42')()",
        "(async function* () {}).constructor('yield 42')()",
        "(class {}).constructor('return 42')()",
        "agent.constructor('return 42')()",
        "Object.getPrototypeOf(async () => {}).constructor('return 42')()",
        "Reflect.construct((() => {}).constructor, ['return 42'])()",
        "new ((() => {}).constructor)('return 42')()",
        "[].map.constructor('return 42')()",
        "(0, eval)('42')",
        "setTimeout('42')",
    ],
)
def test_no_code_comes_from_text(runtime: WorkflowRuntime, attempt: str) -> None:
    name = value(runtime, f"{{ try {{ return [await {attempt}] }} catch (e) {{ return e.name }} }}")
    assert name == "TypeError"


@pytest.mark.parametrize(
    "change",
    [
        "args.x = 1",
        "args.o.y = 1",
        "delete args.o",
        "Object.defineProperty(args, 'o', {value: 1})",
        "Object.setPrototypeOf(args, {})",
        "args.list.push(1)",
        "budget.spent = () => 0",
        "budget.total = 5",
        "SW.extra.sleep = 1",
        "ctx.agent = 1",
        "agent.x = 1",
        "parallel.settled = 1",
        "globalThis.agent = 1",
        "globalThis.args = 1",
        "Object.defineProperty(globalThis, 'agent', {value: 1})",
        "Array.prototype.map = 1",
        "Promise.prototype.then = 1",
        "Promise.all = 1",
        "Error.prototype.name = 'x'",
        "Object.prototype.x = 1",
        "JSON.stringify = 1",
        "Map.prototype.get = 1",
        "Math.random = () => 0",
        "Object.getPrototypeOf([][Symbol.iterator]()).next = 1",
        "Object.getPrototypeOf('a'.matchAll(/a/g)).next = 1",
        "Object.getPrototypeOf([].values().map((x) => x)).next = 1",
        "Object.getPrototypeOf(Iterator.from({next() {}})).next = 1",
        "Object.getPrototypeOf(new URLSearchParams().keys()).next = 1",
        "Object.getPrototypeOf((globalThis.Intl ? new Intl.Segmenter().segment('') : [])"
        "[Symbol.iterator]()).next = 1",
        "Function.prototype.call = 1",
        "RegExp.prototype.exec = 1",
        "String.prototype.trim = 1",
        "Object.getPrototypeOf(async () => {}).x = 1",
        "Date.now = () => 0",
    ],
)
def test_nothing_shared_can_be_changed(runtime: WorkflowRuntime, change: str) -> None:
    body = f"{{ try {{ {change} }} catch (e) {{ return e.name }} }}"
    assert value(runtime, body, args={"o": {}, "list": [1]}) == "TypeError"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[args.o === args.o, ctx.args.o === args.o]", [True, True]),
        ("(Object.preventExtensions(args), Object.isFrozen(args.o))", True),
        ("{ const e = new Error('m'); e.name = 'Own'; e.message = 'n'; return `${e}` }", "Own: n"),
        ("{ const o = {}; o.toString = () => 's'; o.constructor = 1; return `${o}` }", "s"),
        (
            "{ class A extends Error { constructor() { super('x'); this.name = 'A' } }"
            " return [`${new A()}`, new A() instanceof Error] }",
            ["A: x", True],
        ),
        ("{ const f = () => 1; f.call = 2; return f.call }", 2),
        ("[1, 2].map(n => n * 2)", [2, 4]),
        ("JSON.parse('{\"__proto__\": 1}').__proto__", 1),
        ("typeof console.log", "function"),
        ("typeof URL + typeof TextEncoder + typeof structuredClone", "function" * 3),
        ("Reflect.ownKeys(globalThis).filter(k => String(k).startsWith('$workflow'))", []),
        ("args.__proto__ === Object.prototype", True),
    ],
)
def test_scripts_work_as_usual(runtime: WorkflowRuntime, expression: str, expected: Any) -> None:
    body = expression if expression.startswith("{") else f"({expression})"
    assert value(runtime, body, args={"o": {}}) == expected


def test_chance_comes_from_the_seed(runtime: WorkflowRuntime) -> None:
    body = "[Math.random(), Math.random()]"
    first, again = (value(runtime, body, seed=7) for _ in range(2))
    assert first == again
    assert first != value(runtime, body, seed=8)
    assert all(0 <= number < 1 for number in first)


async def test_time_is_that_of_the_poll(runtime: WorkflowRuntime) -> None:
    source = "const a = Date.now(); await agent('x'); export default [a, Date.now() >= a + 5000]"
    execution = await runtime.open_module(WorkflowModuleInput(source=source))
    try:
        progress = await execution.advance(1_000_000.0)
        assert [request.id for request in progress.requests] == ["1"]
        progress = await execution.advance(1_000_005.0, [("1", ValueResolution())])
        assert progress.complete is not None
        assert progress.complete.output.result == [1_000_000_000, True]
    finally:
        await execution.aclose()


@pytest.mark.parametrize("source", ["for (;;);", "export default () => { for (;;); }"])
def test_endless_loops_end(runtime: WorkflowRuntime, source: str) -> None:
    with pytest.raises(WorkflowModuleError, match=r"computed for 0\.3 seconds without waiting"):
        ended(runtime, source, poll_seconds=0.3)


def test_time_is_counted_for_each_poll(runtime: WorkflowRuntime) -> None:
    busy = "const t = Date.now(); let n = 0; while (n < 30000) n++;"
    body = f"for (let i = 0; i < 8; i++) {{ {busy} await agent('x') }} return 1"
    source = f"export default async () => {{ {body.replace('const t', 'let t')} }}"
    assert ended(runtime, source, poll_seconds=2.0) == 1


def test_memory_is_bounded(runtime: WorkflowRuntime) -> None:
    source = "const a = []; export default () => { for (;;) a.push(new Array(10000).fill(1.5)) }"
    with pytest.raises(WorkflowModuleError):
        ended(runtime, source, memory_bytes=32 * 2**20, poll_seconds=20.0)


def test_requests_are_bounded(runtime: WorkflowRuntime) -> None:
    body = (
        "{ for (let i = 0; i < 2000; i++) agent('x').catch(() => 0);"
        " try { await agent('y') } catch (e) { return e.message } }"
    )
    assert "the workflow may make 100 requests" in value(runtime, body, requests=100)


def test_a_great_many_calls_arrive(runtime: WorkflowRuntime) -> None:
    source = "export default () => { for (let i = 0; i < 30000; i++) log(i); return 1 }"
    with closing(runtime.start_module(WorkflowModuleInput(source=source))) as execution:
        seen = 0
        while isinstance(polled := execution.poll(), LogCall):
            assert polled.values == (seen,)
            seen += 1
        assert isinstance(polled, Complete)
    assert seen == 30000


def test_options_are_read_once(runtime: WorkflowRuntime) -> None:
    body = "{ let n = 0; await agent('x', {get label() { return ++n }}); return n }"
    assert value(runtime, body) == 1


@pytest.mark.parametrize(
    ("call", "outcome"),
    [
        (
            "SW.sandbox.exec('a/b', {command: 'c', args: Object.assign([], {toJSON: () => 5})})",
            None,
        ),
        ("SW.sandbox.exec('a/b', {command: 'c', env: {toJSON: () => 5}})", "TypeError"),
        ("SW.sandbox.exec('a/b', {command: 'c', args: new Proxy(['x'], {})})", None),
        ("agent('x', {toJSON: () => 5})", "TypeError"),
        ("ask('x', {toJSON: () => [1]})", "TypeError"),
        ("wait('x', {toJSON: () => null})", "TypeError"),
        ("agent('x', new Proxy({a: 1}, {}))", None),
    ],
)
def test_what_a_script_passes_has_its_form(
    runtime: WorkflowRuntime, call: str, outcome: Any
) -> None:
    body = f"{{ try {{ return await {call} }} catch (e) {{ return e.name }} }}"
    assert value(runtime, body) == outcome


@pytest.mark.parametrize(
    "thrown",
    [
        "Object.create(null)",
        "new Proxy({}, {get() { throw 1 }})",
        "{get name() { throw new Error('n') }, get message() { for (;;); }}",
        "Symbol('s')",
        "undefined",
        "1n",
    ],
)
def test_anything_may_be_thrown(runtime: WorkflowRuntime, thrown: str) -> None:
    with pytest.raises(WorkflowModuleError):
        ended(runtime, f"export default () => {{ throw {thrown} }}", poll_seconds=0.5)
    dropped = value(runtime, f"parallel([() => {{ throw ({thrown}) }}])", poll_seconds=0.5)
    assert dropped == [None]


def test_a_deep_value_is_an_error_of_the_script(runtime: WorkflowRuntime) -> None:
    body = (
        "{ let deep = []; for (let i = 0; i < 3000; i++) deep = [deep];"
        " try { await agent('x', {deep}); return 'sent' } catch (e) { return e.name } }"
    )
    assert value(runtime, body) == "TypeError"
