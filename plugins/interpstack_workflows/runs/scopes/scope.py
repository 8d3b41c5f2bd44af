"""Run one scope: take the requests of its module, and resolve them.

A run is a tree of scopes: the root, and one for each child workflow. Each has a module of its own,
and all write their entries into the one stream of the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Protocol

import attrs

from interpstack.checks import listed
from interpstack_workflows.errors import WorkflowModuleError
from interpstack_workflows.runs.failures import ScopeFailed
from interpstack_workflows.runs.scopes.crossing import resolution
from interpstack_workflows.runs.scopes.identities import identity
from interpstack_workflows.runs.scopes.replaying import RecordedAnswers
from interpstack_workflows.runs.values import ScopePlace
from interpstack_workflows.runtime.boundary import (
    FailedResolution,
    LogCall,
    ModuleProgress,
    PhaseCall,
    Resolution,
)
from interpstack_workflows.runtime.runtime import ModuleExecution
from interpstack_workflows.steps.entries import StepRecord
from interpstack_workflows.steps.names import StepNames

__all__ = ["OpenRequest", "ScopeEnd", "ScopeHost", "ScopeLoop"]

#: Requests of an ending scope that are refused before the scope is given up.
_MAX_REFUSED: Final = 1000
#: Steps that a message names, and the fields by which a reader recognizes a request.
_LISTED: Final = 5
_DESCRIBING: Final = ("prompt", "question", "signal", "label", "ref", "profile", "duration_ms")


@attrs.frozen(eq=False)
class OpenRequest:
    """A request that its script awaits.

    Attributes:
        scope: The loop of the scope that made it.
        id: Identifies the request in its module.
        request: The request as the module made it.
        kind: The kind of its step.
        name: Identifies the step in the records of its scope.
        signature: What makes two steps the same.
        started: The record of its beginning in an earlier activation, if there is one.
    """

    scope: ScopeLoop
    id: str
    request: Any
    kind: str
    name: str
    signature: Any
    started: StepRecord | None = None


@attrs.frozen
class ScopeEnd:
    """The end of a script that succeeded.

    Attributes:
        result: The result of the workflow, as JSON.
        dropped: Failures that its `parallel` and `pipeline` turned into null.
    """

    result: Any
    dropped: int


class Cancellable(Protocol):
    """An effect that can be cancelled: a task, or a timer."""

    def cancel(self) -> Any:
        """Stop it; nothing happens if it has ended."""


class ScopeHost(Protocol):
    """The part of a run that its scopes need."""

    @property
    def ending(self) -> FailedResolution | None:
        """The error that every request gets from now on; `None` while the run continues."""

    async def open_module(self, place: ScopePlace) -> ModuleExecution:
        """Start the module of a scope."""

    def answers(self, place: ScopePlace) -> RecordedAnswers:
        """Return the recorded answers of a scope."""

    def begin(self) -> None:
        """Count one more computation or in-flight call: the run does not only wait."""

    def end(self) -> None:
        """Count one computation or in-flight call less."""

    async def before_effects(self) -> None:
        """Wait until everything is stored that was recorded before."""

    def start(self, opened: OpenRequest) -> Cancellable | None:
        """Begin what a request asks for; `ScopeLoop.settle` gets its end."""

    def completed(self, place: ScopePlace) -> None:
        """Note that the script of a scope has its final result."""

    async def before_close(self, place: ScopePlace) -> None:
        """Wait for runs that are more urgent than the end of a scope."""

    async def stop(self, effects: Sequence[Cancellable]) -> None:
        """Cancel effects, and wait until they have stopped."""

    def record(self, place: ScopePlace, now: float, steps: Sequence[StepRecord]) -> Any:
        """Record the end of steps; returns the budget that the guest sees."""

    def now(self) -> float:
        """Seconds since 1970."""

    def ended(self, opened: OpenRequest, step: StepRecord, *, replayed: bool) -> None:
        """Report that a step has ended, in this activation of the run or in an earlier one."""

    def script_called(self, place: ScopePlace, call: LogCall | PhaseCall) -> None:
        """Report what a script logged, or the phase that it entered."""


class ScopeLoop:
    """One scope of a run, from its start to its end.

    Args:
        host: The run.
        place: Where the scope stands in it.
        now: The guest's clock at the start, recorded with the run.
    """

    def __init__(self, host: ScopeHost, place: ScopePlace, now: float) -> None:
        self.place = place
        self._host = host
        self._now = now
        self._names = StepNames(place.scope)
        self._answers = host.answers(place)
        self._requests: dict[str, OpenRequest] = {}
        self._fresh: list[OpenRequest] = []
        self._running: dict[str, Cancellable] = {}
        self._settled: list[StepRecord] = []
        self._waking: asyncio.Future[None] | None = None
        self._idle = False
        self._refused = 0
        self._rejected: Sequence[str] = ()

    async def run(self) -> ScopeEnd:
        """Run the module to its end.

        Raises:
            ScopeFailed: The script failed or stalled, or the run was ended.
        """
        module, complete = None, False
        self._host.begin()
        try:
            module = await self._host.open_module(self.place)
            end = await self._drive(module)
            self._host.completed(self.place)
            self._log_unawaited()
            await self._host.stop(list(self._running.values()))  # nobody awaits them
            await self._host.before_close(self.place)
            complete = True
        except WorkflowModuleError as error:
            raise ScopeFailed.of_module(error) from error
        else:
            return end
        finally:
            try:
                await self._host.stop(list(self._running.values()))
            finally:
                if not complete:  # the run may be resumed
                    self._record_settled()
                if module is not None:
                    await module.aclose()
                if not self._idle:
                    self._host.end()

    def settle(self, opened: OpenRequest, step: StepRecord) -> None:
        """Take the end of an effect; the scope records it and continues."""
        self._running.pop(opened.id, None)
        if opened.id in self._requests:
            self._settled.append(step)
            self.wake()

    def wake(self) -> None:
        """Wake the loop, if it waits."""
        if self._waking is not None and not self._waking.done():
            self._host.begin()
            self._idle = False
            self._waking.set_result(None)

    def running(self, opened: OpenRequest, effect: Cancellable) -> None:
        """Register an effect that continues under another handle."""
        self._running[opened.id] = effect

    async def _drive(self, module: ModuleExecution) -> ScopeEnd:
        answers: Sequence[tuple[str, Resolution]] = ()
        while True:
            progress = await module.advance(self._now, answers)
            for call in progress.calls:
                self._host.script_called(self.place, call)
            for request in progress.requests:
                self._open(request)
            if progress.error is not None:
                raise ScopeFailed.of_module(progress.error)
            if progress.complete is not None:
                self._rejected = progress.rejected
                output = progress.complete.output
                return ScopeEnd(output.result, output.dropped)
            answers = await self._next(progress)

    def _open(self, request: Any) -> None:
        kind, inputs, key = identity(request)
        name, signature = self._names.name(kind, inputs, key)
        started = self._answers.started(name)
        opened = OpenRequest(self, request.id, request, kind, name, signature, started)
        self._requests[request.id] = opened
        if not self._answers.open(request.id, name):
            self._fresh.append(opened)

    async def _next(self, progress: ModuleProgress) -> Sequence[tuple[str, Resolution]]:
        """Return the answers of the next settlement: recorded ones first, then new ones."""
        if self._host.ending is None and (replayed := self._answers.take()) is not None:
            self._now = max(self._now, replayed.now)
            return [
                self._answer(request_id, step, replayed.budget, replayed=True)
                for request_id, step in replayed.answers
            ]
        if self._fresh and self._host.ending is None:
            await self._host.before_effects()
            if self._host.ending is None:
                self._start()
        if not self._requests and self._host.ending is None:
            raise ScopeFailed(_stalled(progress.awaiting), "Stalled")
        if not self._settled and self._host.ending is None:
            await self._wait()
        if self._host.ending is not None:
            return await self._refuse(self._host.ending)
        settled, self._settled = self._settled, []
        self._now = max(self._now, self._host.now())
        budget = self._host.record(self.place, self._now, settled)
        return [self._answer(step.request_id or "", step, budget) for step in settled]

    def _start(self) -> None:
        fresh, self._fresh = self._fresh, []
        for opened in fresh:
            effect = self._host.start(opened)
            if effect is not None and opened.id in self._requests:
                self._running.setdefault(opened.id, effect)

    async def _wait(self) -> None:
        self._waking = asyncio.get_running_loop().create_future()
        self._idle = True
        self._host.end()
        try:
            await self._waking
        finally:
            self._waking = None

    def _answer(
        self, request_id: str, step: StepRecord, budget: Any, *, replayed: bool = False
    ) -> tuple[str, Resolution]:
        self._host.ended(self._requests.pop(request_id), step, replayed=replayed)
        return request_id, resolution(step, budget)

    async def _refuse(self, ending: FailedResolution) -> Sequence[tuple[str, Resolution]]:
        """Reject all open requests with the same error, so that the script can end."""
        running, self._running = self._running, {}
        await self._host.stop(list(running.values()))
        self._fresh = []
        self._record_settled()
        refused = list(self._requests)
        self._refused += len(refused)
        if not refused or self._refused > _MAX_REFUSED:
            raise ScopeFailed(ending.message, ending.name)
        self._requests.clear()
        return [(request_id, ending) for request_id in refused]

    def _log_unawaited(self) -> None:
        """Log the steps that the script did not await, and failures that it did not handle.

        No other event says that the steps stop, or that something failed.
        """
        if self._rejected:
            text = listed(
                [one.split("\n")[0][:200] for one in self._rejected], _LISTED, separator="; "
            )
            text = f"the script did not await what failed: {text}"
            self._host.script_called(self.place, LogCall((text,)))
        left = [f"{one.kind} {_what(one.request)!r:.80}" for one in self._requests.values()]
        if left:
            text = f"the script ended without awaiting {listed(left, _LISTED)}"
            text += "; steps that are not awaited are stopped"
            self._host.script_called(self.place, LogCall((text,)))

    def _record_settled(self) -> None:
        """Record the steps that have ended and were not delivered to the script."""
        settled, self._settled = self._settled, []
        if settled:
            self._host.record(self.place, max(self._now, self._host.now()), settled)


def _what(request: Any) -> str:
    """Return the input by which a reader recognizes a request."""
    found = (getattr(request, name, None) for name in _DESCRIBING)
    return str(next((one for one in found if one is not None), ""))


def _stalled(awaiting: Sequence[str]) -> str:
    what = ", ".join(awaiting) or "a promise that nothing can settle"
    return f"The workflow stalled: no request is open, and it still awaits {what}"
