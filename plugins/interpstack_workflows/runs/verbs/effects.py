"""Begin the effects of requests: agents, children, waits, commands and checkpoints."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

import attrs

from interpstack.values import same_json
from interpstack_workflows.budgets.usage import WorkflowUsage
from interpstack_workflows.errors import LeaseLost
from interpstack_workflows.runs.failures import ScopeFailed, StepFailed, described
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.scopes.scope import Cancellable, OpenRequest, ScopeEnd
from interpstack_workflows.runs.values import ScopePlace
from interpstack_workflows.runs.verbs.agent_calls import (
    AgentCalls,
    AgentHost,
    AgentWaits,
    StepSpending,
)
from interpstack_workflows.runs.verbs.children import child_place
from interpstack_workflows.runs.verbs.commands import run_command
from interpstack_workflows.runs.verbs.host_code import was_stopped
from interpstack_workflows.runs.verbs.wait_options import wait_seconds
from interpstack_workflows.runs.verbs.waits import Wait, approval_id, wait_id
from interpstack_workflows.runtime.boundary import FailedResolution
from interpstack_workflows.steps.entries import StepRecord
from interpstack_workflows.steps.stages import AgentStage, approvals_of, count_of, stage_of
from interpstack_workflows.stores.records import Message

__all__ = ["VerbHost", "Verbs"]

_NOTHING: Final = WorkflowUsage()

#: Does what a request asks for; returns the value.
_Work: TypeAlias = Coroutine[Any, Any, Any]


class VerbHost(AgentHost, Protocol):
    """The part of a run that its verbs need."""

    @property
    def ending(self) -> FailedResolution | None:
        """The error that every request gets from now on; `None` while the run continues."""

    def begin(self) -> None:
        """Count one more in-flight call."""

    def end(self) -> None:
        """Count one in-flight call less."""

    def record(self, place: ScopePlace, now: float, steps: tuple[StepRecord, ...]) -> Any:
        """Record steps."""

    def open_wait(self, opened: OpenRequest, wait: Wait) -> None:
        """Begin a wait."""

    async def run_scope(self, place: ScopePlace, now: float) -> ScopeEnd:
        """Run a child to its end."""


class Verbs:
    """Begin the effects of one run's requests, and settle them when they end."""

    def __init__(self, host: VerbHost, parts: RunParts, run_id: str) -> None:
        self._host = host
        self._parts = parts
        self._agents = AgentCalls(host, parts, run_id)

    def start(self, opened: OpenRequest) -> Cancellable | None:
        """Begin an effect; `None` if it has ended, or is a wait."""
        match opened.kind:
            case "agent":
                return self._agent(opened)
            case "workflow":
                return self._begin(opened, partial(self._child, opened))
            case "exec":
                return self._begin(opened, lambda _: self._exec(opened))
            case "checkpoint":
                self._settle(opened, opened.request.value)
            case _:
                try:
                    self._wait(opened)
                except StepFailed as error:
                    self._fail(opened, error)
        return None

    def _begin(self, opened: OpenRequest, work: Callable[[_InFlightCall], _Work]) -> Cancellable:
        """Run an effect in a task of its own."""
        spending = StepSpending(
            partial(self._reached, opened),
            stage_of(opened.started if opened.kind == "agent" else None),
        )
        call = _InFlightCall(self._host, spending)
        task = asyncio.create_task(self._ended(opened, work(call), call.spending))
        task.add_done_callback(lambda _: call.end())
        return task

    async def _ended(self, opened: OpenRequest, work: _Work, spending: StepSpending) -> None:
        try:
            value = await work
        except LeaseLost:
            return  # the run is being stopped
        except asyncio.CancelledError:
            if was_stopped():
                spending.stopped()
                raise
            message = f"the code that does this {opened.kind} cancelled itself"
            self._fail(opened, StepFailed(message, "CancelledError"), spending.take())
        except ScopeFailed as error:
            if self._host.ending is None:  # else the child had no end of its own
                self._fail(opened, error)
        except AgentWaits as waits:
            self._approval(opened, waits, spending.take())
        except (GeneratorExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - agents and sandboxes may raise anything
            self._fail(opened, error, spending.take())
        else:
            end = value if isinstance(value, ScopeEnd) else ScopeEnd(value, 0)
            self._settle(opened, end.result, spending.take(), end.dropped)

    def _settle(
        self, opened: OpenRequest, value: Any, usage: WorkflowUsage = _NOTHING, dropped: int = 0
    ) -> None:
        step = StepRecord(
            name=opened.name,
            signature=opened.signature,
            kind=opened.kind,
            value=value,
            usage=usage.to_json(),
            request_id=opened.id,
            dropped=dropped,
        )
        opened.scope.settle(opened, step)

    def _fail(
        self, opened: OpenRequest, error: BaseException, usage: WorkflowUsage = _NOTHING
    ) -> None:
        step = StepRecord(
            name=opened.name,
            signature=opened.signature,
            kind=opened.kind,
            ok=False,
            error=described(error),
            usage=usage.to_json(),
            request_id=opened.id,
        )
        opened.scope.settle(opened, step)

    def _agent(self, opened: OpenRequest) -> Cancellable | None:
        if opened.started is not None and approvals_of(opened.started) is not None:
            self._wait_for_approval(opened, opened.started.value)
            return None
        return self._begin(opened, lambda call: self._agents.run(opened, call.spending))

    def _reached(self, opened: OpenRequest, stage: AgentStage, usage: WorkflowUsage) -> None:
        """Record the stage that the attempts of an agent have reached."""
        begun = opened.started
        if begun is not None and stage == stage_of(begun):  # a decision is delivered again
            value = dict(begun.value)
        else:
            value = {"count": count_of(begun), **stage.to_json()}
        self._began(opened, value, usage)

    async def _child(self, opened: OpenRequest, call: _InFlightCall) -> ScopeEnd:
        started = opened.started.value if opened.started is not None else None
        parent, request = opened.scope.place, opened.request
        spent = self._host.budget.spent
        place = await child_place(self._parts, parent, request, opened.name, started, spent)
        if started is None:
            script = place.script
            path = str(script.path) if script.path is not None else None
            source = {"source": script.source, "source_name": script.source_name}
            now = self._began(opened, {**source, "path": path, "name": script.name, "spent": spent})
        else:
            now = started["now"]
        call.end()  # from here on the scope counts itself
        return await self._host.run_scope(place, now)

    async def _exec(self, opened: OpenRequest) -> Any:
        async def begin() -> None:
            self._began(opened, {})
            await self._host.before_effects()

        return await run_command(self._parts, opened, begin)

    def _began(
        self, opened: OpenRequest, value: dict[str, Any], usage: WorkflowUsage = _NOTHING
    ) -> float:
        """Record the beginning of a step that may outlast this process; returns its time."""
        now = self._host.now()
        step = StepRecord(
            name=opened.name,
            signature=opened.signature,
            kind=opened.kind,
            value={**value, "now": now},
            started=True,
            usage=usage.to_json(),
        )
        self._host.record(opened.scope.place, now, (step,))
        return now

    def _wait(self, opened: OpenRequest) -> None:
        kind, request = opened.kind, opened.request
        options = dict(getattr(request, "options", None) or {})
        timeout = None if kind == "sleep" else wait_seconds(kind, options)
        since, asked = self._since(opened, options)
        seconds = request.duration_ms / 1000 if kind == "sleep" else timeout
        view = {} if kind != "ask" else {"question": request.question, "options": options}
        scope = opened.scope.place.scope
        wait = Wait(
            id=wait_id(scope, opened.name, asked),
            kind={"wait": "signal"}.get(kind, kind),
            since=since,
            wake_at=None if seconds is None else since + seconds,
            awaited=request.signal if kind == "wait" else "",
            view=view,
            ended=lambda number, message: self._waited(opened, options, number, message),
        )
        self._host.open_wait(opened, wait)

    def _since(self, opened: OpenRequest, options: Mapping[str, Any]) -> tuple[float, int]:
        """The time at which a wait began, and how often its question has been replaced."""
        begun = opened.started
        if begun is None:
            return self._began(opened, {}), 0
        asked = begun.value.get("asked") or 0
        if opened.kind != "ask" or _asks(begun, opened.request.question, options):
            return begun.value["now"], asked
        return self._began(opened, {"asked": asked + 1}), asked + 1

    def _waited(
        self, opened: OpenRequest, options: dict[str, Any], number: int, message: Message | None
    ) -> None:
        if message is not None:
            self._settle(opened, {"message": number, "value": message.value})
        elif opened.kind == "sleep":
            self._settle(opened, None)
        elif "default" in options:
            self._settle(opened, {"value": options["default"]})
        else:
            what = getattr(opened.request, "question", None) or opened.request.signal
            self._fail(opened, StepFailed(f"nothing arrived in time for {what!r}", "WaitTimeout"))

    def _approval(self, opened: OpenRequest, waits: AgentWaits, usage: WorkflowUsage) -> None:
        count = count_of(opened.started) + 1
        value: dict[str, Any] = {"approvals": list(waits.approvals), "count": count}
        value |= waits.stage.to_json()
        value["now"] = self._began(opened, value, usage)
        self._wait_for_approval(opened, value)

    def _wait_for_approval(self, opened: OpenRequest, began: Mapping[str, Any]) -> None:
        def ended(number: int, message: Message | None) -> None:
            again = attrs.evolve(
                opened,
                started=StepRecord(name=opened.name, kind="agent", value=began, started=True),
            )
            decision = message.value if message is not None else None
            effect = self._begin(
                again, lambda call: self._agents.run(again, call.spending, decision)
            )
            opened.scope.running(opened, effect)

        wait = Wait(
            id=approval_id(opened.scope.place.scope, opened.name, began["count"]),
            kind="approval",
            since=began["now"],
            view={"approvals": began["approvals"]},
            ended=ended,
        )
        self._host.open_wait(opened, wait)


def _asks(begun: StepRecord, question: str, options: Mapping[str, Any]) -> bool:
    """Return whether a step has begun with a question: by its key, it may have had another one."""
    if not begun.signature:
        return True
    inputs = json.loads(begun.signature)
    before = [inputs.get("question"), (inputs.get("options") or {}).get("choices")]
    return same_json(before, [question, options.get("choices")])


class _InFlightCall:
    """One in-flight call: until it ends, the run is not suspended.

    Attributes:
        spending: The resources that it has used so far.
    """

    def __init__(self, host: VerbHost, spending: StepSpending) -> None:
        self._host: VerbHost | None = host
        self.spending = spending
        host.begin()

    def end(self) -> None:
        """Stop counting the call; calling this twice is allowed."""
        host, self._host = self._host, None
        if host is not None:
            host.end()
