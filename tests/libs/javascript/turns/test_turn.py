"""Tests of interpstack_javascript.turns.turn."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import Any

import pytest

from interpstack_javascript.turns.turn import ThreadCall, Wakes


def test_the_value_or_the_exception_is_there_at_the_end() -> None:
    turn = ThreadCall(1, 0, lambda: 6 * 7)
    assert not turn.done()
    turn.run()
    assert not turn.done()
    turn.end()
    assert turn.done()
    assert turn.done(-1)
    assert turn.result() == 42
    failed = ThreadCall(1, 0, lambda: 1 / 0)
    failed.run()
    failed.end()
    with pytest.raises(ZeroDivisionError):
        failed.result()


def test_a_turn_is_cancelled_before_it_begins_or_not_at_all() -> None:
    ran: list[int] = []
    turn = ThreadCall(1, 0, lambda: ran.append(1))
    assert turn.cancel()
    turn.run()
    turn.end()
    assert turn.done()
    assert ran == []
    turn = ThreadCall(1, 0, lambda: ran.append(2))
    turn.run()
    assert not turn.cancel()
    assert ran == [2]


def test_whoever_wants_to_be_woken_is_woken_once_the_turn_has_ended() -> None:
    woken: list[str] = []
    turn = ThreadCall(1, 0, lambda: None)
    turn.wake(lambda: woken.append("at the end"))
    turn.run()
    assert woken == []
    turn.end()
    assert woken == ["at the end"]
    turn.wake(lambda: woken.append("at once"))
    assert woken == ["at the end", "at once"]


def test_another_thread_waits_for_the_end() -> None:
    turn = ThreadCall(1, 0, lambda: None)
    ended: list[bool] = []
    waiter = threading.Thread(target=lambda: ended.append(turn.done(60)))
    waiter.start()
    turn.run()
    turn.end()
    waiter.join(60)
    assert ended == [True]


class _Guest:
    def fail(self) -> None:
        raise ValueError("no")


def test_an_ended_turn_holds_nothing_of_its_guest() -> None:
    guest = _Guest()
    gone = weakref.ref(guest)
    turn = ThreadCall(1, 0, guest.fail)
    turn.run()
    turn.end()
    del guest
    gc.disable()  # the exception's traceback must not be part of a circle
    try:
        with pytest.raises(ValueError, match="no") as caught:
            turn.result()
        del caught
        assert gone() is None
    finally:
        gc.enable()


# -- the wakes of a loop ---------------------------------------------------------------------


class _Loop:
    """Notes what it is asked to call."""

    def __init__(self, closed: bool = False) -> None:
        self.asked: list[Any] = []
        self._closed = closed

    def call_soon_threadsafe(self, function: Any) -> None:
        if self._closed:
            raise RuntimeError("Event loop is closed")
        self.asked.append(function)

    call_soon = call_soon_threadsafe


class _Event:
    """Set by a loop, at which it may raise."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.is_set = False
        self._error = error

    def set(self) -> None:
        if self._error is not None:
            raise self._error
        self.is_set = True


def _made(**options: bool) -> tuple[_Loop, Any]:
    loop: Any = _Loop(**options)
    return loop, Wakes(loop)


def test_a_loop_is_woken_once_for_several_events() -> None:
    loop, wakes = _made()
    first = [_Event() for _ in range(3)]
    for event in first:
        wakes.wake(event)
    assert len(loop.asked) == 1
    loop.asked.pop()()
    assert all(event.is_set for event in first)
    later = _Event()
    wakes.wake(later)
    assert len(loop.asked) == 1
    loop.asked.pop()()
    assert later.is_set


def test_events_behind_one_whose_setting_was_interrupted_are_set_later() -> None:
    loop, wakes = _made()
    behind = _Event()
    wakes.wake(_Event(KeyboardInterrupt()))
    wakes.wake(behind)
    with pytest.raises(KeyboardInterrupt):
        loop.asked.pop()()
    assert not behind.is_set
    loop.asked.pop()()
    assert behind.is_set
    assert loop.asked == []


def test_a_closed_loop_is_left_alone() -> None:
    loop, wakes = _made(closed=True)
    wakes.wake(_Event())
    assert loop.asked == []


async def test_no_event_of_many_threads_is_missed() -> None:
    wakes = Wakes(asyncio.get_running_loop())

    def wake(events: list[asyncio.Event]) -> None:
        for event in events:
            wakes.wake(event)

    events = [asyncio.Event() for _ in range(4000)]
    threads = [threading.Thread(target=wake, args=(events[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    async with asyncio.timeout(60):
        for event in events:
            await event.wait()
    for thread in threads:
        thread.join()
