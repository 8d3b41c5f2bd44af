"""An activation of a run ends: completed, failed, cancelled, out of time, or suspended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script, spent, until

from interpstack_workflows.agents.agent import AgentAnswer, AgentCall, AgentPaused
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.errors import LeaseLost
from interpstack_workflows.runtime.boundary import FailedResolution
from interpstack_workflows.steps.entries import Entry
from interpstack_workflows.stores.store import Lease


async def test_cancelling_ends_a_script_that_goes_on() -> None:
    """Case 31 of the contracts."""
    agent = Prompts()
    async with runner(agent) as one:
        body = """
        const all = await parallel([
          () => agent('for ever 1').catch(() => null), () => agent('for ever 2').catch(() => null)])
        return agent('third')
        """
        handle = await one.start(script(body))
        await until(lambda: len(agent.called) == 2)
        await one.cancel(handle.run_id)
        result = await handle.result()
    assert (result.status, result.error) == (
        "cancelled",
        {"name": "WorkflowCancelled", "message": "workflow cancelled"},
    )
    assert sorted(agent.stopped) == ["for ever 1", "for ever 2"]
    assert len(agent.called) == 2


async def test_cancelling_ends_a_script_that_never_gives_up() -> None:
    agent = Prompts()
    async with runner(agent) as one:
        body = "for (;;) { try { await agent('for ever') } catch {} }"
        handle = await one.start(script(body))
        await until(lambda: agent.called)
        await one.cancel(handle.run_id)
        assert (await handle.result()).status == "cancelled"
    assert agent.called == ["for ever"]


async def test_a_resting_run_is_cancelled_without_its_agents() -> None:
    agent = Prompts()
    async with runner(agent, linger_seconds=0) as one:
        asked = await one.run(script("await agent('a'); await ask('?'); await agent('b')"))
        await one.cancel(asked.run_id)
        handle = await one.resume(asked.run_id)
        assert (await handle.result()).status == "cancelled"
        assert agent.called == ["a"]


async def test_a_cancelled_run_can_be_resumed_where_it_was() -> None:
    agent = Prompts()
    async with runner(agent) as one:
        body = "const a = await agent('a'); return [a, await agent(args.next)]"
        handle = await one.start(script(body), {"next": "for ever"})
        await until(lambda: len(agent.called) == 2)
        await one.cancel(handle.run_id)
        assert (await handle.result()).status == "cancelled"
        again = await one.resume(handle.run_id)
        await until(lambda: len(agent.called) == 3)
        assert agent.called == ["a", "for ever", "for ever"]
        await one.cancel(handle.run_id)
        assert (await again.result()).status == "cancelled"


@pytest.mark.parametrize("body", ["await agent('for ever')", "await sleep(3600000)"])
@pytest.mark.parametrize("linger", [0.0, 60.0])
async def test_the_wall_limit_ends_a_run(body: str, linger: float) -> None:
    async with runner(Prompts(), linger_seconds=linger) as one:
        handle = await one.start(script(body), wall_seconds=0.1)
        result = await handle.result()
    assert result.status == "failed"
    assert result.error is not None
    assert result.error["name"] == "WorkflowTimeout"


@pytest.mark.parametrize(
    "source",
    [
        "export const meta = {name: 'n', description: 'd'}\nexport default new Promise(() => {})",
        script("await Promise.race([])"),
    ],
)
async def test_a_stalled_run_ends_at_once(source: str) -> None:
    """Case 32 of the contracts."""
    async with runner(Prompts()) as one:
        result = await one.run(source)
    assert result.error is not None
    assert result.error["name"] == "Stalled"
    assert "no request is open" in result.error["message"]


async def test_agents_that_nobody_awaits_are_stopped_at_the_end() -> None:
    agent = Prompts()
    async with runner(agent) as one:
        result = await one.run(script("agent('for ever'); return agent('a')"))
    assert result.result == "echo: a"
    assert agent.stopped == ["for ever"]


async def test_a_waiting_run_has_no_realm_and_is_replayed() -> None:
    agent, store = Prompts(), MemoryRuns()
    async with runner(agent, store, linger_seconds=0) as one:
        body = "const a = await agent('a'); await sleep(50); return [a, await agent('b')]"
        handle = await one.start(script(body))
        run = one._supervisor.active_run(handle.run_id)
        assert run is not None

        async def rests() -> bool:
            record = await store.read(handle.run_id)
            return record is not None and record.status == "waiting"

        await until(rests)
        assert run.live is None
        assert (await handle.result()).result == ["echo: a", "echo: b"]
    assert agent.called == ["a", "b"]


async def test_a_run_with_a_sleeping_child_is_suspended() -> None:
    kid = {"kid": script("await sleep(args); return agent('in')", "kid")}
    agent, store = Prompts(), MemoryRuns()
    async with runner(agent, store, linger_seconds=0, workflows=kid) as one:
        handle = await one.start(script("return [await workflow('kid', 60), await agent('out')]"))

        async def rests() -> bool:
            record = await store.read(handle.run_id)
            return record is not None and record.status == "waiting"

        await until(rests)
        assert (await handle.result()).result == ["echo: in", "echo: out"]


class _Careful:
    """An agent that wants an approval before it acts."""

    def __init__(self) -> None:
        self.decisions: list[Any] = []

    async def __call__(self, call: AgentCall) -> AgentAnswer:
        self.decisions.append(call.decisions)
        if call.decisions is None:
            raise AgentPaused([{"id": "a1", "tool": "pay"}])
        return AgentAnswer(f"done by {call.decisions['a1']}", WorkflowUsage(output_tokens=3))


@pytest.mark.parametrize("linger", [0.0, 60.0])
async def test_an_approval_inside_an_agent_is_one_of_the_run(linger: float) -> None:
    agent, store = _Careful(), MemoryRuns()
    async with runner(agent, store, linger_seconds=linger) as one:
        handle = await one.start(script("return agent('pay')"))
        run = one._supervisor.active_run(handle.run_id)
        assert run is not None

        async def open_waits() -> Any:
            record = await store.read(handle.run_id)
            assert record is not None
            return run.live.waits.to_json() if run.live is not None else record.waiting_for

        await until(open_waits)
        (approval,) = await open_waits()
        assert (approval["kind"], approval["approvals"]) == (
            "approval",
            [{"id": "a1", "tool": "pay"}],
        )
        await one.answer(handle.run_id, approval["id"], {"a1": "me"})
        result = await handle.result()
    assert result.result == "done by me"
    assert agent.decisions == [None, {"a1": "me"}]
    assert spent(result) == {"output_tokens": 3, "agents": 1}


async def test_records_are_safe_before_the_next_effect() -> None:
    class Slow(MemoryRuns):
        async def append(self, *args: Any) -> None:
            await asyncio.sleep(0.02)
            await super().append(*args)

    store = Slow()
    seen: list[int] = []

    async def agent(call: AgentCall) -> str:
        (record,) = await store.runs()
        seen.append(len(await store.entries(record.id)))
        return "x"

    async with runner(agent, store) as one:
        await one.run(script("for (let i = 0; i < 4; i++) await agent('a' + i)"))
    assert seen == [0, 1, 2, 3]


class _SlowStore(MemoryRuns):
    """A store that takes a while for each write of entries."""

    async def append(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> None:
        await asyncio.sleep(0.1)
        await super().append(run_id, index, entries, lease)


#: Scripts in which `b` ends while the record of `a` is written, while the script computes, and only
#: when it is stopped.
_ENDING = {
    "during a write": "await Promise.all([agent('a'), agent('b')]); return ask('?')",
    "during computing": (
        "const b = agent('b'); await agent('a'); let n = 0;"
        "while (n < 3e6) n++; await b; return ask('?')"
    ),
    "at the stop": "const b = agent('b'); await agent('a'); await b; return ask('?')",
}


@pytest.mark.parametrize("when", _ENDING)
async def test_steps_that_end_before_their_runner_is_closed_are_recorded(when: str) -> None:
    store, done = _SlowStore(), list[str]()

    async def agent(prompt: str) -> str:
        try:
            await asyncio.sleep(0 if prompt == "a" else 60 if when == "at the stop" else 0.05)
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # it has paid, and can only say so
        done.append(prompt)
        return prompt

    async with runner(agent, store, linger_seconds=0) as one:
        handle = await one.start(script(_ENDING[when]))
        await until(lambda: len(done) == (1 if when == "at the stop" else 2))
        if when == "at the stop":
            await asyncio.sleep(0.2)
    assert sorted(done) == ["a", "b"]
    async with runner(agent, store, linger_seconds=0) as two:
        assert (await (await two.resume(handle.run_id)).rest()).status == "waiting"
    assert sorted(done) == ["a", "b"]


async def test_a_step_that_ends_while_its_script_fails_is_recorded() -> None:
    store, done = MemoryRuns(), list[str]()

    async def agent(prompt: str) -> str:
        await asyncio.sleep(0 if prompt == "a" else 0.05)
        done.append(prompt)
        return prompt

    body = (
        "const b = agent('b'); await agent('a'); let n = 0; while (n < 3e6) n++;"
        "throw new Error('x')"
    )
    async with runner(agent, store) as one:
        failed = await one.run(script(body))
        assert failed.status == "failed"
        assert sorted(done) == ["a", "b"]
        fixed = body.replace("throw new Error('x')", "return b")
        handle = await one.resume(failed.run_id, source=script(fixed))
        assert (await handle.rest()).result == "b"
    assert sorted(done) == ["a", "b"]


async def test_no_effect_starts_after_the_lease_has_lapsed() -> None:
    called, late = [], 0.0

    async def agent(prompt: str) -> str:
        nonlocal late
        called.append(prompt)
        late += 60.0 if prompt == "a" else 0.0  # the machine slept
        return prompt

    def clock() -> float:
        return time.time() + late

    async with runner(agent, MemoryRuns(clock), clock=clock) as one:
        handle = await one.start(script("return [await agent('a'), await agent('b')]"))
        with pytest.raises(LeaseLost, match="lease of this runner has lapsed"):
            await handle.result()
        assert called == ["a"]
        assert (await (await one.resume(handle.run_id)).result()).result == ["a", "b"]
    assert called == ["a", "b"]


async def test_a_store_that_fails_ends_the_activation_and_not_the_run() -> None:
    class Broken(MemoryRuns):
        broken = True

        async def append(self, *args: Any) -> None:
            if self.broken:
                raise OSError("the disk is full")
            await super().append(*args)

    store, agent = Broken(), Prompts()
    async with runner(agent, store) as one:
        handle = await one.start(script("return [await agent('a'), await agent('b')]"))
        with pytest.raises(OSError, match="the disk is full"):
            await handle.result()
        assert agent.called == ["a"]
        store.broken = False
        again = await one.resume(handle.run_id)
        assert (await again.result()).status == "completed"
    assert agent.called == ["a", "a", "b"]


async def test_the_census_counts_steps_of_children_in_earlier_activations() -> None:
    inner = """
    await parallel([() => agent('a'), () => { throw new Error('no') }])
    await workflow('deeper'); return 1
    """
    children = {"inner": script(inner, "inner"), "deeper": script("await agent('b')", "deeper")}
    body = "await workflow('inner'); await ask('?'); return agent('c')"
    async with runner(Prompts(), linger_seconds=60, workflows=children) as one:
        handle = await one.start(script(body))
        await until(lambda: one.questions(handle.run_id))
        (question,) = await one.questions(handle.run_id)
        await one.answer(handle.run_id, question["id"], 1)
        whole = await handle.result()
    async with runner(Prompts(), linger_seconds=0, workflows=children) as one:
        resting = await one.run(script(body))
        await one.answer(resting.run_id, resting.waiting_for[0]["id"], 1)
        resumed = await (await one.resume(resting.run_id)).result()
    assert resumed.census == whole.census
    assert whole.census == {
        "ok": {"agent": 3, "workflow": 2, "ask": 1},
        "failed": {},
        "dropped": 1,
        "agents": {"default": {"ok": 3}},
    }


async def test_the_census_of_a_cancelled_run_counts_steps_of_earlier_activations() -> None:
    children = {"inner": script("await agent('b')", "inner")}
    body = "await agent('a'); await workflow('inner'); await ask('?'); return agent('c')"
    async with runner(Prompts(), linger_seconds=0, workflows=children) as one:
        resting = await one.run(script(body))
        await one.cancel(resting.run_id)
        cancelled = await (await one.resume(resting.run_id)).result()
    assert cancelled.status == "cancelled"
    assert cancelled.census == resting.census
    assert resting.census["ok"] == {"agent": 2, "workflow": 1}


async def test_a_run_that_has_its_result_is_not_cancelled_while_its_rest_stops() -> None:
    stopping, may_stop = asyncio.Event(), asyncio.Event()

    async def agent(call: AgentCall) -> str:
        if call.prompt == "stops late":
            try:
                await asyncio.Event().wait()
            finally:
                stopping.set()
                await may_stop.wait()
        return call.prompt

    async with runner(agent) as one:
        handle = await one.start(script("agent('stops late'); return agent('a')"))
        await asyncio.wait_for(stopping.wait(), 30)
        await one.cancel(handle.run_id)
        may_stop.set()
        result = await handle.result()
    assert (result.status, result.result) == ("completed", "a")


async def test_a_run_that_has_its_result_ends_after_runs_whose_time_has_come() -> None:
    agent = Prompts()
    async with runner(agent, linger_seconds=60) as one:
        rush = one._supervisor._rush
        rush.begin()  # another run's time has come
        handle = await one.start(script("agent('for ever'); return agent('a')"), wall_seconds=60)
        await until(lambda: agent.stopped)  # nothing that a script has left goes on meanwhile
        run = one._supervisor.active_run(handle.run_id)
        assert run is not None
        assert run.live is not None
        run.live.finish_early(FailedResolution("too late", "WorkflowTimeout", escapes=True))
        assert (await one.show(handle.run_id)).status == "running"
        rush.end()
        assert (await handle.result()).result == "echo: a"


@pytest.mark.parametrize(
    "rest", ["return agent('b')", "return 1", "throw new Error('no')", "await sleep(10); return 1"]
)
async def test_a_run_is_due_from_its_time_until_its_script_continues(rest: str) -> None:
    async with runner(Prompts(), linger_seconds=60) as one:
        rush, counts = one._supervisor._rush, []
        begin, end = rush.begin, rush.end

        def note(change: Any, by: int) -> None:
            change()
            counts.append(by)

        rush.begin, rush.end = partial(note, begin, 1), partial(note, end, -1)  # type: ignore[method-assign]
        await one.run(script(f"await sleep(10); {rest}"))
    assert counts == [1, -1] * (2 if "sleep" in rest else 1)
