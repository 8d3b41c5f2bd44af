"""Slots are handed out in order; nobody waits for himself."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest

from interpstack import ConfigurationError
from interpstack.slots import Slots, WaitGraph


@attrs.frozen
class Named:
    key: str


async def test_slots_are_handed_out_in_order() -> None:
    slots, seen, most = Slots(2), [], 0
    inside = 0

    async def hold(number: int) -> None:
        nonlocal inside, most
        async with slots.slot():
            inside += 1
            most = max(most, inside)
            seen.append(number)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*map(hold, range(9)))
    assert (seen, most, slots.busy) == (list(range(9)), 2, False)


async def test_only_who_waits_has_a_signal() -> None:
    slots = Slots(1)
    async with slots.slot():
        (holder,) = slots._held
        assert holder.given is None
        waiting = asyncio.ensure_future(_hold(slots))
        await asyncio.sleep(0)
        (waiter,) = slots._waiting
        assert waiter.given is not None
        assert not waiter.given.done()
    await waiting
    assert waiter.given.done()


async def _hold(slots: Slots) -> None:
    async with slots.slot():
        pass


async def test_who_is_cancelled_while_waiting_leaves_the_queue() -> None:
    slots, go = Slots(1), asyncio.Event()

    async def hold() -> str:
        async with slots.slot():
            await go.wait()
            return "held"

    first, second, third = (asyncio.ensure_future(hold()) for _ in range(3))
    await asyncio.sleep(0)
    second.cancel()
    go.set()
    assert await asyncio.gather(first, third) == ["held", "held"]
    assert second.cancelled()
    assert not slots.busy


async def test_what_is_entered_while_one_waits_is_left_with_the_slot() -> None:
    slots, entered = Slots(1), []

    class Waiting:
        def __enter__(self) -> None:
            entered.append("in")

        def __exit__(self, *raised: Any) -> None:
            entered.append("out")

    async with slots.slot(Waiting):
        assert entered == [], "nobody was before it"
        second = asyncio.ensure_future(slots.slot(Waiting).__aenter__())
        await asyncio.sleep(0)
        assert entered == ["in"]
    await second
    assert entered == ["in", "out"]


def test_a_slot_of_a_closed_loop_is_free() -> None:
    slots = Slots(1)
    loop = asyncio.new_event_loop()
    held = slots.slot()
    loop.run_until_complete(held.__aenter__())
    loop.close()

    async def take() -> bool:
        async with slots.slot():
            return True

    assert asyncio.run(take())


def test_a_circle_of_waiters_is_refused_and_reported() -> None:
    graph, (a, b, c) = WaitGraph(), map(Named, "abc")
    with (
        graph.waiting([a], b),
        graph.waiting([b], c),
        pytest.raises(ConfigurationError, match="'a' waits for 'b' waits for 'c', which waits"),
        graph.waiting([c], a),
    ):
        pass
    with graph.waiting([c], a), graph.waiting([a], b):
        pass


@pytest.mark.parametrize("count", [1, 3])
async def test_slots_are_handed_out_in_order_and_survive_cancellation(count: int) -> None:
    slots, order, most, now = Slots(count), [], 0, 0

    async def use(number: int) -> None:
        nonlocal most, now
        async with slots.slot():
            now += 1
            most = max(most, now)
            order.append(number)
            try:
                await asyncio.sleep(0.002)
            finally:
                now -= 1

    tasks = [asyncio.ensure_future(use(number)) for number in range(20)]
    await asyncio.sleep(0)
    for number in (0, 7, 8, 19):
        tasks[number].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    kept = [number for number in range(20) if number not in (7, 8, 19)]
    assert (order, most) == (kept, count)
    assert not slots.busy
