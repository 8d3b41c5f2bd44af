"""A caller that is cancelled when a call ends: the call is not made again on resume."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

import attrs
import pytest
from journal_stores import Memory, Ordered, Waits

from interpstack import Bridge, HostOffer, InterpreterStack
from interpstack_durable.api import Journals
from interpstack_testing import FakeEngine

JAVASCRIPT = """
for (let i = 0; i < 4; i++) await Promise.all([kit.act({n: 2 * i}), kit.act({n: 2 * i + 1})]);
'done'
"""
PYTHON = """
for i in range(4):
    await gather(kit.act(n=2 * i), kit.act(n=2 * i + 1))
'done'
"""


@attrs.define(eq=False)
class SlowStore(Ordered):
    """A journal's store that takes some turns of the loop for everything."""

    pause_grace: float = 60.0

    async def append(self, index: int, entry: Any) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        await super().append(index, entry)

    async def take_answers(self, journal: Any) -> None:
        await asyncio.sleep(0)


async def _run(
    engine: Any,
    source: str,
    handler: Any,
    store: Ordered,
    turns: int | None,
    *others: Bridge,
    ended: int = 3,
) -> str:
    """Run the cell; cancel it `turns` turns of the loop after so many calls have ended."""
    bridges = [Bridge(name="kit.act", handler=handler), *others]
    with InterpreterStack(engine, plugins=["durable"], bridges=bridges) as stack:
        session = stack.session("s")
        session.bind(HostOffer(parts=[Journals(lambda host: store)]))
        running = asyncio.ensure_future(session.eval(source))
        while turns is not None and len(handler.done) < ended:  # noqa: ASYNC110 - counts turns
            await asyncio.sleep(0)
        for _ in range(turns or 0):
            await asyncio.sleep(0)
        if turns is not None:
            running.cancel()
        return str((await running).text)


@attrs.define(eq=False)
class Acting:
    """Notes what it did; one that is cancelled before it has acted does nothing."""

    done: list[int] = attrs.field(factory=list)

    async def __call__(self, n: int) -> int:
        await asyncio.sleep(0)
        self.done.append(n)
        return n


@attrs.define(eq=False)
class Blocking:
    """As `Acting`, in a thread, which nothing can stop."""

    done: list[int] = attrs.field(factory=list)

    def __call__(self, n: int) -> int:
        time.sleep(0.001)
        self.done.append(n)
        time.sleep(0.001)
        return n


@pytest.mark.parametrize("handler", [Acting, Blocking], ids=["async", "thread"])
@pytest.mark.parametrize("engine", ["quickjs", "fake"])
async def test_a_call_that_ended_when_its_caller_was_cancelled_is_not_made_again(
    engine: str, handler: Any
) -> None:
    for turns in range(16):
        act, store = handler(), SlowStore()
        source = PYTHON if engine == "fake" else JAVASCRIPT
        made: Any = FakeEngine() if engine == "fake" else engine
        with pytest.raises(asyncio.CancelledError):
            await _run(made, source, act, store, turns)
        await _run(FakeEngine() if engine == "fake" else engine, source, act, store, None)
        assert Counter(act.done) == dict.fromkeys(range(8), 1), f"cancelled after {turns} turns"


@attrs.define(eq=False)
class SlowMemory(Memory):
    """A store as `SlowStore`, for cells that wait for a decision."""

    async def append(self, index: int, entry: Any) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        await super().append(index, entry)


async def test_a_pause_is_recorded_although_its_caller_is_cancelled() -> None:
    source = "(await Promise.all([kit.act({n: 1}), kit.gated()])).join()"
    for turns in range(16):
        act, store = Acting(), SlowMemory("cell")

        async def gated(store: SlowMemory = store) -> int:
            if not store.decided:
                raise Waits
            return 2

        asks = Bridge(name="kit.gated", handler=gated, passes=(Waits,))
        with pytest.raises((asyncio.CancelledError, Waits)):
            await _run("quickjs", source, act, store, turns, asks, ended=1)
        store.decided = True
        assert await _run("quickjs", source, act, store, None, asks) == "1,2"
        assert act.done == [1], f"cancelled after {turns} turns"


async def test_an_error_that_tells_of_the_cancellation_is_no_answer() -> None:
    """A call that was cancelled while it was at work is made again, as after a crash."""
    act, store = Wrapping(), SlowStore()
    with pytest.raises(asyncio.CancelledError):
        await _run("quickjs", "await kit.act({n: 1})", act, store, 2)
    assert await _run("quickjs", "await kit.act({n: 1})", act, store, None) == "1"


@attrs.define(eq=False)
class Wrapping:
    """Fails with an error of its own when it is cancelled; the second call answers."""

    done: list[int] = attrs.field(factory=lambda: [0, 0])

    async def __call__(self, n: int) -> int:
        self.done.append(n)
        if len(self.done) == 3:
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError as error:
                raise RuntimeError("the connection was cut") from error
        return n
