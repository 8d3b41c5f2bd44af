"""The same work without an interpreter: tools called from Python, a graph with a plain tool."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from agents import TOOLS, Once
from agents import agent_turn as whole_turn
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import tool
from stored import thread_turn as restored_turn

__all__: list[str] = []

_ECHO, _COUNT = TOOLS


async def parallel_calls() -> Once:
    async def work() -> None:
        await asyncio.gather(*(_ECHO.arun({"text": f"call {i}"}) for i in range(100)))

    return await _timed(work)


async def sequential_calls() -> Once:
    async def work() -> None:
        for i in range(100):
            await _ECHO.arun({"text": f"call {i}"})

    return await _timed(work)


async def rows_argument() -> Once:
    rows = [
        {"id": i, "name": f"row {i}", "score": i * 1.5, "tags": [f"a{i}", f"b{i}"]}
        for i in range(1000)
    ]

    async def work() -> None:
        await _COUNT.arun({"rows": rows})

    return await _timed(work)


async def _timed(work: Callable[[], Awaitable[None]]) -> Once:
    async def once() -> dict[str, float]:
        begun = time.perf_counter()
        await work()
        return {"s": time.perf_counter() - begun}

    await once()
    return once


class _PlainTool(AgentMiddleware[Any, Any, Any]):
    """A tool of the interpreter's name that runs nothing."""

    def __init__(self) -> None:
        super().__init__()

        @tool("eval")
        async def evaluate(code: str) -> str:
            """Answer."""
            return f"<result>{len(code)}</result>"

        self.tools = [evaluate]


def _middleware(mode: str) -> Any:
    return _PlainTool()


async def agent_turn() -> Once:
    return await whole_turn(_middleware)


async def thread_turn() -> Once:
    return await restored_turn(_middleware)


def turn_middleware() -> Any:
    """What this side adds to the graph whose turns are measured under load."""
    return _middleware("turn")
