"""Turns of conversations: each once, and one of a thread at a time, whichever worker has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from interpstack_agents import Feed
from interpstack_example_server import metrics
from interpstack_sessions.api import KeyLocks

__all__ = ["Outcome", "Refused", "Turns"]

_log = logging.getLogger(__name__)
_SPEAKERS = {"human": "user", "ai": "agent"}


class Refused(Exception):
    """What a client asked for does not fit its thread; asking again does not help."""


@attrs.frozen
class Outcome:
    """How a turn ended: with an answer, or with questions to a person.

    Attributes:
        answer: The agent's answer; None if there are questions.
        questions: The open questions: the id of each, and its value, as LangGraph's `Interrupt`.
    """

    answer: str | None
    questions: tuple[Mapping[str, Any], ...] = ()

    def fields(self) -> dict[str, Any]:
        """Return what a client receives."""
        return {"questions": self.questions} if self.questions else {"answer": self.answer}


class Turns:
    """Runs the turns of an agent.

    A turn runs in a task of its own. Whoever starts it decides whether it ends with its client.

    Args:
        agent: The graph of the agent, with a checkpointer.
        threads: Holds the keys of threads.
    """

    def __init__(self, agent: Any, threads: KeyLocks) -> None:
        self._agent, self._threads = agent, threads
        self._running: set[asyncio.Task[Outcome]] = set()

    @property
    def running(self) -> int:
        """Turns that run, or wait for their thread, in this worker."""
        return len(self._running)

    def start(self, thread: str, turn: str, text: str, feed: Feed) -> asyncio.Task[Outcome]:
        """Start a turn, or continue it; the task returns its outcome, and closes the feed."""
        return self._begin(thread, feed, lambda: self._turn(thread, turn, text, feed))

    def answer(self, thread: str, answers: Mapping[str, Any], feed: Feed) -> asyncio.Task[Outcome]:
        """Answer questions by their ids, and continue the turn that asked them."""
        return self._begin(thread, feed, lambda: self._resume(thread, answers, feed))

    async def look(self, thread: str) -> dict[str, Any]:
        """Return the messages of a thread, its questions, and the id of an unfinished turn."""
        state = await self._agent.aget_state(_config(thread))
        messages = state.values.get("messages", [])
        asked = [one.id for one in messages if isinstance(one, HumanMessage)]
        said = [
            {"id": one.id, "from": _SPEAKERS[one.type], "text": one.text}
            for one in messages
            if one.type in _SPEAKERS and one.text
        ]
        unfinished = asked[-1] if asked and _is_unfinished(state) else None
        return {"messages": said, "questions": _questions(state), "unfinished": unfinished}

    async def drain(self) -> None:
        """Wait until all turns have ended."""
        while self._running:
            await asyncio.wait(set(self._running))

    def _begin(
        self, thread: str, feed: Feed, run: Callable[[], Awaitable[Outcome]]
    ) -> asyncio.Task[Outcome]:
        task = asyncio.create_task(self._run_alone(thread, feed, run))
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Outcome]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.info("a turn ended with an error: %s", error)  # its client may be gone

    async def _run_alone(
        self, thread: str, feed: Feed, run: Callable[[], Awaitable[Outcome]]
    ) -> Outcome:
        try:
            with metrics.measured() as measure:
                async with self._threads.lock(f"thread:{thread}"):
                    outcome = await run()
                measure.end = "asked" if outcome.questions else "answered"
                return outcome
        finally:
            feed.close()

    async def _turn(self, thread: str, turn: str, text: str, feed: Feed) -> Outcome:
        config = _config(thread)
        state = await self._agent.aget_state(config)
        messages = state.values.get("messages", [])
        place = next((n for n, one in enumerate(messages) if one.id == turn), None)
        if place is None:
            if _is_unfinished(state) and not state.interrupts:
                # An earlier turn was interrupted, and its client has given up.
                await self._drive(None, config, Feed())
                state = await self._agent.aget_state(config)
            if state.interrupts:
                raise Refused("an earlier turn of this thread waits for answers to its questions")
            asked = {"messages": [HumanMessage(text, id=turn)]}
            return await self._drive(asked, config, feed)
        if messages[place].text != text:
            raise Refused(f"turn {turn!r} of this thread has another text")
        later = messages[place + 1 :]
        end = next((n for n, one in enumerate(later) if isinstance(one, HumanMessage)), len(later))
        if end == len(later) and state.interrupts:
            return Outcome(None, _questions(state))
        if end == len(later) and _is_unfinished(state):
            return await self._drive(None, config, feed)  # continue where it was interrupted
        return Outcome(_last_answer(later[:end]))

    async def _resume(self, thread: str, answers: Mapping[str, Any], feed: Feed) -> Outcome:
        config = _config(thread)
        state = await self._agent.aget_state(config)
        unknown = sorted(answers.keys() - {one.id for one in state.interrupts})
        if unknown:
            raise Refused(f"no question with the id {unknown[0]!r} is open in this thread")
        try:
            return await self._drive(Command(resume=dict(answers)), config, feed)
        except ValueError as error:
            left = {one.id for one in (await self._agent.aget_state(config)).interrupts}
            if answers.keys() <= left:  # an answer that does not fit: its question stays open
                raise Refused(str(error)) from error
            raise

    async def _drive(self, given: Any, config: RunnableConfig, feed: Feed) -> Outcome:
        async for event in self._agent.astream(
            given, config, stream_mode="custom", durability="sync"
        ):
            feed.event(event)
        state = await self._agent.aget_state(config)
        if state.interrupts:
            return Outcome(None, _questions(state))
        return Outcome(_last_answer(state.values["messages"]))


def _config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


def _is_unfinished(state: Any) -> bool:
    return bool(state.next or state.tasks)


def _questions(state: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple({"id": one.id, "value": one.value} for one in state.interrupts)


def _last_answer(messages: list[Any]) -> str:
    answers = [one.text for one in messages if isinstance(one, AIMessage)]
    return str(answers[-1]) if answers else ""
