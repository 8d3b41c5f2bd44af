"""Events reach their subscribers, and no subscriber can delay a run."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_workflows.events.events import LogEvent, ResultEvent
from interpstack_workflows.events.hub import EventHub


def log(message: str, run_id: str = "run_a", scope: str = "root") -> LogEvent:
    return LogEvent(run_id=run_id, scope=scope, message=message)


def end(run_id: str = "run_a", scope: str = "root") -> ResultEvent:
    return ResultEvent(run_id=run_id, scope=scope, token_usage={})


async def test_a_subscription_of_a_run_ends_with_the_run() -> None:
    hub = EventHub()
    async with hub.subscribe("run_a") as subscription:
        for event in (log("1"), log("2", "run_b"), end(scope="root/kid"), end(), log("late")):
            hub.emit(event)
        events = [event async for event in subscription]
    assert events == [log("1"), end(scope="root/kid"), end()]


async def test_a_subscription_of_a_run_that_had_ended_ends_after_what_is_queued() -> None:
    hub = EventHub()

    async def has_ended() -> bool:
        hub.emit(log("1"))
        return True

    async with asyncio.timeout(30):
        assert [event async for event in hub.subscribe("run_a", has_ended=has_ended)] == [log("1")]


async def test_a_slow_reader_misses_the_oldest_events() -> None:
    hub = EventHub()
    async with hub.subscribe(capacity=3) as events:
        for number in range(10):
            hub.emit(log(str(number)))
        hub.close()
        assert [getattr(event, "message", "") async for event in events] == ["7", "8", "9"]
        assert events.missed == 7


async def test_a_reader_waits_for_events_of_other_threads() -> None:
    hub = EventHub()
    async with hub.subscribe() as events, asyncio.timeout(30):
        reading = asyncio.create_task(anext(events))
        await asyncio.sleep(0)
        await asyncio.to_thread(hub.emit, log("from a thread"))
        assert await reading == log("from a thread")


async def test_a_closed_subscription_gets_nothing_more() -> None:
    hub = EventHub()
    events = hub.subscribe()
    events.close()
    hub.emit(log("late"))
    assert [event async for event in events] == []


def test_a_function_that_raises_gets_no_more_events(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Any] = []

    def sink(event: Any) -> None:
        events.append(event)
        raise RuntimeError("broken pipe")

    hub = EventHub(sink)
    with caplog.at_level(logging.ERROR, "interpstack.workflows"):
        hub.emit(log("1"))
        hub.emit(log("2"))
    assert events == [log("1")]
    assert "it gets no more" in caplog.text


@pytest.mark.parametrize("capacity", [0, -1, 1.5, True, "9"])
async def test_other_capacities_are_refused(capacity: Any) -> None:
    with pytest.raises(ConfigurationError, match="capacity takes a whole number from 1; got"):
        EventHub().subscribe(capacity=capacity)


async def test_a_hub_hears_while_anybody_wants_events() -> None:
    hub = EventHub()
    assert not hub.hears()
    subscription = hub.subscribe()
    assert hub.hears()
    subscription.close()
    assert not hub.hears()
    assert EventHub(print).hears()
