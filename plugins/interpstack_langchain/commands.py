"""An eval's answer: its tool message and the state updates of the tools its code called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.types import Command, Send

__all__ = ["answer", "reducers"]

Reducer = Callable[[Any, Any], Any]


def answer(
    message: ToolMessage,
    commands: Iterable[Command[Any]],
    own: Mapping[str, Any],
    reduce: Mapping[str, Reducer],
) -> Any:
    """One result for the tool node.

    Middleware around the tool node expects a message or one command, so all updates are merged
    into one: where two of them write the same key, its reducer joins them, as it would have
    joined them in the state; without a reducer the later one counts. Only commands for another
    graph stay on their own.

    Args:
        message: The eval's tool message.
        commands: What inner tools returned, in the order in which they ended.
        own: The eval's own update.
        reduce: Reducers of the graph's channels, by key.
    """
    mine = [command for command in commands if command.graph is None]
    others = [command for command in commands if command.graph is not None]
    update: dict[str, Any] = {"messages": [message]}
    goto: list[Any] = []
    for command in mine:
        for key, value in _pairs(command.update):
            update[key] = _join(key, update, value, reduce)
        target = command.goto
        goto += [target] if isinstance(target, (str, Send)) else list(target)
    update.update(own)
    if not others and not goto and len(update) == 1 and len(update["messages"]) == 1:
        return message
    merged: Command[Any] = Command(update=update, goto=tuple(goto))
    return [merged, *others] if others else merged


def reducers(config: Mapping[str, Any]) -> dict[str, Reducer]:
    """Reducers of the running graph's channels; empty where they cannot be seen."""
    read = config.get("configurable", {}).get("__pregel_read")
    args: tuple[Any, ...] = getattr(read, "args", ())
    channels = args[1] if len(args) > 1 and isinstance(args[1], Mapping) else {}
    found = {key: _reducer(channel) for key, channel in channels.items()}
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


def _pairs(update: Any) -> list[tuple[str, Any]]:
    """A command's update as key and value; LangGraph accepts a mapping or such pairs."""
    if update is None:
        return []
    return list(update.items()) if isinstance(update, Mapping) else list(update)


def _join(key: str, update: Mapping[str, Any], value: Any, reduce: Mapping[str, Reducer]) -> Any:
    if key == "messages":
        return [*update["messages"], *(value if isinstance(value, list) else [value])]
    if key not in update or key not in reduce:
        return value
    return reduce[key](update[key], value)
