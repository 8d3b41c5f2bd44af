"""Queue of the evals in one message of the model, as a graph runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from langgraph.errors import GraphBubbleUp, GraphInterrupt

from interpstack_agents import EvalQueue, QueuePosition
from interpstack_durable.api import UnreadableJournal
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_langchain.langgraph_internals.siblings import is_coming
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

#: Seconds between two looks whether the answer of an eval is in the graph: at first, and at most.
_FIRST_PAUSE: Final = 0.001
_LAST_PAUSE: Final = 0.1


class CallQueue:
    """Lets the evals of one model message run one after another, as the model wrote them.

    Args:
        names: Names of the tools that use the interpreter.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._queue = EvalQueue(_PAUSES, lambda: GraphInterrupt(()))

    @contextmanager
    def taking_part(self, calls: SiblingCalls) -> Iterator[None]:
        """Announce an eval, and its end."""
        message, names = self._siblings(calls)
        with self._queue.taking_part(message, names, calls.name):
            yield

    async def wait(
        self, calls: SiblingCalls, config: Mapping[str, Any], done: Collection[str] = ()
    ) -> QueuePosition | None:
        """Wait until it is this eval's turn; `None` if its message is unknown.

        The answers of the evals before it must be in the graph: if the step failed before that, the
        evals would run again, and have to start from the variables before this one.

        Args:
            calls: The eval, and the other calls of its message.
            config: The configuration of the eval's task.
            done: Names of evals that ended in an earlier run of the step.

        Raises:
            GraphInterrupt: One before it is paused or has failed; this one runs when the graph is
                resumed.
        """
        message, names = self._siblings(calls)
        if not names:
            return None
        places = {name: place for place, name in enumerate(calls.names)}

        def comes(name: str) -> bool | None:
            return is_coming(config, places[name])

        position = await self._queue.wait(message, names, calls.name, done, comes)
        for earlier in names[: position.index]:
            pause = _FIRST_PAUSE
            while comes(earlier):
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LAST_PAUSE)
        return position

    def _siblings(self, calls: SiblingCalls) -> tuple[str, list[str]]:
        """The message of an eval, and the names of the message's evals without an answer."""
        evals = calls.of_tools(self._names)
        return (f"{calls.message}:{evals[0]}", evals) if evals else ("", [])
