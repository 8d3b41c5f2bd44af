"""Alarms ring in their order, once, unless they were cleared."""

from __future__ import annotations

import asyncio
import time

from workflow_runs import until

from interpstack_workflows.runs.keeping.alarms import Alarms


async def test_alarms_ring_in_the_order_of_their_times() -> None:
    rung: list[str] = []
    alarms = Alarms(rung.append)
    now = time.time()
    for key, late in (("c", 0.06), ("a", 0.02), ("b", 0.04), ("past", -5.0)):
        alarms.set(key, now + late)
    assert len(alarms) == 4
    await until(lambda: len(rung) == 4)
    assert rung == ["past", "a", "b", "c"]
    assert len(alarms) == 0


async def test_a_later_time_replaces_an_earlier_one() -> None:
    rung: list[str] = []
    alarms = Alarms(rung.append)
    alarms.set("a", time.time() + 0.01)
    alarms.set("a", time.time() + 3600)
    alarms.set("b", time.time() + 0.01)
    alarms.set("c", time.time() + 0.01)
    alarms.clear("b")
    await until(lambda: rung)
    await asyncio.sleep(0.02)
    assert rung == ["c"]
    alarms.close()
    assert len(alarms) == 0


async def test_cleared_alarms_take_no_room() -> None:
    alarms = Alarms(lambda key: None)
    for index in range(10_000):
        alarms.set("one", time.time() + 1000 + index)
    assert len(alarms._heap) < 200
    alarms.close()


async def test_a_clock_that_is_set_forward_rings_at_the_next_look() -> None:
    times = [0.0]
    rung: list[str] = []
    alarms = Alarms(rung.append, lambda: times[0])
    alarms.set("a", 1000.0)
    times[0] = 2000.0
    alarms._due()
    assert rung == ["a"]
