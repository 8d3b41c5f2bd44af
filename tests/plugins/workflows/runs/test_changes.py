"""A run gets another script only under its lease."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script

from interpstack_workflows.errors import LeaseLost, ScriptChanged, WorkflowError
from interpstack_workflows.steps.entries import Entry


async def test_a_script_is_changed_under_a_lease() -> None:
    store = MemoryRuns()
    async with runner(Prompts(), store, linger_seconds=0) as one:
        run = await one.run(script("return [await agent('a'), await ask('?')]"))
        changed = script("return [await agent('b'), await ask('?')]")
        with pytest.raises(ScriptChanged, match=r"unused.*: agent 'a'\. Compare them with diff"):
            await one.resume(run.run_id, source=changed)
        lease = (await store.take(run.run_id, "other", 60.0)).lease
        assert lease is not None
        with pytest.raises(LeaseLost, match="cancel it, then change it"):
            await one.resume(run.run_id, source=changed, accept_changes=True, wait=False)
        await store.release(lease)
        assert (await one.show(run.run_id)).source != changed
        handle = await one.resume(run.run_id, source=changed, accept_changes=True)
        assert (await handle.rest()).status == "waiting"
        assert (await one.show(run.run_id)).source == changed


async def test_a_script_is_changed_once_the_lease_of_a_dead_runner_has_lapsed() -> None:
    store = MemoryRuns()
    async with runner(Prompts(), store, linger_seconds=0) as one:
        run = await one.run(script("return [await agent('a'), await ask('?')]"))
        changed = script("return [await agent('a'), await ask('?'), 'changed']")
        assert (await store.take(run.run_id, "dead", 1.2)).lease is not None
        handle = await one.resume(run.run_id, source=changed)
        assert (await handle.rest()).status == "waiting"
        assert (await one.show(run.run_id)).source == changed


async def test_the_script_of_a_run_that_a_live_runner_has_is_not_changed() -> None:
    store = MemoryRuns()
    async with runner(Prompts(), store, linger_seconds=0) as one:
        run = await one.run(script("return [await agent('a'), await ask('?')]"))
        lease = (await store.take(run.run_id, "live", 60.0)).lease
        assert lease is not None

        async def renew() -> None:
            await asyncio.sleep(0.2)
            assert await store.renew(lease)

        changed = script("return [await agent('a'), await ask('?'), 'changed']")
        renewing = asyncio.ensure_future(renew())
        with pytest.raises(LeaseLost, match="cancel it, then change it"):
            await one.resume(run.run_id, source=changed)
        await renewing


class _BusyStore(MemoryRuns):
    """A store in which another runner goes on with a run once its entries have been read."""

    def __init__(self) -> None:
        super().__init__()
        self.other: Callable[[], Awaitable[None]] | None = None

    async def entries(self, run_id: str) -> Sequence[Entry]:
        found = await super().entries(run_id)
        other, self.other = self.other, None
        if other is not None:
            await other()
        return found


@pytest.mark.parametrize("accepts", [False, True], ids=["compared", "accepted"])
async def test_a_run_that_went_on_since_it_was_read_is_not_changed(accepts: bool) -> None:
    store, agent = _BusyStore(), Prompts()
    async with (
        runner(agent, store, linger_seconds=0) as one,
        runner(agent, store, linger_seconds=0) as two,
    ):
        run = await one.run(script("return agent('pay ' + await ask('?'))"))

        async def go_on() -> None:
            handle = await two.resume(run.run_id)
            await two.answer(run.run_id, run.waiting_for[0]["id"], "ann")
            assert (await handle.result()).status == "completed"

        store.other = go_on
        changed = script("return agent('pay in euros ' + await ask('?'))")
        with pytest.raises(LeaseLost, match="has been continued since it was read, by an answer"):
            await one.resume(run.run_id, source=changed, accept_changes=accepts)
        stored = await one.show(run.run_id)
    assert (stored.status, stored.result) == ("completed", "echo: pay ann")
    assert agent.called == ["pay ann"]


async def test_a_completed_run_goes_on_with_a_changed_script() -> None:
    store, agent = MemoryRuns(), Prompts()
    async with runner(agent, store) as one:
        run = await one.run(script("return agent('a')"), run_id="run_a")
        better = script("return { said: await agent('a') }")
        ended = await (await one.resume("run_a", source=better)).result()
        assert (run.result, ended.result) == ("echo: a", {"said": "echo: a"})
        other = script("return agent('b')")
        with pytest.raises(ScriptChanged, match="leaves 1 recorded steps unused"):
            await one.resume("run_a", source=other)
        assert (await one.show("run_a")).result == ended.result
        last = await (await one.resume("run_a", source=other, accept_changes=True)).result()
        same = await (await one.resume("run_a", source=other)).result()
    assert last.result == same.result == "echo: b"
    assert agent.called == ["a", "b"]


async def test_a_completed_run_whose_time_is_up_keeps_its_script_and_its_result() -> None:
    now = [1000.0]
    async with runner(Prompts(), MemoryRuns(), clock=lambda: now[0]) as one:
        first = script("return agent('a')")
        run = await one.run(first, wall_seconds=10)
        now[0] += 11
        with pytest.raises(WorkflowError, match="used up its wall time"):
            await one.resume(run.run_id, source=script("return 'changed'"), accept_changes=True)
        record = await one.show(run.run_id)
    assert (record.status, record.source, record.result) == ("completed", first, "echo: a")


async def test_changes_are_accepted_of_a_script_alone() -> None:
    async with runner(Prompts()) as one:
        run = await one.run(script("return agent('a')"))
        with pytest.raises(WorkflowError, match="accept_changes is about a changed script"):
            await one.resume(run.run_id, accept_changes=True)
