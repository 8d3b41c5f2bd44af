"""Whatever a poll of V8 meets is an outcome: nothing of jsrun, or of this plugin, comes out."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

import jsrun

from interpstack import BridgeSet, Cell, EngineFailure, Limits, Progress, Realm, Session
from interpstack_v8.isolates.failures import CellTimeout, IsolateGone, IsolateLost, OutOfHeap
from interpstack_v8.isolates.isolate import Isolate
from interpstack_v8.realm import V8Realm


def _fail(patch: pytest.MonkeyPatch, isolate: Isolate, kind: str, end: Any) -> None:
    """Have each command of a kind, and each second look, end with a value or an exception."""
    begin, kinds = Isolate._begin, (f',"{kind}"', ',"look"')

    def begins(self: Isolate, script: str, timeout: float | None) -> asyncio.Future[Any]:
        if self is not isolate or not any(each in script for each in kinds):
            return begin(self, script, timeout)
        ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if isinstance(end, asyncio.CancelledError):
            ended.cancel()
        elif isinstance(end, BaseException):
            ended.set_exception(end)
        else:
            ended.set_result(end)
        return ended

    patch.setattr(Isolate, "_begin", begins)


def _isolate(realm: Realm) -> Isolate:
    assert isinstance(realm, V8Realm)
    return realm.heap.isolate


async def _realm_of(session: Session) -> V8Realm:
    realm = await session._state.ready()
    assert isinstance(realm, V8Realm)
    return realm


_ENDS = {
    "RuntimeError": (RuntimeError("it broke"), "EngineFailure", "it broke"),
    "timed out": (RuntimeError("Evaluation timed out after 1 ms"), "Timeout", ""),
    "stopped in a module": (RuntimeError("Failed to get property 'x'"), "Timeout", ""),
    "terminated": (jsrun.RuntimeTerminated("Heap limit exceeded"), "OutOfMemory", "64 MiB"),
    "JavaScriptError": (jsrun.JavaScriptError("Error: x"), "EngineFailure", "Error: x"),
    "rejections": (
        jsrun.JavaScriptError("RangeError: Maximum call stack size exceeded"),
        "EngineFailure",
        "Maximum call stack size exceeded",
    ),
    "ValueError": (ValueError("no value"), "EngineFailure", "no value"),
    "TypeError": (TypeError("no type"), "EngineFailure", "no type"),
    "UnicodeError": (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), "EngineFailure", "no"),
    "MemoryError": (MemoryError(), "EngineFailure", "MemoryError()"),
    "RecursionError": (RecursionError("too deep"), "EngineFailure", "too deep"),
    "EngineFailure": (EngineFailure("it broke"), "EngineFailure", "it broke"),
    "no answer": ({}, "EngineFailure", "'answer'"),
    "nothing": (None, "EngineFailure", "NoneType"),
    "null as answer": ({"answer": None}, "EngineFailure", "answered nothing"),
    "too few parts": ({"answer": ["{}"]}, "EngineFailure", "answer"),
    "no numbers": ({"answer": ["{}", float("nan"), 0]}, "EngineFailure", "NaN"),
    "no JSON": ({"answer": ["{", 0, 0]}, "EngineFailure", "damaged"),
    "other JSON": ({"answer": ["[]", 0, 0]}, "EngineFailure", "damaged"),
    "no text": ({"answer": [5, 0, 0]}, "EngineFailure", ""),
}


@pytest.mark.parametrize("kind", ["begin", "resume"])
@pytest.mark.parametrize(("end", "name", "message"), _ENDS.values(), ids=_ENDS)
async def test_whatever_a_command_ends_with_is_an_outcome(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    end: Any,
    name: str,
    message: str,
) -> None:
    assert (await session.eval("var keep = 41; const twice = (n) => 2 * n")).ok
    _fail(monkeypatch, (await _realm_of(session)).heap.isolate, kind, end)
    outcome = await session.eval("keep = 5; await host.echo(1)")
    assert outcome.error is not None
    assert (outcome.error.name, message in outcome.error.message) == (name, True), outcome.error
    if name == "Timeout":
        return  # a cell that was stopped keeps its heap, in which the command always fails here
    assert outcome.state == "undone"
    after = await session.eval("keep + (await host.echo(1))")
    assert (after.error, after.text) == (None, "42")


@pytest.mark.parametrize(
    "error", [IsolateLost("x"), IsolateGone("x"), OutOfHeap("x"), CellTimeout()]
)
def test_a_lost_heap_under_a_bind_is_replaced(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of a cell: it says so with the next one."""
    from interpstack_v8.engine import V8Engine

    realm = V8Engine().open(Limits(), BridgeSet())
    try:
        assert _poll(realm, "var keep = 41; 1").completion is not None
        old = _isolate(realm)
        enter = Isolate.enter

        def fails(self: Isolate, kind: str, *args: Any, seconds: float | None) -> Any:
            if self is old and args and args[0].startswith('["bind"'):
                raise error
            return enter(self, kind, *args, seconds=seconds)

        monkeypatch.setattr(Isolate, "enter", fails)
        realm.heap._fresh._offered = ""  # type: ignore[attr-defined]
        realm.bind(BridgeSet())
        assert _isolate(realm) is not old
        progress = _poll(realm, "keep + 1")
        assert progress.completion is not None
        assert "functions and classes are lost" in progress.notices[0]
    finally:
        realm.close()


def test_a_new_heap_that_takes_no_bridges_is_an_engine_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from interpstack_v8.engine import V8Engine

    def fails(self: Isolate, kind: str, *args: Any, seconds: float | None) -> Any:
        raise CellTimeout

    monkeypatch.setattr(Isolate, "enter", fails)
    with pytest.raises(EngineFailure, match="a new heap cannot be used"):
        V8Engine().open(Limits(), BridgeSet())


def test_a_command_whose_task_is_cancelled_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the process ends: whoever waits for the answer waits no longer."""
    from interpstack_v8.engine import V8Engine

    realm = V8Engine().open(Limits(), BridgeSet())
    try:
        isolate = _isolate(realm)
        isolate.enter("say", '["names"]', seconds=5.0)
        _fail(monkeypatch, isolate, "look", asyncio.CancelledError())
        with pytest.raises(EngineFailure, match="the guest's answer was lost"):
            isolate.send("look", seconds=5.0).result(30)
    finally:
        realm.close()


def _poll(realm: Realm, source: str) -> Progress:
    execution = realm.start(Cell(source=source))
    progress = execution.poll(time.time(), 5.0)
    execution.abort("the cell has ended")
    return progress
