"""Writes of a graph's task, and the reducers of its channels."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

from langgraph._internal._constants import CONFIG_KEY_READ, CONFIG_KEY_SEND
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.last_value import LastValue
from langgraph.types import Command, Send

from interpstack_langchain.langgraph_internals.task_writes import TaskWrites


def _read(task: str, channels: Any) -> None:
    """Stands in for the function by which tasks read."""


def _config(sent: list[Any], channels: dict[str, Any]) -> dict[str, Any]:
    read = partial(_read, "task", channels)
    return {"configurable": {CONFIG_KEY_SEND: sent.extend, CONFIG_KEY_READ: read}}


def test_outside_a_graph_there_are_none() -> None:
    assert TaskWrites.of({}) is None


def test_a_command_is_written_to_channels_that_are_there() -> None:
    sent: list[Any] = []
    channels = {"notes": BinaryOperatorAggregate(list, operator.add), "last": LastValue(str)}
    writes = TaskWrites.of(_config(sent, channels))
    assert writes is not None
    writes.write(Command(update={"notes": ["a"], "unknown": 1}, goto=[Send("node", {})]))
    assert ("notes", ["a"]) in sent
    assert "unknown" not in dict(sent)
    assert any(isinstance(value, Send) for _, value in sent)
    reducers = writes.reducers()
    assert list(reducers) == ["notes"]
    assert reducers["notes"](["a"], ["b"]) == ["a", "b"]
