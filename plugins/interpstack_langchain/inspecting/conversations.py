"""Conversations of a checkpointer: threads, their turns, and the evals of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import attrs
from langchain_core.messages import convert_to_messages
from langgraph.checkpoint.base import BaseCheckpointSaver

from interpstack_inspect.api import Conversation, EvalRecord, NotRecorded, SourceRequest, Turn
from interpstack_langchain.inspecting.eval_views import eval_record, eval_summary
from interpstack_langchain.inspecting.questions import questions_of
from interpstack_langchain.replay.recorded_evals import RecordedEval, evals_of, recorded_steps
from interpstack_langchain.replay.recorded_steps import RecordedStep
from interpstack_langchain.replay.serializers import (
    Checked,
    reading,
    serializer,
    signing_key,
)

__all__ = ["ReadingOptions", "read_conversation", "read_eval"]

#: The names that the middleware gives to its tools for code.
_TOOLS: Final = ("eval", "js_repl")
#: Characters of an input that are shown.
_INPUT_CHARS: Final = 2_000
#: The channel with the input of a run, and the metadata of the checkpoint that holds it.
_START: Final = "__start__"
_INPUT: Final = "input"


@attrs.frozen
class ReadingOptions:
    """The settings with which a checkpointer is read.

    Attributes:
        tools: Names of the interpreters' tools.
        serde: The serializer of stored values; `None` for the checkpointer's default.
        serde_option: The option that selected the serializer, for messages.
        signing_key: Variables of other keys are not shown; `None` to check none.
    """

    tools: Sequence[str] = _TOOLS
    serde: Any = None
    serde_option: str = ""
    signing_key: bytes | None = attrs.field(default=None, repr=False)

    @classmethod
    def of(cls, request: SourceRequest) -> ReadingOptions:
        """The settings that were given on the command line.

        Raises:
            ConfigurationError: One of them is wrong.
        """
        named, aes = request.serializer, request.aes_key_env
        return cls(
            tools=_TOOLS if request.tool_name is None else (request.tool_name,),
            serde=serializer(named, aes),
            serde_option="--serializer" if named else "--aes-key-env" if aes else "",
            signing_key=signing_key(request.signing_key_env),
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
        turns = _turns(steps, evals_of(steps, options.tools))
        return Conversation(name=name, turns=turns, questions=questions_of(steps))


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


def _turns(steps: Sequence[RecordedStep], evals: Sequence[RecordedEval]) -> list[Turn]:
    """The turns of a thread: one for each input of the outermost graph."""
    inputs = [
        step
        for step in steps
        if not step.graph and (step.saved.metadata or {}).get("source") == _INPUT
    ]
    found: list[list[RecordedEval]] = [[] for _ in range(len(inputs) + 1)]
    for one in evals:
        found[sum(step.checkpoint <= one.step.checkpoint for step in inputs)].append(one)
    turns = [
        Turn(
            number=number,
            began=str(step.saved.checkpoint["ts"]),
            text=_input_text(step.saved.checkpoint["channel_values"].get(_START)),
            evals=[eval_summary(one) for one in found[number]],
        )
        for number, step in enumerate(inputs, 1)
    ]
    if found[0]:  # the checkpoint of the input was deleted
        first = [eval_summary(one) for one in found[0]]
        turns.insert(0, Turn(number=0, began=first[0].began, text="", evals=first))
    return turns


def _input_text(given: Any) -> str:
    """The input of a run, as text: its last message, or all of it as JSON."""
    messages = given.get("messages") if isinstance(given, dict) else None
    text = _last_message(messages) if messages else None
    if text is None:
        text = "" if given is None else json.dumps(given, default=repr, ensure_ascii=False)
    return text if len(text) <= _INPUT_CHARS else f"{text[:_INPUT_CHARS]}…"


def _last_message(messages: Any) -> str | None:
    given = messages if isinstance(messages, list) else [messages]
    try:
        return str(convert_to_messages(given)[-1].text)
    except (TypeError, ValueError, NotImplementedError, LookupError):
        return None  # the graph has messages of a form of its own
