"""A heap that an earlier cell left full: the next cell runs in another one, and says so."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import BridgeSet, Cell, InterpreterStack, Limits, Session

_FULL = "The guest's memory was full after the last cell: "
_RESTORED = f"{_FULL}variables were restored from their values; functions and classes are lost."
_LOST = "Variables were restored from their values; without a value, and so lost: twice."
_UNDONE = f"{_FULL}that cell's changes to variables were undone; functions and classes are lost."


@pytest.fixture
def limits() -> Limits:
    return Limits(memory_bytes=16 * 2**20, cpu_seconds=10, wall_seconds=120)


#: They end well, and what they leave takes its memory when it is looked at.
_LEAVE = {
    "one text": "var c = 'x'.repeat(3e8); c.length",
    "doubled": "var s = 'a'; try { for (;;) s += s } catch {} s.length",
    "concatenated": "var t = 'ab'; for (let i = 0; i < 27; i++) t = t + t; t.length",
}


@pytest.mark.parametrize("source", _LEAVE.values(), ids=_LEAVE)
async def test_the_next_cell_works_and_says_what_was_lost(session: Session, source: str) -> None:
    assert (await session.eval("var keep = 41; function twice(n) { return 2 * n } 1")).ok
    assert (await session.eval(source)).error is None
    after = await session.eval("keep + (await host.echo(1))")
    assert (after.error, after.text) == (None, "42")
    assert after.notices in ((_RESTORED, _LOST), (_UNDONE, _LOST), ())
    again = await session.eval("keep = keep + 1")
    assert (again.error, again.text, again.notices) == (None, "42", ())
    if after.notices:
        lost = (await session.eval("twice(1)")).error
        assert lost is not None
        assert lost.message == (
            "Value for 'twice' was not restored because it is not serializable (type: function)."
        )


def test_an_export_that_was_stopped_may_have_left_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    from interpstack_v8.engine import V8Engine

    realm = V8Engine().open(Limits(memory_bytes=16 * 2**20), BridgeSet())
    try:
        monkeypatch.setattr("interpstack_v8.heap.EXPORT_SECONDS", 0.001)
        source = "globalThis.p = Object.defineProperty([], 0, {get() { for (;;); }}); 1"
        assert realm.start(Cell(source=source)).poll(0.0, 5.0).completion is not None
        assert realm.start(Cell(source="1")).poll(0.0, 5.0).completion is not None
        assert realm.heap.left_bytes > 2**60
    finally:
        realm.close()


async def test_a_cell_that_fills_the_heap_itself_is_not_run_again(session: Session) -> None:
    source = "host.echo(1); globalThis.a = []; for (;;) a.push(new Uint8Array(1e5).fill(1))"
    error = (await session.eval(source)).error
    assert error is not None
    assert error.name == "OutOfMemory"
    after = await session.eval("typeof a")
    assert (after.error, after.text, after.notices) == (None, "undefined", ())


async def test_a_heap_lost_between_cells_runs_the_next_cell_once(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests of the run that nobody saw are not made."""
    from interpstack_v8.isolates.failures import IsolateGone
    from interpstack_v8.isolates.isolate import Isolate

    assert (await session.eval("var keep = 41")).ok
    send, left = Isolate.send, ["begin"]

    def gone(self: Isolate, kind: str, *args: Any, seconds: float | None) -> Any:
        future = send(self, kind, *args, seconds=seconds)
        if kind in left:
            left.remove(kind)
            future.result()
            raise IsolateGone("it was stopped while it was idle")
        return future

    monkeypatch.setattr(Isolate, "send", gone)
    after = await session.eval("console.log('once'); [keep, await host.echo(1)]")
    assert (after.error, after.text, after.console) == (None, "[41, 1]", "once")
    assert (after.notices, after.usage.requests) == ((_RESTORED,), 1)


def test_values_that_do_not_fit_a_new_heap_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from interpstack_v8.fresh_isolates import FreshIsolates

    limits = Limits(memory_bytes=16 * 2**20)
    with InterpreterStack(engine="v8", limits=limits) as stack, stack.session() as session:
        assert session.eval_sync("var keep = 41").ok
        monkeypatch.setattr(FreshIsolates, "fill", lambda self, isolate, values: False)
        source = "globalThis.a = []; for (;;) a.push(new Uint8Array(1e5).fill(1))"
        outcome = session.eval_sync(source)
        assert outcome.error is not None
        assert outcome.error.name == "OutOfMemory"
        assert outcome.notices == ("The guest's heap was lost, and all variables with it.",)
        assert session.eval_sync("typeof keep").text == "undefined"
