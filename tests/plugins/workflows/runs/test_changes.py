"""A run gets another script only under its lease."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from workflow_runs import Prompts, runner, script

from interpstack_workflows.errors import LeaseLost, ScriptChanged
from interpstack_workflows.steps.entries import Entry
from interpstack_workflows.stores.memory import MemoryWorkflowStore


async def test_a_script_is_changed_under_a_lease() -> None:
    store = MemoryWorkflowStore()
    async with runner(Prompts(), store, linger_seconds=0) as one:
        run = await one.run(script("return [await agent('a'), await ask('?')]"))
        changed = script("return [await agent('b'), await ask('?')]")
        with pytest.raises(ScriptChanged, match=r"unused: agent 'a'\. Compare them with diff"):
            await one.resume(run.run_id, source=changed)
        lease = await store.claim(run.run_id, "other", 60.0)
        assert lease is not None
        with pytest.raises(LeaseLost, match="cancel it, then change it"):
            await one.resume(run.run_id, source=changed, accept_changes=True, wait=False)
        await store.release(lease)
        assert (await one.show(run.run_id)).source != changed
        handle = await one.resume(run.run_id, source=changed, accept_changes=True)
        assert (await handle.rest()).status == "waiting"
        assert (await one.show(run.run_id)).source == changed


async def test_a_script_is_changed_once_the_lease_of_a_dead_runner_has_lapsed() -> None:
    store = MemoryWorkflowStore()
    async with runner(Prompts(), store, linger_seconds=0) as one:
        run = await one.run(script("return [await agent('a'), await ask('?')]"))
        changed = script("return [await agent('a'), await ask('?'), 'changed']")
        assert await store.claim(run.run_id, "dead", 1.2) is not None
        handle = await one.resume(run.run_id, source=changed)
        assert (await handle.rest()).status == "waiting"
        assert (await one.show(run.run_id)).source == changed


async def test_the_script_of_a_run_that_a_live_runner_has_is_not_changed() -> None:
    store = MemoryWorkflowStore()
    async with runner(Prompts(), store, linger_seconds=0) as one:
        run = await one.run(script("return [await agent('a'), await ask('?')]"))
        lease = await store.claim(run.run_id, "live", 60.0)
        assert lease is not None

        async def renew() -> None:
            await asyncio.sleep(0.2)
            assert await store.renew(lease, 60.0)

        changed = script("return [await agent('a'), await ask('?'), 'changed']")
        renewing = asyncio.ensure_future(renew())
        with pytest.raises(LeaseLost, match="cancel it, then change it"):
            await one.resume(run.run_id, source=changed)
        await renewing


class _BusyStore(MemoryWorkflowStore):
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
        with pytest.raises(LeaseLost, match="has gone on with run"):
            await one.resume(run.run_id, source=changed, accept_changes=accepts)
        stored = await one.show(run.run_id)
    assert (stored.status, stored.result) == ("completed", "echo: pay ann")
    assert agent.called == ["pay ann"]
