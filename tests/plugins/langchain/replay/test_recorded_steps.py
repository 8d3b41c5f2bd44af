"""Recorded steps: calls, answers and writes by the names of the calls."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Send

from interpstack_langchain.langgraph_internals.call_scopes import TASKS
from interpstack_langchain.replay.recorded_steps import RecordedStep


def step(*names: str, writes: Any = ()) -> RecordedStep:
    """A step whose message calls tools; the id of each call is its place, but for the last two."""
    ids = [str(n) for n in range(len(names) - 1)] + [str(len(names) - 2)]
    calls: list[Any] = [
        {"name": name, "args": {}, "id": call_id} for name, call_id in zip(names, ids, strict=True)
    ]
    sends = [Send("tools", [call]) for call in calls]
    checkpoint: Any = {"id": "c1", "ts": "2026-01-01", "channel_values": {TASKS: sends}}
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "inner:1"}}
    return RecordedStep.of(CheckpointTuple(config, checkpoint, {}, None, list(writes)))


def test_calls_with_one_id_have_names_of_their_own() -> None:
    made = step("eval", "search", "eval", "wait")
    assert [*made.calls] == ["0", "1", "2", "2#2"]
    assert made.before("2#2", ["eval", "wait"]) == ["0", "2"]
    assert made.before("0", ["eval"]) == []
    assert (made.graph, made.checkpoint) == ("inner:1", "c1")


def test_a_task_belongs_to_the_call_that_it_answered() -> None:
    first = ToolMessage("early", tool_call_id="0", id="m")
    last = ToolMessage("late", tool_call_id="0", id="m")
    other = ToolMessage("other", tool_call_id="1")
    writes = [
        ("a", "messages", [first]),
        ("a", "channel", 1),
        ("a", "messages", last),
        ("b", "messages", other),
        ("c", "channel", 2),
    ]
    made = step("eval", "eval", "eval", writes=writes)
    assert {name: answer.text for name, answer in made.answers.items()} == {
        "0": "late",
        "1": "other",
    }
    assert made.tasks["0"] == [("messages", [first]), ("channel", 1), ("messages", last)]
    assert made.tasks["1"] == [("messages", other)]
