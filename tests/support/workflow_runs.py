"""Scripts, agents and runners for tests of runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from interpstack import InterpreterStack
from interpstack_state import MemoryStore
from interpstack_workflows.agents.agent import AgentCall
from interpstack_workflows.runs.runner import WorkflowRunner
from interpstack_workflows.stores.store import WorkflowStore

_STACKS: dict[str, InterpreterStack] = {}


def script(body: str, name: str = "tested") -> str:
    """A workflow whose default export is an async function with this body."""
    return (
        'import { sleep } from "workflow:extra"\nimport { exec } from "workflow:sandbox"\n'
        f"export const meta = {{ name: '{name}', description: 'tested' }}\n"
        f"export default async (args, ctx) => {{ {body} }}\n"
    )


class MemoryRuns(WorkflowStore):
    """Runs in memory."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__(MemoryStore(), clock)


class Prompts:
    """An agent that echoes, notes its calls, and does what a prompt says."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.stopped: list[str] = []

    async def __call__(self, call: AgentCall) -> Any:
        self.called.append(call.prompt)
        try:
            if call.prompt.startswith("for ever"):
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.stopped.append(call.prompt)
            raise
        if call.prompt.startswith("fail"):
            raise ValueError(f"cannot {call.prompt}")
        return f"echo: {call.prompt}"


def runner(
    agent: Any, store: WorkflowStore | str | None = None, engine: str = "quickjs", **options: Any
) -> WorkflowRunner:
    """A runner with one agent, on an engine that all tests share."""
    if engine not in _STACKS:
        _STACKS[engine] = InterpreterStack(engine)
    agents = {"default": agent}
    return WorkflowRunner(
        _STACKS[engine], **{"agents": agents, "store": store or MemoryRuns(), **options}
    )


def spent(result: Any) -> dict[str, Any]:
    """The use of a run but for the time, which every call of an agent takes."""
    usage = dict(result.usage)
    assert usage.pop("seconds", 0.0) > 0 or not usage
    return usage


async def until(condition: Any, *, seconds: float = 30.0) -> None:
    """Wait until a condition, which may be a coroutine function, holds."""
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return
            await asyncio.sleep(0.005)
