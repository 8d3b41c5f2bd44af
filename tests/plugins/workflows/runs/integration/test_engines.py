"""Runs behave alike on every JavaScript engine: records, resumes, cancellation and stalls."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script, spent, until

from interpstack_workflows.api import (
    AgentAnswer,
    AgentCall,
    WorkflowRunner,
    WorkflowUsage,
    open_store,
)

_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from interpstack_workflows.api import AgentAnswer, WorkflowUsage, WorkflowRunner

async def agent(call):
    with open("calls", "a") as file:
        file.write(call.prompt + "\\n")
    if call.prompt == "second":
        os.kill(os.getpid(), signal.SIGKILL)
    return AgentAnswer(call.prompt.upper(), WorkflowUsage(output_tokens=7))

async def main():
    async with WorkflowRunner(
        sys.argv[1], agents={"default": agent}, store="runs.db", lease_seconds=1
    ) as runner:
        await runner.run(Path("tested.js").read_text(), run_id="killed", budget=50)

asyncio.run(main())
"""
_TWO = script(
    "const a = await agent('first'); const before = budget.spent();"
    "const b = await agent('second'); return [a, before, b, budget.spent()]"
)


@pytest.fixture(params=["quickjs", "v8", "node"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def store() -> AsyncIterator[MemoryRuns]:
    made = MemoryRuns()
    yield made
    await made.aclose()


async def test_a_killed_run_goes_on_without_its_first_step(engine: str, tmp_path: Path) -> None:
    (tmp_path / "tested.js").write_text(_TWO, "utf-8")
    arguments = [sys.executable, "-c", _KILLED, engine]
    killed = await asyncio.to_thread(subprocess.run, arguments, cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    called = []

    async def agent(call: AgentCall) -> AgentAnswer:
        called.append(call.prompt)
        return AgentAnswer(call.prompt.upper(), WorkflowUsage(output_tokens=7))

    opened = open_store(str(tmp_path / "runs.db"))
    try:
        async with WorkflowRunner(engine, agents={"default": agent}, store=opened) as other:
            result = await (await other.resume("killed")).result()
    finally:
        await opened.aclose()
    assert result.result == ["FIRST", 7, "SECOND", 14]
    assert called == ["second"]
    assert (tmp_path / "calls").read_text("utf-8").split() == ["first", "second"]
    assert spent(result)["output_tokens"] == 14


async def test_equal_calls_are_replayed_by_their_order(engine: str, store: MemoryRuns) -> None:
    source = script(
        "const got = await Promise.all([agent('p'), agent('p')]);return [...got, await ask('Go?')]"
    )
    agent = Prompts()
    async with runner(agent, store, engine) as first:
        waiting = await first.run(source)
    names = [
        step.name
        for entry in await store.entries(waiting.run_id)
        for step in entry.settled
        if step.kind == "agent"
    ]
    assert len(names) == 2
    assert names[1] == f"{names[0]}#2"
    async with runner(agent, store, engine) as second:
        handle = await second.resume(waiting.run_id)
        await second.answer(waiting.run_id, waiting.waiting_for[0]["id"], "yes")
        result = await handle.result()
    assert result.result == ["echo: p", "echo: p", "yes"]
    assert agent.called == ["p", "p"]


async def test_a_changed_option_calls_the_step_again(engine: str, store: MemoryRuns) -> None:
    agent = Prompts()
    source = script("await agent('a'); await agent('b', {label: 'x'}); return ask('Go?')")
    async with runner(agent, store, engine) as first:
        waiting = await first.run(source)
    async with runner(agent, store, engine) as second:
        handle = await second.resume(
            waiting.run_id, source=source.replace("'x'", "'y'"), accept_changes=True
        )
        assert (await handle.rest()).status == "waiting"
    assert agent.called == ["a", "b", "b"]


async def test_a_cancelled_run_ends_although_its_script_goes_on(
    engine: str, store: MemoryRuns
) -> None:
    agent: Any = Prompts()
    source = script(
        "await parallel([() => agent('for ever 1'), () => agent('for ever 2')]).catch(() => 0);"
        "await agent('third').catch(() => 0); return agent('fourth')"
    )
    async with runner(agent, store, engine) as one:
        handle = await one.start(source)
        await until(lambda: len(agent.called) == 2)
        await one.cancel(handle.run_id)
        result = await handle.result()
    assert result.status == "cancelled"
    assert sorted(agent.stopped) == ["for ever 1", "for ever 2"]
    assert len(agent.called) == 2


async def test_a_promise_that_nobody_settles_is_a_stall(engine: str, store: MemoryRuns) -> None:
    meta = "export const meta = {name: 's', description: 'd'};"
    async with runner(Prompts(), store, engine) as one:
        result = await one.run(f"{meta} export default new Promise(() => {{}})")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error["name"] == "Stalled"
