"""A process that serves a store wakes the runs of others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script, until

from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.runs.runner import WorkflowRunner
from interpstack_workflows.stores.records import Message, RunStatus, WorkflowRecord


@asynccontextmanager
async def _served(store: MemoryRuns, agent: Prompts) -> AsyncIterator[WorkflowRunner]:
    async with runner(agent, store, linger_seconds=0) as one:
        serving = asyncio.create_task(one.serve(0.01))
        try:
            yield one
        finally:
            serving.cancel()
            await asyncio.wait({serving})
            assert serving.cancelled()


async def _status(store: MemoryRuns, run_id: str) -> str:
    record = await store.read(run_id)
    assert record is not None
    return record.status


async def _left(store: MemoryRuns, body: str) -> str:
    """A run that a runner has started, and left where it waits."""
    async with runner(Prompts(), store, linger_seconds=0) as one:
        handle = await one.start(script(body))
        record = one._supervisor.active_run(handle.run_id)
        assert record is not None
        await until(lambda: record.rested is not None or not record.busy)
    assert await _status(store, handle.run_id) == "waiting"
    return handle.run_id


async def test_sleeping_runs_are_woken_in_their_time() -> None:
    store, agent = MemoryRuns(), Prompts()
    run_id = await _left(store, "await sleep(100); return agent('a')")
    async with _served(store, agent):

        async def done() -> bool:
            return await _status(store, run_id) == "completed"

        await until(done)
    assert agent.called == ["a"]


async def test_messages_of_others_wake_a_run() -> None:
    store, agent = MemoryRuns(), Prompts()
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
    store, first, second = MemoryRuns(), Prompts(), Prompts()
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
    store, agent = MemoryRuns(), Prompts()
    run_id = await _left(store, "await agent('a'); return wait('go')")
    async with runner(agent, store) as other:
        await other.signal(run_id, "other")
    async with _served(store, agent) as two:

        async def seen() -> bool:
            record = await store.read(run_id)
            return record is not None and record.options["messages_read"] == 1

        await until(seen)
        await until(lambda: (run := two._supervisor.active_run(run_id)) is None or not run.busy)
        lease = (await store.take(run_id, "test", 0)).lease
        assert lease is not None
        await asyncio.sleep(0.1)
        assert await store.renew(lease) is not None, "nobody claimed the run in between"


class _Failing(MemoryRuns):
    """A store that is down at times, and one of whose runs is damaged."""

    down = False
    damaged = ""
    polls = 0

    async def runs(
        self, status: RunStatus | None = None, limit: int = 100
    ) -> Sequence[WorkflowRecord]:
        self.polls += 1
        if self.down:
            raise WorkflowError("the runs cannot be listed")
        return await super().runs(status, limit)

    async def messages(self, run_id: str, after: int) -> Sequence[tuple[int, Message]]:
        if run_id == self.damaged:
            raise WorkflowError("it is damaged")
        return await super().messages(run_id, after)


async def test_a_store_that_fails_for_a_while_is_served_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, agent = _Failing(), Prompts()
    run_id = await _left(store, "return wait('go')")
    async with _served(store, agent), runner(Prompts(), store) as other:
        await until(lambda: store.polls > 3)
        store.down, seen = True, store.polls
        await until(lambda: store.polls > seen + 3)
        store.down = False
        await other._parts.store.send(run_id, Message(kind="signal", name="go"))

        async def done() -> bool:
            return await _status(store, run_id) == "completed"

        await until(done)
    first, second = (record.getMessage() for record in caplog.records)
    assert first.endswith("until the store can be used again: the runs cannot be listed")
    assert second == "the store can be used again: its runs are served"


async def test_a_store_that_cannot_be_used_at_first_is_an_error() -> None:
    store = _Failing()
    store.down = True
    async with runner(Prompts(), store) as one:
        with pytest.raises(WorkflowError, match="the runs cannot be listed"):
            await one.serve(0.01)


async def test_a_damaged_run_does_not_keep_others_from_being_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, agent = _Failing(), Prompts()
    store.damaged = await _left(store, "return wait('go')")
    other = await _left(store, "await sleep(50); return agent('a')")
    async with _served(store, agent):

        async def done() -> bool:
            return await _status(store, other) == "completed"

        await until(done)
        seen = store.polls
        await until(lambda: store.polls > seen + 6)
    assert [record.getMessage() for record in caplog.records] == [
        f"the run {store.damaged} is not served: it is damaged"
    ]
