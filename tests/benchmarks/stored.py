"""The cases about what outlives a turn: its time, and the bytes that are stored."""

from __future__ import annotations

import statistics
import time
import uuid
from itertools import pairwise
from typing import Any

from agents import MakeMiddleware, Once, agent, ask
from langgraph.checkpoint.memory import InMemorySaver

__all__ = ["large_state", "sizes", "thread_turn"]

_FIRST = (
    "const items = [1, 2, 3]; let total = 0; function add(n) { total += n; return total }; add(1)"
)
_LARGE = """
const cities = ["Paris", "Berlin", "Rome"];
const rows = Array.from({length: 50000}, (_, i) => (
    {id: i, name: `customer ${i}`, amount: i * 7919 % 10007 / 100, city: cities[i % 3]}));
rows.length
"""
_FURTHER = "items.push(items.length); add(2)"
_TURNS = 6


async def thread_turn(make: MakeMiddleware) -> Once:
    """Time the second turn of a thread in another middleware object, which must restore."""

    async def once() -> dict[str, float]:
        saver, thread = InMemorySaver(), uuid.uuid4().hex
        await ask(agent([_FIRST], make("thread"), saver=saver), thread)
        graph = agent([_FURTHER], make("thread"), saver=saver)
        begun = time.perf_counter()
        await ask(graph, thread)
        return {"s": time.perf_counter() - begun}

    await once()
    return once


async def sizes(make: MakeMiddleware, channels: tuple[str, ...]) -> Once:
    """Bytes of a small state, of a further turn, and of a trivial thread's values.

    Args:
        make: Makes the side's middleware.
        channels: Names of the state channels that hold the interpreter.
    """

    async def once() -> dict[str, float]:
        trivial = await _values(make, "1 + 1")
        small = await _values(make, _FIRST)
        return {
            "values": _size(trivial),
            "state": _size({name: small[name] for name in channels if name in small}),
            "turn": await _added(make),
        }

    return once


async def large_state(make: MakeMiddleware) -> Once:
    """Time `1 + 1` in a thread that holds 50,000 rows, and what it adds to the store.

    Messages do not count: the checkpointer stores all of them again with each change.
    """
    saver, thread, middleware = InMemorySaver(), uuid.uuid4().hex, make("thread")
    await ask(agent([_LARGE], middleware, saver=saver), thread)
    graph = agent(["1 + 1"], middleware, saver=saver)

    async def once() -> dict[str, float]:
        times, sizes = list[float](), [_kept_of_variables(saver)]
        for _ in range(_TURNS):
            begun = time.perf_counter()
            await ask(graph, thread)
            times.append(time.perf_counter() - begun)
            sizes.append(_kept_of_variables(saver))
        added = [after - before for before, after in pairwise(sizes)]
        return {"s": statistics.median(times), "bytes": statistics.median(added)}

    await once()
    return once


async def _values(make: MakeMiddleware, code: str) -> dict[str, Any]:
    graph, thread = agent([code], make("thread")), uuid.uuid4().hex
    await ask(graph, thread)
    state = await graph.aget_state({"configurable": {"thread_id": thread}})
    return dict(state.values)


async def _added(make: MakeMiddleware) -> float:
    """Everything the checkpointer keeps because of one more turn: the median of some turns."""
    saver, thread = InMemorySaver(), uuid.uuid4().hex
    await ask(agent([_FIRST], make("thread"), saver=saver), thread)
    graph = agent([_FURTHER], make("thread"), saver=saver)
    kept = [_kept(saver)]
    for _ in range(_TURNS):
        await ask(graph, thread)
        kept.append(_kept(saver))
    return statistics.median(after - before for before, after in pairwise(kept))


def _size(value: Any) -> int:
    return len(InMemorySaver().serde.dumps_typed(value)[1])


def _kept(saver: InMemorySaver) -> int:
    return _bytes_in([saver.storage, saver.writes, saver.blobs])


def _kept_of_variables(saver: InMemorySaver) -> int:
    """Bytes of all channels but that of the messages."""
    blobs = [blob for (*_, channel, _), blob in saver.blobs.items() if channel != "messages"]
    writes = [
        write for step in saver.writes.values() for write in step.values() if write[1] != "messages"
    ]
    return _bytes_in([blobs, writes])


def _bytes_in(value: Any) -> int:
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_bytes_in, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_bytes_in, value))
    return 0
