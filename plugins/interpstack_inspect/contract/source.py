"""The contract of sources: what an adapter implements so that its records can be inspected."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import attrs

from interpstack import ConfigurationError
from interpstack_inspect.contract.records import (
    Conversation,
    ConversationRow,
    EvalRecord,
    Question,
)
from interpstack_workflows.api import Prices, RunTree, WorkflowRecord

__all__ = ["AnswerRefused", "NotRecorded", "RunSource", "SourceRequest"]


class NotRecorded(ConfigurationError):
    """The source has no conversation, eval or run of the requested name."""


class AnswerRefused(ConfigurationError):
    """An answer was not passed on, for example because its question is no longer open."""


@attrs.frozen(kw_only=True)
class SourceRequest:
    """The source that a person named on the command line.

    Attributes:
        target: A database or an agent: a path, a URL or `MODULE:ATTR`.
        tool_name: The interpreter's name in the agent; `None` for the usual names.
        serializer: `MODULE:ATTR` of the serializer of stored values; `None` for the usual one.
        aes_key_env: The environment variable with the key of encrypted values; `None` for none.
        signing_key_env: The environment variable with the key that variables are signed with.
        prices: Prices of tokens, for models that do not report their cost.
    """

    target: str
    tool_name: str | None = None
    serializer: str | None = None
    aes_key_env: str | None = None
    signing_key_env: str | None = None
    prices: Prices = attrs.field(factory=Prices)


class RunSource(abc.ABC):
    """A place with recorded conversations. Reading changes nothing in it.

    Several tasks of one event loop may call methods at the same time; no method blocks the loop.
    Each reads the records of that moment. They raise `NotRecorded` for an unknown name, and another
    `ConfigurationError` if the place cannot be read; people see both messages.
    """

    @property
    @abc.abstractmethod
    def title(self) -> str:
        """A name of the place for people, without secrets."""

    @property
    def takes_answers(self) -> bool:
        """Whether `answer` can continue a conversation; false by default."""
        return False

    @property
    def takes_run_answers(self) -> bool:
        """Whether `answer_run` can answer the questions of workflows; false by default."""
        return False

    async def open(self) -> None:  # noqa: B027 - optional
        """Get ready on the event loop, before anything else; does nothing by default."""

    @abc.abstractmethod
    async def conversations(
        self, *, containing: str = "", waiting: bool = False, limit: int = 100, skip: int = 0
    ) -> Sequence[ConversationRow]:
        """The conversations, those that changed last first.

        Args:
            containing: Only conversations with this text in their names, in upper or lower case.
            waiting: Only conversations that wait for a person's answer.
            limit: How many at most.
            skip: Number of conversations to leave out at the beginning.
        """

    @abc.abstractmethod
    async def conversation(self, name: str) -> Conversation:
        """One conversation, with its turns and their evals.

        Raises:
            NotRecorded: There is no conversation of this name.
        """

    @abc.abstractmethod
    async def eval(self, name: str, number: int) -> EvalRecord:
        """One eval of a conversation.

        Args:
            name: The name of the conversation.
            number: The position of the eval, from 1.

        Raises:
            NotRecorded: There is no such conversation or eval.
        """

    @abc.abstractmethod
    async def version(self, name: str) -> str:
        """A short text that changes whenever more of a conversation is recorded.

        Called every second while a page is open. For an unknown name, the text never changes.
        """

    async def workflows(self, limit: int = 100) -> Sequence[WorkflowRecord]:
        """Runs of workflows, the newest first; none by default."""
        return ()

    async def workflow(self, run_id: str) -> tuple[WorkflowRecord, RunTree]:
        """A run of a workflow, with its steps.

        Raises:
            NotRecorded: There is no run of this id; raised always by default.
        """
        raise NotRecorded(f"there is no run {run_id!r:.200}")

    async def run_questions(self, run_id: str) -> Sequence[Question]:
        """The open questions of a run that have no answer yet; none by default.

        Raises:
            NotRecorded: There is no run of this id.
        """
        return ()

    async def answer_run(self, run_id: str, question: str, digest: str, value: Any) -> None:
        """Store the answer to a question of a run, whose runner takes it. Refuses by default.

        Args:
            run_id: The id of the run.
            question: The id of an open question.
            digest: The digest of the question that was shown.
            value: The answer, as plain JSON; for calls that wait, decisions by their ids.

        Raises:
            AnswerRefused: Nothing was stored; the message says why.
        """
        raise AnswerRefused("These records can only be read, so they take no answer.")

    async def answer(self, name: str, question: str, digest: str, value: Any) -> None:
        """Continue a conversation; returns when the run has begun. Refuses by default.

        Args:
            name: The name of the conversation.
            question: The id of an open question.
            digest: The digest of the question that was shown.
            value: The answer, as plain JSON: `{"decisions": […]}` for calls that wait.

        Raises:
            AnswerRefused: Nothing was done; the message says why.
        """
        raise AnswerRefused("These records can only be read, so they take no answer.")

    async def aclose(self) -> None:  # noqa: B027 - optional
        """Free the source's own resources; does nothing by default."""
