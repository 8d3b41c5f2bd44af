"""Drives one cell: polls the engine, does the host work, settles, until the cell has ended.

Nothing a guest does raises out of `run_cell`. What does: cancellation of the caller,
`EngineFailure` when the engine broke, and exceptions that a bridge declared to be the host's
own (`Bridge.passes`).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import attrs

from interpstack.bridges import MODULE, TIMER, Bridge, BridgeSet
from interpstack.engine import Cell, Execution, GuestError, Progress, Realm, Request, Settlement
from interpstack.errors import UnsupportedValue
from interpstack.limits import Limits
from interpstack.modules import ModuleLoader
from interpstack.outcome import CellContext, Outcome, Usage
from interpstack.values import decode, encode
from interpstack.workers import call_blocking, run_guest

__all__ = ["AnswerRequest", "GuestException", "RequestWrapper", "run_cell"]

#: Characters of an error message that reach the guest.
_MESSAGE_CHARS = 2000
#: Seconds that cancelled handlers get to clean up before the answer goes out without them.
_GRACE_SECONDS = 5.0

AnswerRequest = Callable[[], Awaitable[Any]]
RequestWrapper = Callable[[AnswerRequest], Awaitable[Any]]


class GuestException(Exception):
    """Raised by a handler to choose what the guest catches.

    Args:
        message: The error's message.
        name: The error's name in the guest.
        data: Extra properties; plain JSON values.

    Raises:
        TypeError: `data` is no JSON.
        ValueError: `data` has numbers that JSON lacks.
    """

    def __init__(self, message: str, *, name: str = "ToolError", **data: Any) -> None:
        super().__init__(message)
        json.dumps(data, allow_nan=False)  # a mistake shows here, not where the guest is told
        self.error = GuestError(name, message, data=data)


async def run_cell(
    realm: Realm,
    cell: Cell,
    bridges: BridgeSet,
    limits: Limits,
    context: CellContext,
    wrap_request: Callable[[Request], Sequence[RequestWrapper]] = lambda request: (),
    unawaited: str = "finish",
    resolve_module: Callable[[str], ModuleLoader | None] = lambda specifier: None,
) -> Outcome:
    """Run `cell` in `realm` to its end.

    Args:
        realm: Nobody else may use it meanwhile.
        cell: What to run.
        bridges: What the realm is bound to.
        limits: See `Limits`.
        context: Collects what bridges add to the outcome.
        wrap_request: The wrappers of one request, outermost first.
        unawaited: What happens to requests still open when the cell has ended: `finish`
            or `cancel`.
        resolve_module: Finds what loads a module; `None` for modules that cannot be had.
    """
    run = _Run(
        realm.start(cell), cell, bridges, limits, context, wrap_request, unawaited, resolve_module
    )
    try:
        return await run.drive()
    finally:
        await run.stop()


@attrs.define(eq=False)
class _Run:
    execution: Execution
    cell: Cell
    bridges: BridgeSet
    limits: Limits
    context: CellContext
    wrap_request: Callable[[Request], Sequence[RequestWrapper]]
    unawaited: str
    resolve_module: Callable[[str], ModuleLoader | None]
    started: float = attrs.field(factory=time.monotonic)
    cpu: float = 0.0
    polls: int = 0
    requests: int = 0
    ended: bool = False
    open: dict[int, tuple[Request, asyncio.Task[None]]] = attrs.field(factory=dict)
    settled: list[Settlement] = attrs.field(factory=list)
    wake: asyncio.Event = attrs.field(factory=asyncio.Event)
    slots: asyncio.Semaphore = attrs.field(init=False)
    bridge_slots: dict[str, asyncio.Semaphore] = attrs.field(factory=dict)
    bridge_counts: dict[str, int] = attrs.field(factory=dict)
    dropped: list[asyncio.Task[None]] = attrs.field(factory=list)
    notices: tuple[str, ...] = ()
    host_error: BaseException | None = None

    def __attrs_post_init__(self) -> None:
        self.slots = asyncio.Semaphore(self.limits.concurrency)

    async def drive(self) -> Outcome:
        while True:
            progress = await self._poll()
            if progress.failure is not None:
                self.ended = True
                return self._outcome(error=progress.failure)
            if progress.exhausted:
                return await self._give_up(*self._out_of_time())
            if progress.completion is not None:
                await self._finish_unawaited()
                done = progress.completion
                return self._outcome(
                    text=done.text,
                    error=done.error,
                    handle=done.handle,
                    undefined=done.undefined,
                    omitted_chars=done.omitted_chars,
                    omitted_exact=done.omitted_exact,
                )
            if not self.open and not self.settled:
                return await self._give_up(
                    "Deadlock",
                    "the cell waits for a promise that nothing can settle: no request is open. "
                    "Is a promise missing its resolver?",
                )
            if not await self._wait():
                return await self._give_up(*self._out_of_time())

    async def stop(self) -> None:
        """Cancel what is still running; a cell that was left early is aborted."""
        for request_id in list(self.open):
            self._drop(request_id)
        if not self.ended:
            self.ended = True
            await run_guest(lambda: self.execution.abort("cancelled"), lambda: None)
        if self.dropped:
            await asyncio.wait(self.dropped, timeout=_GRACE_SECONDS)

    def _drop(self, request_id: int) -> None:
        """Cancel a request whose answer nobody wants any more."""
        if request_id in self.open:
            task = self.open.pop(request_id)[1]
            task.cancel()
            self.dropped.append(task)

    # -- the guest's side ------------------------------------------------------------------

    async def _poll(self) -> Progress:
        settled, self.settled = self.settled, []
        left = [t for t in (self._cpu_left(), self._wall_left()) if t is not None]
        budget = max(0.0, min(left)) if left else None

        def step() -> Progress:
            if settled:
                self.execution.settle(settled)
            return self.execution.poll(time.time(), budget)

        progress = await run_guest(step, self.execution.interrupt)
        self.polls += 1
        self.cpu += progress.cpu_seconds
        await self._take(progress)
        return progress

    async def _take(self, progress: Progress) -> None:
        for call in progress.calls:
            await self._deliver(call.bridge, call.wire)
        for request in progress.requests:
            self._start(request)
        for request_id in progress.cancelled:
            self._drop(request_id)

    async def _wait(self) -> bool:
        """Wait until something is settled; False when the wall time is used up."""
        if not self.settled:
            try:
                await asyncio.wait_for(self.wake.wait(), self._wall_left())
            except TimeoutError:
                return False
        self.wake.clear()
        await asyncio.sleep(0)  # let what ended in the same turn of the loop join this crossing
        if self.host_error is not None:
            raise self.host_error
        return True

    async def _finish_unawaited(self) -> None:
        """Let open requests finish and tell the guest; its timers die with the cell."""
        for request_id, (request, _) in list(self.open.items()):
            if request.bridge == TIMER or self.unawaited == "cancel":
                self._drop(request_id)
        late = bool(self.open or self.settled)
        while self.open or self.settled:
            if not await self._wait():
                break
            progress = await self._poll()
            if progress.failure is not None or progress.exhausted:
                break
        if late:
            undone = await self._abort("the cell has ended")
            self.notices = (undone,) if undone else ()
        self.ended = True

    async def _abort(self, reason: str) -> str:
        """End the execution; what became of the guest's state, if anything did."""
        self.ended = True
        progress = await run_guest(lambda: self.execution.abort(reason), lambda: None)
        for call in progress.calls:
            await self._deliver(call.bridge, call.wire)
        return "" if progress.failure is None else progress.failure.message

    async def _give_up(self, name: str, message: str) -> Outcome:
        outstanding = [request.bridge for request, _ in self.open.values()]
        if outstanding:
            listed = ", ".join(sorted(set(outstanding))[:10])
            message += f"; {len(outstanding)} request(s) were still open: {listed}"
        undone = await self._abort(message)
        return self._outcome(error=GuestError(name, f"{message}; {undone}" if undone else message))

    def _out_of_time(self) -> tuple[str, str]:
        wall, cpu = self._wall_left(), self._cpu_left()
        if wall is not None and (cpu is None or wall < cpu):
            return "Timeout", f"the cell took longer than {self.limits.wall_seconds:g} s in all"
        return "Timeout", f"the code computed for more than {self.limits.cpu_seconds:g} s"

    def _cpu_left(self) -> float | None:
        return None if self.limits.cpu_seconds is None else self.limits.cpu_seconds - self.cpu

    def _wall_left(self) -> float | None:
        if self.limits.wall_seconds is None:
            return None
        return self.limits.wall_seconds - (time.monotonic() - self.started)

    def _outcome(self, **fields: Any) -> Outcome:
        usage = Usage(
            cpu_seconds=self.cpu,
            wall_seconds=time.monotonic() - self.started,
            requests=self.requests,
            crossings=self.polls,
        )
        return self.context.outcome(
            self.limits.console_chars, usage=usage, notices=self.notices, **fields
        )

    # -- the host's side -------------------------------------------------------------------

    async def _deliver(self, name: str, wire: Any) -> None:
        """Hand a call to its bridge. The guest does not wait, so it hears of no failure."""
        bridge = self.bridges.get(name)
        if bridge is None or bridge.awaited:
            return
        left = self._wall_left()
        try:
            # Output of a cell that ran out of time is still delivered.
            async with asyncio.timeout(left if left is None else max(left, _GRACE_SECONDS)):
                await self._invoke(bridge, decode(wire), self.context)
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            self.context.attach(error)
        except Exception as error:  # noqa: BLE001 - a handler may raise anything
            self.context.attach(error)

    def _start(self, request: Request) -> None:
        task = asyncio.ensure_future(self._answer(request))
        self.open[request.id] = (request, task)

    async def _answer(self, request: Request) -> None:
        try:
            settlement = await self._settlement(request)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - raised again by `_wait`
            self.host_error = error
            settlement = Settlement(request.id)
        if self.open.pop(request.id, None) is not None:
            self.settled.append(settlement)
            self.wake.set()

    async def _settlement(self, request: Request) -> Settlement:
        if request.bridge == TIMER:
            await asyncio.sleep(_milliseconds(request.wire) / 1000)
            return Settlement(request.id, "null")
        if request.bridge == MODULE:
            return await self._load_module(request)
        bridge = self.bridges.get(request.bridge)
        refusal = self._refuse(request, bridge)
        if refusal is not None or bridge is None:
            return Settlement(request.id, error=refusal)
        try:
            text = await self._admitted(bridge, request)
            return Settlement(request.id, text)
        except GuestException as error:
            return Settlement(request.id, error=_with_tool(error.error, bridge.name))
        except bridge.passes:
            raise
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            told = GuestError("ToolError", f"{bridge.name} was cancelled")
            return Settlement(request.id, error=_with_tool(told, bridge.name))
        except Exception as error:  # noqa: BLE001 - the guest is to catch it
            return Settlement(request.id, error=describe_error(error, bridge.name))

    async def _load_module(self, request: Request) -> Settlement:
        specifier = str(request.wire)[:_MESSAGE_CHARS]
        try:
            load = self.resolve_module(specifier)
            if load is None:
                message = f"there is no module {specifier!r} to import"
                return Settlement(request.id, error=GuestError("SkillNotAvailable", message))
            async with self.slots:
                bundle = await load()
        except GuestException as error:
            return Settlement(request.id, error=error.error)
        except Exception as error:  # noqa: BLE001 - the guest is to catch it
            told = attrs.evolve(describe_error(error, "import"), name="SkillNotAvailable")
            return Settlement(request.id, error=told)
        return Settlement(request.id, json.dumps(bundle.entry), modules=bundle.files)

    async def _admitted(self, bridge: Bridge, request: Request) -> str:
        """Run the handler once there is room for it; its value as JSON text."""
        own = self.bridge_slots.setdefault(
            bridge.name, asyncio.Semaphore(bridge.concurrency or self.limits.concurrency)
        )
        async with own, self.slots:
            key = f"{self.cell.seed:x}:{request.id}"
            context = self.context.for_request(request.id, key, request.plain)
            given = request.wire if request.plain else decode(request.wire)
            answer: AnswerRequest = partial(self._invoke, bridge, given, context)
            for wrapper in reversed(self.wrap_request(request)):
                answer = partial(wrapper, answer)
            value = await answer()
        text = json.dumps(encode(value), separators=(",", ":"))
        if len(text) > self.limits.value_bytes:
            raise UnsupportedValue(
                f"the answer of {bridge.name} has {len(text)} bytes as JSON, more than the "
                f"{self.limits.value_bytes} that may cross; return less, or a part at a time"
            )
        return text

    def _refuse(self, request: Request, bridge: Bridge | None) -> GuestError | None:
        self.requests += 1
        tool = {"tool": request.bridge}
        if self.limits.requests is not None and self.requests > self.limits.requests:
            message = f"the cell may make {self.limits.requests} calls; this was one more"
            return GuestError("PTCCallBudgetExceeded", message, data=tool)
        if bridge is None or not bridge.awaited:
            message = f"{request.bridge} is not offered in this session, or not any more"
            return GuestError("ToolError", message, data=tool)
        count = self.bridge_counts[bridge.name] = self.bridge_counts.get(bridge.name, 0) + 1
        if bridge.budget is not None and count > bridge.budget:
            message = f"the cell may call {bridge.name} {bridge.budget} times; this was one more"
            return GuestError("PTCCallBudgetExceeded", message, data=tool)
        return None

    async def _invoke(self, bridge: Bridge, given: Any, context: CellContext) -> Any:
        args, kwargs = bridge.arguments(given)
        if bridge.takes_context:
            kwargs["context"] = context
        if bridge.is_async:
            return await bridge.handler(*args, **kwargs)
        value = await call_blocking(partial(bridge.handler, *args, **kwargs))
        return await value if isinstance(value, Awaitable) else value


def describe_error(error: Exception, tool: str) -> GuestError:
    """A host exception as the guest may see it: no stack, no host paths of its own."""
    wrong_input = isinstance(error, TypeError) and not isinstance(error, UnsupportedValue)
    name = "TypeError" if wrong_input else "ToolError"
    try:
        message = str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the error
        message = type(error).__name__
    data = {"tool": tool, "kind": type(error).__name__}
    return GuestError(name, message[:_MESSAGE_CHARS], data=data)


def _with_tool(error: GuestError, tool: str) -> GuestError:
    return attrs.evolve(error, data={"tool": tool, **error.data})


def _is_cancelled() -> bool:
    """Whether this task is being cancelled; if not, what it awaited was."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _milliseconds(wire: Any) -> float:
    ms = wire if isinstance(wire, (int, float)) and not isinstance(wire, bool) else 0
    return float(min(max(0, ms), 2**31 - 1))
