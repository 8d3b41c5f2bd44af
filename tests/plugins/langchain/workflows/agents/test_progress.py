"""Events of agents."""

from __future__ import annotations

from typing import Any

from agent_graphs import message_with_calls
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from interpstack_langchain.workflows.agents.progress import AgentProgress


def _reporting(**given: Any) -> tuple[AgentProgress, list[Any]]:
    events: list[Any] = []
    return AgentProgress(events.append), events


def test_messages_calls_and_results_are_reported() -> None:
    progress, events = _reporting()
    progress.update((), {"model": {"messages": [message_with_calls(0, [("pay", {"n": 1})])]}})
    result = ToolMessage("x" * 2001, tool_call_id="call-0-0", name="pay")
    progress.update((), {"tools": [{"messages": [result]}, {"messages": []}]})
    progress.update(("tools:1", "inner:2"), {"model": {"messages": AIMessage("done")}})
    assert events == [
        {
            "type": "tool_call",
            "id": "call-0-0",
            "name": "pay",
            "args": {"n": 1},
            "node": "model",
        },
        {
            "type": "tool_result",
            "id": "call-0-0",
            "name": "pay",
            "status": "success",
            "text": "x" * 2000,
            "chars": 2001,
            "node": "tools",
        },
        {
            "type": "message",
            "role": "ai",
            "text": "done",
            "node": "model",
            "inside": ["tools", "inner"],
        },
    ]


def test_other_updates_are_reported_by_their_keys() -> None:
    progress, events = _reporting()
    progress.update((), {"plan": {"todos": [1]}, "none": None, "__interrupt__": ("x",)})
    progress.custom((), {"done": {1}, "by": object()})
    progress.message(HumanMessage("hi"))
    assert events[:2] == [
        {"type": "update", "keys": ["todos"], "node": "plan"},
        {"type": "update", "keys": [], "node": "none"},
    ]
    assert events[2]["data"]["done"] == [1]
    assert events[3] == {"type": "message", "role": "human", "text": "hi"}


def test_events_of_an_agent_stop_at_their_maximum() -> None:
    progress, events = _reporting()
    for number in range(1500):
        progress.custom((), number)
    assert len(events) == 1000
    assert events[-1] == {"type": "quiet", "after": 999}
