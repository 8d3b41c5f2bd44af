"""Writes of the running task: how state goes into the step of an eval's message.

A node's answer becomes writes of its task. An eval adds its own writes to those of the node, so its
answer is a plain message for everything around it, and both are stored together or not at all.

The writes of an eval must not be in the task before those of the node. If the step was cancelled or
failed in between, LangGraph would store them as the result of the task, and never run the task
again: the answer of the eval would be lost. So they are held back until the node writes.

The test modules `test_state_updates` and `test_task_writes` show what breaks if LangGraph changes
these internals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any

import attrs
from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import (
    CONFIG_KEY_READ,
    CONFIG_KEY_SEND,
    CONFIG_KEY_TASK_ID,
    RESUME,
)
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.graph.state import _control_branch
from langgraph.types import Command

__all__ = ["Reducer", "TaskWrites", "pairs"]

Reducer = Callable[[Any, Any], Any]


@attrs.frozen
class TaskWrites:
    """The target of a task's writes.

    Attributes:
        send: Adds writes: channels and values.
        channels: Channels of the graph, by name; empty where they are not accessible.
        node: Values of the configuration with which the task's node writes its answer; `None` where
            they are not accessible.
    """

    send: Callable[[Sequence[tuple[str, Any]]], None]
    channels: Mapping[str, Any]
    node: MutableMapping[str, Any] | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> TaskWrites | None:
        """The writes of the task with this configuration; `None` outside of a graph.

        Called in the context in which the node runs, and not from inside a tool.
        """
        conf = config.get("configurable") or {}
        send = conf.get(CONFIG_KEY_SEND)
        if send is None:
            return None
        args: tuple[Any, ...] = getattr(conf.get(CONFIG_KEY_READ), "args", ())
        channels = args[1] if len(args) > 1 and isinstance(args[1], Mapping) else {}
        return cls(send, channels, _of_node(config))

    def write(self, command: Command[Any]) -> None:
        """Write the updates that LangGraph would write if the task's node returned this command.

        They are written when the node writes its answer, and not at all if it fails before. Where
        the configuration of the node is not accessible, they are written at once.
        """
        update = command._update_as_tuples()  # noqa: SLF001 - every form an update may have
        known = [(key, value) for key, value in update if not self.channels or key in self.channels]
        writes = [*known, *_control_branch(command)]
        if self.node is None:
            self.send(writes)
        else:
            self.node[CONFIG_KEY_SEND] = _with_held(self.node[CONFIG_KEY_SEND], writes)

    def reducers(self) -> dict[str, Reducer]:
        """Reducers of the graph's channels, by name."""
        found = {key: _reducer(channel) for key, channel in self.channels.items()}
        return {key: reduce for key, reduce in found.items() if reduce is not None}


def pairs(update: Any) -> list[tuple[str, Any]]:
    """A command's update as key and value; one from a journal may have lists for pairs."""
    if update is None:
        return []
    return list(update.items()) if isinstance(update, Mapping) else list(update)


def _of_node(config: Mapping[str, Any]) -> MutableMapping[str, Any] | None:
    """Values of the configuration that a task's node and its writers share.

    Middleware may run its handler inside a runnable of its own, whose configuration is a copy. From
    there, nothing leads to these values: the task has the configuration that they were copied from,
    and its writes are a plain deque, in which nothing can be held back or taken out again in time.
    `docs/explanation/durability.md` says so.
    """
    found = var_child_runnable_config.get()
    if found is None or _run_of(found) is None or _run_of(found) != _run_of(config):
        return None
    values: MutableMapping[str, Any] = found["configurable"]
    return values if CONFIG_KEY_SEND in values else None


def _run_of(config: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """The task of a configuration, and the traced run in which it is used; `None` without one."""
    task = (config.get("configurable") or {}).get(CONFIG_KEY_TASK_ID)
    run = getattr(config.get("callbacks"), "parent_run_id", None)
    return None if task is None or run is None else (task, run)


def _with_held(
    send: Callable[[Sequence[tuple[str, Any]]], None], held: Sequence[tuple[str, Any]]
) -> Callable[[Sequence[tuple[str, Any]]], None]:
    """Adds writes, and in front of the first ones that are no answers, those that were held back.

    Args:
        send: Adds writes.
        held: The writes held back.
    """
    waiting = list(held)

    def send_all(writes: Sequence[tuple[str, Any]]) -> None:
        if all(channel == RESUME for channel, _ in writes):
            send(writes)
            return
        first, waiting[:] = list(waiting), []
        send([*first, *writes])

    return send_all


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
