"""Approvals of calls from code: questions, decisions, and the check of one against the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import attrs

from interpstack import ConfigurationError
from interpstack.checks import shown
from interpstack_agents.shown_texts import read_texts, shown_texts
from interpstack_agents.tool_fields import unknown_field

__all__ = [
    "Approved",
    "CallQuestion",
    "Decision",
    "DecisionNeeded",
    "DecisionRejected",
    "Denied",
    "check_decided",
    "check_decisions",
    "check_edit",
    "open_questions",
]

#: Characters of the arguments of a call that a message shows.
_ARGS_CHARS: Final = 200


class DecisionRejected(ConfigurationError):
    """Decisions do not fit the open questions; nothing was done, and the eval is still paused."""


@attrs.frozen(kw_only=True)
class CallQuestion:
    """A call from code that waits for a decision.

    Attributes:
        id: Identifies the call together with its tool and its arguments: a decision for this id
            counts for nothing that was not shown.
        tool: Name of the tool.
        args: Arguments of the call, plain JSON, in the form of `shown_texts`.
        metadata: What the tool itself says about the question, plain JSON in the same form.
    """

    id: str
    tool: str
    args: Mapping[str, Any]
    metadata: Mapping[str, Any] = attrs.field(factory=dict)

    @classmethod
    def of(
        cls,
        call_key: str,
        tool: str,
        args: Mapping[str, Any],
        metadata: Mapping[str, Any] | None = None,
    ) -> CallQuestion:
        """The question about a call.

        Args:
            call_key: The same in every run of the eval, as `CellContext.call_key` is.
            tool: Name of the tool.
            args: Arguments of the call, plain JSON.
            metadata: What the tool says about the question, plain JSON.

        Raises:
            ValueError: The arguments are not JSON that every store and every reader takes.
        """
        args = shown_texts(args)
        try:
            text = json.dumps([call_key, tool, args], sort_keys=True, ensure_ascii=False)
            data = text.encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(
                f"nobody can be asked about this call of {tool}: its arguments have no JSON form, "
                "or a key with half of a surrogate pair"
            ) from error
        made = blake2b(data, digest_size=12).hexdigest()
        return cls(id=made, tool=tool, args=args, metadata=shown_texts(metadata or {}))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data from which `from_dict` makes the same question."""
        said = {"metadata": dict(self.metadata)} if self.metadata else {}
        return {"id": self.id, "tool": self.tool, "args": dict(self.args), **said}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CallQuestion:
        """The question that `to_dict` describes.

        Raises:
            ConfigurationError: The data are not those of a question.
        """
        try:
            asked = cls(id=data["id"], tool=data["tool"], args=dict(data["args"]))
            return attrs.evolve(asked, metadata=dict(data.get("metadata", {})))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                f"a question is stored as id, tool and args; got {shown(data)}"
            ) from error

    def __str__(self) -> str:
        args = json.dumps(self.args, default=str)
        return f"{self.id}: {self.tool}({args[:_ARGS_CHARS]}{'…' * (len(args) > _ARGS_CHARS)})"


@attrs.frozen
class Approved:
    """The decision to make the call.

    Attributes:
        args: Arguments in the place of those that code passed, in the form of `shown_texts`;
            `None` to leave them.
    """

    args: Mapping[str, Any] | None = None


@attrs.frozen
class Denied:
    """The decision not to make the call; code catches an error with the message."""

    message: str


Decision: TypeAlias = Approved | Denied


class DecisionNeeded(Exception):
    """Raised by a tool's handler: calls wait for decisions. Belongs in `HostTool.passes`.

    Attributes:
        questions: One for each call.
    """

    def __init__(self, questions: Sequence[CallQuestion]) -> None:
        super().__init__(f"waiting for approval: {'; '.join(map(str, questions))}")
        self.questions = tuple(questions)


def open_questions(errors: Iterable[BaseException]) -> BaseException:
    """The exception that leaves a paused eval: all its questions in one.

    Args:
        errors: The exceptions of the calls that cannot be answered now, at least one.

    Returns:
        The first exception that is not a `DecisionNeeded`, if there is one: nobody can answer that.
    """
    questions: list[CallQuestion] = []
    for error in errors:
        if not isinstance(error, DecisionNeeded):
            return error
        questions += error.questions
    return DecisionNeeded(questions)


def check_decisions(
    questions: Sequence[CallQuestion],
    decisions: Mapping[str, Decision],
    check: Callable[[CallQuestion, Mapping[str, Any]], None],
) -> None:
    """Make sure that there is one decision for each open question, and none for another.

    Args:
        questions: The open questions.
        decisions: Decisions by the ids of their questions.
        check: Raises an exception for arguments that the tool does not take; see `check_edit`.

    Raises:
        DecisionRejected: A decision is missing, is for another question, or changes the arguments
            to some that the tool does not take. The message names the open questions.
    """
    check_decided(questions, decisions)
    known = {question.id: question for question in questions}
    for key, decision in decisions.items():
        if isinstance(decision, Approved) and decision.args is not None:
            try:
                check(known[key], read_texts(decision.args))
            except Exception as error:
                raise DecisionRejected(
                    f"the changed arguments for {key} are not ones of {known[key].tool}: {error}; "
                    f"open questions: {_listed(questions)}"
                ) from error


def check_decided(questions: Sequence[CallQuestion], ids: Iterable[str]) -> None:
    """Make sure that each open question is decided, and no other one.

    Args:
        questions: The open questions.
        ids: The ids of the questions that are decided.

    Raises:
        DecisionRejected: One is missing, or not open. The message names the open questions.
    """
    known, decided = [question.id for question in questions], [*ids]
    unknown = [key for key in decided if key not in known]
    if unknown:
        raise DecisionRejected(
            f"there is no open question {shown(unknown[0])}; open questions: {_listed(questions)}"
        )
    missing = [key for key in known if key not in decided]
    if missing:
        raise DecisionRejected(
            f"a decision is missing for {', '.join(missing)}; open questions: {_listed(questions)}"
        )


def _listed(questions: Sequence[CallQuestion]) -> str:
    return "; ".join(map(str, questions)) or "none"


def check_edit(schema: Mapping[str, Any], args: Mapping[str, Any]) -> None:
    """Refuse changed arguments with a field that a tool does not have, or without one it requires.

    Args:
        schema: JSON Schema of the tool's input.
        args: The changed arguments.

    Raises:
        ValueError: The arguments do not fit.
    """
    fault = unknown_field(schema, args)
    if fault:
        raise ValueError(f"the tool {fault}")
    required = schema.get("required")
    absent = [name for name in required if name not in args] if isinstance(required, list) else []
    if absent:
        raise ValueError(f"the tool requires {', '.join(map(str, absent))}")
