"""Tests of interpstack_v8.isolates.owner: one thread, its loop, and its end."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

from interpstack import EngineFailure
from interpstack_v8.isolates import endings
from interpstack_v8.isolates import owner as module
from interpstack_v8.isolates.endings import DeliveryLoop
from interpstack_v8.isolates.owner import Owner, owner, refuse_forked


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Owner]]:
    """Owners of their own, which use no V8."""
    loops = []

    def new_loop() -> DeliveryLoop:
        loops.append(DeliveryLoop())
        return loops[-1]

    monkeypatch.setattr(module, "DeliveryLoop", new_loop)
    monkeypatch.setattr(module, "ready_platform", lambda: None)
    monkeypatch.setattr(module.atexit, "register", lambda close: None)
    # the isolates of other tests stay open
    monkeypatch.setattr(endings, "isolate_threads", lambda: 0)
    made: list[Owner] = []

    def start() -> Owner:
        made.append(Owner())
        return made[-1]

    yield start
    for each in made:
        each._close()
    for loop in loops:
        loop.close()


async def _thread() -> str:
    return threading.current_thread().name


def test_a_process_has_one_owner() -> None:
    assert owner() is owner()


def test_everything_runs_in_one_thread_and_answers_here(make: Any) -> None:
    made = make()
    assert made.call(_thread()) == "interpstack-v8"
    assert made.call(asyncio.sleep(0, 42)) == 42

    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        made.call(fail())


def test_work_that_nobody_waits_for_runs(make: Any) -> None:
    done = threading.Event()

    async def work() -> None:
        done.set()

    make().spawn(work())
    assert done.wait(30)


def test_what_is_open_is_closed_at_the_end_and_nothing_runs_after_it(make: Any) -> None:
    made, closed = make(), []

    async def first() -> None:
        closed.append("first")

    async def second() -> None:
        closed.append("second")

    made.adopt(first)
    made.adopt(second)
    made.release(first)
    assert not made.gone
    made._close()
    made._close()
    assert (closed, made.gone) == (["second"], True)
    assert not made._thread.is_alive()
    for use in (made.call, made.spawn):
        with pytest.raises(EngineFailure, match="because the process is ending"):
            use(_thread())


def test_unfinished_work_is_cancelled_with_the_end(make: Any) -> None:
    made, seen = make(), []
    begun = threading.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    made.spawn(endless())
    assert begun.wait(30)
    made._close()
    assert seen == ["cancelled"]


def test_a_closing_that_hangs_keeps_no_process(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CLOSING_SECONDS", 0.01)
    made = make()

    async def hangs() -> None:
        await asyncio.sleep(3600)

    made.adopt(hangs)
    made._close()
    assert not made._thread.is_alive()


def test_a_fork_refuses_and_closes_nothing(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        assert made.gone
        for use in (made.call, made.spawn):
            with pytest.raises(EngineFailure, match="before it was forked"):
                use(_thread())
        made._close()
    assert made.call(_thread()) == "interpstack-v8"


def test_refusals_name_what_to_do_instead() -> None:
    refuse_forked(os.getpid())
    with pytest.raises(EngineFailure, match="start processes with 'spawn', or use engine='process"):
        refuse_forked(os.getpid() + 1)


def test_a_child_has_a_lock_of_its_own() -> None:
    before = module._lock
    with before:
        module._start_anew()
        assert owner() is not None  # it waits for no thread of the parent
    assert module._lock is not before


def test_v8_that_cannot_start_leaves_no_thread(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise EngineFailure("V8 cannot be started")

    monkeypatch.setattr(module, "ready_platform", refuse)
    before = set(threading.enumerate())
    with pytest.raises(EngineFailure, match="V8 cannot be started"):
        make()
    assert not {each for each in set(threading.enumerate()) - before if "v8" in each.name}
