"""Trees of runs, live and stored."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import MemoryRuns, runner, script

from interpstack_workflows.agents.agent import AgentAnswer, AgentCall
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.events.events import WorkflowEvent
from interpstack_workflows.events.tree import RunTree, StepNode, WorkflowNode, preview


async def agent(call: AgentCall) -> AgentAnswer:
    if call.prompt == "bad":
        raise ValueError("cannot")
    return AgentAnswer(call.prompt, WorkflowUsage(output_tokens=5))


_CHILD = script("phase('Inner'); return await agent('deep')", "kid")
_BODY = """
phase('Find')
await parallel(['a', 'bad'].map(one => () => agent(one, {label: 'look for ' + one})))
phase('Write')
await workflow('kid')
await sleep(1)
return await ask('Publish?')
"""


def shown(node: WorkflowNode) -> Any:
    """A tree without the names of its steps and the times."""

    def line(step: StepNode) -> Any:
        return (step.kind, step.title, step.status, step.phase, step.usage.tokens, step.error)

    return [
        node.name,
        node.phases,
        [line(step) for step in node.steps.values()],
        [shown(child) for child in node.children.values()],
    ]


async def _run() -> tuple[RunTree, RunTree, str]:
    live, store = RunTree(), MemoryRuns()
    async with runner(agent, store, events=live.take, workflows={"kid": _CHILD}) as one:
        result = await one.run(script(_BODY))
        stored = await one.tree(result.run_id)
    return live, stored, result.status


async def test_a_live_tree_equals_the_stored_one() -> None:
    live, stored, status = await _run()
    assert status == "waiting"
    assert (live.root.status, stored.root.status) == ("waiting", "waiting")
    agents = [
        ("agent", "look for a", "ok", "Find", 5, ""),
        ("agent", "look for bad", "failed", "Find", 0, "ValueError: cannot"),
    ]
    inner = ["kid", ["Inner"], [("agent", "deep", "ok", "Inner", 5, "")], []]
    name, phases, steps, children = shown(live.root)
    assert (name, phases, children) == ("tested", ["Find", "Write"], [inner])
    assert steps[:2] == agents
    assert [(kind, status) for kind, _, status, *_ in steps[2:]] == [
        ("workflow", "ok"),
        ("sleep", "ok"),
        ("ask", "waiting"),
    ]
    root = shown(stored.root)
    assert [root[0], root[2][:2], root[3]] == ["tested", agents, [inner]]
    titles = [(kind, title, status) for kind, title, status, *_ in root[2][2:]]
    assert titles == [
        ("workflow", "kid", "ok"),
        ("sleep", "1", "ok"),
        ("ask", "Publish?", "waiting"),
    ]
    assert stored.root.usage().tokens == live.root.usage().tokens == 10


async def test_a_resumed_run_reports_replayed_answers() -> None:
    store = MemoryRuns()
    async with runner(agent, store, workflows={"kid": _CHILD}) as one:
        result = await one.run(script(_BODY))
    live = RunTree()
    events: list[WorkflowEvent] = []

    def both(event: WorkflowEvent) -> None:
        live.take(event)
        events.append(event)

    async with runner(agent, store, events=both, workflows={"kid": _CHILD}) as one:
        await one.answer(result.run_id, result.waiting_for[0]["id"], "yes")
        ended = await (await one.resume(result.run_id)).rest()
    assert ended.result == "yes"
    assert live.root.status == "ok"
    assert [step.status for step in live.root.steps.values()] == ["ok", "failed", "ok", "ok", "ok"]
    assert events[0].type == "workflow.resumed"
    replayed = [event.replayed for event in events if hasattr(event, "replayed")]
    assert replayed == [True] * 4 + [False]
    assert ended.census["agents"] == {"default": {"ok": 2, "failed": 1}}  # one in the child


@pytest.mark.parametrize("value", [None, "yes" * 500, {"a": 1}])
def test_previews_are_short(value: Any) -> None:
    assert len(preview(value)) <= 200
