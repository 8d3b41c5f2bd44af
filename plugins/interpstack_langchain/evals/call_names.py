"""Unique names for the tool calls of one model message.

The name of a call is its id. Some models give one id to several calls of a message; all but the
first of these get a name of their own, so that their records and their inner calls differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from interpstack import ConfigurationError
from interpstack.values import same_json

__all__ = ["SiblingCalls", "last_calls", "unique_names"]

#: Begins the path of a task that LangGraph made for one tool call; the call's place follows.
_PUSH: Final = "__pregel_push"


def unique_names(ids: Iterable[str]) -> list[str]:
    """Names for ids, in order: the id, or the id and a number where it was used before."""
    listed = list(ids)
    taken, used = set(listed), Counter[str]()
    names: list[str] = []
    for call_id in listed:
        used[call_id] += 1
        name = call_id if used[call_id] == 1 else f"{call_id}#{used[call_id]}"
        while used[call_id] > 1 and name in taken:  # it is the id of another call
            name += "#"
        taken.add(name)
        names.append(name)
    return names


@attrs.frozen
class SiblingCalls:
    """The unanswered tool calls of the message in which a model made one call.

    They are looked up once for each call: that one, its record and its place in the queue of evals
    all need its name.

    Attributes:
        message: The message's id; empty where there is none.
        calls: The calls, in order.
        names: Their names.
        name: The name of the one call.
    """

    message: str
    calls: Sequence[Mapping[str, Any]]
    names: Sequence[str]
    name: str

    @classmethod
    def of(cls, request: ToolCallRequest) -> SiblingCalls:
        """The calls of the message that made a request."""
        message, calls = last_calls(request.state)
        names = unique_names(str(one["id"] or "") for one in calls)
        return cls(message, calls, names, _name(request, calls, names))

    def of_tools(self, tools: Collection[str]) -> list[str]:
        """The names of the calls of some tools; empty if the one call is not among them."""
        pairs = zip(self.names, self.calls, strict=True)
        found = [name for name, one in pairs if one["name"] in tools]
        return found if self.name in found else []


def last_calls(state: Any) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """The model's last message, and its unanswered tool calls.

    Args:
        state: The state of the graph.

    Returns:
        The message's id, and the calls in order; nothing where there is no such message.

    Raises:
        ConfigurationError: The state is damaged.
    """
    messages: Sequence[AnyMessage] = state.get("messages", []) if isinstance(state, dict) else []
    if not isinstance(messages, list | tuple):
        raise ConfigurationError(
            "the messages in the state of this thread are not a list; check whether its checkpoint "
            "is damaged"
        )
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            calls = [call for call in message.tool_calls if call["id"] not in answered]
            return str(message.id), calls
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
    return "", []


def _name(
    request: ToolCallRequest, calls: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> str:
    """The name of the call that a tool is run for.

    Two calls with the same id are distinguished by the tasks that LangGraph made for them, or else
    by their arguments.
    """
    call = request.tool_call
    call_id = call["id"] or ""
    same = [place for place, one in enumerate(calls) if (one["id"] or "") == call_id]
    if len(same) < 2:
        return call_id
    place = _place(request)
    if place not in same:
        alike = [
            n for n in same if all(same_json(calls[n][key], call[key]) for key in ("name", "args"))
        ]
        place = next(iter(alike), same[0])
    return names[place]


def _place(request: ToolCallRequest) -> int | None:
    """The position of a call among the calls of its step, if the call has a task of its own."""
    path: Any = (request.runtime.config.get("metadata") or {}).get("langgraph_path")
    if not isinstance(path, tuple) or path[:1] != (_PUSH,):
        return None
    return path[1] if isinstance(path[1], int) else None
