"""One call of an agent: a slot, a reservation of its budget, the agent itself, the correction."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import attrs

from interpstack.checks import shown
from interpstack_accounts.api import BudgetExceeded
from interpstack_workflows.agents.agent import (
    Agent,
    AgentAnswer,
    AgentCall,
    AgentFailed,
    AgentPaused,
)
from interpstack_workflows.agents.answers import AnswerSchema, SchemaFault
from interpstack_workflows.budgets.budget import RunBudget
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.errors import LeaseLost, UnknownAgent
from interpstack_workflows.runs.agent_names import agent_named
from interpstack_workflows.runs.emitting import RunEmitter
from interpstack_workflows.runs.failures import StepFailed
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.scopes.scope import OpenRequest
from interpstack_workflows.runs.verbs.agent_options import AgentOptions, Retry
from interpstack_workflows.runs.verbs.host_code import in_own_task, was_stopped
from interpstack_workflows.runs.verbs.isolation import (
    IsolatedWork,
    check_isolation,
    isolated_value,
)
from interpstack_workflows.steps.host_values import plain_json
from interpstack_workflows.steps.names import canonical
from interpstack_workflows.steps.stages import AgentStage

__all__ = ["AgentCalls", "AgentHost", "AgentWaits", "StepSpending"]


#: Types whose values are the same in JSON.
_PLAIN: Final = frozenset({str, int, bool, type(None)})
#: Characters of a text whose size as JSON needs no check.
_SHORT_CHARS: Final = 2**20
_NOTHING: Final = WorkflowUsage()
#: What a call reserves that does not know what it may use.
_ONE_CALL: Final = WorkflowUsage(agents=1)


class AgentHost(Protocol):
    """The part of a run that the calls of its agents need."""

    @property
    def budget(self) -> RunBudget:
        """The budget of the run."""

    async def before_effects(self) -> None:
        """Wait until everything is stored that was recorded before."""

    def now(self) -> float:
        """Seconds since 1970."""

    @property
    def emitter(self) -> RunEmitter:
        """Tells the events of the run."""


class StepSpending:
    """The resources that one step has used and not recorded, and the stage that it has reached.

    Attributes:
        used: The use of attempts and corrections, including those that failed.
        stage: The stage at which the step continues if it is stopped now.
    """

    def __init__(
        self, record: Callable[[AgentStage, WorkflowUsage], None], stage: AgentStage
    ) -> None:
        self.used = _NOTHING
        self.stage = stage
        self._record = record

    def add(self, usage: WorkflowUsage) -> None:
        """Count what one call of an agent used."""
        self.used = usage if self.used is _NOTHING else self.used + usage

    def take(self) -> WorkflowUsage:
        """Take what is to be recorded now."""
        used, self.used = self.used, _NOTHING
        return used

    def reached(self, stage: AgentStage) -> None:
        """Record the stage that the step has reached, with what was used before."""
        self.stage = stage
        self._record(stage, self.take())

    def stopped(self) -> None:
        """Record what was used, if the step is stopped: it may be resumed."""
        if self.used.agents or self.used.tokens or self.used.cost:
            self.reached(self.stage)


class AgentWaits(Exception):
    """Raised when an agent needs a person's decision to continue.

    Attributes:
        approvals: The open decisions.
        stage: The attempt at which the call continues.
    """

    def __init__(self, approvals: Sequence[Mapping[str, Any]], stage: AgentStage) -> None:
        super().__init__("a decision is needed")
        self.approvals = approvals
        self.stage = stage


@attrs.frozen(kw_only=True)
class _Task:
    """One step: its agent, call, schema, retries, spending and, if it is isolated, its work."""

    opened: OpenRequest
    agent: Agent
    call: AgentCall
    priority: int
    schema: AnswerSchema | None
    retry: Retry
    spending: StepSpending
    work: IsolatedWork | None


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

    async def run(
        self,
        opened: OpenRequest,
        spending: StepSpending,
        decisions: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call the agent of a request, from the stage that its step has reached.

        Args:
            opened: The request.
            spending: Counts what its calls use, whether they end well or not, and has the stage.
            decisions: The decisions that the agent asked for.

        Returns:
            Its value.

        Raises:
            StepFailed: The options are wrong, there is no such agent, or it failed.
            AgentWaits: A person has to decide first.
            BudgetExceeded: The next call does not fit into a budget.
        """
        stage = spending.stage
        task = await self._task(opened, spending, stage)
        if decisions is not None:
            task = attrs.evolve(task, call=attrs.evolve(task.call, decisions=decisions))
        if task.work is None:
            return await self._attempts(task, stage)
        return await self._isolated(task, task.work, stage)

    async def _task(self, opened: OpenRequest, spending: StepSpending, stage: AgentStage) -> _Task:
        given = opened.request.options or {}
        defaults = opened.scope.place.phase_defaults(given)
        options = AgentOptions.read(given, self._parts.models, defaults)
        schema = await _schema_of(options)
        try:
            name, agent = agent_named(self._parts.agents, options.agent_type)
        except UnknownAgent as error:
            raise StepFailed(str(error), "UnknownAgent") from error
        call = AgentCall(
            prompt=opened.request.prompt,
            agent=name,
            schema=options.schema,
            model=options.model.model,
            provider=options.model.provider,
            model_options=dict(options.model.options),
            label=options.label,
            phase=options.phase,
            key=f"{self._run_id}/{opened.scope.place.scope}/{opened.name}",
            max_tokens=options.max_tokens,
            prices=self._parts.prices,
            needs_cost=self._host.budget.limits_cost(
                (options.phase, *opened.scope.place.names[1:])
            ),
            emit=partial(self._host.emitter.agent_event, opened, name, options.model.provider),
            store=self._parts.store,
        )
        work = None
        if options.isolated:
            trees = check_isolation(self._parts, name, agent)
            work = IsolatedWork(trees, call.key, stage.worktree)
        return _Task(
            opened=opened,
            agent=agent,
            call=call,
            priority=options.priority,
            schema=schema,
            retry=options.retry,
            spending=spending,
            work=work,
        )

    async def _isolated(self, task: _Task, work: IsolatedWork, stage: AgentStage) -> Any:
        """Return the value of an isolated step with its work; a pause records the work, too."""
        try:
            value = await self._attempts(task, stage)
            return isolated_value(value, await work.product())
        except AgentWaits as waits:
            saved = attrs.evolve(waits.stage, worktree=await work.save())
            raise AgentWaits(waits.approvals, saved) from waits
        except StepFailed as error:
            raise await work.failed(error) from error
        finally:
            await work.close()

    async def _attempts(self, task: _Task, stage: AgentStage) -> Any:
        if stage.since is not None:  # the run was stopped in the pause between two attempts
            passed = max(0.0, self._host.now() - stage.since)
            await asyncio.sleep(max(0.0, task.retry.seconds - passed))
            stage = attrs.evolve(stage, since=None)
        while True:
            try:
                return await self._fitting(task, stage)
            except (AgentWaits, LeaseLost, BudgetExceeded):
                raise
            except Exception as error:
                final = isinstance(error, AgentFailed) and error.final
                if final or stage.attempt >= task.retry.attempts:
                    raise _failure(error, stage.attempt) from error
            stage = AgentStage(stage.attempt + 1)
            saved = attrs.evolve(stage, since=self._host.now())
            if task.work is not None:
                saved = attrs.evolve(saved, worktree=await task.work.try_save())
            task.spending.reached(saved)
            task = attrs.evolve(task, call=attrs.evolve(task.call, decisions=None))
            await asyncio.sleep(task.retry.seconds)

    async def _fitting(self, task: _Task, stage: AgentStage) -> Any:
        """Return a value that fits the schema, at the second time of asking if need be."""
        schema = task.schema
        if schema is None:
            return (await self._once(task, stage)).value
        if stage.faults is None:
            value, faults = await schema.read_answer((await self._once(task, stage)).value)
            if not faults:
                return value
            task.spending.reached(await _to_correct(task, stage, faults))
            stage = attrs.evolve(stage, faults=faults)
            task = attrs.evolve(task, call=attrs.evolve(task.call, decisions=None))
        value, faults = await schema.read_answer((await self._once(task, stage)).value)
        if faults:
            message = f"Structured output did not match JSON Schema: {'; '.join(faults)}"
            raise StepFailed(message, "StructuredOutputError", {"kind": "schema"})
        return value

    async def _once(self, task: _Task, stage: AgentStage) -> AgentAnswer:
        """One call; its spend is known when it has ended, and reserved until then."""
        call, agent, place = task.call, task.agent, task.opened.scope.place
        if call.attempt != stage.attempt:
            call = attrs.evolve(call, attempt=stage.attempt)
        if stage.faults is not None:
            again = AnswerSchema.correction(call.prompt, stage.faults)
            call = attrs.evolve(call, prompt=again, correction=True)
        tokens = call.max_tokens or agent.max_tokens or 0
        async with self._parts.scheduler.slot(
            self._run_id,
            scope=tuple(place.scope.split("/")[1:]),
            priority=task.priority,
            provider=call.provider,
            model=call.model,
            tokens=tokens,
        ):
            if task.work is not None:
                call = await task.work.enter(call)
            wanted = _wanted(tokens, agent.max_cost or 0.0)
            reserved = self._host.budget.reserve(wanted, (call.phase, *place.names[1:]))
            usage, calls, began = _NOTHING, 0, time.monotonic()
            reports: list[WorkflowUsage] = []
            call = attrs.evolve(call, report=reports.append)
            try:
                await self._host.before_effects()
                self._host.emitter.agent_started(task.opened, call)
                answer = _checked(await in_own_task(agent.run(call)), call.agent)
                self._host.emitter.agent_answered(task.opened, answer)
                usage, calls = answer.usage, 1
            except AgentPaused as paused:
                usage = paused.usage  # the call continues, and counts when it ends
                raise AgentWaits(paused.approvals, stage) from paused
            except LeaseLost:
                raise
            except asyncio.CancelledError as error:
                usage = reports[-1] if reports else _NOTHING
                if was_stopped():
                    raise  # the call continues, and counts when it ends
                calls = 1
                raise AgentFailed(
                    f"agent {call.agent!r} was cancelled by its own code", usage
                ) from error
            except SystemExit as error:
                usage, calls = reports[-1] if reports else _NOTHING, 1
                raise AgentFailed(
                    f"agent {call.agent!r} called sys.exit({error.code!r:.80}); an agent fails by "
                    "raising an exception",
                    usage,
                ) from error
            except BudgetExceeded as error:
                calls = 1  # of a budget of the agent's own, which is no limit of the run
                raise AgentFailed(f"agent {call.agent!r} failed: {error}") from error
            except Exception as error:
                usage = error.usage if isinstance(error, AgentFailed) else _NOTHING
                calls = 1
                raise
            except (GeneratorExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                # Such as a BaseExceptionGroup. No caller would take it, and the step had no end.
                usage, calls = reports[-1] if reports else _NOTHING, 1
                what = f"{type(error).__name__}: {error}".rstrip(": ")
                raise AgentFailed(f"agent {call.agent!r} failed: {what}", usage) from error
            finally:
                used = _used(usage, calls, began)
                reserved.commit(used.amounts())
                task.spending.add(used)
            return answer


async def _to_correct(task: _Task, stage: AgentStage, faults: Sequence[str]) -> AgentStage:
    """Return the stage at which an agent has to correct its answer, as its record stores it.

    An isolated agent whose work cannot be saved would correct its answer in an empty worktree, so
    its attempt begins again.
    """
    if task.work is None:
        return attrs.evolve(stage, faults=faults)
    saved = await task.work.try_save()
    return stage if saved is None else attrs.evolve(stage, faults=faults, worktree=saved)


def _wanted(tokens: int, cost: float) -> WorkflowUsage:
    """Return the use that a call reserves."""
    return WorkflowUsage(output_tokens=tokens, cost=cost, agents=1) if tokens or cost else _ONE_CALL


def _used(usage: WorkflowUsage, calls: int, began: float) -> WorkflowUsage:
    """Return the use of a call as its agent reported it; an unreported time is measured."""
    return WorkflowUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
        seconds=usage.seconds or round(time.monotonic() - began, 6),
        agents=calls,
    )


def _checked(answer: Any, name: str) -> AgentAnswer:
    """Return an answer as its record has it, so that scripts see the same now and after a resume.

    Raises:
        AgentFailed: The object is not an `AgentAnswer`, or its value is not JSON.
    """
    if not isinstance(answer, AgentAnswer):
        raise AgentFailed(f"agent {name!r} has to return an AgentAnswer; got {shown(answer)}")
    kind = type(answer.value)
    if kind in _PLAIN and (kind is not str or len(answer.value) <= _SHORT_CHARS):
        return answer
    try:
        value = json.loads(canonical(plain_json(answer.value)))
    except ValueError as error:
        message = f"agent {name!r} has to answer in JSON, but {error}"
        raise AgentFailed(message, answer.usage) from None
    return attrs.evolve(answer, value=value)


async def _schema_of(options: AgentOptions) -> AnswerSchema | None:
    """Return the option `schema`.

    Raises:
        StepFailed: The schema cannot be used.
    """
    if options.schema is None:
        return None
    try:
        return await AnswerSchema.read(options.schema)
    except SchemaFault as error:
        raise StepFailed(str(error), "TypeError") from error


def _failure(error: Exception, attempts: int) -> StepFailed:
    """Return an agent's exception, with the number of its attempts."""
    if isinstance(error, StepFailed):
        return error
    cause = error.__cause__ if isinstance(error, AgentFailed) else None
    name = type(cause or error).__name__
    data: dict[str, Any] = {"kind": "agent", "attempts": attempts}
    if isinstance(error, AgentFailed) and error.final:
        data["final"] = True
    return StepFailed(str(error) or name, name, data)
