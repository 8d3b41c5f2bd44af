"""An eval whose event loop was closed: the next turn has the variables from before it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.tools import tool

#: Tasks of loops that were closed: where they are collected, they complain.
_left: list[Any] = []


@pytest.mark.filterwarnings("ignore")
async def test_the_next_turn_goes_on_from_the_last_good_eval(talk: Any) -> None:
    started = threading.Event()

    @tool
    async def hang() -> str:
        """Hang."""
        started.set()
        await asyncio.sleep(60)
        return "never"

    chat = talk(tools=[hang], ptc=["hang"])
    await chat.run("var x = 41")

    def abandon() -> None:
        loop = asyncio.new_event_loop()

        async def begin() -> Any:
            running = asyncio.ensure_future(chat.run("x = 7; await tools.hang({})"))
            while not started.is_set():  # noqa: ASYNC110 - set by the tool
                await asyncio.sleep(0.01)
            return running

        _left.extend([loop.run_until_complete(begin()), *asyncio.all_tasks(loop)])
        loop.close()

    await asyncio.to_thread(abandon)
    assert "42" in (await chat.run("x + 1"))[0]
