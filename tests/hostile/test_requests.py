"""Storms of requests and timers, forged kernel state, answers that come late or never."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpstack import Bridge, Cell, InterpreterStack, Limits
from interpstack_quickjs.engine import QuickJSEngine


@pytest.fixture
def limits() -> Limits:
    return Limits(cpu_seconds=2, wall_seconds=20, memory_bytes=32 * 2**20)


@pytest.mark.parametrize("source", ["for (let i = 0; i < 2e4; i++) host.echo(i); 'sent'",
                                    "await Promise.allSettled(Array(5000).fill(0).map(() => host.echo(1))); 'sent'",
                                    "let n = 0; for (;;) { try { await host.echo(1); n++; } catch { break; } } 'sent'"])  # fmt: skip
async def test_the_budget_bounds_requests(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.text == "sent", outcome.error
    assert outcome.usage.requests <= 256 + 64


async def test_the_budget_error(victim: Any) -> None:
    outcome = await victim.attack(
        "const all = await Promise.allSettled(Array(400).fill(0).map(() => host.echo(1)));"
        "[all.filter(a => a.status === 'fulfilled').length,"
        " ...new Set(all.filter(a => a.reason).map(a => a.reason.name + a.reason.tool + a.reason.message))]"
    )
    assert outcome.text == (
        '[256, "PTCCallBudgetExceededhost.echothe cell may make 256 calls; this was one more"]'
    )


async def test_each_cell_has_its_own_budget(victim: Any) -> None:
    for _ in range(3):
        outcome = await victim.session.eval(
            "for (let i = 0; i < 200; i++) await host.echo(i); 'done'"
        )
        assert outcome.text == "done"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("for (let i = 0; i < 1e5; i++) setTimeout(() => {}, 1)", "RangeError"),
        ("for (let i = 0; i < 1e5; i++) setInterval(() => {}, 1)", "RangeError"),
        ("for (let i = 0; i < 1e5; i++) clearTimeout(setTimeout(() => {}, 1e6)); 'ok'", None),
        ("for (let i = 0; i < 1e5; i++) clearTimeout(i); clearTimeout('__proto__'); 'ok'", None),
        (
            "let n = 0; const on = () => { if (n++ < 500) setTimeout(on, 0); }; on(); await new Promise(go => setTimeout(go, 5)); 'ok'",
            None,
        ),
        ("for (let i = 0; i < 900; i++) setInterval(() => {}, 0); 'ok'", None),
    ],
)
async def test_timer_storms(victim: Any, source: str, error: str | None) -> None:
    outcome = await victim.attack(source)
    assert (outcome.error.name if outcome.error else None) == error
    assert error is not None or outcome.text == "ok"


async def test_a_timer_cleared_at_once_is_no_reason_to_wait(victim: Any) -> None:
    outcome = await victim.attack(
        "clearTimeout(setTimeout(() => {}, 1e6)); await new Promise(() => {})"
    )
    assert outcome.error.name == "Deadlock"
    outcome = await victim.attack(
        "const t = setTimeout(() => {}, 1e6); await host.echo(1); clearTimeout(t); await new Promise(() => {})"
    )
    assert outcome.error.name == "Deadlock"


async def test_calls_without_an_answer_are_bounded() -> None:
    heard: list[Any] = []

    async def note(value: Any) -> None:
        heard.append(value)

    stack = InterpreterStack(bridges=[Bridge(name="note", handler=note, raw=True, awaited=False)])
    async with stack.session("s") as session:
        outcome = await session.eval("for (let i = 0; i < 1e5; i++) note(i)")
        assert outcome.error is not None
        assert (
            outcome.error.message == "note: a cell may make at most 10000 calls without an answer"
        )
        assert heard == list(range(10_000))
        assert (await session.eval("note('again'); 1")).text == "1"
        assert heard[-1] == "again"
    stack.close()


@pytest.mark.parametrize(
    "call",
    {
        "this null": "host.echo.call(null, 7)",
        "this a Proxy": "host.echo.call(new Proxy({}, {get() { throw 1; }}), 7)",
        "apply": "host.echo.apply(undefined, [7, 8, 9])",
        "bound": "host.echo.bind(1, 7)()",
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
    }.values(),
)
async def test_odd_ways_to_call(victim: Any, call: str) -> None:
    for _ in range(2):
        outcome = await victim.attack(f"await {call}")
        assert (outcome.error, outcome.text) == (None, "7")


@pytest.mark.parametrize(
    "source",
    [
        "new host.echo(1)",
        "class X extends host.echo {}; new X",
        "host.echo.apply(null, {length: 1e5})",
        "host()",
        "host.echo.prototype.x = 1",
    ],
)
async def test_ways_that_do_not_work(victim: Any, source: str) -> None:
    assert (await victim.attack(source)).error.name in ("TypeError", "RangeError")


async def test_requests_after_the_end_are_refused(victim: Any) -> None:
    await victim.session.eval(
        "globalThis.go = null; const wait = new Promise(r => { go = r; }); wait.then(() => host.echo('late')).catch(e => { globalThis.why = e.message; }); 0"
    )
    await victim.session.eval("setTimeout(() => { globalThis.rang = true; }, 30); 1")
    await asyncio.sleep(0.06)
    await victim.assert_healthy()
    assert await victim.run("typeof rang") == "undefined"


def test_a_request_made_while_nothing_runs() -> None:
    realm = QuickJSEngine().open(Limits(), _offer())
    realm.start(Cell(source="0")).poll(0.0, 1.0)
    first = realm.start(Cell(source="Promise.resolve().then(() => {}); host.echo(1); 'first'"))
    progress = first.poll(0.0, 1.0)
    assert progress.completion is not None
    assert len(progress.requests) == 1
    first.abort("the host does not wait")
    second = realm.start(Cell(source="await host.echo(2)"))
    progress = second.poll(0.0, 1.0)
    assert [request.wire for request in progress.requests] == [2]
    realm.close()


def _offer() -> Any:
    from interpstack import BridgeRegistry

    bridge = Bridge(name="host.echo", handler=lambda value: value, raw=True)
    return BridgeRegistry([bridge]).freeze()


def test_unknown_duplicate_and_stale_settlements_do_nothing() -> None:
    from interpstack import Settlement

    realm = QuickJSEngine().open(Limits(), _offer())
    stale = realm.start(Cell(source="await host.echo(0)"))
    old = stale.poll(0.0, 1.0).requests[0].id
    stale.abort("gone")
    run = realm.start(Cell(source="const r = [await host.echo(1), await host.echo(2)]; r"))
    one = run.poll(0.0, 1.0).requests[0].id
    run.settle([Settlement(old, '"stale"'), Settlement(10**9, '"unknown"'), Settlement(-1, "0")])
    assert run.poll(0.0, 1.0).completion is None
    run.settle([Settlement(one, '"a"'), Settlement(one, '"b"')])
    two = run.poll(0.0, 1.0).requests[0].id
    run.settle([Settlement(one, '"c"'), Settlement(two, '"d"')])
    progress = run.poll(0.0, 1.0)
    assert progress.completion is not None
    assert progress.completion.text == '["a", "d"]'
    realm.close()


@pytest.mark.parametrize(
    ("source", "shown"),
    {
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
        "no prototype": (
            "Object.setPrototypeOf(Promise.resolve(9), null)",
            "[Object: null prototype] {}",
        ),
        "no promise": ("Object.create(Promise.prototype)", "Promise {…}"),
        "Proxy of a promise": ("new Proxy(Promise.resolve(1), {})", "Promise {…}"),
        "promise of promises": (
            "Promise.resolve(Promise.resolve([Promise.resolve(1)]))",
            "[Promise {…}]",
        ),
        "request": ("host.echo(1)", "1"),
        "race": ("Promise.race([host.echo('a'), host.echo('b')])", "a"),
        "settled before": ("let go; const p = new Promise(r => { go = r; }); go(3); p", "3"),
    }.values(),
)
async def test_promises_as_results(victim: Any, source: str, shown: str) -> None:
    outcome = await victim.attack(source)
    assert (outcome.error, outcome.text) == (None, shown)


@pytest.mark.parametrize(
    "source",
    [
        "await new Promise(() => {})",
        "new Promise(() => {})",
        "await {then() {}}",
        "let p; p = (async () => { await null; await p; })(); await p",
    ],
)
async def test_waiting_for_nothing_is_a_deadlock(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error.name in ("Deadlock", "TypeError")


async def test_a_promise_of_an_earlier_cell_that_never_settles(victim: Any) -> None:
    await victim.session.eval(
        "globalThis.never = host.echo(new Promise(() => {})); globalThis.open = new Promise(() => {}); 0"
    )
    assert (await victim.attack("await open")).error.name == "Deadlock"


async def test_cells_cannot_complete_each_other(victim: Any) -> None:
    await victim.session.eval(
        "globalThis.go = null; (async () => { await new Promise(r => { go = r; }); throw new Error('of the first cell'); })(); 1"
    )
    outcome = await victim.attack("go(); await null; await null; 'of the second'")
    assert (outcome.error, outcome.text) == (None, "of the second")


async def test_a_cancelled_cell_leaves_no_trace(victim: Any) -> None:
    task = asyncio.ensure_future(
        victim.session.eval(
            "try { await new Promise(go => setTimeout(go, 1e6)); } finally { globalThis.trace = 1; }"
        )
    )
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await victim.assert_healthy()
    assert await victim.run("typeof trace") == "undefined"
