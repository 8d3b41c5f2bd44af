"""Feeds: complete for who is fast enough, bounded and counted for who is not, at nobody's cost."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import ConfigurationError, InterpreterStack, bridge
from interpstack_agents import (
    ConsoleText,
    Feed,
    FeedItem,
    Missed,
    ProgressEmitter,
    ProgressEvent,
    Subscription,
)


async def _all(subscription: Subscription) -> list[FeedItem]:
    return [item async for item in subscription]


def _text(items: list[FeedItem]) -> str:
    return "".join(item.text for item in items if isinstance(item, ConsoleText))


async def test_what_is_passed_on_comes_in_order() -> None:
    feed = Feed()
    with feed.subscribe() as items:
        feed.console("a")
        feed.console("b")
        feed.event({"n": 1})
        feed.event({"n": 2})
        feed.console("c")
        feed.close()
        assert await _all(items) == [
            ConsoleText("ab"),
            ProgressEvent({"n": 1}),
            ProgressEvent({"n": 2}),
            ConsoleText("c"),
        ]


async def test_a_subscriber_waits_for_what_comes_from_another_thread() -> None:
    feed = Feed()
    with feed.subscribe() as items:
        waiting = asyncio.create_task(anext(items))
        await asyncio.sleep(0)
        threading.Thread(target=feed.console, args=("late",)).start()
        assert await waiting == ConsoleText("late")


async def test_a_slow_subscriber_learns_what_it_missed() -> None:
    feed = Feed(buffer_chars=1024)
    with feed.subscribe() as slow:
        for number in range(1000):
            feed.console(f"{number:4}")
        feed.close()
        missed, rest = await _all(slow)
        assert isinstance(rest, ConsoleText)
        assert isinstance(missed, Missed)
        assert rest.text.endswith(" 998 999")
        assert 500 < len(rest.text) <= 1024
        assert missed == Missed(chars=4000 - len(rest.text))


async def test_events_are_dropped_whole_and_counted() -> None:
    feed = Feed(buffer_chars=1024)
    with feed.subscribe() as slow:
        feed.console("x" * 100)
        for number in range(100):
            feed.event({"n": number})
        feed.close()
        missed, *rest = await _all(slow)
        assert missed == Missed(chars=100, events=100 - len(rest))
        assert rest == [ProgressEvent({"n": n}) for n in range(100 - len(rest), 100)]
        assert 5 < len(rest) < 20


async def test_an_event_larger_than_the_buffer_is_missed() -> None:
    feed = Feed(buffer_chars=1024)
    with feed.subscribe() as items:
        feed.event({"args": "x" * 5000})
        feed.close()
        assert await _all(items) == [Missed(events=1)]


async def test_each_subscriber_misses_what_it_is_too_slow_for() -> None:
    feed = Feed(buffer_chars=1024)
    with feed.subscribe() as fast, feed.subscribe() as slow:
        seen: list[FeedItem] = []
        for number in range(500):
            feed.event({"n": number})
            seen.append(await anext(fast))
        feed.close()
        assert seen == [ProgressEvent({"n": n}) for n in range(500)]
        missed, *rest = await _all(slow)
        assert missed == Missed(events=500 - len(rest))


@given(st.lists(st.text(max_size=300) | st.integers(), max_size=40), st.integers(0, 3))
def test_nothing_is_lost_without_being_counted(sent: list[Any], reads: int) -> None:
    async def check() -> None:
        feed = Feed(buffer_chars=1024)
        with feed.subscribe() as items:
            received: list[FeedItem] = []
            for number, one in enumerate(sent):
                feed.console(one) if isinstance(one, str) else feed.event({"n": one})
                assert items._size <= 1024
                if reads and number % (reads + 1) == reads:
                    received.append(await anext(items))
            feed.close()
            received += await _all(items)
        gaps = [item for item in received if isinstance(item, Missed)]
        texts = sum(len(one) for one in sent if isinstance(one, str))
        events = sum(not isinstance(one, str) for one in sent)
        assert texts == len(_text(received)) + sum(gap.chars for gap in gaps)
        got = [item for item in received if isinstance(item, ProgressEvent)]
        assert events == len(got) + sum(gap.events for gap in gaps)

    asyncio.run(check())


async def test_a_cell_does_not_wait_for_a_subscriber_that_never_reads() -> None:
    feed = Feed(buffer_chars=2048)

    @bridge
    async def look(n: int) -> int:
        return await progress.around({"call": "look"}, {"n": n}, _answer(n))

    async def _answer(n: int) -> int:
        return n

    progress = ProgressEmitter(feed.event)
    code = """
    let sum = 0
    for (let i = 0; i < 200; i++) { console.log('line ' + i); sum += await look({n: i}) }
    sum
    """
    async with InterpreterStack("quickjs", ["console"], bridges=[look]) as stack:
        with feed.subscribe() as never, feed.subscribe() as reads:
            reading = asyncio.create_task(_all(reads))
            outcome = await stack.session("talk").eval(code, on_console=feed.console)
            feed.close()
            received = await reading
            assert (outcome.text, outcome.error) == ("19900", None)
            assert _text(received) == outcome.console
            assert sum(isinstance(item, ProgressEvent) for item in received) == 400
            left = await _all(never)
            assert isinstance(left[0], Missed)
            assert left[0].chars + len(_text(left)) == len(outcome.console)
            assert left[0].events + sum(isinstance(i, ProgressEvent) for i in left) == 400


async def test_who_has_left_receives_nothing_and_makes_room() -> None:
    feed = Feed(max_subscribers=1)
    first = feed.subscribe()
    with first, pytest.raises(ConfigurationError, match="has 1 subscribers already"):
        feed.subscribe()
    feed.console("for nobody")
    assert await _all(first) == []
    with feed.subscribe() as second:
        feed.console("x")
        assert await anext(second) == ConsoleText("x")


async def test_a_closed_feed_ends_at_once() -> None:
    feed = Feed()
    feed.close()
    feed.console("late")
    assert await _all(feed.subscribe()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"buffer_chars": 10}, "a feed: buffer_chars takes a whole number from 1024"),
        ({"buffer_chars": None}, "a feed: buffer_chars takes a whole number"),
        ({"max_subscribers": 0}, "a feed: max_subscribers takes a whole number from 1"),
    ],
)
def test_wrong_settings_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Feed(**options)


def test_wrong_items_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="console takes text"):
        Feed().console(b"x")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="event takes a mapping"):
        Feed().event(["x"])  # type: ignore[arg-type]
