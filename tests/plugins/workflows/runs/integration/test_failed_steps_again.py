"""`retry_failed` runs the failed steps of a completed run again, and only those."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from workflow_runs import MemoryRuns, runner, script

from interpstack_workflows.errors import WorkflowError


class _Recovering:
    """An agent that fails with a prompt until it has recovered."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.broken = True

    async def __call__(self, prompt: str) -> str:
        self.called.append(prompt)
        if self.broken and prompt == "bad":
            raise OSError("down")
        return prompt.upper()


_BOTH = "parallel([() => agent('good'), () => agent('bad')])"


@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_failures_that_were_dropped_run_again(depth: int) -> None:
    store, agent = MemoryRuns(), _Recovering()
    workflows = {
        "w2": script(f"return {_BOTH}", "w2"),
        "w1": script("return [await agent('above'), await workflow('w2')]", "w1"),
    }
    body = {0: f"return {_BOTH}", 1: "return workflow('w2')", 2: "return workflow('w1')"}[depth]
    async with runner(agent, store, workflows=workflows) as one:
        first = await one.run(script(body), run_id="run_a")
        assert (first.status, first.census["dropped"]) == ("completed", 1)
        agent.broken = False
        agent.called.clear()
        again = await (await one.resume("run_a", retry_failed=True)).result()
        expected: Any = ["GOOD", "BAD"]
        assert again.result == (["ABOVE", expected] if depth == 2 else expected)
        assert (again.status, again.census["dropped"]) == ("completed", 0)
        assert agent.called == ["bad"]
        assert again.usage["agents"] == first.usage["agents"] + 1
        stored = await one.show("run_a")
        assert stored.result == again.result


async def test_a_completed_run_without_failures_stays_as_it_is() -> None:
    store, agent = MemoryRuns(), _Recovering()
    async with runner(agent, store) as one:
        first = await one.run(script("return agent('good')"), run_id="run_a")
        again = await (await one.resume("run_a", retry_failed=True)).result()
    assert (again, agent.called) == (first, ["good"])


async def test_a_completed_run_keeps_its_result_if_its_time_is_up() -> None:
    store, agent = MemoryRuns(), _Recovering()
    async with runner(agent, store) as one:
        first = await one.run(script(f"return {_BOTH}"), run_id="run_a", wall_seconds=60)
    async with runner(agent, store, clock=lambda: 1e12) as late:
        with pytest.raises(WorkflowError, match="has used up its wall time"):
            await late.resume("run_a", retry_failed=True)
        assert (await late.show("run_a")).result == first.result


async def test_failed_steps_of_a_waiting_run_run_again_in_its_runner() -> None:
    store, agent = MemoryRuns(), _Recovering()
    async with runner(agent, store) as one:
        body = f"return [await {_BOTH}, await ask('Go?')]"
        first = await one.run(script(body), run_id="run_a")
        assert (first.status, first.census["failed"]) == ("waiting", {"agent": 1})
        agent.broken = False
        agent.called.clear()
        again = await (await one.resume("run_a", retry_failed=True)).rest()
    assert (again.status, again.census["failed"], agent.called) == ("waiting", {}, ["bad"])


async def test_failed_steps_of_a_run_at_work_are_not_forgotten_without_a_word() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(prompt: str) -> str:
        begun.set()
        await go.wait()
        return prompt

    async with runner(slow, MemoryRuns()) as one:
        handle = await one.start(script("return agent('a')"), run_id="run_a")
        await begun.wait()
        with pytest.raises(WorkflowError, match="Run run_a is at work here, so its failed steps"):
            await one.resume("run_a", retry_failed=True)
        go.set()
        assert (await handle.result()).result == "a"
