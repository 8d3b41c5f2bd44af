"""Workers killed at random while many sessions run cells."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from interpstack import InterpreterStack, bridge

#: The whole of it takes minutes.
LOAD = os.environ.get("INTERPSTACK_LOAD") == "1"
CELLS = 500 if LOAD else 40
#: Workers that are left alone, so that the short version gets somewhere.
SPARED = 0 if LOAD else 1
SESSIONS = 5
EVERY_SECONDS = 0.05


@contextmanager
def killing(engine: Any) -> Iterator[None]:
    """Kill one of the workers that are up, every 50 ms."""
    stop, chance = threading.Event(), random.Random(5)

    def kill() -> None:
        while not stop.wait(EVERY_SECONDS):
            up = [worker for worker in engine.pool.workers if worker.ready]
            if len(up) <= SPARED:
                continue
            worker = chance.choice(up)
            with worker._end_lock:  # until it is out, its number is its own
                if not worker.ended:
                    os.kill(worker.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        stop.set()
        killer.join()


@pytest.mark.timeout(1800 if LOAD else 240)
async def test_each_kill_costs_a_session_its_running_cell_at_most(
    make: Callable[..., InterpreterStack], workers: Any, until: Any
) -> None:
    made: list[tuple[str, int]] = []
    data = {"right": 0, "failed": 0}

    @bridge("kit.add")
    async def add(session: str, cell: int, count: int) -> int:
        made.append((session, cell))
        await asyncio.sleep(0.005)
        return count + 1

    stack = make(bridges=[add], options={"workers": 3})
    counts = dict.fromkeys((f"s{n}" for n in range(SESSIONS)), 0)

    async def run(key: str) -> None:
        session = stack.session(key)
        # on a slow machine all cells may be over before a worker is up to be killed
        for cell in itertools.count():
            if cell >= CELLS // SESSIONS and all(data.values()):
                break
            code = f"count = await kit.add({{session: '{key}', cell: {cell}, count}}); count"
            outcome = await asyncio.wait_for(session.eval(code), 120)
            if outcome.error is None:
                data["right"] += 1
                counts[key] += 1
                assert outcome.text == str(counts[key])
            else:
                data["failed"] += 1
                assert outcome.error.name == "EngineFailure"
                assert "worker process" in outcome.error.message

    for key in counts:
        assert (await stack.session(key).eval("let count = 0; count")).text == "0"
    with killing(stack.engine):
        await asyncio.gather(*map(run, counts))
    assert sum(data.values()) >= CELLS
    assert len(set(made)) == len(made)  # no call was made again
    for key, count in counts.items():
        assert (await stack.session(key).eval("count")).text == str(count)
    until(lambda: all(child.status() != psutil.STATUS_ZOMBIE for child in workers()))
    assert len(workers()) <= 3
