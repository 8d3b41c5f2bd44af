"""Conversations of a checkpointer: threads, their turns, and the evals of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from langgraph.checkpoint.base import BaseCheckpointSaver

from interpstack_inspect.api import Conversation, EvalRecord, NotRecorded, SourceRequest
from interpstack_langchain.inspecting.eval_views import eval_record
from interpstack_langchain.inspecting.questions import questions_of
from interpstack_langchain.inspecting.turns import turns_of
from interpstack_langchain.replay.recorded_evals import evals_of, recorded_steps
from interpstack_langchain.replay.recorded_steps import RecordedStep
from interpstack_langchain.replay.recorded_surfaces import usual_tools
from interpstack_langchain.replay.serializers import (
    Checked,
    reading,
    serializer,
    signing_key,
)
from interpstack_langchain.workflows.agents.threads import run_of_thread
from interpstack_workflows.api import Prices

__all__ = ["ReadingOptions", "read_conversation", "read_eval"]


@attrs.frozen
class ReadingOptions:
    """The settings with which a checkpointer is read.

    Attributes:
        tools: Names of the interpreters' tools.
        serde: The serializer of stored values; `None` for the checkpointer's default.
        serde_option: The option that selected the serializer, for messages.
        signing_key: Variables of other keys are not shown; `None` to check none.
        prices: Prices of models that do not report their cost.
    """

    tools: Sequence[str] = attrs.field(factory=usual_tools)
    serde: Any = None
    serde_option: str = ""
    signing_key: bytes | None = attrs.field(default=None, repr=False)
    prices: Prices = attrs.field(factory=Prices)

    @classmethod
    def of(cls, request: SourceRequest) -> ReadingOptions:
        """The settings that were given on the command line.

        Raises:
            ConfigurationError: One of them is wrong.
        """
        named, aes = request.serializer, request.aes_key_env
        return cls(
            tools=usual_tools() if request.tool_name is None else (request.tool_name,),
            serde=serializer(named, aes),
            serde_option="--serializer" if named else "--aes-key-env" if aes else "",
            signing_key=signing_key(request.signing_key_env),
            prices=request.prices,
        )

    def check(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Have a checkpointer that was just opened say in one line that a value is damaged."""
        Checked.install(saver, self.serde_option)


def read_conversation(
    saver: BaseCheckpointSaver[Any], name: str, options: ReadingOptions
) -> Conversation:
    """A thread with its turns and evals.

    Raises:
        NotRecorded: There is no such thread.
    """
    with reading(f"conversation {name!r:.200}"):
        steps = _steps(saver, name)
        turns = turns_of(steps, evals_of(steps, options.tools), options.prices)
        return Conversation(
            name=name, turns=turns, questions=questions_of(steps), run=run_of_thread(name)
        )


def read_eval(
    saver: BaseCheckpointSaver[Any], name: str, number: int, options: ReadingOptions
) -> EvalRecord:
    """One eval of a thread.

    Raises:
        NotRecorded: There is no such thread or eval.
    """
    with reading(f"conversation {name!r:.200}"):
        evals = evals_of(_steps(saver, name), options.tools)
    if not 0 < number <= len(evals):
        raise NotRecorded(
            f"conversation {name!r:.200} has no eval {number}; the number of its evals is "
            f"{len(evals)}"
        )
    return eval_record(saver, evals[number - 1], options.signing_key)


def _steps(saver: BaseCheckpointSaver[Any], name: str) -> list[RecordedStep]:
    steps = recorded_steps(saver, name)
    if not steps:
        raise NotRecorded(f"there is no conversation {name!r:.200}; it may have been deleted")
    return steps
