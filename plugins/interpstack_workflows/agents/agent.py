"""The contract between a run and the agents that it calls."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack_workflows.budgets.prices import Prices
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.stores.store import WorkflowStore

__all__ = ["Agent", "AgentAnswer", "AgentCall", "AgentFailed", "AgentPaused"]


def _ignore(report: Any) -> None:
    """Ignore the reports of an agent that is called outside a run."""


@attrs.frozen(kw_only=True)
class AgentCall:
    """One call of an agent.

    Attributes:
        prompt: The task, from the script; untrusted.
        agent: The name of the agent.
        schema: The JSON Schema of the wanted value; `None` for text.
        model: The model that the script asks for; `None` for the agent's own.
        provider: The provider that the script asks for.
        model_options: Further options of the model: `thinking`, its effort.
        label: A short text by which readers distinguish this call from others.
        phase: The phase of the run.
        cwd: The folder to work in; `None` if the call has no folder of its own.
        cwd_id: Identifies the work in that folder: the same while the work continues, another one
            when it begins again from the start.
        key: Identifies the step of the run: the same in all its attempts, different for every other
            step. Agents can use it as an idempotency key, and to find their own state.
        attempt: The number of this attempt, from 1.
        correction: Whether the agent has answered in this attempt with an answer that did not fit
            the schema; the prompt says why.
        max_tokens: Tokens that this call may use at most; `None` for no limit.
        prices: The host's prices of models.
        needs_cost: Whether a budget limits the cost. An agent that does not know its cost must then
            fail, because the budget could not be enforced.
        decisions: Decisions on the approvals that the agent asked for, by their id; `None` at
            first.
        emit: Takes an event of the agent, plain JSON, while it works; returns at once.
        report: Takes the resources that the call has used so far; the last report counts if the
            call is stopped before it ends. Returns at once.
        store: The store of the run, beside which an agent may keep its own state, see
            `RunCompanion`; `None` outside a run.
    """

    prompt: str
    agent: str = "default"
    schema: Mapping[str, Any] | None = None
    model: str | None = None
    provider: str | None = None
    model_options: Mapping[str, str] = attrs.field(factory=dict)
    label: str | None = None
    phase: str | None = None
    cwd: Path | None = None
    cwd_id: str = ""
    key: str = ""
    attempt: int = 1
    correction: bool = False
    max_tokens: int | None = None
    prices: Prices = attrs.field(factory=Prices, repr=False)
    needs_cost: bool = False
    decisions: Mapping[str, Any] | None = None
    emit: Callable[[Mapping[str, Any]], None] = attrs.field(default=_ignore, repr=False)
    report: Callable[[WorkflowUsage], None] = attrs.field(default=_ignore, repr=False)
    store: WorkflowStore | None = attrs.field(default=None, repr=False)

    @property
    def run_id(self) -> str:
        """The id of the run; empty outside a run."""
        return self.key.partition("/")[0]


_NOTHING: Final = WorkflowUsage()


@attrs.frozen
class AgentAnswer:
    """The answer of an agent.

    Attributes:
        value: The value, plain JSON: text, or what the schema describes.
        usage: The resources used by the call.
        session_id: The agent's own name for the conversation; `None` if it has none.
    """

    value: Any
    usage: WorkflowUsage = _NOTHING
    session_id: str | None = None


class AgentPaused(Exception):
    """Raised by an agent that needs a person's decision to continue.

    The agent has done nothing yet that needs the decision. It is called again with
    `AgentCall.decisions`, and continues where it paused.

    Attributes:
        approvals: The open decisions: plain JSON, each with an `id`.
        usage: The resources used since the call began, or was last resumed.
    """

    def __init__(
        self, approvals: Sequence[Mapping[str, Any]], usage: WorkflowUsage | None = None
    ) -> None:
        super().__init__(f"{len(approvals)} decisions are needed")
        self.approvals = tuple(approvals)
        self.usage = usage or WorkflowUsage()


class AgentFailed(Exception):
    """Raised by an agent that failed and knows what it has used until then.

    An agent may raise any other exception; then only the call and its time are counted. Scripts see
    the name of the exception that caused this one, if there is one.

    Attributes:
        usage: The resources used by the call.
        final: Whether the call must not be tried again, whatever the script says, because another
            attempt would fail in the same way, or repeat effects.
    """

    def __init__(
        self, message: str, usage: WorkflowUsage | None = None, *, final: bool = False
    ) -> None:
        super().__init__(message)
        self.usage = usage or WorkflowUsage()
        self.final = final


class Agent(abc.ABC):
    """An agent that workflows can call.

    Attributes:
        max_tokens: Tokens that one call uses at most; `None` if that is not known.
        max_cost: Money that one call costs at most; `None` if that is not known.
        description: What the agent does, for models that write workflows; may be empty.
        takes_cwd: Whether the agent works in `AgentCall.cwd`, if a call has one. If not, calls with
            `isolation` are refused.
    """

    description: str = ""
    takes_cwd: bool = False
    max_tokens: int | None = None
    max_cost: float | None = None

    @abc.abstractmethod
    async def run(self, call: AgentCall) -> AgentAnswer:
        """Do the task of a call.

        Raises:
            AgentPaused: A person has to decide first.
            AgentFailed: The agent failed; the resources that it used are counted.
        """
