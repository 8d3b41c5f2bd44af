"""The WebAssembly guest of quickjs-rs, driven through wasmtime.

quickjs-rs ships QuickJS compiled to WebAssembly. This module knows the functions it exports,
`runtime.py` those it imports, `instance.py` makes them, and no other one knows either;
`tests/plugins/quickjs/test_guest_contract.py` names what breaks if they change. Its own Python
layer is not used: it marshals values one property at a time, shares its wasmtime engine with
every other user in the process, and gives the guest a system interface.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import attrs
import wasmtime

from interpstack import EngineFailure
from interpstack_javascript.cells import Clock
from interpstack_quickjs.instance import Instance
from interpstack_quickjs.runtime import current, guest_runtime
from interpstack_quickjs.ticks import ASKS
from interpstack_wasm.host import TICK_SECONDS

__all__ = ["Guest", "Heap", "OutOfRoom", "OutOfTime", "Trapped", "Workspace"]

STATUS_OK: Final = 0
STATUS_JS_ERROR: Final = 1

#: Jobs that one `execute_pending_jobs` runs at most.
_JOBS_PER_CALL: Final = 100_000
#: Seconds a builtin may overrun the CPU limit before the instance is stopped for good.
_GRACE_SECONDS: Final = 0.5
#: Ticks that a builtin may go on after it was interrupted from another thread.
_GRACE_TICKS: Final = 5
#: Wall time a guest may take for its CPU time, where that cannot be looked at while it runs.
_WALL_FACTOR: Final = 3
#: Size of the block for passing data; longer data is allocated each time.
WORKSPACE_BYTES: Final = 65536
#: Bytes at its start for handles.
_SLOTS_BYTES: Final = 64
#: Bytes that must be free for the kernel to begin the next cell.
_HEADROOM: Final = 256 * 1024


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


class OutOfTime(Exception):
    """The CPU limit was reached where no guest code runs: between two jobs, or before the first."""


class OutOfRoom(EngineFailure):
    """The guest's memory is so full that the kernel could not do its work."""


@attrs.frozen
class Workspace:
    """A block of guest memory for passing data in and out without allocating.

    Attributes:
        address: Of 64 bytes for handles, then room for text.
        undefined: A handle of `undefined`.
    """

    address: int
    undefined: int


@attrs.frozen
class Heap:
    """An instance's memory and what is needed to run it again.

    Attributes:
        memory: The linear memory; what lies below the stack pointer means nothing.
        stack_pointer: The guest's own stack pointer.
        workspace: Where in the memory the host passes data.
        size: Bytes of memory, more than `memory` has if `differences` go on behind it.
        differences: Address and content of what is not as in `memory`.
    """

    memory: bytes | bytearray = attrs.field(repr=False)
    stack_pointer: int
    workspace: Workspace
    size: int = attrs.field(default=attrs.Factory(lambda self: len(self.memory), takes_self=True))
    differences: tuple[tuple[int, bytes], ...] = attrs.field(default=(), repr=False)


class Guest(Clock):
    """One instance: a QuickJS runtime with one context in its own linear memory.

    Args:
        memory_bytes: Bytes its memory may grow to; `None` for what the format allows.
        instance: One that was wiped, which must be loaded before it is used; else a new one.

    Raises:
        EngineFailure: It cannot be started.
    """

    def __init__(self, memory_bytes: int | None, instance: Instance | None = None) -> None:
        self.runtime = guest_runtime()
        self._memory_limit = memory_bytes
        #: Set by the realm: names and sources of modules, as look-ups.
        self.resolve_module: Callable[[str, str], str | None] = lambda base, specifier: None
        self.load_module: Callable[[str], str | None] = lambda name: None
        #: Called now and then while guest code runs.
        self.on_step: Callable[[Guest], None] | None = None
        self._deadline: float | None = None
        self._interrupt = self._late = False
        self._ticks = 0  # since it was interrupted
        self.interrupted = False
        self._held: Instance | None = instance or Instance(self.runtime)
        self._held.limit_memory(memory_bytes)
        self._workspace: Workspace | None = None

    @property
    def _instance(self) -> Instance:
        if self._held is None:
            raise EngineFailure("the guest was closed")
        return self._held

    # -- memory ----------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        return 0 if self._held is None else self._held.memory_bytes

    def has_room(self) -> bool:
        """Whether enough memory is left for the next cell to begin."""
        limit = self._memory_limit
        if limit is None or self.memory_bytes + _HEADROOM <= limit:
            return True
        address = self.call("qjs_alloc", _HEADROOM)
        if address:
            self.call("qjs_free", address, _HEADROOM)
        return address != 0

    def write(self, data: bytes | bytearray, address: int, start: int = 0) -> None:
        """Put data, or what of it lies behind `start`, into memory.

        Raises:
            EngineFailure: The memory is not all there.
        """
        size = len(data) - start
        ctypes.memmove(self._host_address(address, size), _address_of(data) + start, size)

    def read(self, address: int, length: int) -> bytes:
        """A copy of some memory.

        Raises:
            EngineFailure: It is not all there.
        """
        return ctypes.string_at(self._host_address(address, length), length)

    def _host_address(self, address: int, length: int) -> int:
        """Where in this process a part of the memory lies, until the guest runs again."""
        if address < 0 or length < 0 or address + length > self.memory_bytes:
            raise EngineFailure(f"the guest named memory it does not have: {address}+{length}")
        return self._instance.host_address() + address

    def text(self, address: int, length: int) -> str:
        """Text that the guest passes to an import."""
        return self.read(address, length).decode("utf-8", "replace")

    def hand_over(self, text: str | None, size: int) -> int:
        """Answer an import with a text that the guest will free; `None` as 0."""
        if text is None:
            return 0
        data = text.encode("utf-8", "replace")
        address = self.call("qjs_alloc", len(data))
        if address:
            self.write(data, address)
            self.write(struct.pack("<I", len(data)), size)
        return address

    def heap(self, into: bytearray | None = None) -> Heap:
        """A copy of the whole state, without what lies on the stack below its pointer.

        Args:
            into: Memory of an earlier copy that nobody needs any more; used again if it fits,
                since fresh memory costs more than the copying.
        """
        space, size = self._space(), self.memory_bytes
        instance = self._instance
        stack = instance.stack_pointer.value(instance.store)
        memory = into if into is not None and len(into) == size else bytearray(size)
        source = self._host_address(stack, size - stack)
        ctypes.memmove(_address_of(memory) + stack, source, size - stack)
        return Heap(memory, stack, space)

    def load(self, heap: Heap) -> None:
        """Replace the whole state, of a fresh instance or by an earlier one of the same size.

        Raises:
            EngineFailure: The heap does not fit the memory limit.
        """
        instance = self._instance
        if self._memory_limit is not None and heap.size > self._memory_limit:
            raise EngineFailure(f"the state needs {heap.size} bytes, more than the memory limit")
        missing = heap.size - self.memory_bytes
        if missing > 0:
            try:
                instance.memory.grow(instance.store, -(-missing // 65536))
            except wasmtime.WasmtimeError as error:
                raise EngineFailure(f"there are no {heap.size} bytes for the state") from error
        self.write(heap.memory, heap.stack_pointer, heap.stack_pointer)
        for address, data in heap.differences:
            self.write(data, address)
        instance.stack_pointer.set_value(instance.store, heap.stack_pointer)
        self._workspace = heap.workspace

    # -- limits ----------------------------------------------------------------------------

    def set_time(self, cpu_seconds: float | None) -> None:
        """Start the clock: guest code may compute this long from now on in this thread."""
        self.interrupted = self._late = False
        self._interrupt = False
        self._ticks = 0
        self._deadline = None if cpu_seconds is None else time.thread_time() + cpu_seconds
        ticks = 1.0 if ASKS else 10**9
        if cpu_seconds is not None and not ASKS:
            # Wall time, unlike the deadline; so longer, for machines that are busy elsewhere.
            ticks = (_WALL_FACTOR * cpu_seconds + _GRACE_SECONDS) / TICK_SECONDS + 1
        self._instance.store.set_epoch_deadline(int(ticks))

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

    def poll_interrupt(self) -> bool:
        """Called by the guest every ten thousand steps or so."""
        if self.on_step is not None:
            self.on_step(self)
        if self._interrupt or (self._deadline is not None and time.thread_time() >= self._deadline):
            self.interrupted = True
        return self.interrupted

    def pause(self) -> None:
        """Called by the host while it computes for the guest.

        Raises:
            OutOfTime: The time is up.
        """
        if self.poll_interrupt():
            raise OutOfTime

    def left(self) -> float | None:
        """Seconds that guest code may still compute in this thread; `None` for no limit."""
        return None if self._deadline is None else self._deadline - time.thread_time()

    # -- calls -----------------------------------------------------------------------------

    def call(self, name: str, *args: int) -> int:
        """Call an export.

        Raises:
            Trapped: The instance was stopped; load a heap into a new one.
        """
        function = self._instance.function(name)
        previous, current.guest = getattr(current, "guest", None), self
        try:
            return function(*args)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            raise Trapped(error, self._late) from None
        finally:
            current.guest = previous

    def evaluate(self, source: str, export: str = "eval_code") -> tuple[int, int]:
        """Run a script; status and handle of its value, or of the thrown value."""
        data, out = source.encode(), self._space().address
        with self._placed(data) as address:
            status = self.call(export, address, len(data), out)
            if status == STATUS_JS_ERROR:
                self.call("last_exception", out)
            return status, self._word(out)

    def evaluate_module(self, source: str, name: str) -> int:
        """Run a module under a name of its own; the handle of its default export."""
        data, label, out = source.encode(), name.encode(), self._space().address
        label_address = self._allocate(label)
        with self._placed(data) as address:
            status = self.call("eval_module", address, len(data), label_address, len(label), out)
        self.call("qjs_free", label_address, len(label) + 1)
        if status != STATUS_OK:
            raise EngineFailure(f"{name} does not evaluate: {self.thrown_text()}")
        self.run_jobs()
        return self.get(self._word(out), "default")

    def invoke(self, function: int, *args: int) -> tuple[int, int]:
        """Call a guest function with at most 15 handles.

        Returns:
            Status, and the handle of its value or of the thrown value.
        """
        space = self._space()
        out, argv = space.address, space.address + 4
        self.write(struct.pack(f"<{len(args)}i", *args), argv)
        status = self.call("call_function", function, space.undefined, argv, len(args), out)
        if status == STATUS_JS_ERROR:
            self.call("last_exception", out)
        return status, self._word(out)

    def run_jobs(self) -> None:
        """Run promise jobs until none is left.

        Raises:
            OutOfTime: The time is up; more of them are waiting.
        """
        while done := self.call("execute_pending_jobs"):
            self.pause()
            if done < _JOBS_PER_CALL:
                return

    # -- values ----------------------------------------------------------------------------

    def new_string(self, text: str) -> int:
        """Handle of a new string."""
        data = text.encode()
        with self._placed(data) as address:
            return self.call("new_string", address, len(data))

    def string(self, handle: int) -> str | None:
        """The text of a string; `None` for any other value."""
        if self.call("get_string", handle) != STATUS_OK:
            return None
        length = self.call("qjs_last_len")
        data = self.read(self.call("qjs_last_ptr"), length) if length else b""
        self.call("qjs_result_free")
        return data.decode("utf-8", "replace")

    def get(self, handle: int, key: str) -> int:
        """Handle of a property."""
        data, out = key.encode(), self._space().address
        with self._placed(data) as address:
            status = self.call("get_prop", handle, address, len(data), out)
        if status != STATUS_OK:
            raise EngineFailure(f"the guest has no {key!r}")
        return self._word(out)

    def text_of(self, handle: int, key: str) -> str | None:
        """A property that is a string; `None` for any other, and where there is none."""
        try:
            property_ = self.get(handle, key)
        except EngineFailure:
            return None
        text = self.string(property_)
        self.free(property_)
        return text

    def free(self, handle: int) -> None:
        """Give a handle back."""
        self.call("free_value", handle)

    def thrown_text(self) -> str:
        """The pending exception, for messages about our own code."""
        out = self._space().address
        self.call("last_exception", out)
        handle = self._word(out)
        parts = [self.string(self.get(handle, key)) for key in ("name", "message", "stack")]
        return ": ".join(part for part in parts if part)

    def _space(self) -> Workspace:
        if self._workspace is None:
            address = self.call("qjs_alloc", WORKSPACE_BYTES)
            self._workspace = Workspace(address, self.call("new_undefined"))
        return self._workspace

    @contextmanager
    def _placed(self, data: bytes) -> Iterator[int]:
        """Address of a copy in guest memory, with a NUL behind."""
        address = self._space().address + _SLOTS_BYTES
        if len(data) < WORKSPACE_BYTES - _SLOTS_BYTES:
            self.write(data + b"\0", address)
            yield address
            return
        address = self._allocate(data)
        try:
            yield address
        finally:
            self.call("qjs_free", address, len(data) + 1)

    def _allocate(self, data: bytes) -> int:
        address = self.call("qjs_alloc", len(data) + 1)
        if address == 0:
            raise OutOfRoom(f"the guest has no room for {len(data)} bytes")
        self.write(data + b"\0", address)
        return address

    def _word(self, address: int) -> int:
        return int(struct.unpack("<i", self.read(address, 4))[0])

    def release(self) -> Instance | None:
        """Give the instance up, for somebody else; `None` if it was closed."""
        instance, self._held = self._held, None
        return instance

    def close(self) -> None:
        """Free everything. Closing twice is allowed."""
        instance = self.release()
        if instance is not None:
            instance.close()


def _address_of(data: bytes | bytearray) -> int:
    if isinstance(data, bytearray):
        return ctypes.addressof(ctypes.c_char.from_buffer(data)) if data else 0
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
