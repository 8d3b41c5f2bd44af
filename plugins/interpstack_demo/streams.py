"""Events of an agent's stream, as the demos read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.messages import BaseMessage

__all__ = ["is_call", "messages_of"]


def is_call(event: Any) -> bool:
    """Whether an event of the custom stream tells that code calls a tool."""
    return isinstance(event, dict) and event.get("type") == "tool" and event["phase"] == "start"


def messages_of(update: Any) -> Iterator[BaseMessage]:
    """The messages that the nodes of a graph added, from the stream of updates."""
    for node in update.values() if isinstance(update, dict) else ():
        found = node.get("messages") if isinstance(node, dict) else None
        yield from found if isinstance(found, list) else ()
