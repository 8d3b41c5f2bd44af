"""Turns of conversations: each once, and one of a thread at a time, whichever worker has it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from interpstack_agents import Feed
from interpstack_example_server import metrics
from interpstack_sessions.api import HeldKeys

__all__ = ["Turns", "WrongTurn"]

_log = logging.getLogger(__name__)


class WrongTurn(Exception):
    """The id of a turn is that of an earlier turn, with another text."""


class Turns:
    """Runs the turns of an agent.

    A turn runs in a task of its own: it ends although its client is gone, and the client that
    asks again finds its answer.

    Args:
        agent: The graph of the agent, with a checkpointer.
        threads: Holds the keys of threads.
    """

    def __init__(self, agent: Any, threads: HeldKeys) -> None:
        self._agent, self._threads = agent, threads
        self._running: set[asyncio.Task[str]] = set()

    @property
    def running(self) -> int:
        """Turns that run, or wait for their thread, in this worker."""
        return len(self._running)

    def start(self, thread: str, turn: str, text: str, feed: Feed) -> asyncio.Task[str]:
        """Start a turn, or go on with it; the task returns the answer, and closes the feed."""
        task = asyncio.create_task(self._run(thread, turn, text, feed))
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[str]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.info("a turn ended with an error: %s", error)  # its client may be gone

    async def drain(self) -> None:
        """Wait until all turns have ended."""
        while self._running:
            await asyncio.wait(set(self._running))

    async def _run(self, thread: str, turn: str, text: str, feed: Feed) -> str:
        try:
            with metrics.measured():
                return await self._run_alone(thread, turn, text, feed)
        finally:
            feed.close()

    async def _run_alone(self, thread: str, turn: str, text: str, feed: Feed) -> str:
        async with self._threads.held(f"thread:{thread}"):
            return await self._answer(thread, turn, text, feed)

    async def _answer(self, thread: str, turn: str, text: str, feed: Feed) -> str:
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        state = await self._agent.aget_state(config)
        messages = state.values.get("messages", [])
        place = next((n for n, one in enumerate(messages) if one.id == turn), None)
        if place is None and state.next:
            # An earlier turn was interrupted, and its client has given up.
            await self._drive(None, config, Feed())
        if place is None:
            asked = {"messages": [HumanMessage(text, id=turn)]}
            return await self._drive(asked, config, feed)
        if messages[place].text != text:
            raise WrongTurn(f"turn {turn!r} of this thread has another text")
        later = messages[place + 1 :]
        end = next((n for n, one in enumerate(later) if isinstance(one, HumanMessage)), len(later))
        if end == len(later) and state.next:
            return await self._drive(None, config, feed)  # go on where it was interrupted
        return _last_answer(later[:end])

    async def _drive(self, given: Any, config: RunnableConfig, feed: Feed) -> str:
        async for event in self._agent.astream(
            given, config, stream_mode="custom", durability="sync"
        ):
            feed.event(event)
        state = await self._agent.aget_state(config)
        return _last_answer(state.values["messages"])


def _last_answer(messages: list[Any]) -> str:
    answers = [one.text for one in messages if isinstance(one, AIMessage)]
    return str(answers[-1]) if answers else ""
