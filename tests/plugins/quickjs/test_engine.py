"""The engine beyond its conformance: suspension, portable values, limits in every path."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

from typing import Any

import attrs
import pytest

from interpstack import (
    Bridge,
    BridgeRegistry,
    Cell,
    ConfigurationError,
    EngineFailure,
    Execution,
    GuestError,
    Limits,
    Realm,
    Settlement,
)
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.guest import Guest

_LIMITS = Limits(cpu_seconds=5, memory_bytes=16 * 2**20)


def _offer() -> Any:
    names = ("host.get", "host.other")
    return BridgeRegistry(
        [Bridge(name=name, handler=lambda value: value, raw=True) for name in names]
    ).freeze()


def _open(image: Any = None) -> Realm:
    return QuickJSEngine().open(_LIMITS, _offer(), image)


def _run(realm: Realm, source: str) -> Any:
    execution = realm.start(Cell(source=source))
    progress = execution.poll(0.0, 5.0)
    assert progress.completion is not None, progress
    execution.abort("done")
    return progress.completion


def _text(realm: Realm, source: str) -> str:
    done = _run(realm, source)
    assert done.error is None, done.error
    return str(done.text)


def test_a_cell_that_never_ran_is_undone_to_the_state_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    realm, copies = _open(), []
    _run(realm, "let kept = 41")
    copied = Guest.heap
    monkeypatch.setattr(Guest, "heap", lambda *args: copies.append(1) or copied(*args))
    execution = realm.start(Cell(source="kept = 1"))
    assert not copies, "to start a cell is to take no time"
    if execution.abort("left").failure is None:
        execution.undo()
    assert _text(realm, "kept + 1") == "42"
    realm.close()


# -- suspension ----------------------------------------------------------------------------

_SCRIPT = """
let log = [];
const part = async (n) => { const v = await host.get(n); log.push(v); return v * 2; };
const both = await Promise.all([part(1), part(2)]);
try { await host.other('bad'); } catch (e) { log.push(e.name + ':' + e.message + ':' + e.tool); }
const last = await host.get('last');
[both, log, last, Math.random() < 1]
"""


def _moved(realm: Realm) -> tuple[Realm, Execution]:
    """The realm and its execution, in another instance of the engine."""
    image = realm.image()
    realm.close()
    opened = _open(image)
    return opened, opened.resume()


def test_a_cell_goes_on_elsewhere_at_every_stop() -> None:
    realm = _open()
    realm, run = realm, realm.start(Cell(source=_SCRIPT, name="moved", seed=5))
    one, two = run.poll(0.0, 1.0).requests
    realm, run = _moved(realm)
    run.settle([Settlement(two.id, "20")])
    assert run.poll(0.0, 1.0).requests == []
    realm, run = _moved(realm)
    run.settle([Settlement(one.id, "10")])
    (bad,) = run.poll(0.0, 1.0).requests
    assert bad.bridge == "host.other"
    realm, run = _moved(realm)
    run.settle(
        [Settlement(bad.id, error=GuestError("ToolError", "no", data={"tool": "host.other"}))]
    )
    (last,) = run.poll(0.0, 1.0).requests
    realm, run = _moved(realm)
    run.settle([Settlement(last.id, '{"a":[1]}')])
    completion = run.poll(0.0, 1.0).completion
    assert completion is not None
    assert completion.text == '[[20, 40], [20, 10, "ToolError:no:host.other"], {a: [1]}, true]'
    assert _text(realm, "log.length") == "3"
    realm.close()


def test_a_resumed_cell_can_fail_with_its_own_name() -> None:
    realm = _open()
    realm.start(Cell(source="\nawait host.get(1); null.x", name="moved")).poll(0.0, 1.0)
    realm, run = _moved(realm)
    run.settle([Settlement(1, "0")])
    completion = run.poll(0.0, 1.0).completion
    assert completion is not None
    assert completion.error is not None
    assert "(moved:2:" in completion.error.stack
    realm.close()


def test_a_resumed_cell_can_be_aborted() -> None:
    realm = _open()
    realm.start(Cell(source="globalThis.n = 1; await host.get(1); n = 2")).poll(0.0, 1.0)
    realm, run = _moved(realm)
    run.abort("enough")
    assert _text(realm, "n") == "1"
    assert _text(_open(realm.image()), "n") == "1"
    realm.close()


def test_nothing_to_resume() -> None:
    realm = _open()
    _run(realm, "1")
    with pytest.raises(ConfigurationError, match="no cell was running"):
        realm.resume()
    with pytest.raises(ConfigurationError, match="no cell was running"):
        _open(realm.image()).resume()
    realm.close()


def test_a_cell_is_resumed_once() -> None:
    realm = _open()
    realm.start(Cell(source="await host.get(1)")).poll(0.0, 1.0)
    realm, _ = _moved(realm)
    with pytest.raises(ConfigurationError, match="no cell was running"):
        realm.resume()
    realm.close()


# -- portable values -----------------------------------------------------------------------

_VALUES = {
    "number": "41.5",
    "negative zero": "-0",
    "NaN": "NaN",
    "string": "'é😀\\ud800'",
    "bigint": "2n ** 80n",
    "undefined": "undefined",
    "null": "null",
    "Date": "new Date(86400000)",
    "Map": "new Map([[{a: 1}, new Set([1, 'x'])]])",
    "bytes": "new Uint8Array([0, 127, 255])",
    "nested": "({a: [1, {b: null}], '$': {c: 1}, ['__proto__']: 5})",
    "error": "new RangeError('r')",
    "empty": "[[], {}, '']",
}


@pytest.mark.parametrize("source", _VALUES.values(), ids=_VALUES)
def test_values_survive(source: str) -> None:
    realm = _open()
    before = _text(realm, f"const v = {source}; [v instanceof Error ? v.name + v.message : v]")
    values = realm.values()
    realm.close()
    other = _open()
    other.load(values)
    assert _text(other, "[v instanceof Error ? v.name + v.message : v]") == before
    assert other.names() == ["v"]
    other.close()


_LOST = {
    "function": "function fn() {}",
    "arrow": "const fn = () => 1",
    "class": "class fn {}",
    "symbol": "const fn = Symbol('s')",
    "promise": "const fn = {p: Promise.resolve(1)}.p",
    "holder": "const fn = {a: [() => 1]}",
    "cycle": "const fn = {}; fn.self = fn",
    "accessor": "Object.defineProperty(globalThis, 'fn', {get() { for (;;); }, configurable: true, enumerable: true})",
    "throwing getter": "const fn = {get a() { throw 1; }}",
    "Proxy": "const fn = new Proxy({}, {ownKeys() { throw 1; }})",
}

_TYPES = {"arrow": "function", "class": "function", "promise": "Promise", "holder": "Object", "cycle": "Object",
          "throwing getter": "accessor", "Proxy": "Object"}  # fmt: skip


@pytest.mark.parametrize("name", _LOST)
def test_what_is_lost_says_so_when_it_is_used(name: str) -> None:
    realm = _open()
    _run(realm, f"const keep = 1; {_LOST[name]}; 0")
    values = realm.values()
    realm.close()
    kind = _TYPES.get(name, name)
    message = f"Value for 'fn' was not restored because it is not serializable (type: {kind})."
    for _ in range(2):  # and the reason survives a second journey
        realm = _open()
        realm.load(values)
        done = _run(realm, "keep + fn")
        assert done.error is not None
        assert (done.error.name, done.error.message) == ("Error", message)
        values = realm.values()
    assert _text(realm, "keep") == "1"
    assert _text(realm, "function fn() { return 2; }; fn()") == "2"
    assert _text(realm, "fn()") == "2"
    realm.close()


def test_the_message_for_a_function() -> None:
    realm = _open()
    realm.load({"fn": {"$": "lost", "v": "it is not serializable (type: function)"}})
    done = _run(realm, "fn()")
    assert done.error.message == (
        "Value for 'fn' was not restored because it is not serializable (type: function)."
    )
    realm.close()


def test_a_lost_value_can_be_assigned() -> None:
    realm = _open()
    realm.load({"fn": {"$": "lost", "v": "it is gone"}, "other": {"$": "lost", "v": "it is gone"}})
    assert _text(realm, "fn = 5; let other = 6; fn + other") == "11"
    assert _text(realm, "fn + other") == "11"
    assert realm.values() == {"fn": 5, "other": 6}
    realm.close()


def test_endless_code_does_not_break_the_export() -> None:
    realm = _open()
    _run(realm, "const keep = 1; const bad = new Proxy({}, {ownKeys() { for (;;); }}); 0")
    with pytest.raises(EngineFailure):
        realm.values()
    assert _text(realm, "keep") == "1"
    realm.close()


def test_endless_builtins_do_not_break_the_export(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpstack_quickjs.webassembly.machine._GRACE_SECONDS", 0.1)
    realm = _open()
    _run(
        realm,
        "const keep = 1;"
        "const bad = new Proxy({}, {ownKeys() { [].indexOf.call({length: 2 ** 53 - 1}, 1); }}); 0",
    )
    with pytest.raises(EngineFailure, match="was stopped while it did 'values'"):
        realm.values()
    assert _text(realm, "keep") == "1"
    realm.close()


def test_own_names_only() -> None:
    realm = _open()
    assert list(realm.names()) == []
    _run(
        realm, "const a = 1; var b; function c() {}; class D {}; globalThis.e = 1; { let f = 1; } 0"
    )
    assert sorted(realm.names()) == ["D", "a", "b", "c", "e"]
    realm.close()


# -- limits --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    {
        "code": "for (;;);",
        "continuation": "await null; for (;;);",
        "getter while rendering": "({get a() { for (;;); }})",
        "toJSON in an argument": "class J { toJSON() { for (;;); } }; host.get(new J)",
        "getter in an argument": "host.get({get a() { for (;;); }})",
        "getter of the error": "throw {get a() { for (;;); }}",
    }.values(),
)
def test_the_cpu_limit_holds(source: str) -> None:
    realm = _open()
    _run(realm, "const keep = 1; 0")
    execution = realm.start(Cell(source=source))
    progress = execution.poll(0.0, 0.1)
    assert progress.exhausted
    assert progress.cpu_seconds >= 0.1
    execution.abort("out of time")
    assert _text(realm, "keep") == "1"
    realm.close()


def test_the_cpu_limit_holds_after_a_settlement() -> None:
    realm = _open()
    execution = realm.start(Cell(source="await host.get(1); for (;;);"))
    (request,) = execution.poll(0.0, 5.0).requests
    execution.settle([Settlement(request.id, "1")])
    assert execution.poll(0.0, 0.1).exhausted
    execution.abort("out of time")
    assert _text(realm, "1 + 1") == "2"
    realm.close()


@pytest.mark.parametrize("budget", [0.0, 1e-9])
def test_no_cpu_time_at_all(budget: float) -> None:
    realm = _open()
    _run(realm, "const keep = 1; 0")
    execution = realm.start(Cell(source="for (;;);"))
    assert execution.poll(0.0, budget).exhausted
    execution.abort("out of time")
    assert _text(realm, "keep") == "1"
    realm.close()


def test_answers_too_large_for_the_guest() -> None:
    realm = _open()
    _run(realm, "const keep = 1; 0")
    execution = realm.start(Cell(source="await host.get(1)"))
    (request,) = execution.poll(0.0, 1.0).requests
    execution.settle([Settlement(request.id, '"' + "x" * 15_000_000 + '"')])
    progress = execution.poll(0.0, 1.0)
    assert progress.failure is not None
    assert progress.failure.name == "OutOfMemory"
    assert progress.state == "undone"
    assert _text(realm, "keep") == "1"
    realm.close()


def test_memory_is_that_of_the_limit() -> None:
    realm = _open()
    assert _text(realm, "new Uint8Array(10e6).length") == "10000000"
    assert _run(realm, "new Uint8Array(16e6).length").error.name == "OutOfMemory"
    assert realm.live.guest.memory_bytes <= 16 * 2**20
    realm.close()


def test_closing_twice() -> None:
    realm = _open()
    realm.close()
    realm.close()
    assert realm.live.guest.memory_bytes == 0


def test_stale_bridges_are_gone_after_binding_others() -> None:
    realm = _open()
    _run(realm, "globalThis.kept = host.get; 0")
    realm.bind(
        BridgeRegistry([Bridge(name="tools.x", handler=lambda value: value, raw=True)]).freeze()
    )
    assert _text(realm, "[typeof host, typeof tools.x, Object.keys(globalThis)]") == (
        '["undefined", "function", ["kept"]]'
    )
    execution = realm.start(Cell(source="kept(1)"))
    assert execution.poll(0.0, 1.0).requests[0].bridge == "host.get"  # for the host to refuse
    realm.close()


def test_a_restored_guest_knows_its_bridges_and_limits() -> None:
    first = _open()
    _run(first, "const kept = host.get; 0")
    image = first.image()
    again = _open(image)
    assert again.image().data == image.data  # it was not told anew
    assert _text(again, "[kept === host.get, typeof host.other]") == '[true, "function"]'
    fewer = BridgeRegistry([Bridge(name="tools.x", handler=lambda value: value, raw=True)])
    other = QuickJSEngine().open(_LIMITS, fewer.freeze(), image)
    assert _text(other, "[typeof host, typeof tools.x]") == '["undefined", "function"]'
    short = QuickJSEngine().open(attrs.evolve(_LIMITS, console_chars=10), _offer(), image)
    assert short.image().data != image.data
    for realm in (first, again, other, short):
        realm.close()


@pytest.mark.parametrize("index", range(4))
def test_arrays_that_are_tampered_with_change_no_input(index: int) -> None:
    realm = _open()
    trap = "{set(v) { throw 1 }, get() { throw 2 }, configurable: true}"
    _run(realm, f"Object.defineProperty(Array.prototype, {index}, {trap}); 0")
    execution = realm.start(Cell(source="host.get({a: {b: [{c: 1}]}}); 0"))
    (request,) = execution.poll(0.0, 1.0).requests
    assert request.wire == {"a": {"b": [{"c": 1}]}}
    realm.close()


# -- reading values ------------------------------------------------------------------------


def test_a_state_is_as_it_was_after_its_values_are_read() -> None:
    realms = [_open(), _open()]
    for realm in realms:
        _run(realm, "let n = 1; const rows = Array.from({length: 50}, (_, i) => ({i})); 0")
        realm.image()
    assert realms[0].values()["n"] == 1
    for realm in realms:
        execution = realm.start(Cell(source="n = 2; rows.length = 0; await host.get(n)"))
        execution.poll(0.0, 1.0)
        execution.undo()
    assert [_text(realm, "[n, rows.length]") for realm in realms] == ["[1, 50]"] * 2
    assert realms[0].image().data == realms[1].image().data
    for realm in realms:
        realm.close()


@pytest.mark.parametrize(
    "value",
    [
        "{get x() { ran++; return 1 }}",
        "[[{k: {get y() { ran++; return 1 }}}]]",
        "new Map([[{get z() { ran++ }}, 1]])",
        "new Set([{set z(v) {}, get z() { ran++ }}])",
        "Object.assign(Object.create(null), {a: {get b() { ran++ }}})",
        "[{a: 1, set b(v) { ran++ }}]",
        "Array.from({length: 20000}, (_, i) => i ? 0 : {get x() { ran++ }})",
    ],
)
def test_values_with_accessors_are_not_read(value: str) -> None:
    realm = _open()
    made = _text(realm, f"globalThis.ran = 0; let it = {value}; ran")
    assert made == "0"
    lost = {"$": "lost", "v": "it is not serializable (type: accessor)"}
    assert realm.values() == {"ran": 0, "it": lost}
    realm.close()


@pytest.mark.parametrize("size", [10, 500_000])
def test_reading_values_leaves_nothing_behind(size: int) -> None:
    realm = _open()
    code = "globalThis.ran = 0; let c = new Proxy({a: 1}, {ownKeys: () => [['a', ran++][0]]});"
    assert _text(realm, f"{code} let big = 'x'.repeat({size}); 0") == "0"
    weight, stored = realm.live.guest.memory_bytes, len(realm.image().data)
    assert realm.values()["c"] == {"a": 1}
    assert realm.live.guest.memory_bytes == weight
    assert abs(len(realm.image().data) - stored) < 1000
    assert _text(realm, "[ran, big.length, c.a]") == f"[0, {size}, 1]"
    realm.close()
