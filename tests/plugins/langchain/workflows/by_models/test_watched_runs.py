"""Runs that are followed here, go on here, or are at work elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script, until

from interpstack_langchain.workflows.by_models.watched_runs import WatchedRuns
from interpstack_workflows.api import UnknownWorkflow


async def test_a_started_run_is_followed_to_its_end() -> None:
    agent, watched = Prompts(), WatchedRuns()
    source = script("log('hi'); phase('P'); await agent('a'); return ctx.extra.ask('q?')")
    async with runner(agent, linger_seconds=0.05) as one:
        await watched.start(one, "run_1", source)
        record = await one.show("run_1")
        await watched.rest(one, record, 30)
        record = await one.show("run_1")
        live = await watched.of(one, record)
        assert live is not None
        assert (live.log, live.phase, live.complete) == ("hi", "P", True)
        (wait,) = live.waiting_for()
        assert wait["question"] == "q?"
        assert [step.status for step in live.tree.root.steps.values()] == ["ok", "waiting"]
        await one.answer("run_1", wait["id"], 1)
        await watched.rest(one, record, 30)
        assert live.waiting_for() == []
        ended = await one.show("run_1")
        assert ended.result == 1
        await until(lambda: not watched._runs)
        assert await watched.of(one, ended) is None
        await watched.rest(one, ended, 30)


async def test_a_run_that_was_left_goes_on_here() -> None:
    store, agent, other = MemoryRuns(), Prompts(), Prompts()
    first = runner(agent, store)
    await WatchedRuns().start(first, "run_1", script("await agent('a'); return agent('for ever')"))
    await until(lambda: len(agent.called) == 2)
    await first.aclose()
    watched = WatchedRuns()
    async with runner(other, store) as second:
        live = await watched.of(second, await second.show("run_1"))
        assert live is await watched.of(second, await second.show("run_1"))
        await until(lambda: other.called)
        assert other.called == ["for ever"]
        record = await second.show("run_1")
        await watched.rest(second, record, 0.05)
        assert record.status == "running"


async def test_a_run_at_work_elsewhere_is_waited_for() -> None:
    store, agent, watched = MemoryRuns(), Prompts(), WatchedRuns()
    gate = asyncio.Event()

    async def waits(prompt: str) -> Any:
        agent.called.append(prompt)
        await gate.wait()
        return prompt

    async with runner(waits, store) as first, runner(agent, store) as second:
        handle = await first.start(script("return agent('a')"))
        await until(lambda: agent.called)
        record = await second.show(handle.run_id)
        await watched.rest(second, record, 0.6)
        waiting = asyncio.create_task(watched.rest(second, record, 30))
        gate.set()
        await waiting
        assert (await second.show(handle.run_id)).status == "completed"
        assert agent.called == ["a"]


async def test_a_run_that_cannot_start_is_not_followed() -> None:
    watched = WatchedRuns()
    async with runner(Prompts()) as one:
        with pytest.raises(UnknownWorkflow):
            await watched.start(one, "run_1", "none")
        assert watched._runs == {}
        assert one._hub._subscriptions == ()
