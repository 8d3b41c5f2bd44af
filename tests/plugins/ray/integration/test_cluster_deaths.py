"""Sessions on a real Ray cluster whose actors and nodes die. Needs the extra `ray`.

The size depends on the environment: with `INTERPSTACK_LOAD=1`, 500 sessions run ten cells each.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest
from clusters import local_cluster, nodes

from interpstack import InterpreterStack, Outcome, bridge

pytest.importorskip("ray")

FULL = os.environ.get("INTERPSTACK_LOAD") == "1"
SESSIONS, CELLS = (500, 10) if FULL else (24, 4)
AT_ONCE = 32
#: Files that Ray may open meanwhile, such as for an actor more and for what it logs.
_FILES = 16

#: The outside log: each effect of each cell, by the name that the guest gave it.
_effects: Counter[str] = Counter()


@bridge("log.write")
async def write(name: str) -> int:
    _effects[name] += 1
    await asyncio.sleep(0.005)
    return 1


#: Adds up what its effects return, so that a variable tells how many cells have counted.
_CELL = "globalThis.count = (globalThis.count ?? 0) + await log.write({{name: '{0}'}}); count"


@pytest.fixture(autouse=True)
def no_effects() -> None:
    _effects.clear()


def _stack(**options: Any) -> InterpreterStack:
    return InterpreterStack(
        "ray:quickjs", bridges=[write], max_live_sessions=SESSIONS, options=options
    )


async def _work(stack: InterpreterStack, turn: asyncio.Semaphore, key: str) -> list[str]:
    """Run the cells of one session; returns the words for whatever is wrong."""
    session, wrong, expected = stack.session(key), list[str](), 0
    for number in range(CELLS):
        name = f"{key}/{number}"
        async with turn:
            outcome = await session.eval(_CELL.format(name))
        wrong += _wrong(name, outcome, expected)
        expected += outcome.error is None
    return wrong


def _wrong(name: str, outcome: Outcome, expected: int) -> list[str]:
    found = [f"{name}: {_effects[name]} effects"] if _effects[name] > 1 else []
    if outcome.error is None:
        if outcome.text != str(expected + 1) or _effects[name] != 1:
            found.append(f"{name}: {outcome.text} instead of {expected + 1}, {outcome.notices}")
    elif outcome.error.name not in ("EngineFailure", "Overloaded") or outcome.state != "undone":
        found.append(f"{name}: {outcome.error}, {outcome.state}")
    return found


async def _all(stack: InterpreterStack) -> list[str]:
    turn = asyncio.Semaphore(AT_ONCE)
    working = [_work(stack, turn, f"session {number}") for number in range(SESSIONS)]
    return [one for wrong in await asyncio.gather(*working) for one in wrong]


@asynccontextmanager
async def _beside(disturb: Any) -> AsyncIterator[None]:
    task = asyncio.ensure_future(disturb)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _kill_actors(stack: InterpreterStack, killed: list[int], pause: float) -> None:
    engine: Any = stack.engine
    while True:
        await asyncio.sleep(pause)
        there = [actor.about["pid"] for actor in engine.pool.actors if actor.ready]
        if there:
            killed.append(there[len(killed) % len(there)])
            os.kill(killed[-1], signal.SIGKILL)


def _owners(stack: InterpreterStack) -> list[int]:
    engine: Any = stack.engine
    return [number for actor in engine.pool.actors for number in actor.realms]


def _wait_for_files(most: int) -> None:
    """Wait until this process has no more files open: Ray closes connections of the dead late."""
    end = time.monotonic() + 120
    while psutil.Process().num_fds() > most:
        assert time.monotonic() < end, f"{psutil.Process().num_fds()} files, more than {most}"
        time.sleep(0.5)


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """All actors of the cluster are gone, and no thread of an engine is left."""
    yield
    left = [one.name for one in threading.enumerate() if one.name.startswith("interpstack-ray-w")]
    assert left == []


@pytest.mark.usefixtures("nothing_left")
def test_actors_that_are_killed_again_and_again_cost_no_effect_twice() -> None:
    with local_cluster(cpus=4):
        stack, killed = _stack(min_actors=2, max_actors=4), list[int]()

        async def main() -> None:
            async with stack:
                assert await _all(stack) == []  # all threads and connections are there
                before = psutil.Process().num_fds()
                await _anew(stack)
                async with _beside(_kill_actors(stack, killed, 0.1 if FULL else 0.5)):
                    assert await _all(stack) == []
                owners = _owners(stack)
                assert len(owners) == len(set(owners)) <= SESSIONS
                await asyncio.to_thread(_wait_for_files, before + _FILES)

        asyncio.run(main())
        assert len(killed) >= 2
        assert not any(psutil.pid_exists(pid) for pid in killed)


@pytest.mark.usefixtures("nothing_left")
def test_a_node_dies_and_another_joins() -> None:
    with nodes(3) as cluster, ThreadPoolExecutor(1) as threads:
        stack = _stack(min_actors=3, max_actors=3, actor_options={"resources": {"guests": 1}})
        changed = threading.Event()
        running = threads.submit(asyncio.run, _until_changed(stack, changed))
        try:
            _until_ready(stack, 3)
            cluster.lose_one()
            cluster.add_one()
            _until_ready(stack, 3)
        finally:
            changed.set()
        rounds, wrong = running.result(600)
        assert wrong == []
        assert rounds >= 1
        owners = _owners(stack)
        assert len(owners) == len(set(owners)) <= SESSIONS
        stack.close()


async def _until_changed(
    stack: InterpreterStack, changed: threading.Event
) -> tuple[int, list[str]]:
    """Let all sessions work again and again, once after the nodes have changed, too."""
    rounds, wrong = 0, list[str]()
    while not wrong:
        last = changed.is_set()
        wrong = await _all(stack)
        if last:
            break
        rounds += 1
        await _anew(stack)
    return rounds, wrong


async def _anew(stack: InterpreterStack) -> None:
    """Let all sessions begin anew."""
    _effects.clear()
    await asyncio.gather(*(stack.session(f"session {n}").reset() for n in range(SESSIONS)))


def _until_ready(stack: InterpreterStack, count: int) -> None:
    engine: Any = stack.engine
    end = time.monotonic() + 120
    while sum(actor.ready for actor in engine.pool.actors) < count:
        assert time.monotonic() < end
        time.sleep(0.05)
