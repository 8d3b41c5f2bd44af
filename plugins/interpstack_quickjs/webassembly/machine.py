"""The machine below QuickJS: an instance of WebAssembly, its memory, and the time it may take.

The machine is independent of JavaScript, which `guest.py` handles.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import wasmtime

from interpstack import EngineFailure
from interpstack_javascript.cells import Clock
from interpstack_quickjs.webassembly.instance import Instance
from interpstack_quickjs.webassembly.pages import SHORT, Pages, address_of, memory_at
from interpstack_quickjs.webassembly.runtime import current, guest_runtime
from interpstack_quickjs.webassembly.templates import runs
from interpstack_quickjs.webassembly.ticks import ASKS
from interpstack_wasm.host import TICK_SECONDS

__all__ = ["CpuLimitReached", "Machine", "Trapped"]

#: Seconds a builtin may overrun the CPU limit before the instance is stopped for good.
_GRACE_SECONDS: Final = 0.5
#: Ticks that a builtin may go on after it was interrupted from another thread.
_GRACE_TICKS: Final = 5
#: Wall time a guest may take for its CPU time, where that cannot be looked at while it runs.
_WALL_FACTOR: Final = 3


class Trapped(EngineFailure):
    """The instance was stopped in the middle; its heap can no longer be trusted.

    Attributes:
        code: wasmtime's reason, `None` if it gave none.
        late: The host stopped it, since its time was up.
    """

    def __init__(self, trap: wasmtime.Trap | wasmtime.WasmtimeError, late: bool = False) -> None:
        self.late = late
        self.code = trap.trap_code if isinstance(trap, wasmtime.Trap) else None
        super().__init__(str(trap).partition("\n")[0])

    @property
    def by_recursion(self) -> bool:
        """Whether a stack ran over: the call stack, or the guest's own below address 0."""
        code = wasmtime.TrapCode
        return self.code in (code.STACK_OVERFLOW, code.MEMORY_OUT_OF_BOUNDS)

    @property
    def by_clock(self) -> bool:
        """Whether the guest overran its CPU limit inside a builtin."""
        return self.late or self.code is wasmtime.TrapCode.INTERRUPT


class CpuLimitReached(Exception):
    """The CPU limit was reached where no guest code runs: between two jobs, or before the first."""


class Machine(Clock):
    """An instance in its own linear memory, which runs for a limited time.

    Args:
        memory_bytes: Size in bytes to which the memory may grow; `None` for the maximum of the
            format.
        instance: One that was wiped, which must be loaded before it is used; else a new one.

    Raises:
        EngineFailure: It cannot be started.
    """

    def __init__(self, memory_bytes: int | None, instance: Instance | None = None) -> None:
        self.runtime = guest_runtime()
        self._memory_limit = memory_bytes
        self._look: Callable[[Any], None] | None = None
        self._deadline: float | None = None
        self._interrupt = self._late = False
        self._ticks = 0  # since it was interrupted
        self.interrupted = False
        self._current: Instance | None = instance or Instance(self.runtime)
        self._current.limit_memory(memory_bytes)

    @property
    def _instance(self) -> Instance:
        if self._current is None:
            raise EngineFailure("the guest was closed")
        return self._current

    def release(self) -> Instance | None:
        """Release the instance for another guest; `None` if it was closed."""
        instance, self._current = self._current, None
        return instance

    def close(self) -> None:
        """Free everything. Closing twice is allowed."""
        instance = self.release()
        if instance is not None:
            instance.close()

    # -- memory ----------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        return 0 if self._current is None else self._current.memory_bytes

    def write(self, data: bytes | bytearray, address: int, start: int = 0) -> None:
        """Copy data, from index `start` on, into memory.

        Raises:
            EngineFailure: The memory is not all there.
        """
        size = len(data) - start
        target = self._host_address(address, size)
        if size <= SHORT:
            memory_at(target, size)[:] = memoryview(data)[start:] if start else data
            return
        source = data if isinstance(data, bytes) and not start else address_of(data) + start
        ctypes.memmove(target, source, size)

    def read(self, address: int, length: int) -> bytes:
        """A copy of some memory.

        Raises:
            EngineFailure: It is not all there.
        """
        return ctypes.string_at(self._host_address(address, length), length)

    def written(self, base: bytes | bytearray) -> bytes | None:
        """A byte for each page of 4096 bytes, 0 if it equals that of `base`; `None` if unknown.

        The pages below the stack pointer count as equal.
        """
        instance = self._instance
        found = instance.written(instance.stack())
        return found[1] if found is not None and found[0].memory is base else None

    def pages(self, earlier: Pages | None) -> tuple[bytes | None, int, Pages]:
        """A copy of the written pages, or of all memory if they are not known.

        Args:
            earlier: A copy that is no longer needed.

        Returns:
            The memory that the guest began with, `None` where all was copied; the stack pointer;
            and the copy, without what lies below the stack pointer.
        """
        instance, size = self._instance, self.memory_bytes
        stack = instance.stack()
        known = instance.written(stack)
        written = [(stack, size)] if known is None else runs(known[1])
        parts = [(max(start, stack), end) for start, end in written if end > stack]
        copy = Pages(self._host_address(0, size), parts, earlier)
        return None if known is None else known[0].memory, stack, copy

    def copy_runs(self, address: int, runs: Iterable[tuple[int, int]]) -> int:
        """Copy parts of the memory, but for what lies below the stack pointer.

        Args:
            address: An address of this process with room for a copy of the whole memory.
            runs: Start and end of each part.

        Returns:
            The stack pointer.
        """
        instance = self._instance
        stack = instance.stack()
        size = self.memory_bytes
        source, target = memory_at(self._host_address(0, size), size), memory_at(address, size)
        for start, end in runs:
            if end > stack:
                start = max(start, stack)
                target[start:end] = source[start:end]  # `memmove` would let other threads run
        return stack

    def _host_address(self, address: int, length: int) -> int:
        """The address of a part of the memory in this process, valid until the guest runs again."""
        current = self._current
        if current is None or address < 0 or length < 0 or address + length > current.memory_bytes:
            raise EngineFailure(f"the guest named memory it does not have: {address}+{length}")
        return current.host_address() + address

    def text(self, address: int, length: int) -> str:
        """Text that the guest passes to an import."""
        return self.read(address, length).decode("utf-8", "replace")

    # -- limits ----------------------------------------------------------------------------

    def set_time(self, cpu_seconds: float | None, now: float | None = None) -> None:
        """Start the clock: guest code may compute this long from now on in this thread.

        Args:
            cpu_seconds: Seconds of CPU time; `None` for no limit.
            now: The thread's CPU time, if the caller has just read it: a reading is a system call.
        """
        self.interrupted = self._late = False
        self._interrupt = False
        self._ticks = 0
        begun = time.thread_time() if now is None and cpu_seconds is not None else now or 0.0
        self._deadline = None if cpu_seconds is None else begun + cpu_seconds
        instance = self._instance
        if ASKS:
            instance.tick_from_now_on()
        elif cpu_seconds is None:
            instance.store.set_epoch_deadline(10**9)
        else:  # wall time, unlike the deadline; so longer, for machines that are busy elsewhere
            ticks = (_WALL_FACTOR * cpu_seconds + _GRACE_SECONDS) / TICK_SECONDS + 1
            instance.store.set_epoch_deadline(int(ticks))

    def tick(self) -> bool:
        """Whether the instance must be stopped now, in the middle; see `ask_each_tick`."""
        if self._interrupt:
            self._ticks += 1
        late = self._deadline is not None and time.thread_time() > self._deadline + _GRACE_SECONDS
        self._late = late or self._ticks > _GRACE_TICKS
        return self._late

    def interrupt(self) -> None:
        """Stop guest code that runs in another thread, as if its time were up."""
        self._interrupt = True

    def look_on(self, look: Callable[[Any], None] | None) -> None:
        """Call `look` with this machine at intervals while guest code runs; `None` for no calls."""
        self._look = look

    def poll_interrupt(self) -> bool:
        """Whether the guest must stop; the guest asks about every ten thousand steps."""
        if self._look is not None:
            self._look(self)
        if self._interrupt or (self._deadline is not None and time.thread_time() >= self._deadline):
            self.interrupted = True
        return self.interrupted

    def pause(self) -> None:
        """End the guest's turn if its time is up, while the host computes for the guest.

        Raises:
            CpuLimitReached: The time is up.
        """
        if self.poll_interrupt():
            raise CpuLimitReached

    def left(self) -> float | None:
        """Seconds that guest code may still compute in this thread; `None` for no limit."""
        return None if self._deadline is None else self._deadline - time.thread_time()

    # -- calls -----------------------------------------------------------------------------

    def call(self, name: str, *args: int) -> int:
        """Call an export.

        Raises:
            Trapped: The instance was stopped; load a heap into a new one.
        """
        return self._call(name, args, self)

    def call_untimed(self, name: str, *args: int) -> int:
        """Call a bundle that runs no code of the guest, which takes no time of the guest's.

        Raises:
            Trapped: It failed.
        """
        return self._call(name, args, _UNTIMED)

    def _call(self, name: str, args: tuple[int, ...], asked: Any) -> int:
        function = self._instance.function(name)
        previous = current.enter(asked)
        try:
            return function(*args)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            raise Trapped(error, self._late) from None
        finally:
            current.enter(previous)


class _Untimed:
    """Asked at each tick in place of a guest that may have no time left."""

    def tick(self) -> bool:
        return False


_UNTIMED: Final = _Untimed()
