"""Checkpoints with the tool calls of a model's message, as a checkpointer returns them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Send

from interpstack_langchain.durability.checkpoint_writes import JOURNAL_CHANNEL, eval_key, task_of
from interpstack_langchain.langgraph_internals.call_scopes import TASKS

Write = tuple[str, str, Any]


def call(call_id: str, code: str = "1", name: str = "eval", **args: Any) -> dict[str, Any]:
    """A call of a model."""
    return {"name": name, "args": args or {"code": code}, "id": call_id, "type": "tool_call"}


def answer(
    call_id: str,
    text: str,
    *updates: tuple[str, Any],
    status: Any = "success",
    metadata: Mapping[str, Any] | None = None,
) -> list[Write]:
    """The writes of the task that answered a call, state updates included."""
    message = ToolMessage(
        text, tool_call_id=call_id, status=status, response_metadata=dict(metadata or {})
    )
    return [
        (f"task {call_id}", channel, value) for channel, value in [("messages", message), *updates]
    ]


@attrs.define
class Thread:
    """A thread in the order in which its checkpoints were made; stands for its checkpointer."""

    name: str = "t"
    saved: list[CheckpointTuple] = attrs.field(factory=list)

    def step(
        self,
        *calls: Mapping[str, Any],
        writes: Iterable[Write] = (),
        journals: Mapping[str, Sequence[Mapping[str, Any]]] = {},
        values: Mapping[str, Any] = {},
        namespace: str = "",
    ) -> CheckpointTuple:
        """Store a checkpoint.

        Args:
            calls: The model's calls that the step after it makes.
            writes: The writes of the step's tasks.
            journals: The journals of evals by the ids of their calls.
            values: Values of other channels.
            namespace: The graph's.
        """
        number = len(self.saved) + 1
        place = {
            "thread_id": self.name,
            "checkpoint_ns": namespace,
            "checkpoint_id": f"c{number:03}",
        }
        config: Any = {"configurable": place}
        entries = [
            (task_of(eval_key(config, call_id), index), JOURNAL_CHANNEL, entry)
            for call_id, journal in journals.items()
            for index, entry in enumerate(journal)
        ]
        checkpoint: Any = {
            "id": place["checkpoint_id"],
            "ts": f"2026-01-01T00:00:{number:02}+00:00",
            "channel_values": {TASKS: [Send("tools", [dict(one)]) for one in calls], **values},
        }
        saved = CheckpointTuple(config, checkpoint, {}, None, [*entries, *writes])
        self.saved.append(saved)
        return saved

    def list(self, config: Any, *, limit: int | None = None) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread, the newest first; those of all threads without one."""
        found = (
            self.saved[::-1]
            if config is None or config["configurable"]["thread_id"] == self.name
            else []
        )
        yield from found[:limit]

    def get_delta_channel_history(self, *, config: Any, channels: Sequence[str]) -> dict[str, Any]:
        """The history of a channel that no checkpoint has."""
        return {name: {"writes": []} for name in channels}
