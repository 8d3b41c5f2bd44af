"""Recorded steps of a thread: the model's calls in each, their answers, and their writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.base import CheckpointTuple

from interpstack_langchain.evals.call_names import unique_names
from interpstack_langchain.langgraph_internals.call_scopes import pending_calls
from interpstack_langchain.state.graph_state import with_writes

__all__ = ["RecordedStep"]


@attrs.frozen(kw_only=True)
class RecordedStep:
    """One step of a thread that runs tool calls.

    Attributes:
        saved: The checkpoint that the step started from.
        calls: The model's calls by their names, in order.
        answers: The answers to the calls that have ended, by name.
        tasks: The writes of the calls that have ended, by name: channels and values.
    """

    saved: CheckpointTuple = attrs.field(repr=False)
    calls: Mapping[str, Mapping[str, Any]]
    answers: Mapping[str, ToolMessage]
    tasks: Mapping[str, Sequence[tuple[str, Any]]]

    @classmethod
    def of(cls, saved: CheckpointTuple) -> RecordedStep:
        """The step that started from a checkpoint."""
        calls = pending_calls(saved.checkpoint)
        names = unique_names(str(call["id"] or "") for call in calls)
        writes = saved.pending_writes or ()
        return cls(
            saved=saved,
            calls=dict(zip(names, calls, strict=True)),
            answers=_answers(writes),
            tasks=_tasks(writes),
        )

    @property
    def graph(self) -> str:
        """The checkpoint namespace of the graph; empty for the outermost."""
        return str(self.saved.config["configurable"].get("checkpoint_ns", ""))

    @property
    def checkpoint(self) -> str:
        """Identifies the checkpoint; later ones have larger ids."""
        return str(self.saved.checkpoint["id"])

    def before(self, name: str, tools: Iterable[str]) -> list[str]:
        """The names of the calls of some tools that the model wrote before another call."""
        names, known = [*self.calls], set(tools)
        earlier = names[: names.index(name)]
        return [one for one in earlier if self.calls[one]["name"] in known]


def _answers(writes: Iterable[tuple[str, str, Any]]) -> dict[str, ToolMessage]:
    messages = [
        message
        for _, channel, value in writes
        if channel == "messages"
        for message in (value if isinstance(value, list) else [value])
    ]
    tool_messages = [one for one in messages if isinstance(one, ToolMessage)]
    # A message that others follow is written twice, under one id; the last one counts.
    given = list({one.id or str(id(one)): one for one in tool_messages}.values())
    names = unique_names(one.tool_call_id for one in given)
    return dict(zip(names, given, strict=True))


def _tasks(writes: Iterable[tuple[str, str, Any]]) -> dict[str, list[tuple[str, Any]]]:
    """Writes of finished tasks, by the tool call that each of them answered."""
    tasks: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, value in writes:
        tasks.setdefault(task, []).append((channel, value))
    return {call: written for written in tasks.values() for call in with_writes({}, written)[1]}
