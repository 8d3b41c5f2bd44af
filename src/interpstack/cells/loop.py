"""Drives one cell: polls the engine, does the host work, settles, until the cell has ended.

Errors of a guest never raise out of `run_cell`. Exceptions that do: cancellation of the caller,
`EngineFailure` when the engine broke, what a `StepSource` raises, and exceptions that a
bridge declared to be the host's own (`Bridge.passes`).

A `StepSource` supplies the guest's steps. One that repeats runs the cell again after an exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs

from interpstack.cells.clock import CellClock
from interpstack.cells.extensions import Extensions
from interpstack.cells.requests import Requests
from interpstack.cells.steps import CellRun, StepSource
from interpstack.cells.wrappers import wrapped_request
from interpstack.checks import listed
from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.engine import Execution, Realm
from interpstack.contracts.errors import EngineFailure
from interpstack.contracts.limits import Limits
from interpstack.contracts.modules import ModuleLoader
from interpstack.contracts.outcome import CellContext, Outcome, Usage
from interpstack.contracts.protocol import (
    MAX_REJECTED,
    TIMER,
    Cell,
    GuestError,
    Image,
    Notification,
    Progress,
    Request,
    StateAfter,
)
from interpstack.contracts.steps import Step
from interpstack.threads import run_guest, to_end
from interpstack.values.decoding import check

__all__ = ["Start", "run_cell"]

#: Characters around the output in the notification that hands it out.
_CONSOLE_CHARS: Final = 100
#: Calls that a notice lists, and characters of each.
_UNSEEN: Final = 5
_REASON_CHARS: Final = 200
#: The name of the error of a cell whose code did not handle a failure.
_UNHANDLED: Final = "UnhandledRejection"
#: Seconds that a guest gets to end by itself when the wall time of its cell is up.
_LATE_SECONDS: Final = 0.25


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Start:
    """The start of a run.

    Attributes:
        realm: Runs the cell; not to be used by others during the run.
        bridges: The bridges to which the realm is bound.
        resumed: Whether the realm is in the middle of the cell, where the run continues.
        before: The realm's image from before the cell, if the run is resumed.
        undo: Whether to undo the cell's changes to the realm if the run ends early.
        bare: The cell without the fence that it was written in; `None` if there was none.
    """

    realm: Realm
    bridges: BridgeSet
    resumed: bool = False
    before: Image | None = None
    undo: bool = False
    bare: Cell | None = None

    def execution(self, cell: Cell) -> Execution:
        """The execution of the cell; preparing one may take long."""
        if self.resumed:
            return self.realm.resume(self.before)
        bare = self.bare
        return self.realm.start(cell if bare is None else attrs.evolve(bare, seed=cell.seed))


async def run_cell(
    start: Start,
    context: CellContext,
    extensions: Extensions,
    limits: Limits,
    unawaited: str = "finish",
    unhandled: str = "tell",
    resolve_module: Callable[[str], ModuleLoader | None] = lambda specifier: None,
    began: Callable[[Execution], None] = lambda execution: None,
) -> Outcome:
    """Run a cell to its end.

    Args:
        start: Where the run starts.
        context: Names the cell, and collects the bridges' additions to the outcome.
        extensions: The plugins' extensions of the run.
        limits: See `Limits`.
        unawaited: Whether to `finish` or `cancel` requests that are still open when the cell ends.
        unhandled: Whether to `tell`, `raise` or `ignore` failures that the code does not handle.
        resolve_module: Finds the loader of a module; `None` for unavailable modules.
        began: Called with the execution before any code runs.
    """
    steps, guards, wraps = extensions.steps, extensions.guards, extensions.wraps
    around = None if wraps is None else partial(wrapped_request, wraps, limits.value_bytes)
    requests = Requests(
        start.bridges, limits, context, resolve_module, guards, steps.earlier, steps.grace, around
    )
    execution = await _begin(start, context.cell)
    began(execution)
    clock = CellClock(limits, guards)
    cell_run = CellRun(start.realm, requests, context, clock, resumed=start.resumed)
    first = Step(steps.begin(cell_run))
    run = _Loop(cell_run, execution, steps, limits, unawaited, unhandled, start.undo, first)
    try:
        outcome = await run.drive()
        steps.ends()
        await requests.close()
        requests.check_cancelled()
    except GeneratorExit:
        raise  # the event loop was closed: nothing can be awaited any more
    except BaseException as error:
        await to_end(run.leave(error))
        raise
    if left := requests.still_running():
        return attrs.evolve(outcome, notices=(*outcome.notices, _still_running(left)))
    return outcome


async def _begin(start: Start, cell: Cell) -> Execution:
    """The execution of a cell, or of one that is in the middle of its run.

    Preparing a cell may copy the guest's memory, or wait for a process.
    """
    if start.realm.starts_at_once and not start.resumed:
        return start.execution(cell)
    begun: list[Execution] = []
    try:
        await run_guest(lambda: begun.append(start.execution(cell)), lambda: None)
    except asyncio.CancelledError:
        if begun:  # no other code has it
            await to_end(run_guest(lambda: begun[0].abort("cancelled"), lambda: None))
        raise
    return begun[0]


@attrs.define(eq=False, repr=False)
class _Loop:
    run: CellRun
    execution: Execution
    steps: StepSource
    limits: Limits
    unawaited: str
    unhandled: str
    undo: bool
    step: Step
    polls: int = 0
    notices: tuple[str, ...] = ()
    state: StateAfter = "kept"
    loss: str = ""
    failures: dict[tuple[str, str], Mapping[str, Any]] = attrs.field(factory=dict)
    unanswered: dict[int, str] = attrs.field(factory=dict)  # bridges of requests, by their ids
    ended: bool = False  # the guest has reported its completion
    unseen: list[str] = attrs.field(factory=list)  # failures that came after it
    rejected: Sequence[str] = ()  # reasons of promises that no code handles
    handled: int = 0  # failures in `unseen` that code handles

    def __attrs_post_init__(self) -> None:
        if self.run.context.listener is not None:
            self.execution.listen(self.run.context.listener.hear)

    async def drive(self) -> Outcome:
        while True:
            progress = await self._poll()
            if progress.failure is not None:
                await self.steps.stopped(())
                return self._outcome(error=progress.failure, stopped=True)
            if progress.exhausted:
                return await self._give_up(*self.run.clock.out_of_time())
            if progress.completion is not None:
                await self._finish_unawaited()
                done = progress.completion
                if self.unhandled == "raise" and done.error is None and self._unhandled():
                    return self._outcome(error=GuestError(_UNHANDLED, self._failures()[0][:-1]))
                return self._outcome(
                    text=done.text,
                    error=self._traced(done.error),
                    stopped=progress.state != "kept",
                    handle=done.handle,
                    undefined=done.undefined,
                    omitted_chars=done.omitted_chars,
                    omitted_exact=done.omitted_exact,
                    shortened=done.shortened,
                )
            step = await self.steps.next()
            if step is None:
                return await self._nothing_comes()
            self.step = step

    async def _nothing_comes(self) -> Outcome:
        if not self.run.requests.idle:
            return await self._give_up(*self.run.clock.out_of_time())
        return await self._give_up(
            "Deadlock",
            "the cell waits for a promise that nothing can settle: no request is open. "
            "Is a promise missing its resolver, or is it a call of an earlier cell?",
        )

    async def leave(self, error: BaseException) -> None:
        """End the cell early: stop the guest and the requests, and keep the answers so far."""
        try:
            progress = await run_guest(lambda: self._stop_guest(error), lambda: None)
            if self.run.context.listener is not None:  # no other code reads its output
                await self.steps.stopped(progress.notifications)
        finally:
            await self.run.requests.close(finish=self.steps.records)
            await self.steps.left(error)

    def _stop_guest(self, error: BaseException) -> Progress:
        progress = self.execution.abort("cancelled")
        if self.undo and not isinstance(error, EngineFailure):
            self.execution.undo()
        return progress

    async def _poll(self) -> Progress:
        self.run.requests.check_cancelled()
        now, settled, seen = self.step.now, self.step.settlements, len(self.unseen)
        for one in settled:
            bridge = self.unanswered.pop(one.id, "a call")
            if (error := one.error) is not None:
                self.failures[error.name, error.message] = error.data
                if self.ended:
                    reason = " ".join(error.message.split())[:_REASON_CHARS]
                    self.unseen.append(f"{bridge} ({error.name}: {reason})")
        until = None if self.run.requests.paused else self.run.clock.wall_left()
        budget, check = self.run.clock.left(until), partial(_checked, limits=self.limits)
        poll = partial(self.execution.apoll, now, budget, settled, check)
        # Engines count CPU time, of which a busy machine gives less than the clock shows.
        late = None if until is None else max(until, 0.0) + _LATE_SECONDS
        loop = asyncio.get_running_loop()
        timer = None if late is None else loop.call_later(late, self.execution.interrupt)
        try:
            progress = await self.steps.compute(poll)
        finally:
            if timer is not None:
                timer.cancel()
        self.polls += 1
        self.run.clock.computed(progress.cpu_seconds)
        self.notices += tuple(progress.notices)
        if self.ended or progress.completion is not None:
            self.rejected = progress.rejected[:MAX_REJECTED]
        if self.ended and progress.unheard is not None:
            self.handled += max(0, len(self.unseen) - seen - progress.unheard)
        self._became(progress)
        self.unanswered.update({one.id: one.bridge for one in progress.requests})
        await self.steps.take(progress)
        return progress

    async def _finish_unawaited(self) -> None:
        """Let open requests finish and tell the guest; its timers die with the cell.

        The value of the cell is settled, so nothing but a notice can tell of a request that fails,
        or of work that a timer was to do.
        """
        self.run.answer()
        self.ended = True
        cancelled: list[str] = []
        timers = sum(request.bridge == TIMER for request in self.steps.outstanding)
        for request in self.steps.outstanding:
            if request.bridge == TIMER or self.unawaited == "cancel":
                self.steps.drop(request.id)
            if request.bridge != TIMER and self.unawaited == "cancel":
                cancelled.append(request.bridge)
        late = bool(self.steps.outstanding or self.run.requests.settled)
        while (step := await self.steps.next()) is not None:
            self.step = step
            progress = await self._poll()
            if progress.failure is not None or progress.exhausted:
                break
        cut = [one.bridge for one in self.steps.outstanding if one.bridge != TIMER]
        if late and (undone := await self._abort("the cell has ended")):
            self.notices += (undone,)
        if timers:
            self.notices += (_not_fired(timers),)
        if cancelled:
            self.notices += (_not_awaited(cancelled, ("was cancelled", "were cancelled")),)
        if cut:
            verbs = (
                "was cut off at the limit of the cell",
                "were cut off at the limit of the cell",
            )
            self.notices += (_not_awaited(cut, verbs),)
        if self.unhandled == "tell":
            self.notices += self._failures()

    def _unhandled(self) -> int:
        return len(self.unseen) - self.handled + len(self.rejected)

    def _failures(self) -> tuple[str, ...]:
        """A sentence about failed calls, and one about rejected promises, that nothing handled."""
        calls = (_not_awaited(self.unseen, ("failed", "failed")),) if self.unseen else ()
        return calls + ((_not_handled(self.rejected),) if self.rejected else ())

    async def _abort(self, reason: str) -> str:
        """End the execution; returns the change of the guest's state, if there is one."""
        await self.steps.stopped(())
        progress = await run_guest(lambda: self._aborted(reason), lambda: None)
        self._became(progress)
        for notification in progress.notifications:
            await self.run.deliver(notification)
        return "" if progress.failure is None else progress.failure.message

    def _became(self, progress: Progress) -> None:
        if progress.state != "kept":
            self.state, self.loss = progress.state, progress.loss

    def _aborted(self, reason: str) -> Progress:
        return _checked(self.execution.abort(reason), self.limits)

    async def _give_up(self, name: str, message: str) -> Outcome:
        outstanding = self.steps.outstanding
        if outstanding:
            listed = ", ".join(sorted({request.bridge for request in outstanding})[:10])
            message += f"; requests still open: {len(outstanding)} ({listed})"
        undone = await self._abort(message)
        message = f"{message}; {undone}" if undone else message
        return self._outcome(error=GuestError(name, message), stopped=True)

    def _traced(self, error: GuestError | None) -> GuestError | None:
        """An error of the guest with the data of the failed request that it is, if it is one."""
        data = None if error is None else self.failures.get((error.name, error.message))
        return error if error is None or not data else attrs.evolve(error, data=data)

    def _outcome(self, **fields: Any) -> Outcome:
        usage = Usage(
            cpu_seconds=self.run.clock.cpu_seconds,
            wall_seconds=self.run.clock.wall_seconds,
            requests=self.run.requests.counts.made,
            crossings=self.polls,
        )
        return self.run.context.outcome(
            self.limits.console_chars,
            usage=usage,
            unhandled=self._unhandled() if self.unhandled == "tell" else 0,
            notices=self.notices,
            state=self.state,
            loss=self.loss,
            **fields,
        )


def _not_awaited(calls: Sequence[str], verbs: tuple[str, str]) -> str:
    """The notice about calls that were open when the value of the cell was settled.

    Args:
        calls: A text for each.
        verbs: What became of one, and of several.
    """
    count, verb = ("A call", verbs[0]) if len(calls) == 1 else (f"{len(calls)} calls", verbs[1])
    texts = listed(calls, _UNSEEN, separator="; ")
    advice = (
        "it, and the async function that makes it"
        if len(calls) == 1
        else "them, and the async functions that make them"
    )
    return f"{count} that the cell did not wait for {verb}: {texts}. Await {advice}."


def _still_running(calls: Sequence[str]) -> str:
    """The notice about calls that outlast their cell."""
    texts, one = listed(calls, _UNSEEN), len(calls) == 1
    count = "A call" if one else f"{len(calls)} calls"
    its = (
        "It may still have its effects, and its answer is"
        if one
        else ("They may still have their effects, and their answers are")
    )
    return f"{count} outlasted the cell and could not be stopped: {texts}. {its} lost."


def _not_handled(reasons: Sequence[str]) -> str:
    """The notice about promises that were rejected, and that no code handled.

    Args:
        reasons: A text for each; there may be more if there are `MAX_REJECTED`.
    """
    texts = [" ".join(reason.split())[:_REASON_CHARS] for reason in reasons]
    if len(texts) == 1:
        return f"A promise that the cell did not wait for was rejected: {texts[0]}."
    count = f"{len(texts)} or more" if len(texts) >= MAX_REJECTED else f"{len(texts)}"
    shown = listed(texts, _UNSEEN, separator="; ")
    return f"{count} promises that the cell did not wait for were rejected: {shown}."


def _not_fired(timers: int) -> str:
    """The notice about timers that were pending when the value of the cell was settled."""
    which = "A timer was" if timers == 1 else f"{timers} timers were"
    return (
        f"{which} still pending when the cell ended, and did not fire. To wait for one, await a "
        "promise that its callback settles."
    )


def _checked(progress: Progress, limits: Limits) -> Progress:
    """A progress whose values are of a size and depth that the host can take.

    `Request.plain` is computed here, regardless of the engine's value.
    """
    if not progress.notifications and not progress.requests:
        return progress
    most = limits.value_bytes
    requests = [Request(one.id, one.bridge, *check(one.wire, most)) for one in progress.requests]
    # One may be the output, whose characters have up to four bytes.
    most += 4 * limits.console_chars + _CONSOLE_CHARS
    notifications = [
        Notification(one.bridge, check(one.wire, most)[0]) for one in progress.notifications
    ]
    return attrs.evolve(progress, notifications=notifications, requests=requests)
