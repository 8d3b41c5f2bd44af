"""A process that serves a store wakes the runs of others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from workflow_runs import Prompts, runner, script, until

from interpstack_workflows.runs.runner import WorkflowRunner
from interpstack_workflows.stores.memory import MemoryWorkflowStore


@asynccontextmanager
async def _served(store: MemoryWorkflowStore, agent: Prompts) -> AsyncIterator[WorkflowRunner]:
    async with runner(agent, store, linger_seconds=0) as one:
        serving = asyncio.create_task(one.serve(0.01))
        try:
            yield one
        finally:
            serving.cancel()
            await asyncio.wait({serving})
            assert serving.cancelled()


async def _status(store: MemoryWorkflowStore, run_id: str) -> str:
    record = await store.read(run_id)
    assert record is not None
    return record.status


async def _left(store: MemoryWorkflowStore, body: str) -> str:
    """A run that a runner has started, and left where it waits."""
    async with runner(Prompts(), store, linger_seconds=0) as one:
        handle = await one.start(script(body))
        record = one._keeper.kept(handle.run_id)
        assert record is not None
        await until(lambda: record.rested is not None or not record.busy)
    assert await _status(store, handle.run_id) == "waiting"
    return handle.run_id


async def test_sleeping_runs_are_woken_in_their_time() -> None:
    store, agent = MemoryWorkflowStore(), Prompts()
    run_id = await _left(store, "await sleep(100); return agent('a')")
    async with _served(store, agent):

        async def done() -> bool:
            return await _status(store, run_id) == "completed"

        await until(done)
    assert agent.called == ["a"]


async def test_messages_of_others_wake_a_run() -> None:
    store, agent = MemoryWorkflowStore(), Prompts()
    run_id = await _left(store, "return wait('go')")
    async with _served(store, agent), runner(Prompts(), store) as other:
        await asyncio.sleep(0.05)
        assert await _status(store, run_id) == "waiting"
        await other.signal(run_id, "go", {"n": 1})

        async def done() -> bool:
            return await _status(store, run_id) == "completed"

        await until(done)
    record = await store.read(run_id)
    assert record is not None
    assert record.result == {"n": 1}


async def test_runs_that_a_runner_left_are_taken_over() -> None:
    store, first, second = MemoryWorkflowStore(), Prompts(), Prompts()
    async with runner(first, store) as one:
        handle = await one.start(script("await agent('a'); return agent('for ever')"))
        await until(lambda: len(first.called) == 2)
    async with _served(store, second) as two:
        await until(lambda: second.called == ["for ever"])
        await two.cancel(handle.run_id)

        async def done() -> bool:
            return await _status(store, handle.run_id) == "cancelled"

        await until(done)


async def test_a_signal_that_came_too_early_wakes_nothing_again_and_again() -> None:
    store, agent = MemoryWorkflowStore(), Prompts()
    run_id = await _left(store, "await agent('a'); return wait('go')")
    async with runner(agent, store) as other:
        await other.signal(run_id, "other")
    async with _served(store, agent) as two:

        async def seen() -> bool:
            record = await store.read(run_id)
            return record is not None and record.options["messages_read"] == 1

        await until(seen)
        await until(lambda: (kept := two._keeper.kept(run_id)) is None or not kept.busy)
        before = await store.claim(run_id, "test", 0)
        await asyncio.sleep(0.1)
        after = await store.claim(run_id, "test", 0)
        assert before is not None
        assert after is not None
        assert after.token == before.token + 1, "nobody claimed the run in between"
