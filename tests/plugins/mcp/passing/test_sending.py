"""The order and the number of messages to a client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from interpstack_mcp.passing.sending import SendQueue


def noting(sent: list[object], value: object) -> Callable[[], Awaitable[None]]:
    async def send() -> None:
        await asyncio.sleep(0)
        sent.append(value)

    return send


async def test_messages_keep_their_order() -> None:
    sent: list[object] = []
    queue = SendQueue()
    await queue.flush()
    for number in range(5):
        queue.put(noting(sent, number))
    await queue.flush()
    assert sent == [0, 1, 2, 3, 4]


async def test_the_same_news_waits_once() -> None:
    sent: list[object] = []
    queue = SendQueue()
    for _ in range(3):
        queue.put(noting(sent, "changed"), once="tools")
    queue.put(noting(sent, "other"), once="prompts")
    await queue.flush()
    assert sent == ["changed", "other"]


async def test_what_nobody_reads_is_bounded_and_news_are_kept() -> None:
    sent: list[object] = []
    queue = SendQueue()
    for number in range(2000):
        queue.put(noting(sent, number))
    queue.put(noting(sent, "changed"), once="tools")
    await queue.flush()
    assert sent == [*range(1000), "changed"]


async def test_a_message_that_fails_stops_no_other() -> None:
    async def fail() -> None:
        raise OSError("gone")

    sent: list[object] = []
    queue = SendQueue()
    queue.put(fail)
    queue.put(noting(sent, 1))
    await queue.flush()
    assert sent == [1]


async def test_a_closed_queue_sends_nothing_more() -> None:
    sent: list[object] = []
    queue = SendQueue()
    queue.close()
    queue.put(noting(sent, 1))
    queue.close()
    await queue.flush()
    assert sent == []
