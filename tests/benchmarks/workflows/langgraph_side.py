"""LangGraph's functional API on SQLite. Each function sets a case up and returns what runs it once.

Each workload has the faster one of its two forms, with threads or with coroutines. The database has
the settings of the other sides: a log of writes, flushed at its checkpoints.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

import aiosqlite
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint, task

__all__: list[str] = []

_STEPS = 1000
_threads = itertools.count()


@task
def _step(text: str) -> str:
    return text


@task
async def _async_step(text: str) -> str:
    return text


def _config() -> Any:
    return {"configurable": {"thread_id": str(next(_threads))}}


def _path() -> Path:
    return Path(tempfile.mkdtemp()) / "langgraph.sqlite"


def _saver() -> SqliteSaver:
    saver = SqliteSaver(sqlite3.connect(_path(), check_same_thread=False))
    saver.setup()
    saver.conn.execute("PRAGMA synchronous=NORMAL")
    return saver


async def sequential() -> Any:
    @entrypoint(checkpointer=_saver())
    def run(steps: int) -> int:
        return sum(len(_step(f"step {number}").result()) for number in range(steps))

    async def once() -> dict[str, float]:
        begun = time.perf_counter()
        await asyncio.to_thread(run.invoke, _STEPS, _config())
        return {"s": time.perf_counter() - begun}

    await asyncio.to_thread(run.invoke, 20, _config())
    return once


async def parallel() -> Any:
    saver = AsyncSqliteSaver(await aiosqlite.connect(_path()))
    await saver.setup()
    await saver.conn.execute("PRAGMA synchronous=NORMAL")

    @entrypoint(checkpointer=saver)
    async def run(steps: int) -> int:
        texts = await asyncio.gather(*(_async_step(f"step {number}") for number in range(steps)))
        return sum(map(len, texts))

    async def once() -> dict[str, float]:
        begun = time.perf_counter()
        await run.ainvoke(_STEPS, _config())
        return {"s": time.perf_counter() - begun}

    await run.ainvoke(20, _config())
    return once


class _Left(Exception):
    """The run was left before its last step."""


async def resumed() -> Any:
    left: list[bool] = []

    @task
    def last() -> str:
        if left:
            raise _Left
        return f"step {_STEPS}"

    @entrypoint(checkpointer=_saver())
    def run(steps: int) -> int:
        chars = sum(len(_step(f"step {number}").result()) for number in range(steps))
        return chars + len(last().result())

    def one() -> float:
        config = _config()
        left.append(True)
        try:
            run.invoke(_STEPS, config)
        except _Left:
            left.clear()
        begun = time.perf_counter()
        run.invoke(None, config)
        return time.perf_counter() - begun

    async def once() -> dict[str, float]:
        return {"s": await asyncio.to_thread(one)}

    return once
