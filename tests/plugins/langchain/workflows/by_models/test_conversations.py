"""Ids of runs: the same for a call that is made again, different for all others."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage

from interpstack import ConfigurationError
from interpstack_langchain.workflows.by_models.conversations import WorkflowConversation
from interpstack_workflows.api import WorkflowError, WorkflowRecord


def runtime(
    thread: str | None = "t", call: str | None = "c", message: str = "m", human: str = "h"
) -> ToolRuntime[Any, Any]:
    made = {"name": "start", "args": {}, "id": call, "type": "tool_call"}
    said = AIMessage("", id=message, tool_calls=[made] if call else [])
    return ToolRuntime(
        state={"messages": [HumanMessage("go", id=human), said]},
        context=None,
        config={"configurable": {"thread_id": thread}} if thread else {},
        stream_writer=lambda _: None,
        tool_call_id=call,
        store=None,
    )


def run_id(one: ToolRuntime[Any, Any], **inputs: Any) -> str:
    return WorkflowConversation.of(one).run_id(one, "start", inputs)


def test_a_call_made_again_has_the_same_run() -> None:
    assert run_id(runtime(), a=1) == run_id(runtime(), a=1)
    WorkflowRecord(id=run_id(runtime()))  # fits a store
    others = [
        run_id(runtime(), a=2),
        run_id(runtime(thread="u"), a=1),
        run_id(runtime(call="d"), a=1),
        run_id(runtime(message="n"), a=1),
        run_id(runtime(thread=None), a=1),
        run_id(runtime(thread=None, human="g"), a=1),
    ]
    assert len({run_id(runtime(), a=1), *others}) == 7


def test_a_conversation_knows_its_runs() -> None:
    own, name = WorkflowConversation.of(runtime()), run_id(runtime())
    assert own.owns(name)
    assert own.check(f" {name} ") == own.check(name.rpartition("_")[2]) == name
    assert not WorkflowConversation.of(runtime(thread="u")).owns(name)
    for wrong in (run_id(runtime(thread="u")), "run_x", "x" * 200):
        with pytest.raises(WorkflowError, match="has no run"):
            own.check(wrong)


def test_a_call_without_an_id_starts_nothing() -> None:
    with pytest.raises(ConfigurationError, match="start needs the id of its tool call"):
        run_id(runtime(call=None))
