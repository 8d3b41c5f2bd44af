"""Tests of interpstack_javascript.turns.guest_threads."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from interpstack_javascript.turns import guest_threads as module
from interpstack_javascript.turns.guest_threads import IN_A_ROW, GuestThreads

_GUEST, _OTHER = 11, 22


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[GuestThreads]:
    """Threads of this test alone; as each turn is a short one, no slow machine changes a result."""
    monkeypatch.setattr(module, "IN_PLACE_SECONDS", 60.0)
    threads = GuestThreads()
    yield threads
    threads._stop()


def _nothing() -> None:
    """Interrupts nobody."""


async def _turns_of_loop(running: Any) -> int:
    """How often the loop came to its other work before something was done; 0 for in place."""
    count, loop = 0, asyncio.get_running_loop()
    ended = False

    def turn() -> None:
        nonlocal count
        if not ended:
            count += 1
            loop.call_soon(turn)

    loop.call_soon(turn)
    await running
    ended = True
    return count


async def _is_in_place(threads: GuestThreads, guest: int = _GUEST) -> bool:
    return await _turns_of_loop(threads.run(guest, _nothing, _nothing)) == 0


async def test_a_turn_runs_in_a_thread_and_its_end_is_that_of_the_call(
    threads: GuestThreads,
) -> None:
    for _ in range(2):  # the second one in place
        name = await threads.run(_GUEST, lambda: threading.current_thread().name, _nothing)
        assert name.startswith("interpstack-guest")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await threads.run(_GUEST, lambda: 1 / 0, _nothing)


async def test_the_loop_waits_in_place_while_one_guest_takes_short_turns(
    threads: GuestThreads,
) -> None:
    assert [await _is_in_place(threads) for _ in range(4)] == [False, True, True, True]
    assert not await _is_in_place(threads, _OTHER)
    assert [await _is_in_place(threads) for _ in range(2)] == [False, True]


async def test_after_some_turns_in_a_row_others_have_theirs(threads: GuestThreads) -> None:
    in_place = [await _is_in_place(threads) for _ in range(2 * IN_A_ROW + 1)]
    assert [at for at, one in enumerate(in_place) if not one] == [0, IN_A_ROW, 2 * IN_A_ROW]


async def test_after_a_long_turn_the_loop_goes_on(
    threads: GuestThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [await _is_in_place(threads) for _ in range(2)] == [False, True]
    monkeypatch.setattr(module, "IN_PLACE_SECONDS", 0.0)  # longer than that is every turn
    for _ in range(3):
        assert await threads.run(_GUEST, lambda: 7, _nothing) == 7
    monkeypatch.setattr(module, "IN_PLACE_SECONDS", 60.0)
    assert [await _is_in_place(threads) for _ in range(2)] == [False, True]


@pytest.mark.skipif(os.cpu_count() == 1, reason="there is one thread for guests")
async def test_the_loop_goes_on_while_another_guest_has_a_turn(threads: GuestThreads) -> None:
    begun, end = threading.Event(), threading.Event()

    def long() -> None:
        begun.set()
        end.wait(60)

    other = asyncio.ensure_future(threads.run(_OTHER, long, _nothing))
    await asyncio.to_thread(begun.wait, 60)
    assert [await _is_in_place(threads) for _ in range(3)] == [False, False, False]
    end.set()
    await other
    assert [await _is_in_place(threads) for _ in range(2)][1]


async def test_a_cancelled_guest_is_interrupted_and_waited_for(threads: GuestThreads) -> None:
    started, stop, ended = threading.Event(), threading.Event(), []

    def guest() -> None:
        started.set()
        stop.wait(60)
        ended.append(1)

    task = asyncio.ensure_future(threads.run(_GUEST, guest, stop.set))
    await asyncio.to_thread(started.wait, 60)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [1]


async def test_a_guest_that_is_cancelled_before_its_turn_never_runs(threads: GuestThreads) -> None:
    end, ran = threading.Event(), []
    busy = [
        asyncio.ensure_future(threads.run(number, lambda: end.wait(60), _nothing))
        for number in range(os.cpu_count() or 2)
    ]
    await asyncio.sleep(0)
    waiting = asyncio.ensure_future(
        threads.run(_GUEST, lambda: ran.append("guest"), lambda: ran.append("interrupt"))
    )
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    end.set()
    await asyncio.gather(*busy)
    assert await threads.run(_GUEST, lambda: 7, _nothing) == 7
    assert ran == []
    assert not threads._going


class _Alarm(Exception):
    """Raised by the handler of a signal."""


@pytest.mark.skipif(sys.platform == "win32", reason="a thread cannot signal another one")
async def test_a_signal_that_ends_the_wait_in_place_stops_the_guest_first(
    threads: GuestThreads,
) -> None:
    raised: list[int] = []

    def handler(*_: Any) -> None:
        if not raised:
            raised.append(1)
            raise _Alarm

    stop, ended, main = threading.Event(), [], threading.main_thread().ident
    if main is None or main != threading.get_ident():
        pytest.skip("handlers of signals run in the main thread")

    def guest() -> None:
        while not stop.wait(0.01):  # the first signal may come before the wait has begun
            signal.pthread_kill(main, signal.SIGUSR1)
        ended.append(1)

    assert [await _is_in_place(threads) for _ in range(2)] == [False, True]
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(_Alarm):
            await threads.run(_GUEST, guest, stop.set)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert ended == [1]


def test_a_loop_that_was_closed_does_no_harm_to_its_guests_thread(threads: GuestThreads) -> None:
    end = threading.Event()
    loop = asyncio.new_event_loop()
    task = loop.create_task(threads.run(_GUEST, lambda: end.wait(60), _nothing))
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    end.set()
    assert asyncio.run(threads.run(_OTHER, lambda: 7, _nothing)) == 7
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_threads_have_stopped_for_good_when_the_interpreter_ends(threads: GuestThreads) -> None:
    assert asyncio.run(threads.run(_GUEST, lambda: 7, _nothing)) == 7
    threads._stop()
    with pytest.raises(RuntimeError, match="the interpreter ends"):
        asyncio.run(threads.run(_GUEST, lambda: 7, _nothing))


def _ended(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_interpreter_ends_after_the_turn_that_runs() -> None:
    program = """
        import asyncio, threading
        from interpstack_javascript.turns.guest_threads import guest_threads

        begun, end = threading.Event(), threading.Event()

        def guest():
            begun.set()
            end.wait(1)
            print("the guest has ended", flush=True)

        async def main():
            asyncio.ensure_future(guest_threads.run(1, guest, end.set))
            while not begun.is_set():
                await asyncio.sleep(0.001)

        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        print("the program has ended", flush=True)
    """
    assert _ended(program) == "the program has ended\nthe guest has ended\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_child_of_a_fork_has_threads_of_its_own() -> None:
    program = """
        import asyncio, os
        from interpstack_javascript.turns.guest_threads import guest_threads

        def turn():
            return asyncio.run(guest_threads.run(1, lambda: 7, lambda: None))

        assert turn() == 7
        child = os.fork()
        os.write(1, (("parent" if child else "child") + f" {turn()}\\n").encode())
        if child:
            assert os.waitpid(child, 0)[1] == 0
    """
    assert sorted(_ended(program).splitlines()) == ["child 7", "parent 7"]


async def test_a_thread_is_started_when_all_others_are_busy(
    threads: GuestThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CORES", 2)
    end = threading.Event()

    def busy(number: int) -> asyncio.Future[None]:
        return asyncio.ensure_future(threads.run(number, lambda: end.wait(60) and None, _nothing))

    for guest in (_GUEST, _OTHER, _GUEST):
        await threads.run(guest, _nothing, _nothing)
    assert len(threads._threads) == 1
    waiting = []
    for number, expected in enumerate((1, 2, 2)):
        waiting.append(busy(number))
        await asyncio.sleep(0)
        assert len(threads._threads) == expected
    end.set()
    await asyncio.gather(*waiting)


async def test_a_turn_waits_for_a_thread_where_the_system_has_no_more(
    threads: GuestThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = threading.Event()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    started = threading.Thread.start
    monkeypatch.setattr(module, "_CORES", 2)
    monkeypatch.setattr(module.threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="new thread"):
        await threads.run(_GUEST, _nothing, _nothing)
    assert not threads._going
    monkeypatch.setattr(module.threading.Thread, "start", started)
    busy = asyncio.ensure_future(threads.run(_GUEST, lambda: end.wait(60), _nothing))
    await asyncio.sleep(0)
    monkeypatch.setattr(module.threading.Thread, "start", refuse)
    second = asyncio.ensure_future(threads.run(_OTHER, lambda: 7, _nothing))
    await asyncio.sleep(0)
    end.set()
    assert await busy
    assert await second == 7
