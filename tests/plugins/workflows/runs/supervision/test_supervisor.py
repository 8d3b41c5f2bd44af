"""One works on a run, the others wait or refuse; leases pass on within their time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script, until

from interpstack_workflows.errors import LeaseLost
from interpstack_workflows.stores.records import WorkflowRecord
from interpstack_workflows.stores.store import Lease, TakenRun

_LONG = script("await agent('a'); return agent('for ever b')")


class _Lapsing(MemoryRuns):
    """A store in which leases can be taken away."""

    lapsed = False

    async def renew(self, lease: Lease) -> Lease | None:
        return None if self.lapsed else await super().renew(lease)


async def test_a_second_runner_refuses_or_waits() -> None:
    store, first, second = _Lapsing(), Prompts(), Prompts()
    async with runner(first, store, lease_seconds=0.3) as one, runner(second, store) as two:
        handle = await one.start(_LONG)
        await until(lambda: len(first.called) == 2)
        refused = await two.resume(handle.run_id, wait=False)
        with pytest.raises(LeaseLost, match="Another runner works on run"):
            await refused.result()
        waiting = await two.resume(handle.run_id)
        await asyncio.sleep(0.5)  # longer than the lease, which is renewed
        assert second.called == []
        assert first.stopped == []
        await one.cancel(handle.run_id)
        assert (await handle.result()).status == "cancelled"
        assert (await waiting.result()).status == "cancelled"


async def test_a_runner_that_lost_its_lease_stops_at_once() -> None:
    store, first, second = _Lapsing(), Prompts(), Prompts()
    async with runner(first, store, lease_seconds=0.3) as one, runner(second, store) as two:
        handle = await one.start(_LONG)
        await until(lambda: len(first.called) == 2)
        store.lapsed = True
        waiting = await two.resume(handle.run_id)
        with pytest.raises(LeaseLost, match="nothing more was recorded"):
            await handle.result()
        assert first.stopped == ["for ever b"]
        await until(lambda: second.called == ["for ever b"])
        store.lapsed = False
        await two.cancel(handle.run_id)
        assert (await waiting.result()).status == "cancelled"


async def test_an_active_run_has_one_activation() -> None:
    agent = Prompts()
    async with runner(agent) as one:
        handle = await one.start(script("return agent('for ever a')"))
        await until(lambda: agent.called)
        again = await one.resume(handle.run_id)
        await one.cancel(handle.run_id)
        assert await again.result() == await handle.result()
        assert agent.called == ["for ever a"]
        assert one._supervisor.active_run(handle.run_id) is None


async def test_many_runs_share_few_places() -> None:
    agent = Prompts()
    async with runner(agent, live_runs=2) as one:
        body = script("await sleep(1); return agent(`a ${args}`)")
        handles = [await one.start(body, number) for number in range(9)]
        results = [(await handle.result()).result for handle in handles]
        assert results == [f"echo: a {number}" for number in range(9)]


async def test_a_waiting_run_is_made_live_before_its_time_and_continues_at_its_time() -> None:
    woken: list[float] = []

    async def agent(prompt: str) -> str:
        woken.append(time.time())
        return prompt

    store = MemoryRuns()
    async with runner(agent, store, linger_seconds=0.2) as one:
        handle = await one.start(script("await sleep(900); return agent('a')"))
        await until(lambda: one._supervisor._alarms._times)
        waiting = await one.show(handle.run_id)
        assert waiting.wake_at is not None
        assert one._supervisor._alarms._times == {handle.run_id: waiting.wake_at}
        assert (await handle.result()).result == "a"
    assert woken[0] >= waiting.wake_at


async def test_a_run_that_is_made_live_early_stays_live_until_its_time() -> None:
    rests: list[str] = []
    woken: list[float] = []

    class Noting(MemoryRuns):
        async def leave(self, run: WorkflowRecord, lease: Lease) -> None:
            rests.append(run.status)
            await super().leave(run, lease)

    async def agent(prompt: str) -> str:
        woken.append(time.time())
        return prompt

    async with runner(agent, Noting(), linger_seconds=0.1) as one:
        handle = await one.start(script("await sleep(1200); return agent('a')"))
        await until(lambda: one._supervisor._alarms._times)
        due = one._supervisor._alarms._times[handle.run_id]
        run = one._supervisor.active_run(handle.run_id)
        assert run is not None
        one._supervisor._alarms.clear(handle.run_id)
        one._supervisor._wake_early(handle.run_id, due)  # as if many runs were due together
        await until(lambda: run.live is not None)
        assert (await handle.result()).result == "a"
    assert rests == ["waiting", "completed"]
    assert woken[0] >= due


async def test_a_run_that_is_due_soon_is_not_suspended() -> None:
    rests: list[str] = []

    class Noting(MemoryRuns):
        async def leave(self, run: WorkflowRecord, lease: Lease) -> None:
            rests.append(run.status)
            await super().leave(run, lease)

    async with runner(Prompts(), Noting(), linger_seconds=0.2) as one:
        result = await one.run(script("await sleep(350); return agent('a')"))
    assert result.result == "echo: a"
    assert rests == ["completed"]


async def test_a_runner_that_is_closed_while_it_claims_leaves_the_run_to_others() -> None:
    claiming = asyncio.Event()

    class Slow(MemoryRuns):
        async def take(self, *given: Any, **named: Any) -> TakenRun:
            taken = await super().take(*given, **named)
            claiming.set()
            await asyncio.sleep(0.05)
            return taken

    store = Slow()
    async with runner(Prompts(), store) as one:
        handle = await one.start(script("return 1"))
        await claiming.wait()
    assert (await store.take(handle.run_id, "another", 60)).lease is not None


async def test_a_result_can_be_asked_for_again() -> None:
    async with runner(Prompts()) as one:
        handle = await one.start(script("return 1"))
        assert await handle.result() == await handle.result() == await handle.rest()
