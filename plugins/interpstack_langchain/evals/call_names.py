"""Unique names for the tool calls of one model message.

The name of a call is its id. Some models give one id to several calls of a message; all but the
first of these get a name of their own, so that their records and their inner calls differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

__all__ = ["call_name", "last_calls", "unique_names"]

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


def last_calls(state: Any) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """The model's last message, and its unanswered tool calls.

    Args:
        state: The state of the graph.

    Returns:
        The message's id, and the calls in order; nothing where there is no such message.
    """
    messages: Sequence[AnyMessage] = state.get("messages", []) if isinstance(state, dict) else []
    message = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    if message is None:
        return "", []
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    return str(message.id), [call for call in message.tool_calls if call["id"] not in answered]


def call_name(request: ToolCallRequest) -> str:
    """The name of the call that a tool is run for.

    Two calls with the same id are distinguished by the tasks that LangGraph made for them, or else
    by their arguments.
    """
    call = request.tool_call
    call_id = call["id"] or ""
    _, calls = last_calls(request.state)
    names = unique_names(str(one["id"] or "") for one in calls)
    same = [place for place, one in enumerate(calls) if (one["id"] or "") == call_id]
    if len(same) < 2:
        return call_id
    place = _place(request)
    if place not in same:
        alike = [n for n in same if all(calls[n][key] == call[key] for key in ("name", "args"))]
        place = next(iter(alike), same[0])
    return names[place]


def _place(request: ToolCallRequest) -> int | None:
    """The position of a call among the calls of its step, if the call has a task of its own."""
    path: Any = (request.runtime.config.get("metadata") or {}).get("langgraph_path")
    if not isinstance(path, tuple) or path[:1] != (_PUSH,):
        return None
    return path[1] if isinstance(path[1], int) else None
