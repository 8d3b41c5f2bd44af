"""Alarms ring in their order, once, unless they were cleared."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

from workflow_runs import until

from interpstack_workflows.runs.supervision.alarms import Alarms
from interpstack_workflows.runs.supervision.pacing import Pace


async def test_alarms_ring_in_the_order_of_their_times() -> None:
    rung: list[str] = []
    alarms = Alarms(lambda key, when: rung.append(key), Pace(0, 10))
    now = time.time()
    for key, late in (("c", 0.06), ("a", 0.02), ("b", 0.04), ("past", -5.0)):
        alarms.set(key, now + late)
    assert len(alarms) == 4
    await until(lambda: len(rung) == 4)
    assert rung == ["past", "a", "b", "c"]
    assert len(alarms) == 0


async def test_a_later_time_replaces_an_earlier_one() -> None:
    rung: list[str] = []
    alarms = Alarms(lambda key, when: rung.append(key), Pace(0, 10))
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
    alarms = Alarms(lambda key, when: None, Pace(0, 10))
    for index in range(10_000):
        alarms.set("one", time.time() + 1000 + index)
    assert len(alarms._sorted) < 200
    alarms.close()


async def test_a_clock_that_is_set_forward_rings_at_the_next_check() -> None:
    times = [0.0]
    rung: list[str] = []
    alarms = Alarms(lambda key, when: rung.append(key), Pace(0, 10), lambda: times[0])
    alarms.set("a", 1000.0)
    times[0] = 2000.0
    alarms._due()
    assert rung == ["a"]


async def test_alarms_that_are_due_together_ring_before_their_time_one_after_another() -> None:
    times = [900.0]
    rung: list[tuple[float, str]] = []
    pace = Pace(1, 1000)
    alarms = Alarms(lambda key, when: rung.append((times[0], key)), pace, lambda: times[0])
    for number in range(100):
        alarms.set(f"{number:02}", 1000.0)
    while len(rung) < 100:
        times[0] += 0.005
        alarms._due()
    assert [key for _, key in rung] == [f"{number:02}" for number in range(100)]
    assert 1000 - rung[0][0] >= 1 + 100 * pace.start_seconds
    assert 999 - 5 * pace.start_seconds <= rung[-1][0] <= 999
    spaces = [later[0] - earlier[0] for earlier, later in pairwise(rung)]
    assert max(spaces) < 5 * pace.start_seconds
    alarms.close()


async def test_no_more_alarms_ring_before_their_times_than_may_be_live() -> None:
    times = [990.0]
    rung: list[str] = []
    alarms = Alarms(lambda key, when: rung.append(key), Pace(20, 2), lambda: times[0])
    for number in range(4):
        alarms.set(str(number), 1000.0 + number)
    for now, expected in ((999.9, 2), (1000.0, 3), (1001.0, 4), (1003.0, 4)):
        times[0] = now
        alarms._due()
        assert len(rung) == expected
    alarms.close()
