"""The loop of a scope, on a module of its own."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import MemoryRuns, Prompts, runner, script


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
async def test_what_is_ready_at_once_is_one_entry(engine: str) -> None:
    store, agent = MemoryRuns(), Prompts()
    async with runner(agent, store, engine) as one:
        body = "return parallel([1, 2, 3, 4].map(n => () => agent('a' + n)))"
        result = await one.run(script(body))
        assert result.result == [f"echo: a{n}" for n in range(1, 5)]
        entries = await store.entries(result.run_id)
        assert [len(entry.settled) for entry in entries] == [4]


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
async def test_equal_calls_are_distinguished_by_their_order(engine: str) -> None:
    """Case 29 of the contracts."""
    store, agent = MemoryRuns(), Prompts()
    async with runner(agent, store, engine) as one:
        result = await one.run(script("await agent('a'); await agent('a'); await ask('?')"))
        entries = await store.entries(result.run_id)
        names = [step.name for entry in entries for step in entry.settled if not step.started]
        assert names[1] == f"{names[0]}#2"
        again = await one.resume(result.run_id)
        assert (await again.rest()).status == "waiting"
    assert agent.called == ["a", "a"]


async def test_the_clock_and_chance_of_a_replay_are_those_of_the_run() -> None:
    store, seen = MemoryRuns(), []

    async def agent(prompt: str) -> Any:
        seen.append(prompt)
        return None

    body = """
    const drawn = [Math.random(), Date.now()]; await agent(JSON.stringify(drawn))
    drawn.push(Math.random(), Date.now(), budget.spent()); await agent(JSON.stringify(drawn))
    await ask('?'); return drawn
    """
    async with runner(agent, store, linger_seconds=0) as one:
        asked = await one.run(script(body))
        (question,) = asked.waiting_for
        await one.answer(asked.run_id, question["id"], None)
        result = await (await one.resume(asked.run_id)).result()
    assert result.status == "completed"
    assert len(seen) == 2, "a prompt that differed would be another step"


async def test_logs_and_phases_are_emitted() -> None:
    events: list[Any] = []
    async with runner(Prompts(), events=events.append) as one:
        await one.run(script("phase('A'); log('x', {y: 1}); await agent('a')"))
    shown = [event.to_json() for event in events]
    kinds = [(event["type"], event.get("name") or event.get("message")) for event in shown]
    assert ("workflow.phase", "A") in kinds
    assert ("workflow.log", 'x {"y":1}') in kinds
