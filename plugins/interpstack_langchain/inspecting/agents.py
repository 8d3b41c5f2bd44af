"""Agents as sources: their conversations are read, and answers to their questions resume them."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, TypeVar

import attrs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from interpstack import ConfigurationError
from interpstack_cli.api import attribute_named
from interpstack_inspect.api import (
    AnswerRefused,
    Conversation,
    ConversationRow,
    SourceRequest,
)
from interpstack_langchain.durability.databases import state_store_beside
from interpstack_langchain.inspecting.checkpointer_source import CheckpointerSource
from interpstack_langchain.inspecting.conversations import ReadingOptions
from interpstack_langchain.inspecting.workflow_runs import opened_runs
from interpstack_langchain.rules.approvals import UnfitAnswer
from interpstack_langchain.workflows.agents.threads import run_of_thread
from interpstack_workflows.api import SPACE, WorkflowStore

__all__ = ["AgentSource", "is_reference"]

_T = TypeVar("_T")

_log = logging.getLogger(__name__)
_REFERENCE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
#: Attempts to read a checkpointer in memory, which may change meanwhile.
_ATTEMPTS: Final = 10
_SHOWN_CHARS: Final = 500


def is_reference(target: str) -> bool:
    """Whether a name on the command line has the form `MODULE:ATTR`."""
    return _REFERENCE.fullmatch(target) is not None


@attrs.define(eq=False, repr=False)
class AgentSource(CheckpointerSource):
    """The conversations of an agent.

    Args:
        reference: The name of the agent, for people.
        made: The agent, or what makes it: a function, a coroutine or a context manager.
        options: The settings with which its checkpointer is read.
    """

    reference: str
    made: Any
    options: ReadingOptions
    _agent: Any = attrs.field(default=None, init=False)
    _opened: AsyncExitStack = attrs.field(factory=AsyncExitStack, init=False)
    _running: dict[str, asyncio.Task[None]] = attrs.field(factory=dict, init=False)
    _failed: dict[str, str] = attrs.field(factory=dict, init=False)
    _ends: Counter[str] = attrs.field(factory=Counter, init=False)

    @classmethod
    def of(cls, request: SourceRequest) -> AgentSource:
        """The agent that was named on the command line.

        Raises:
            ConfigurationError: It cannot be loaded, or an option is wrong.
        """
        if request.serializer is not None or request.aes_key_env is not None:
            raise ConfigurationError(
                f"inspect {request.target}: the agent has its own serializer; leave "
                "--serializer and --aes-key-env out"
            )
        return cls(
            request.target, attribute_named("inspect", request.target), ReadingOptions.of(request)
        )

    @property
    def title(self) -> str:
        return self.reference

    @property
    def takes_answers(self) -> bool:
        return True

    async def open(self) -> None:
        """Make the agent on the event loop on which it will run.

        Raises:
            ConfigurationError: There is no agent, or the agent has no checkpointer.
        """
        made = self.made
        try:
            if not _is_agent(made) and callable(made):
                made = made()
            if inspect.isawaitable(made):
                made = await made
            if hasattr(made, "__aenter__"):
                made = await self._opened.enter_async_context(made)
            elif hasattr(made, "__enter__"):
                made = self._opened.enter_context(made)
        except Exception as error:
            cause = f"{type(error).__name__}: {error}"
            raise ConfigurationError(
                f"inspect {self.reference}: the agent could not be made: {cause}"
            ) from error
        if not _is_agent(made):
            raise ConfigurationError(
                f"inspect {self.reference}: a {type(made).__name__} is not an agent; it takes an "
                "agent of LangGraph, or a function or a context manager that makes one"
            )
        if not isinstance(made.checkpointer, BaseCheckpointSaver):
            raise ConfigurationError(
                f"inspect {self.reference}: the agent has no checkpointer, so nothing of its "
                "conversations is recorded; make it with one"
            )
        self._agent = made

    async def conversation(self, name: str) -> Conversation:
        found = await super().conversation(name)
        return attrs.evolve(
            found, resuming=name in self._running, problem=self._failed.get(name, "")
        )

    async def conversations(
        self, *, containing: str = "", waiting: bool = False, limit: int = 100, skip: int = 0
    ) -> Sequence[ConversationRow]:
        rows = await super().conversations(
            containing=containing, waiting=waiting, limit=limit, skip=skip
        )
        return [attrs.evolve(row, version=self._with_runs(row.name, row.version)) for row in rows]

    async def version(self, name: str) -> str:
        return self._with_runs(name, await super().version(name))

    def _with_runs(self, name: str, version: str) -> str:
        """A version that changes with the runs that answers have resumed, too."""
        return f"{version} {name in self._running} {self._ends[name]}"

    async def _read_runs(self, read: Callable[[WorkflowStore], Awaitable[_T]]) -> _T:
        async with self._runs(read_only=True) as store:
            return await read(store)

    @asynccontextmanager
    async def _written_runs(self) -> AsyncIterator[WorkflowStore]:
        async with self._runs(read_only=False) as store:
            yield store

    @asynccontextmanager
    async def _runs(self, *, read_only: bool) -> AsyncIterator[WorkflowStore]:
        saver = self._agent.checkpointer
        state = await state_store_beside(saver, SPACE, read_only=read_only)
        async with opened_runs(state) as store:
            yield store

    async def answer(self, name: str, question: str, digest: str, value: Any) -> None:
        """Resume the agent with an answer; returns when the run has begun.

        Args:
            name: The name of the conversation.
            question: The id of the question.
            digest: The digest of the question that was shown.
            value: The answer.

        Raises:
            AnswerRefused: The question is not open any more, or another answer is at work.
        """
        if run_of_thread(name):
            raise AnswerRefused(
                "This conversation belongs to a step of a workflow, whose agent is another one. "
                "Answer the question on the page of its run."
            )
        if name in self._running:
            raise AnswerRefused(
                "A run with an earlier answer is still active. Try again when it has ended."
            )
        # Taken before anything is awaited, so that of two answers at once one is refused.
        begun = asyncio.Event()
        run = asyncio.create_task(self._resume(name, (question, digest), value, begun))
        self._running[name] = run
        run.add_done_callback(lambda run: self._ended(name, run))
        waiting = asyncio.create_task(begun.wait())
        await asyncio.wait([run, waiting], return_when=asyncio.FIRST_COMPLETED)
        if not begun.is_set():
            waiting.cancel()
            await run  # raises: it was refused

    async def _resume(
        self, name: str, asked: tuple[str, str], value: Any, begun: asyncio.Event
    ) -> None:
        found = await self.conversation(name)
        if asked not in [(one.id, one.digest) for one in found.questions]:
            raise AnswerRefused(
                "This question is no longer open, or it was asked again: another answer came "
                "first. Nothing was done; open the conversation again."
            )
        self._failed.pop(name, None)
        begun.set()
        await self._run(Command(resume={asked[0]: value}), name)

    def _ended(self, name: str, run: asyncio.Task[None]) -> None:
        """Note the end of a run; one that was refused has raised where it was asked for."""
        del self._running[name]
        self._ends[name] += 1
        error = None if run.cancelled() else run.exception()
        if error is not None and not isinstance(error, AnswerRefused):
            if isinstance(error, UnfitAnswer):  # the question stays open, and its page says why
                _log.warning("an answer in conversation %r was refused: %s", name, error)
            else:
                _log.warning("the resumed run of conversation %r failed", name, exc_info=error)
            self._failed[name] = f"{type(error).__name__}: {error}"[:_SHOWN_CHARS]

    async def _run(self, command: Any, name: str) -> None:
        config = {"configurable": {"thread_id": name}}
        saver = type(self._agent.checkpointer)
        if saver.aput_writes is not BaseCheckpointSaver.aput_writes:
            await self._agent.ainvoke(command, config)
        else:
            await asyncio.to_thread(self._agent.invoke, command, config)

    async def aclose(self) -> None:
        """End the runs that answers have resumed, and free what made the agent."""
        running = [*self._running.values()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        await self._opened.aclose()

    async def _read_saver(self, read: Callable[[BaseCheckpointSaver[Any]], _T]) -> _T:
        """Read the checkpointer in a thread, as also those for an event loop can be read."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return await asyncio.to_thread(read, self._agent.checkpointer)
            except RuntimeError as error:
                if "changed size during iteration" not in str(error):
                    raise
        return await asyncio.to_thread(read, self._agent.checkpointer)


def _is_agent(found: Any) -> bool:
    needed = ("ainvoke", "invoke", "get_state", "checkpointer")
    return not isinstance(found, type) and all(hasattr(found, name) for name in needed)
