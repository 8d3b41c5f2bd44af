"""DBOS on SQLite. Each function sets a case up and returns what runs it once.

Each workload has the faster one of DBOS's two forms, with threads or with coroutines. The database
has the settings of the other sides: a log of writes, flushed at its checkpoints.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy
from dbos import DBOS, SetWorkflowID
from dbos._error import DBOSAwaitedWorkflowCancelledError

from workflows.wakes import wait_and_wake

__all__: list[str] = []

_STEPS = 1000
_woken: list[float] = []
_times: dict[str, float] = {}


@sqlalchemy.event.listens_for(sqlalchemy.Engine, "connect")
def _set(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA synchronous=NORMAL")


def _launch() -> None:
    path = Path(tempfile.mkdtemp()) / "dbos.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{path}",
            "log_level": "ERROR",
            "run_admin_server": False,
        }
    )
    DBOS.launch()


@DBOS.step()
def _step(text: str) -> str:
    return text


@DBOS.step()
async def _async_step(text: str) -> str:
    return text


@DBOS.workflow()
def _sequential(steps: int) -> int:
    return sum(len(_step(f"step {number}")) for number in range(steps))


@DBOS.workflow()
async def _parallel(steps: int) -> int:
    texts = await asyncio.gather(*(_async_step(f"step {number}") for number in range(steps)))
    return sum(map(len, texts))


@DBOS.workflow()
def _left(run_id: str) -> int:
    _times["began"] = time.perf_counter()
    chars = sum(len(_step(f"step {number}")) for number in range(_STEPS))
    if run_id not in _times:
        _times[run_id] = 0.0
        DBOS.cancel_workflow(run_id)
    chars += len(_step(f"step {_STEPS}"))
    _times[run_id] = time.perf_counter() - _times["began"]
    return chars


@DBOS.workflow()
async def _sleeping(due: float) -> float:
    await DBOS.sleep_async(max(0.0, due - time.time()))
    return await _wake(due)


@DBOS.step()
async def _wake(due: float) -> float:
    _woken.append(time.time() - due)
    return due


async def sequential() -> Any:
    _launch()

    async def once() -> dict[str, float]:
        begun = time.perf_counter()
        await asyncio.to_thread(_sequential, _STEPS)
        return {"s": time.perf_counter() - begun}

    await asyncio.to_thread(_sequential, 20)
    return once


async def parallel() -> Any:
    _launch()

    async def once() -> dict[str, float]:
        begun = time.perf_counter()
        await _parallel(_STEPS)
        return {"s": time.perf_counter() - begun}

    await _parallel(20)
    return once


async def resumed() -> Any:
    _launch()
    runs = 0

    async def once() -> dict[str, float]:
        nonlocal runs
        runs += 1
        run_id = f"run-{runs}"
        with SetWorkflowID(run_id):
            handle = await asyncio.to_thread(DBOS.start_workflow, _left, run_id)
        with suppress(DBOSAwaitedWorkflowCancelledError):  # before its last step
            await asyncio.to_thread(handle.get_result)
        # From the start of the function: DBOS looks at its queue of resumed runs once a second.
        resumed = await asyncio.to_thread(DBOS.resume_workflow, run_id)
        await asyncio.to_thread(resumed.get_result)
        return {"s": _times[run_id]}

    return once


async def waiting() -> Any:
    _launch()

    async def start(due: float) -> None:
        await DBOS.start_workflow_async(_sleeping, due)

    async def at_rest() -> None:
        await asyncio.sleep(2.0)

    async def once() -> dict[str, float]:
        return await wait_and_wake(start, at_rest, _woken)

    return once
