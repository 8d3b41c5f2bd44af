"""One V8 isolate, driven through jsrun.

Only this module depends on the behaviour of jsrun. `tests/plugins/v8/isolates/test_isolate.py`
shows what breaks if that behaviour changes:

* `eval_async` with a timeout stops guest code wherever it runs, promise jobs included, and the
  isolate goes on afterwards. Nothing else does: `eval` stops no promise jobs, a called function
  holds Python's lock, `terminate` holds it until V8 has noticed and ends the isolate for good.
* With a timeout, the result of what took longer than a moment comes up to 10 ms after the guest has
  finished. So such a command tells its answer through a host function, while jsrun reads the
  result; the isolate takes the next command when those milliseconds are over.
* An isolate without work keeps its thread spinning. So each command is followed by one more that
  parks the thread inside a host function, until the next command comes.
* Reaching the heap limit ends the isolate for good.
* Some 30,000 unhandled rejections overflow the stack of deno_core's own call for them. So a
  command takes them itself before it ends; those that modules leave are gone after the overflow.
* The last reference to a runtime must go on the thread that made it. So it stands in no local
  variable, which a traceback would carry elsewhere.
* `close` holds Python's lock until the isolate's thread has ended. A thread that calls a host
  function meanwhile needs that lock, and the process stands still for ever. So runtimes are never
  closed: when the last reference goes, the thread ends by itself, and nobody waits for it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final

import jsrun

from interpstack import EngineFailure
from interpstack_v8.context import DOOR, SetupScript
from interpstack_v8.isolates.abandoned import (
    MAX_ABANDONED,
    abandon,
    abandoned,
    has_stopped,
    refuse_more,
)
from interpstack_v8.isolates.failures import (
    CellTimeout,
    IsolateGone,
    IsolateLost,
    RejectionsOverflowed,
    failure_of,
)
from interpstack_v8.isolates.host_functions import GuestAnswer, HostFunctions
from interpstack_v8.isolates.owner import owner
from interpstack_v8.isolates.stretch import on_the_clock
from interpstack_v8.isolates.waits import CommandWait

__all__ = ["Isolate"]

#: Globals that no guest may have: jsrun's own, and what reads clocks or makes memory and waits
#: beyond the limits.
_LEFTOVERS: Final = (
    "__bootstrap",
    "__host_op_async__",
    "__host_op_sync__",
    "__jsrunCallAsync",
    "__jsrunCallSync",
    "__jsrun_bind_object",
    "__jsrun_from_py_stream",
    "Atomics",
    "ReadableStream",
    "SharedArrayBuffer",
    "Temporal",
    "WebAssembly",
)
#: Room above the memory limit before V8's own limit: V8 aborts the process when it cannot make
#: something in one piece, such as a large array, so that must fit where the host can look at it.
_HEAP_ROOM: Final = 448 * 2**20
#: Bytes of array buffers above the memory limit; V8 frees them late.
_BUFFER_ROOM: Final = 128 * 2**20
#: Characters that may cross at once.
_MAX_TEXT: Final = 256 * 2**20
#: Seconds that a command may continue after its answer is no longer needed.
_LEAVE_SECONDS: Final = 0.25


class Isolate:
    """A V8 heap with one context, and the thread jsrun runs it in.

    Args:
        setup: Scripts that run first in the context.
        memory_bytes: The guest's memory limit; `None` for V8's own.
        resolve: Name of a module as another one imports it; raises if there is none.
        load: JavaScript of a module that was resolved.
        give_up_seconds: Seconds that a built-in may continue after the limit; `None` for no limit.

    Raises:
        TooManyAbandoned: Too many abandoned isolates of this process still compute.
    """

    def __init__(
        self,
        setup: Sequence[SetupScript],
        memory_bytes: int | None,
        resolve: Callable[[str, str], str],
        load: Callable[[str], str],
        *,
        give_up_seconds: float | None,
    ) -> None:
        refuse_more()
        self._owner = owner()
        self._give_up_seconds = give_up_seconds
        self._token = secrets.token_hex(16)
        self._runtime: jsrun.Runtime | None = None
        self._parked: set[asyncio.Future[Any]] = set()
        self._turn = asyncio.Lock()  # commands run one by one
        self._wait: CommandWait | None = None  # for the running command
        self._lost: IsolateLost | None = None
        self._hung = False
        self._closing: asyncio.Future[None] | None = None  # of an abandoned isolate
        self._host = HostFunctions()
        self._owner.call(self._open(setup, memory_bytes, resolve, load))

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the isolate's thread; the elapsed time on systems without such a clock."""
        return self._host.cpu_seconds

    @property
    def recorded(self) -> Sequence[str]:
        """Console output of the running cell, line by line, as far as the host has it."""
        return self._host.recorded

    def begin_output(self, hear: Callable[[str], None] | None) -> None:
        """Drop the output of earlier cells; see `HostFunctions.begin_output`."""
        self._host.begin_output(hear)

    def enter(self, kind: str, *args: Any, seconds: float | None) -> GuestAnswer:
        """Pass a command through the guest's door, and wait for its answer; see `send`."""
        return self.send(kind, *args, seconds=seconds).result()

    def send(self, kind: str, *args: Any, seconds: float | None) -> Future[GuestAnswer]:
        """Pass a command through the guest's door; see `host.js`.

        Args:
            kind: The kind of command.
            args: Plain JSON values.
            seconds: How long guest code may compute; `None` for no limit.

        Returns:
            What it will answer, or one of these errors: `CellTimeout`, when the guest was stopped;
            `IsolateLost`, when the isolate is gone (`IsolateGone`: it was before the command
            began); `EngineFailure`, when the command failed.
        """
        answer: Future[GuestAnswer] = Future()
        repeats = kind != "say"  # the kernel's output would be lost
        self._owner.spawn(self._enter(self._command(kind, *args), seconds, answer, repeats))
        return answer

    def _command(self, *args: Any) -> str:
        return f"{DOOR}({','.join(json.dumps(value) for value in (self._token, *args))})"

    def leave(self, waits: Callable[[], bool]) -> None:
        """Release everyone who waits for an answer, although nothing stops V8 at once.

        The isolate is lost then, and its thread computes until its time is up. Not in a process
        that is ended instead, and not if too many do so already.

        Args:
            waits: Whether a caller still waits.
        """
        if self._give_up_seconds is not None:
            self._owner.spawn(self._leave(waits))

    def close(self) -> None:
        """Free everything, once the running command has ended. Closing twice is allowed."""
        if not self._owner.gone:
            self._owner.call(self._close_in_turn())

    # -- on the owner's thread -------------------------------------------------------------

    async def _open(
        self,
        setup: Sequence[SetupScript],
        memory_bytes: int | None,
        resolve: Callable[[str, str], str],
        load: Callable[[str], str],
    ) -> None:
        heap = None if memory_bytes is None else memory_bytes + _HEAP_ROOM
        config = jsrun.RuntimeConfig(
            max_heap_size=heap,
            enable_console=True,  # jsrun would empty the console plugin's
            max_serialization_bytes=_MAX_TEXT,
        )
        try:
            self._runtime = jsrun.Runtime(config)
        except RuntimeError as error:
            raise EngineFailure(f"V8 cannot be started: {error}") from error
        self._owner.adopt(self._close_in_turn)
        self._runtime.set_module_resolver(resolve)
        self._runtime.set_module_loader(load)
        for script in setup:
            await self._set_up(script)
        buffers = 2**53 if memory_bytes is None else memory_bytes + _BUFFER_ROOM
        ops = self._host.by_name().items()
        numbers = {name: self._runtime.register_op(name, op) for name, op in ops}
        text = ",".join(json.dumps(value) for value in (self._token, buffers, numbers, _LEFTOVERS))
        await self._set_up(SetupScript("interpstack:door", f"{DOOR}({text})"))
        self._rest()

    async def _set_up(self, script: SetupScript) -> None:
        if self._runtime is None:
            raise IsolateLost("it was closed")
        try:
            await self._runtime.eval_async(script.text)
        except (RuntimeError, jsrun.JavaScriptError) as error:
            await self._close()
            raise EngineFailure(f"the guest source {script.name} failed: {error}") from error

    async def _enter(
        self, script: str, seconds: float | None, answer: Future[GuestAnswer], repeats: bool
    ) -> None:
        try:
            async with self._turn:
                try:
                    given = await self._run(script, seconds, answer)
                except RejectionsOverflowed:
                    if not repeats or answer.done():
                        raise
                    given = await self._run(self._command("look"), seconds, answer)
            if given is not None:
                answer.set_result(GuestAnswer(*given))
            elif not answer.done():
                answer.set_exception(EngineFailure("the guest was entered and answered nothing"))
        except (CellTimeout, IsolateLost, EngineFailure) as error:
            if not answer.done():
                answer.set_exception(error)
            elif isinstance(error, IsolateLost):
                self._lost = error  # reported with the next command
        except BaseException as error:
            # Nobody can say what state the guest is in; whoever waits must not wait for ever.
            if not answer.done():
                answer.set_exception(EngineFailure(f"the guest's answer was lost: {error!r}"))
            if not isinstance(error, Exception):
                raise

    async def _run(self, script: str, seconds: float | None, answer: Future[GuestAnswer]) -> Any:
        """Run a command, and return its answer, or `None` if the answer was delivered already."""
        if self._runtime is None or self._hung:
            raise IsolateGone(str(self._lost or "it was closed"))
        self._host.answer_to(answer)
        timeout = None if seconds is None else on_the_clock(seconds)
        begun = time.monotonic()
        command = self._begin(script, timeout)
        if self._parked:
            self._host.wake()
        grace = self._give_up_seconds
        patience = None if timeout is None or grace is None else timeout + grace
        wait = self._wait = CommandWait(command, patience)
        await wait.ended()
        self._wait = None
        if not command.done():
            # Nothing is queued behind it: a thread that parks after Python has ended aborts the
            # process.
            self._give_up(command)
            cancelled = "it was cancelled, and V8 cannot be stopped before its time is up"
            raise IsolateLost(
                cancelled if wait.left else "it could not be stopped inside a builtin"
            )
        self._rest()  # not earlier: jsrun may swap commands that are sent at once
        try:
            return command.result()["answer"]
        except Exception as error:  # noqa: BLE001 - jsrun names no classes for all that can fail
            late = timeout is not None and time.monotonic() - begun >= timeout
            failure = failure_of(error, late)
        if isinstance(failure, IsolateLost):
            await self._close()
        raise failure

    def _begin(self, script: str, timeout: float | None) -> asyncio.Future[Any]:
        if self._runtime is None:
            raise IsolateGone("it was closed")
        return asyncio.ensure_future(self._runtime.eval_async(script, timeout=timeout))

    def _rest(self) -> None:
        """Have the thread park, behind the command that may still run."""
        if self._runtime is None:
            return
        parked = asyncio.ensure_future(self._runtime.eval_async(self._command("park")))
        self._parked.add(parked)
        parked.add_done_callback(self._has_parked)

    def _has_parked(self, parked: asyncio.Future[Any]) -> None:
        self._parked.discard(parked)
        _ = parked.cancelled() or parked.exception()

    async def _leave(self, waits: Callable[[], bool]) -> None:
        await asyncio.sleep(_LEAVE_SECONDS)
        while waits():
            wait = self._wait
            if wait is not None and not wait.is_over and abandoned() < MAX_ABANDONED:
                wait.leave()
                return
            await asyncio.sleep(_LEAVE_SECONDS)

    def _give_up(self, command: asyncio.Future[Any]) -> None:
        """Abandon a thread that does not stop; its isolate is closed when the thread stops."""
        self._hung = True
        abandon(self)

        def close(done: asyncio.Future[Any]) -> None:
            _ = done.cancelled() or done.exception()
            self._hung = False
            has_stopped(self)
            self._closing = asyncio.ensure_future(self._close_in_turn())

        command.add_done_callback(close)

    async def _close_in_turn(self) -> None:
        async with self._turn:
            await self._close()

    async def _close(self) -> None:
        if self._hung or self._runtime is None:
            return
        self._owner.release(self._close_in_turn)
        if self._parked:
            self._host.wake()  # each command has done so for the one before it
            await asyncio.wait(self._parked)
        self._runtime = None
