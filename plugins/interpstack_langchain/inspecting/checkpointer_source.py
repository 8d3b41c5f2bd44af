"""Sources that read conversations out of a checkpointer."""

from __future__ import annotations

import abc
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver

from interpstack_inspect.api import (
    Conversation,
    ConversationRow,
    EvalRecord,
    Question,
    RunSource,
)
from interpstack_langchain.inspecting.conversations import (
    ReadingOptions,
    read_conversation,
    read_eval,
)
from interpstack_langchain.inspecting.thread_rows import thread_rows, thread_version
from interpstack_langchain.inspecting.workflow_runs import (
    read_questions,
    read_run,
    store_answer,
)
from interpstack_workflows.api import RunTree, WorkflowRecord, WorkflowStore

__all__ = ["CheckpointerSource"]

_T = TypeVar("_T")


class CheckpointerSource(RunSource):
    """Conversations that are read out of a checkpointer; a subclass says how to reach it.

    Attributes:
        options: The settings with which it is read.
    """

    options: ReadingOptions

    @abc.abstractmethod
    async def _read_saver(self, read: Callable[[BaseCheckpointSaver[Any]], _T]) -> _T:
        """Read the checkpointer in a thread."""

    async def conversations(
        self, *, containing: str = "", waiting: bool = False, limit: int = 100, skip: int = 0
    ) -> Sequence[ConversationRow]:
        return await self._read_saver(
            lambda saver: thread_rows(
                saver, containing=containing, waiting=waiting, limit=limit, skip=skip
            )
        )

    async def conversation(self, name: str) -> Conversation:
        return await self._read_saver(lambda saver: read_conversation(saver, name, self.options))

    async def eval(self, name: str, number: int) -> EvalRecord:
        return await self._read_saver(lambda saver: read_eval(saver, name, number, self.options))

    @property
    def takes_run_answers(self) -> bool:
        return True

    @abc.abstractmethod
    async def _read_runs(self, read: Callable[[WorkflowStore], Awaitable[_T]]) -> _T:
        """Read the runs of workflows in the database of the checkpointer."""

    @abc.abstractmethod
    def _written_runs(self) -> AbstractAsyncContextManager[WorkflowStore]:
        """The runs of workflows in the database of the checkpointer, to be written."""

    async def workflows(self, limit: int = 100) -> Sequence[WorkflowRecord]:
        return await self._read_runs(lambda store: store.runs(limit=limit))

    async def workflow(self, run_id: str) -> tuple[WorkflowRecord, RunTree]:
        return await self._read_runs(lambda store: read_run(store, run_id))

    async def run_questions(self, run_id: str) -> Sequence[Question]:
        return await self._read_runs(lambda store: read_questions(store, run_id))

    async def answer_run(self, run_id: str, question: str, digest: str, value: Any) -> None:
        """Store the answer to a question of a run; a runner takes it, in this process or another.

        Raises:
            AnswerRefused: The question is no longer open, or takes no such answer.
        """
        async with self._written_runs() as store:
            await store_answer(store, run_id, (question, digest), value)

    async def version(self, name: str) -> str:
        return await self._read_saver(lambda saver: thread_version(saver, name))
