"""The events of whole runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from workflow_runs import Prompts, runner, script

from interpstack_workflows.agents.agent import AgentAnswer, AgentCall
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.events.events import AgentProgressEvent, AgentStartedEvent
from interpstack_workflows.events.hub import EventSubscription


async def _events(body: str, agent: Any = None, **options: Any) -> list[dict[str, Any]]:
    events: list[Any] = []
    async with runner(agent or Prompts(), events=events.append, **options) as one:
        await one.run(script(body))
    return [event.to_json() for event in events]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("workflow.") for event in events]


async def test_a_run_that_completes() -> None:
    async def agent(call: AgentCall) -> AgentAnswer:
        call.emit({"type": "tool", "name": "search"})
        return AgentAnswer("done", WorkflowUsage(output_tokens=3), session_id="s1")

    events = await _events(
        "phase('A', {colour: 'red'}); log('hi'); return agent('p', {label: 'one', model: 'm'})",
        agent,
    )
    assert kinds(events) == [
        *("started", "phase", "log", "agent_started", "agent_event", "agent_completed", "result")
    ]
    started, phase, log, begun, event, completed, result = events
    assert started["name"] == "tested"
    assert (phase["name"], phase["options"]) == ("A", {"colour": "red"})
    assert log["message"] == "hi"
    assert (begun["agent"], begun["label"], begun["phase"], begun["model"], begun["attempt"]) == (
        *("default", "one", "A", "m", 1),
    )
    assert begun["promptPreview"] == "p"
    assert event["providerEvent"] == {"type": "tool", "name": "search"}
    assert completed["sessionId"] == completed["metadata"]["sessionId"] == "s1"
    assert completed["usage"]["output_tokens"] == 3
    assert begun["metadata"]["stepId"] == completed["metadata"]["stepId"]
    assert result["results"] == "done"
    assert result["tokenUsage"]["output_tokens"] == 3
    assert result["census"]["agents"] == {"default": {"ok": 1}}
    times = [one["elapsedNanos"] for one in events]
    assert times == sorted(times)


async def test_the_error_of_a_child_comes_before_that_of_the_root() -> None:
    kid = script("await agent('a'); throw new Error('inner')", "kid")
    events = await _events("await workflow('kid')", workflows={"kid": kid})
    assert kinds(events) == [
        *("started", "started", "agent_started", "agent_completed", "error", "step", "error")
    ]
    inner, root = events[4], events[6]
    assert (inner["message"], inner["metadata"]["workflowDepth"]) == ("inner", 1)
    assert inner["metadata"]["parentStepId"] == events[5]["metadata"]["stepId"]
    assert events[5]["ok"] is False
    assert (root["message"], root["metadata"]["workflowDepth"]) == ("inner", 0)
    assert "census" not in inner
    assert root["census"]["failed"] == {"workflow": 1}


async def test_a_failed_agent_is_reported_with_its_error() -> None:
    events = await _events("await agent('fail x')")
    assert kinds(events) == ["started", "agent_started", "agent_failed", "error"]
    assert (events[2]["name"], events[2]["message"]) == ("ValueError", "cannot fail x")


async def test_waits_and_suspensions_are_emitted() -> None:
    events = await _events("return ask('Go?')")
    assert kinds(events) == ["started", "wait", "waiting"]
    assert events[1]["waitingFor"]["question"] == "Go?"
    assert events[2]["waitingFor"][0]["id"] == events[1]["waitingFor"]["id"]


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        ({"a": object()}, {"noJson": True}),
        ({"a": "x" * 20_000}, {"chars": 20_008}),
        ({"a": float("nan")}, {"noJson": True}),
    ],
)
async def test_events_of_agents_are_json_of_a_bounded_size(event: Any, shown: Any) -> None:
    async def agent(call: AgentCall) -> str:
        call.emit(event)
        return "done"

    (events,) = [one for one in await _events("await agent('p')", agent) if "providerEvent" in one]
    rest = {key: value for key, value in events["providerEvent"].items() if key != "preview"}
    assert rest == shown
    assert len(events["providerEvent"]["preview"]) <= 200


async def test_a_slow_reader_delays_nobody() -> None:
    async def agent(call: AgentCall) -> str:
        for number in range(5000):
            call.emit({"n": number})
        return "done"

    slow: EventSubscription
    async with runner(agent) as one:
        slow = one.subscribe(capacity=10)
        assert (await one.run(script("return agent('p')"))).result == "done"
        assert slow.missed > 4900
    left = [event async for event in slow]  # the runner was closed
    assert len(left) == 10
    assert isinstance(left[0], AgentProgressEvent)


async def test_a_subscription_of_one_run_ends_with_it() -> None:
    async with runner(Prompts()) as one:
        subscription = one.subscribe("run_mine")
        await one.run(script("await agent('other')"))
        await one.run(script("await agent('mine')"), run_id="run_mine")
        events = [event async for event in subscription]
    begun = [event.prompt_preview for event in events if isinstance(event, AgentStartedEvent)]
    assert begun == ["mine"]


async def test_a_subscription_of_a_run_that_has_ended_ends_at_once() -> None:
    async with runner(Prompts()) as one, asyncio.timeout(30):
        ended = await one.run(script("return agent('a')"))
        assert [event async for event in one.subscribe(ended.run_id)] == []
        later = one.subscribe(ended.run_id)
        await (await one.resume(ended.run_id)).result()  # of no step that failed: nothing runs
        assert [event async for event in later] == []


async def test_a_subscription_may_begin_before_its_run() -> None:
    async with runner(Prompts()) as one, asyncio.timeout(30):

        async def read() -> list[Any]:
            return [type(event).__name__ async for event in one.subscribe("run_mine")]

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        await one.run(script("return 1"), run_id="run_mine")
        assert await reading == ["StartedEvent", "ResultEvent"]


async def test_a_function_that_raises_does_not_end_the_run() -> None:
    def broken(event: Any) -> None:
        raise RuntimeError("no")

    async with runner(Prompts(), events=broken) as one:
        assert (await one.run(script("return agent('a')"))).result == "echo: a"
