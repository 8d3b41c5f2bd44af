"""Writes of the running task: how state goes into the step of an eval's message.

A node's answer becomes writes of its task. An eval adds its own writes to them directly, so its
answer is a plain message for everything around it, and both are stored together or not at all.

The test module `test_state_updates` shows what breaks if LangGraph changes these internals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
from langgraph._internal._constants import CONFIG_KEY_READ, CONFIG_KEY_SEND
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.graph.state import _control_branch
from langgraph.types import Command

__all__ = ["Reducer", "TaskWrites"]

Reducer = Callable[[Any, Any], Any]


@attrs.frozen
class TaskWrites:
    """The target of a task's writes.

    Attributes:
        send: Adds writes: channels and values.
        channels: Channels of the graph, by name; empty where they are not accessible.
    """

    send: Callable[[Sequence[tuple[str, Any]]], None]
    channels: Mapping[str, Any]

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> TaskWrites | None:
        """The writes of the task with this configuration; `None` outside of a graph."""
        conf = config.get("configurable") or {}
        send = conf.get(CONFIG_KEY_SEND)
        if send is None:
            return None
        args: tuple[Any, ...] = getattr(conf.get(CONFIG_KEY_READ), "args", ())
        channels = args[1] if len(args) > 1 and isinstance(args[1], Mapping) else {}
        return cls(send, channels)

    def write(self, command: Command[Any]) -> None:
        """Write the updates that LangGraph would write if the task's node returned this command."""
        update = command._update_as_tuples()  # noqa: SLF001 - every form an update may have
        known = [(key, value) for key, value in update if not self.channels or key in self.channels]
        self.send([*known, *_control_branch(command)])

    def reducers(self) -> dict[str, Reducer]:
        """Reducers of the graph's channels, by name."""
        found = {key: _reducer(channel) for key, channel in self.channels.items()}
        return {key: reduce for key, reduce in found.items() if reduce is not None}


def _reducer(channel: Any) -> Reducer | None:
    if isinstance(channel, BinaryOperatorAggregate):
        return channel.operator
    return partial(_fold, channel) if isinstance(channel, DeltaChannel) else None


def _fold(channel: DeltaChannel[Any], left: Any, right: Any) -> Any:
    """One write with the effect of two."""
    joined = channel.reducer(channel.typ(), [left, right])
    if not all(isinstance(value, Mapping) for value in (left, right, joined)):
        return joined
    # Writes that remove a key, as `None` removes a file, must still do so.
    return {**{k: v for k, v in {**left, **right}.items() if k not in joined}, **joined}
