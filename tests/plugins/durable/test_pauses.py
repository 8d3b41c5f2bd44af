"""A pause waits for calls at work, as long as it and the limits allow."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from interpstack import Cell, Progress, Request
from interpstack_durable.api import MemoryJournalStore
from interpstack_durable.cell_journal import CellJournal
from interpstack_durable.entries import Computed
from interpstack_durable.pauses import GuestTimes, quiesce


def _run(*calls: tuple[str, Any], wall: float | None = None) -> Any:
    open_calls = {
        number: (Request(number, bridge, None), asyncio.ensure_future(work))
        for number, (bridge, work) in enumerate(calls, 1)
    }
    return SimpleNamespace(
        requests=SimpleNamespace(open=open_calls), clock=SimpleNamespace(wall_left=lambda: wall)
    )


class Journal(CellJournal):
    """A journal that notes the reported times."""

    times: list[Computed]

    def computed(self, times: Computed) -> None:
        self.times.append(times)


def _times() -> tuple[GuestTimes, list[Computed]]:
    journal = Journal(MemoryJournalStore("cell"), Cell(source="1"))
    journal.times = []
    return GuestTimes(journal), journal.times


async def test_computing_is_measured_around_the_guest() -> None:
    measured, times = _times()
    within = []

    async def guest() -> Progress:
        within.append(time.time())
        return Progress()

    assert await measured.of(guest) == Progress()
    ((began, ended),) = times
    assert began <= within[0] <= ended
    assert measured.last == (began, ended)


async def test_a_guest_that_is_stopped_leaves_the_time_before() -> None:
    measured, times = _times()
    measured.noted(None)
    assert (measured.last, times) == (None, [])
    measured.noted((1.0, 2.0))

    async def guest() -> Progress:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await measured.of(guest)
    assert (measured.last, times) == ((1.0, 2.0), [(1.0, 2.0)])


async def _nothing() -> bool:
    return False


async def test_calls_at_work_are_waited_for_and_timers_are_not() -> None:
    ended = []

    async def work() -> None:
        await asyncio.sleep(0)
        ended.append(1)

    run = _run(("kit.f", work()), ("timer", asyncio.sleep(600)))
    await quiesce(run, 60, _nothing)
    assert ended == [1]
    run.requests.open[2][1].cancel()


async def test_answers_that_come_meanwhile_are_kept_at_once() -> None:
    kept = []

    async def keep() -> bool:
        kept.append(1)
        return len(kept) == 1

    await quiesce(_run(("kit.f", asyncio.sleep(0))), 60, keep)
    assert len(kept) >= 2


async def test_a_call_that_takes_longer_is_left() -> None:
    for grace, wall in ((0, None), (60, -1.0)):
        run = _run(("kit.f", asyncio.sleep(600)), wall=wall)
        await quiesce(run, grace, _nothing)
        (task,) = [task for _, task in run.requests.open.values()]
        assert not task.done()
        task.cancel()
