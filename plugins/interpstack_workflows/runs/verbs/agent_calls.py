"""One call of an agent: a slot, a reservation of its budget, the agent itself, the correction."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Protocol

import attrs

from interpstack_workflows.agents.agent import Agent, AgentAnswer, AgentCall, AgentPaused
from interpstack_workflows.agents.answers import AnswerSchema, SchemaFault
from interpstack_workflows.budgets.budget import BudgetExceeded, RunBudget
from interpstack_workflows.budgets.usage import Usage
from interpstack_workflows.errors import LeaseLost, UnknownAgent
from interpstack_workflows.runs.agent_names import agent_named
from interpstack_workflows.runs.failures import StepFailed
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.scopes.scope import OpenRequest

__all__ = ["AgentCalls", "AgentHost"]

_MAX_ATTEMPTS: Final = 2**32 - 1
_OPTIONS: Final = (
    *("agentType", "isolation", "key", "label", "maxTokens", "model", "phase", "priority"),
    *("provider", "retry", "schema"),
)


class AgentHost(Protocol):
    """The part of a run that the calls of its agents need."""

    @property
    def budget(self) -> RunBudget:
        """The budget of the run."""

    async def before_effects(self) -> None:
        """Wait until everything is stored that was recorded before."""

    def agent_told(self, opened: OpenRequest, kind: str, **fields: Any) -> None:
        """An agent started, or has an event."""


class AgentCalls:
    """Calls the agents of one run.

    Args:
        host: The run.
        parts: Has the agents, and the scheduler.
        run_id: Identifies the run.
    """

    def __init__(self, host: AgentHost, parts: RunParts, run_id: str) -> None:
        self._host = host
        self._parts = parts
        self._run_id = run_id

    async def run(self, opened: OpenRequest, decisions: Any = None) -> tuple[Any, Usage]:
        """Call the agent of a request.

        Returns:
            Its value, and what it used.

        Raises:
            StepFailed: The options are wrong, or there is no such agent.
            AgentPaused: A person has to decide first.
        """
        options = opened.scope.place.agent_options(opened.request.options or {})
        _check_options(options)
        schema = _schema_of(options)
        try:
            name, agent = agent_named(self._parts.agents, _text(options, "agentType"))
        except UnknownAgent as error:
            raise StepFailed(str(error), "UnknownAgent") from error
        retry = _Retry.of(options.get("retry"))
        call = AgentCall(
            prompt=opened.request.prompt,
            agent=name,
            schema=options.get("schema"),
            model=_text(options, "model"),
            provider=_text(options, "provider"),
            label=_text(options, "label"),
            phase=_text(options, "phase"),
            key=f"{self._run_id}/{opened.scope.place.scope}/{opened.name}",
            max_tokens=options.get("maxTokens"),
            decisions=decisions,
            emit=partial(self._emitted, opened),
        )
        return await self._attempts(opened, agent, _Task(call, schema, retry))

    async def _attempts(self, opened: OpenRequest, agent: Agent, task: _Task) -> tuple[Any, Usage]:
        call, retry = task.call, task.retry
        attempt = 1
        while True:
            try:
                answer = await self._fitting(
                    opened, agent, attrs.evolve(call, attempt=attempt), task.schema
                )
            except (AgentPaused, LeaseLost, BudgetExceeded):
                raise
            except Exception as error:
                if attempt >= retry.attempts:
                    raise _failure(error, attempt) from error
            else:
                return answer.value, answer.usage
            attempt += 1
            await asyncio.sleep(retry.seconds)

    async def _fitting(
        self, opened: OpenRequest, agent: Agent, call: AgentCall, schema: AnswerSchema | None
    ) -> AgentAnswer:
        """An answer that fits the schema, at the second time of asking if need be."""
        answer = await self._once(opened, agent, call)
        if schema is None:
            return answer
        value = schema.value(answer.value)
        if faults := schema.faults(value):
            again = attrs.evolve(call, prompt=schema.correction(call.prompt, faults))
            second = await self._once(opened, agent, again)
            answer = attrs.evolve(second, usage=answer.usage + second.usage)
            value = schema.value(answer.value)
            if faults := schema.faults(value):
                message = f"Structured output did not match JSON Schema: {'; '.join(faults)}"
                raise StepFailed(message, "StructuredOutputError", {"kind": "schema"})
        return attrs.evolve(answer, value=value)

    async def _once(self, opened: OpenRequest, agent: Agent, call: AgentCall) -> AgentAnswer:
        """One attempt; its spend is known when it has ended, and reserved until then."""
        tokens = call.max_tokens or agent.max_tokens or 0
        scope = opened.scope.place.scope
        async with self._parts.scheduler.slot(
            self._run_id,
            scope=tuple(scope.split("/")[1:]),
            priority=_priority(opened.request.options or {}),
            provider=call.provider,
            model=call.model,
            tokens=tokens,
        ):
            wanted = Usage(output_tokens=tokens, cost=agent.max_cost or 0.0, agents=1)
            names = (call.phase, *opened.scope.place.names[1:])
            reserved = self._host.budget.reserve(wanted, names)
            try:
                await self._host.before_effects()
                self._host.agent_told(opened, "agent_started", phase=call.phase, agent=call.agent)
                answer = await agent.run(call)
            except BaseException:
                reserved.release()
                raise
            usage = attrs.evolve(answer.usage, agents=1)
            reserved.commit(usage)
            return attrs.evolve(answer, usage=usage)

    def _emitted(self, opened: OpenRequest, event: Mapping[str, Any]) -> None:
        self._host.agent_told(opened, "agent_event", event=dict(event))


@attrs.frozen
class _Task:
    """A call with the schema of its answer and its retries."""

    call: AgentCall
    schema: AnswerSchema | None
    retry: _Retry


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that no agent would get.

    Raises:
        StepFailed: There is an unknown option, or one that this runner does not have.
    """
    if options.get("isolation") is not None:
        raise StepFailed(
            "agent option isolation is not supported by this runner; leave it out", "TypeError"
        )
    for name in options:
        if name not in _OPTIONS:
            raise StepFailed(
                f"agent has no option {name!r:.60}; it has {', '.join(_OPTIONS)}", "TypeError"
            )


def _schema_of(options: Mapping[str, Any]) -> AnswerSchema | None:
    """The option `schema`.

    Raises:
        StepFailed: It is no schema that can be used.
    """
    if options.get("schema") is None:
        return None
    try:
        return AnswerSchema(options["schema"])
    except SchemaFault as error:
        raise StepFailed(str(error), "TypeError") from error


@attrs.frozen
class _Retry:
    """The number of attempts of an agent, and the pauses between them."""

    attempts: int = 1
    seconds: float = 0.0

    @classmethod
    def of(cls, given: Any) -> _Retry:
        """The option `retry` of a call.

        Raises:
            StepFailed: It has another form.
        """
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise StepFailed("agent retry option must be an object", "TypeError")
        attempts, backoff = given.get("maxAttempts", 1), given.get("backoffMs", 0)
        if not _is_whole(attempts) or attempts < 1:
            raise StepFailed("agent retry.maxAttempts must be a positive integer", "TypeError")
        if attempts > _MAX_ATTEMPTS:
            raise StepFailed(
                f"agent retry.maxAttempts must be between 1 and {_MAX_ATTEMPTS}", "TypeError"
            )
        if not _is_whole(backoff) or backoff < 0:
            raise StepFailed("agent retry.backoffMs must be a non-negative integer", "TypeError")
        return cls(int(attempts), backoff / 1000)


def _is_whole(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _text(options: Mapping[str, Any], name: str) -> str | None:
    """An option that takes a string.

    Raises:
        StepFailed: It has another type.
    """
    value = options.get(name)
    if value is None or isinstance(value, str):
        return value
    raise StepFailed(f"agent option {name} takes a string; got {value!r:.100}", "TypeError")


def _priority(options: Mapping[str, Any]) -> int:
    """The option `priority`: higher goes first."""
    value = options.get("priority", 0)
    if type(value) is not int:
        raise StepFailed(
            f"agent option priority takes a whole number; got {value!r:.100}", "TypeError"
        )
    return value


def _failure(error: Exception, attempts: int) -> StepFailed:
    """An agent's exception, with the number of its attempts."""
    if isinstance(error, StepFailed):
        return error
    message = str(error) or type(error).__name__
    return StepFailed(message, type(error).__name__, {"kind": "agent", "attempts": attempts})
