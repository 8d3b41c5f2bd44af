"""Random cancellations on every engine; none is lost.

`INTERPSTACK_CANCELS` says how many; `tox -e cancel` has 10,000.
"""

from __future__ import annotations

import asyncio
import os
import random
from typing import Any

import pytest
from engines import OnEngine

from interpstack import Bridge, InterpreterStack, Limits

CANCELS = int(os.environ.get("INTERPSTACK_CANCELS", "60"))

SOURCES = {
    "javascript": [
        "for (;;) await kit.echo({v: 1})",
        "for (;;) await kit.nap({v: 1})",
        "for (;;) await new Promise(done => setTimeout(done, 0))",
        "for (;;) { kit.call({v: 1}); await kit.echo({v: 1}) }",
        "for (;;) await Promise.all([kit.echo({v: 1}), kit.nap({v: 2}), kit.thread({v: 3})])",
    ],
    "python": [
        "while True: await kit.echo(v=1)",
        "while True: await kit.nap(v=1)",
        "import asyncio\nwhile True: await asyncio.sleep(0)",
        "while True:\n    kit.call(v=1)\n    await kit.echo(v=1)",
        "import asyncio\nwhile True: await asyncio.gather(kit.echo(v=1), kit.thread(v=2))",
    ],
}


async def echo(v: int) -> int:
    return v


async def nap(v: int) -> int:
    await asyncio.sleep(0)
    return v


def thread(v: int) -> int:
    return v


def _bridges() -> list[Bridge]:
    handlers: dict[str, Any] = {"echo": echo, "nap": nap, "thread": thread}
    made = [Bridge(name=f"kit.{name}", handler=handler) for name, handler in handlers.items()]
    return [*made, Bridge(name="kit.call", handler=nap, awaited=False)]


async def _leave(session: Any, source: str, how: str, seconds: float) -> None:
    """Run a cell and cancel it; what it returns, it returns because that was lost."""
    if how == "cancel":
        running = asyncio.ensure_future(session.eval(source))
        await asyncio.sleep(seconds)
        running.cancel()
        await running
    elif how == "wait_for":
        await asyncio.wait_for(session.eval(source), seconds)
    else:
        async with asyncio.timeout(seconds):
            await session.eval(source)


@pytest.mark.timeout(3600)
@pytest.mark.engines("all")
async def test_no_cancellation_is_lost(on_engine: OnEngine) -> None:
    chance = random.Random(7)
    limits = Limits(requests=None, wall_seconds=60, cpu_seconds=30)
    with InterpreterStack(on_engine.name, bridges=_bridges(), limits=limits) as stack:
        session = stack.session("s")
        await session.eval("1")
        for _ in range(CANCELS):
            source = chance.choice(SOURCES[on_engine.language])
            how = chance.choice(["cancel", "wait_for", "timeout"])
            with pytest.raises((asyncio.CancelledError, TimeoutError)):
                await _leave(session, source, how, chance.random() * 0.02)
        assert (await session.eval("1 + 1")).text == "2"
