"""Runs drawn workflows in processes that are killed from outside, at any moment.

Jobs are lines of JSON on the standard input; each is answered with the status of its process, the
seconds that it worked on its run, and what went wrong. A process is forked off this one, so that
what it needs is imported once for all of them. With `kill`, it gets SIGKILL that many seconds after
it has the run, or, with `waiting`, after it began to wait for the run.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

from workflow_cases import WorkflowCase, draw_case

from interpstack_state import PostgresStore, SQLiteStore
from interpstack_workflows.api import (
    AgentAnswer,
    AgentFailed,
    LeaseLost,
    RunHandle,
    TakenRun,
    WorkflowError,
    WorkflowResult,
    WorkflowRunner,
    WorkflowStore,
    WorkflowUsage,
)

#: What runs import late. Nothing of it begins a thread, which a fork would not have.
for _late in (
    "interpstack_quickjs.engine",
    "psycopg_pool",
):
    importlib.import_module(_late)

RUN = "run_drawn"
#: What each call of an agent uses.
USED = WorkflowUsage(input_tokens=3, output_tokens=5, cost=0.25, seconds=1.5)


class Agent:
    """The agent of drawn workflows: its prompt says how it ends, and each effect is written down.

    Args:
        folder: Takes a line for each call that succeeds or fails for good.
        recorded: Prompts whose ends were recorded before this process began.
    """

    def __init__(self, folder: Path, recorded: set[str]) -> None:
        self._folder = folder
        self._recorded = recorded

    async def __call__(self, call: Any) -> AgentAnswer:
        if call.prompt in self._recorded:
            self._note("again", call)
        kind = call.prompt.partition(" ")[0]
        await asyncio.sleep(0.002)
        if kind == "second" and call.attempt < 2:
            raise AgentFailed(f"attempt {call.attempt} of {call.prompt}", USED)
        self._note("effects", call)
        if kind == "fail":
            raise AgentFailed(f"no answer to {call.prompt}", USED)
        return AgentAnswer({"echo": call.prompt}, USED)

    def _note(self, name: str, call: Any) -> None:
        """Add a line as one write: it outlives the process, as what the system has does."""
        file = os.open(self._folder / name, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        try:
            os.write(file, f"{json.dumps([call.prompt, call.key])}\n".encode())
        finally:
            os.close(file)


@asynccontextmanager
async def opened(name: str, place: str) -> AsyncIterator[WorkflowStore]:
    """The store of a job."""
    make = SQLiteStore if name == "sqlite" else PostgresStore
    store = WorkflowStore(make(place, space="workflows"))
    try:
        yield store
    finally:
        await store.aclose()


def report_claim(store: WorkflowStore, begun: int) -> None:
    """Write to a file as soon as a runner has the lease of its run."""
    take = store.take

    async def reporting(*args: Any, **named: Any) -> TakenRun:
        taken = await take(*args, **named)
        if taken.lease is not None:
            os.write(begun, b".")
        return taken

    store.take = reporting  # type: ignore[method-assign]


async def recorded_prompts(store: WorkflowStore) -> set[str]:
    """Prompts of the agents whose ends are recorded."""
    if await store.read(RUN) is None:
        return set()
    steps = [step for entry in await store.entries(RUN) for step in entry.settled]
    ended = [step for step in steps if step.kind == "agent" and not step.started]
    return {json.loads(step.signature)["prompt"] for step in ended}


async def run(job: dict[str, Any], begun: int) -> None:
    """Continue the run in whatever state it is, until it has ended."""
    case = draw_case(job["seed"], asks=True)
    async with opened(job["store"], job["place"]) as store:
        agent = Agent(Path(job["folder"]), await recorded_prompts(store))
        if job["waiting"]:
            os.write(begun, b".")
        else:
            report_claim(store, begun)
        async with WorkflowRunner(
            agents={"default": agent},
            store=store,
            workflows=case.workflows,
            lease_seconds=job["lease"],
            linger_seconds=job["linger"],
        ) as runner:
            result = await _to_end(runner, store, case)
    output = {"result": result.result, "status": result.status, "usage": dict(result.usage)}
    output |= {"error": result.error, "census": dict(result.census)}
    written = Path(job["folder"]) / f"part-{os.getpid()}"
    written.write_text(json.dumps(output), "utf-8")
    written.rename(written.with_name(f"result-{os.getpid()}"))  # whole, or not at all


async def _to_end(
    runner: WorkflowRunner, store: WorkflowStore, case: WorkflowCase
) -> WorkflowResult:
    while True:
        try:
            handle = await _begun(runner, store, case)
            result = await handle.rest()
        except LeaseLost:  # this process was not heard for too long
            continue
        if result.status != "waiting":
            return result
        for wait in result.waiting_for:
            if wait["kind"] == "ask":
                await runner.answer(RUN, wait["id"], f"answer to {wait['question']}")


async def _begun(runner: WorkflowRunner, store: WorkflowStore, case: WorkflowCase) -> RunHandle:
    if await store.read(RUN) is None:
        try:
            return await runner.start(case.source, 1, seed=7, run_id=RUN)
        except WorkflowError:
            if await store.read(RUN) is None:
                raise  # else another process has just started it
    return await runner.resume(RUN)


def _forked(job: dict[str, Any]) -> tuple[int, float, str]:
    """How the process of a job ended, negative for a signal, its seconds, and its error."""
    begun, beginning = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(begun)
        _run(job, beginning)
    os.close(beginning)  # the process has the only one: it is closed when the process has ended
    ended = not os.read(begun, 1)
    began, left = time.monotonic(), job["kill"]
    while not ended:
        if left is not None and left <= 0:
            os.kill(pid, signal.SIGKILL)
            break
        ready, _, _ = select.select([begun], [], [], left)
        ended = bool(ready) and not os.read(begun, 64)  # it may claim its run several times
        left = None if left is None else job["kill"] - (time.monotonic() - began)
    _, status = os.waitpid(pid, 0)
    seconds = time.monotonic() - began
    os.close(begun)
    error = Path(job["folder"]) / f"error-{pid}"
    return os.waitstatus_to_exitcode(status), seconds, error.read_text() if error.exists() else ""


def _run(job: dict[str, Any], beginning: int) -> NoReturn:
    """Work on a job in the process that was made for it."""
    try:
        asyncio.run(run(job, beginning))
    except BaseException:  # noqa: BLE001 - the process that reads the answers fails
        (Path(job["folder"]) / f"error-{os.getpid()}").write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    warnings.simplefilter("error")
    for line in sys.stdin:
        print(json.dumps(_forked(json.loads(line))), flush=True)
