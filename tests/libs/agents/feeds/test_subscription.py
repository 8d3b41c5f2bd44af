"""Subscribers that wait, are cancelled, or are gone."""

from __future__ import annotations

import asyncio

import pytest

from interpstack_agents import ConsoleText, Feed, Subscription


async def test_long_texts_take_no_more_parts() -> None:
    """Each part would copy the text; the parts come out as they are."""
    with Subscription(100_000, lambda one: None) as items:
        for _ in range(100):
            items.take(ConsoleText("x" * 500), 500)
        items.end()
        texts = [item.text async for item in items if isinstance(item, ConsoleText)]
    assert sum(map(len, texts)) == 50_000
    assert max(map(len, texts)) < 5000


async def test_a_subscriber_that_is_cancelled_while_it_waits_loses_nothing() -> None:
    feed = Feed()
    with feed.subscribe() as items:
        waiting = asyncio.create_task(anext(items))
        await asyncio.sleep(0)
        waiting.cancel()
        feed.console("x")
        assert await anext(items) == ConsoleText("x")


def test_a_subscriber_whose_loop_was_closed_disturbs_nobody() -> None:
    feed = Feed()
    items = feed.subscribe()

    async def wait() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(items), 0.01)
        items._waiting = asyncio.get_running_loop().create_future()

    asyncio.run(wait())
    feed.console("x")
    feed.close()
