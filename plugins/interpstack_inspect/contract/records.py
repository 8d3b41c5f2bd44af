"""Recorded conversations as the inspector shows them, independent of any agent framework.

All texts may come from guests, models and damaged databases: a page escapes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs

__all__ = [
    "AskedCall",
    "Binding",
    "ChatMessage",
    "Computing",
    "Conversation",
    "ConversationRow",
    "EarlierAnswer",
    "EvalRecord",
    "EvalSummary",
    "InnerCall",
    "PauseEvent",
    "Question",
    "TokenUse",
    "ToolUse",
    "Turn",
    "TurnEntry",
]


@attrs.frozen(kw_only=True)
class TokenUse:
    """Tokens that models report with their messages, and the money that they cost.

    Attributes:
        input_tokens: Tokens that models read.
        output_tokens: Tokens that models wrote.
        cached_tokens: Part of the input tokens: those read from a cache of the provider.
        cost: Money, in the currency of the prices; `None` if no message has a known cost.
        unpriced: Names of models whose messages have no known cost, so that `cost` lacks them.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    unpriced: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: TokenUse) -> TokenUse:
        costs = [one.cost for one in (self, other) if one.cost is not None]
        return TokenUse(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost=sum(costs) if costs else None,
            unpriced=tuple(dict.fromkeys([*self.unpriced, *other.unpriced])),
        )


@attrs.frozen(kw_only=True)
class ConversationRow:
    """One line of the list of conversations.

    Attributes:
        name: The name of the conversation; a thread, for LangGraph.
        changed: Time of the last recorded step, in ISO 8601; empty if it is unknown.
        waits: Whether the last step waits for a person's answer.
        version: A text that changes with the conversation, as `RunSource.version` returns it.
    """

    name: str
    changed: str
    waits: bool
    version: str


@attrs.frozen(kw_only=True)
class EvalSummary:
    """One eval, in a list.

    Attributes:
        number: The position of the eval in its conversation, from 1.
        tool: The name of the interpreter's tool.
        call_id: The model's id for the call.
        graph: The graph that ran the eval; empty for the outermost, else that of a subagent.
        began: Time at which its step began, in ISO 8601.
        status: `ended`, `failed`, `paused`, `in flight`, `terminated`, `not begun` or `unreadable`.
        code: The code, as the model wrote it.
        calls: Number of the recorded calls of the code.
        seconds: Seconds from the beginning to the last recorded event; `None` if none is recorded.
        reason: The reason for the status: the error, the questions that the eval waits for, or why
            it did not begin or cannot be read; empty if there is none.
    """

    number: int
    tool: str
    call_id: str
    graph: str
    began: str
    status: str
    code: str
    calls: int = 0
    seconds: float | None = None
    reason: str = ""

    @property
    def failed(self) -> bool:
        """Whether the eval, or its record, has a failure."""
        return self.status in ("failed", "unreadable")


@attrs.frozen(kw_only=True)
class ChatMessage:
    """One message of a conversation, without the calls that it makes.

    Attributes:
        author: `person`, `agent`, `task` for the input of a subagent, or another role.
        text: The text; empty if the message only makes calls.
        graph: The graph of the message; empty for the outermost, else that of a subagent.
        model: The name of the model, as it reports it; empty if it does not, and for people.
        use: Tokens of the message; `None` if none are reported.
    """

    author: str
    text: str
    graph: str = ""
    model: str = ""
    use: TokenUse | None = None


@attrs.frozen(kw_only=True)
class ToolUse:
    """A call that a model made of another tool than the interpreter.

    Attributes:
        name: The name of the tool.
        args: Its arguments, as JSON.
        graph: The graph of the call; empty for the outermost, else that of a subagent.
        result: The result that the model got; `None` if there is none yet.
        failed: Whether the result is an error.
    """

    name: str
    args: str
    graph: str = ""
    result: str | None = None
    failed: bool = False

    @property
    def reason(self) -> str:
        """The error; empty if the call has not failed."""
        return (self.result or "") if self.failed else ""


TurnEntry: TypeAlias = ChatMessage | ToolUse | EvalSummary


@attrs.frozen(kw_only=True)
class Turn:
    """One turn of the agent: an input, and everything that the run did that it began.

    Attributes:
        number: The position of the turn, from 1; 0 for entries whose input is not recorded.
        began: Time of the input, in ISO 8601.
        text: The input.
        entries: Messages, calls and evals, in order, without the input.
        problem: The error that ended the run; empty if none did.
    """

    number: int
    began: str
    text: str
    entries: Sequence[TurnEntry] = ()
    problem: str = ""

    @property
    def evals(self) -> Sequence[EvalSummary]:
        """The evals, in order."""
        return [one for one in self.entries if isinstance(one, EvalSummary)]

    @property
    def use(self) -> TokenUse:
        """The tokens of all messages."""
        uses = [one.use for one in self.entries if isinstance(one, ChatMessage) and one.use]
        return sum(uses, TokenUse())

    @property
    def failures(self) -> Sequence[str]:
        """The reasons of all failures: of evals, of calls, and of the run."""
        failed = [
            one for one in self.entries if isinstance(one, EvalSummary | ToolUse) and one.failed
        ]
        return [*(one.reason for one in failed), *([self.problem] if self.problem else [])]


@attrs.frozen(kw_only=True)
class AskedCall:
    """A call that waits for a decision, or a part of a question that takes any answer.

    Attributes:
        name: The name of the tool; empty for a question that is not about a call.
        args: Its arguments, or what is asked, as JSON.
        description: A text for the person who decides.
        allowed: The decisions that are allowed: `approve`, `edit`, `reject`, `respond`; `answer`
            alone if it takes any value.
        refused: The reason why the last decision was refused; empty if there was none.
        id: The name of the call in the answer; empty if decisions are listed in order.
    """

    name: str
    args: str
    description: str = ""
    allowed: Sequence[str] = ()
    refused: str = ""
    id: str = ""


@attrs.frozen(kw_only=True)
class Question:
    """An open question of a conversation, or of a run of a workflow.

    Attributes:
        id: The id of the question.
        digest: A digest of the whole question, by which an answer to another question is noticed.
        calls: The calls that wait for decisions; empty for a question of another form.
        text: The question, if there are no such calls.
        choices: The answers to choose from, as JSON; `None` if any value is an answer.
        still_running: Calls that still run while the question is open.
    """

    id: str
    digest: str
    calls: Sequence[AskedCall] = ()
    text: str = ""
    choices: Sequence[Any] | None = None
    still_running: Sequence[str] = ()


@attrs.frozen(kw_only=True)
class Conversation:
    """One conversation.

    Attributes:
        name: The name of the conversation.
        turns: Its turns, in order.
        questions: The questions that it waits for.
        resuming: Whether a run that was resumed by an answer is at work.
        problem: The failure of the last such run; empty if it did not fail.
        run: The run of a workflow to whose step the conversation belongs; empty for none. Its
            questions are those of the run, and are answered there.
    """

    name: str
    turns: Sequence[Turn]
    questions: Sequence[Question] = ()
    resuming: bool = False
    problem: str = ""
    run: str = ""

    @property
    def use(self) -> TokenUse:
        """The tokens of all turns."""
        return sum((turn.use for turn in self.turns), TokenUse())

    @property
    def failures(self) -> Sequence[str]:
        """The reasons of all failures."""
        own = [self.problem] if self.problem else []
        return [*(reason for turn in self.turns for reason in turn.failures), *own]


@attrs.frozen(kw_only=True)
class InnerCall:
    """One call of the guest.

    Attributes:
        id: The guest's id of the call, from 1 in each eval.
        bridge: The called bridge; `timer` and `module` are the guest's waits and imports.
        input: The start of the input, as JSON.
        asked: Seconds from the beginning of the eval to the request; in records without the time of
            the request, to the answers that the guest received before it.
        answered: Seconds from the beginning of the eval to the answer; `None` if the guest received
            none.
        answer: The value, as JSON, or the error; `None` if the call has not ended.
        failed: Whether the call was answered with an error.
        decisions: Decisions and answers of people.
    """

    id: int
    bridge: str
    input: str
    asked: float
    answered: float | None = None
    answer: str | None = None
    failed: bool = False
    decisions: Sequence[str] = ()


@attrs.frozen(kw_only=True)
class PauseEvent:
    """A pause of an eval.

    Attributes:
        number: Number of the pause in its eval, from 1.
        at: Seconds from the beginning of the eval.
        waits_for: The questions of the pause.
        resumed: Whether the pause was answered.
    """

    number: int
    at: float
    waits_for: Sequence[str]
    resumed: bool


@attrs.frozen(kw_only=True)
class Computing:
    """A stretch of time in which the guest computed, by the clock of the host.

    Attributes:
        began: Seconds from the beginning of the eval until the guest got the answers with which it
            continues.
        ended: Seconds from the beginning of the eval until the host had the next requests of the
            guest.
    """

    began: float
    ended: float


@attrs.frozen(kw_only=True)
class EarlierAnswer:
    """An answer that a model got about an eval that continued in the background.

    Attributes:
        tool: The called tool.
        answer: The answer to the model.
    """

    tool: str
    answer: str


@attrs.frozen(kw_only=True)
class Binding:
    """A variable of the interpreter.

    Attributes:
        name: The name of the variable.
        before: Its value before the eval, as text; `None` if there was none.
        after: Its value after the eval, as text; `None` if there is none.
    """

    name: str
    before: str | None
    after: str | None


@attrs.frozen(kw_only=True)
class EvalRecord:
    """Everything that is recorded of one eval.

    Attributes:
        summary: The eval, as it stands in a list.
        language: The language of the code; empty if it is not recorded.
        engine: The engine of the stored variables; empty if none are stored.
        events: Calls and pauses, in order.
        computing: Stretches in which the guest computed, in order; empty if none are recorded.
        answer: The answer for the model; `None` if there is none yet.
        earlier_answers: Earlier answers about an eval that continued in the background.
        bindings: The portable variables around the eval; `None` if no state is recorded.
        state_bytes: Bytes of the variables, as the engine keeps them, after the eval.
        stored_bytes: Bytes that the eval added to the database for its variables.
        drawn: Amounts that the eval drew on its budget, by kind.
        notes: Notices for the reader.
    """

    summary: EvalSummary
    language: str = ""
    engine: str = ""
    events: Sequence[InnerCall | PauseEvent] = ()
    computing: Sequence[Computing] = ()
    answer: str | None = None
    earlier_answers: Sequence[EarlierAnswer] = ()
    bindings: Sequence[Binding] | None = None
    state_bytes: int | None = None
    stored_bytes: int | None = None
    drawn: Mapping[str, float] = attrs.field(factory=dict)
    notes: Sequence[str] = ()
