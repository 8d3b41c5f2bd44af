"""Convert the stream of a graph to events of a run: messages, tool calls and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic_core import to_jsonable_python

__all__ = ["AgentProgress"]

#: Characters of a text in an event, and events of one call of an agent.
_TEXT_CHARS: Final = 2000
_MAX_EVENTS: Final = 1000
_INTERRUPT: Final = "__interrupt__"


class AgentProgress:
    """Report the progress of an agent.

    Args:
        emit: Takes the events.
    """

    def __init__(self, emit: Callable[[Mapping[str, Any]], None]) -> None:
        self._emit = emit
        self._count = 0

    def update(self, place: tuple[str, ...], updates: Mapping[str, Any]) -> None:
        """Report that nodes of a graph have ended.

        Args:
            place: The graphs around the nodes, from the outermost; empty for the agent's own.
            updates: The change of the state by each node.
        """
        inside = [part.partition(":")[0] for part in place]
        for node, update in updates.items():
            if node == _INTERRUPT:
                continue
            events = list(_events(update))
            for event in events:
                self._report({**event, "node": node}, inside)
            if not events:
                keys = sorted(map(str, update)) if isinstance(update, Mapping) else []
                self._report({"type": "update", "keys": keys, "node": node}, inside)

    def custom(self, place: tuple[str, ...], data: Any) -> None:
        """Report data that a node or a tool wrote to the graph's custom stream."""
        shown = to_jsonable_python(data, serialize_unknown=True, inf_nan_mode="null")
        inside = [part.partition(":")[0] for part in place]
        self._report({"type": "custom", "data": shown}, inside)

    def message(self, message: BaseMessage) -> None:
        """Report the answer of a model."""
        for event in _of_message(message):
            self._report(event, [])

    def _report(self, event: Mapping[str, Any], inside: list[str]) -> None:
        self._count += 1
        if self._count < _MAX_EVENTS:
            self._emit({**event, "inside": inside} if inside else event)
        elif self._count == _MAX_EVENTS:
            self._emit({"type": "quiet", "after": _MAX_EVENTS - 1})


def _events(update: Any) -> Iterator[dict[str, Any]]:
    """Events of the messages in the change of a state, of which there may be several."""
    for part in update if isinstance(update, (list, tuple)) else [update]:
        messages = part.get("messages") if isinstance(part, Mapping) else None
        for message in messages if isinstance(messages, list) else [messages]:
            if isinstance(message, BaseMessage):
                yield from _of_message(message)


def _of_message(message: BaseMessage) -> Iterator[dict[str, Any]]:
    text = str(message.text)
    if isinstance(message, ToolMessage):
        fields = {"id": message.tool_call_id, "name": message.name, "status": message.status}
        yield {"type": "tool_result", **fields, **_cut(text)}
        return
    if text or not isinstance(message, AIMessage):
        yield {"type": "message", "role": message.type, **_cut(text)}
    for call in message.tool_calls if isinstance(message, AIMessage) else ():
        fields = {"id": call["id"], "name": call["name"]}
        args = to_jsonable_python(call["args"], serialize_unknown=True, inf_nan_mode="null")
        yield {"type": "tool_call", **fields, "args": args}


def _cut(text: str) -> dict[str, Any]:
    if len(text) <= _TEXT_CHARS:
        return {"text": text}
    return {"text": text[:_TEXT_CHARS], "chars": len(text)}
