"""Queue of the evals in one message of the model, as a graph runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest

from interpstack_agents import EvalQueue, QueuePosition
from interpstack_durable.api import UnreadableJournal
from interpstack_langchain.evals.call_names import call_name, last_calls, unique_names
from interpstack_langchain.rules.approvals import UnfitAnswer
from interpstack_langchain.state.not_restored import StateNotRestored

__all__ = ["CallQueue"]

#: What an eval raises that will be run again.
_PAUSES = (
    GraphBubbleUp,
    StateNotRestored,
    UnfitAnswer,
    UnreadableJournal,
    asyncio.CancelledError,
)


class CallQueue:
    """Lets the evals of one model message run one after another, as the model wrote them.

    Args:
        names: Names of the tools that use the interpreter.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._queue = EvalQueue(_PAUSES, lambda: GraphInterrupt(()))

    @contextmanager
    def taking_part(self, request: ToolCallRequest) -> Iterator[None]:
        """Announce an eval, and its end."""
        message, names = self._siblings(request)
        with self._queue.taking_part(message, names, call_name(request)):
            yield

    async def wait(
        self, request: ToolCallRequest, done: Collection[str] = ()
    ) -> QueuePosition | None:
        """Wait until it is this eval's turn; `None` if its message is unknown.

        Args:
            request: The model's call of the eval.
            done: Names of evals that ended in an earlier run of the step.

        Raises:
            GraphInterrupt: One before it is paused; this one runs when the graph is resumed.
        """
        message, names = self._siblings(request)
        if not names:
            return None
        return await self._queue.wait(message, names, call_name(request), done)

    def _siblings(self, request: ToolCallRequest) -> tuple[str, list[str]]:
        """The message of an eval, and the names of the message's evals without an answer."""
        message, calls = last_calls(request.state)
        names = unique_names(str(call["id"] or "") for call in calls)
        evals = [n for n, c in zip(names, calls, strict=True) if c["name"] in self._names]
        if call_name(request) not in evals:
            return "", []
        return f"{message}:{evals[0]}", evals
