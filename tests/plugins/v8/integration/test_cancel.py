"""Cancelling a cell while V8 computes, which nothing stops before its time is up."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from interpstack import Cell, HostOffer, InterpreterStack, Limits, Session
from interpstack_v8.isolates import abandoned as abandonment
from interpstack_v8.isolates.abandoned import abandoned
from interpstack_v8.isolates.host_functions import HostFunctions

#: Seconds that a cell may compute: its thread goes on as long, and takes them from other tests.
_COMPUTES = 5.0
#: Seconds that a cell in a worker may compute, and the shorter time in which its process has ended.
_COMPUTES_ELSEWHERE = 120.0
_CANCELLED = 60.0

COMPUTES = {
    "a loop": "for (;;) {}",
    "jobs": "for (;;) await null",
    "a regex": "/(a*)*b/.test('a'.repeat(40))",
    "a builtin that asks nobody": "Array.prototype.indexOf.call({length: 3e10}, 1)",
    "after an answer": "await host.echo(1); for (;;) {}",
}


@pytest.fixture
def limits() -> Limits:
    return Limits(cpu_seconds=_COMPUTES, wall_seconds=120)


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """Threads of one test do not count in the next."""
    before = set(abandonment._abandoned)
    abandonment._abandoned.clear()
    yield
    abandonment._abandoned |= before
    abandonment._abandoned -= {one for one in before if one._closing is not None}  # ended meanwhile


async def _cancel(session: Session, source: str, wait: float = 0.3) -> float:
    """Cancel a cell that computes; how long that took."""
    running = asyncio.ensure_future(session.eval(source))
    await asyncio.sleep(wait)
    begun = time.monotonic()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, _CANCELLED)
    return time.monotonic() - begun


@pytest.mark.parametrize("source", COMPUTES.values(), ids=COMPUTES)
async def test_a_cell_that_computes_is_left(session: Session, source: str) -> None:
    # What prepares cells that await is made for the first of them, and takes its time.
    assert (await session.eval("var keep = await 41; function twice(n) { return 2 * n } 1")).ok
    await _cancel(session, f"keep = 0; {source}")
    assert abandoned() == 1
    after = await session.eval("keep + 1")
    assert (after.text, after.error) == ("42", None)
    assert after.notices == (
        "A cancelled cell did not stop: variables were reset to their values from before this "
        "cell; functions and classes are lost.",
        "Variables were restored from their values; without a value, and so lost: twice.",
    )
    lost = (await session.eval("twice(1)")).error
    assert lost is not None
    assert "was not restored because it is not serializable" in lost.message


async def test_a_cell_that_ends_by_itself_keeps_what_it_did(session: Session) -> None:
    source = "var made = () => 7; const end = Date.now() + 5000; while (Date.now() < end); 1"
    assert (await session.eval("1")).ok
    running = asyncio.ensure_future(session.eval(source))
    await asyncio.sleep(0)
    await running
    after = await session.eval("made()")
    assert (after.text, after.notices, abandoned()) == ("7", (), 0)


async def test_waiting_cells_are_not_given_up(session: Session) -> None:
    await session.eval("var made = () => 7")
    await _cancel(session, "await new Promise(done => setTimeout(done, 60000))")
    after = await session.eval("made()")
    assert (after.text, after.notices, abandoned()) == ("7", (), 0)


def test_a_thread_that_was_left_ends_with_its_time() -> None:
    with InterpreterStack("v8", limits=Limits(cpu_seconds=1.0)) as stack:
        realm = stack.engine.open(stack.limits, stack.bridge_set(HostOffer()))
        execution = realm.start(Cell(source="for (;;) {}", seed=1))
        _interrupt_soon(execution)
        assert execution.poll(0.0, 1.0).exhausted
        assert stack.engine.abandoned == 1  # type: ignore[attr-defined]
        for _ in range(600):
            if not abandoned():
                break
            time.sleep(0.1)
        assert stack.engine.abandoned == 0  # type: ignore[attr-defined]
        realm.close()


def test_a_thread_that_was_left_calls_no_host_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may stop when Python has ended already, and would abort the process."""
    parked: list[HostFunctions] = []
    park = HostFunctions._park

    def counted(host: HostFunctions) -> None:
        parked.append(host)
        park(host)

    monkeypatch.setattr(HostFunctions, "_park", counted)
    with InterpreterStack("v8", limits=Limits(cpu_seconds=1.0)) as stack:
        realm = stack.engine.open(stack.limits, stack.bridge_set(HostOffer()))
        for _ in range(600):  # jsrun may run a cell that comes at once before the thread parks
            if len(parked) == 2:  # after the set-up and after `bind`
                break
            time.sleep(0.1)
        execution = realm.start(Cell(source="for (;;) {}", seed=1))
        _interrupt_soon(execution)
        assert execution.poll(0.0, 1.0).exhausted
        (left,) = abandonment._abandoned
        before = parked.count(left._host)
        assert before == 2
        for _ in range(600):
            if left._closing is not None and left._closing.done():
                break
            time.sleep(0.1)
        assert left._closing is not None
        assert left._closing.done()
        assert parked.count(left._host) == before
        realm.close()


def test_no_more_threads_are_left_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpstack_v8.isolates.isolate.MAX_ABANDONED", 0)
    with InterpreterStack("v8") as stack:
        realm = stack.engine.open(stack.limits, stack.bridge_set(HostOffer()))
        execution = realm.start(Cell(source="for (;;) {}", seed=1))
        _interrupt_soon(execution)
        progress = execution.poll(0.0, 1.0)  # to the end of its time
        assert (progress.exhausted, abandoned()) == (True, 0)
        assert progress.cpu_seconds >= 0.9
        assert execution.abort("cancelled").failure is None
        realm.close()


def _interrupt_soon(execution: Any) -> None:
    threading.Timer(0.2, execution.interrupt).start()


async def test_in_a_worker_its_process_is_ended() -> None:
    pytest.importorskip("resource")
    limits = Limits(cpu_seconds=_COMPUTES_ELSEWHERE, wall_seconds=240)
    with InterpreterStack("process:v8", limits=limits) as stack:
        session = stack.session("x")
        assert (await session.eval("var keep = 41; 1")).ok
        await _cancel(session, "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)")
        assert (await session.eval("keep + 1")).text == "42"
