"""The WebAssembly guest of quickjs-rs, driven through wasmtime.

quickjs-rs ships QuickJS compiled to WebAssembly. This module knows the functions it exports,
`runtime.py` those it imports, `instance.py` makes them, and no other one knows either;
`tests/plugins/quickjs/test_guest.py` names what breaks if they change. Its own Python
layer is not used: it marshals values one property at a time, shares its wasmtime engine with
every other user in the process, and gives the guest a system interface.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import attrs
import wasmtime

from interpstack_core import EngineFailure
from interpstack_quickjs.heap.stretches import Stretches
from interpstack_quickjs.webassembly.instance import Instance
from interpstack_quickjs.webassembly.machine import Machine, address_of
from interpstack_quickjs.webassembly.templates import template_of

__all__ = ["Guest", "Heap", "OutOfRoom", "Workspace"]

STATUS_OK: Final = 0
STATUS_JS_ERROR: Final = 1

#: Jobs that one `execute_pending_jobs` runs at most.
_JOBS_PER_CALL: Final = 100_000
#: Said by the bundle `tell` of a function that failed.
_FAILED: Final = -(2**31)
#: Size of the block for passing data; longer data is allocated each time.
WORKSPACE_BYTES: Final = 65536
#: Bytes at its start for handles.
_SLOTS_BYTES: Final = 64
#: Bytes that must be free for the kernel to begin the next cell.
_HEADROOM: Final = 256 * 1024


class OutOfRoom(EngineFailure):
    """The guest's memory is so full that the kernel could not do its work."""


@attrs.frozen
class Workspace:
    """A block of guest memory for passing data in and out without allocating.

    Attributes:
        address: The address of 64 bytes for handles, followed by room for text.
        undefined: A handle of `undefined`.
    """

    address: int
    undefined: int


@attrs.frozen
class Heap:
    """The memory of an instance, and the values that are needed to run it again.

    Attributes:
        memory: The linear memory; the bytes below the stack pointer are meaningless.
        stack_pointer: The guest's own stack pointer.
        workspace: The part of the memory in which the host passes data.
        size: Size of the memory in bytes; larger than `memory` if `differences` extend beyond it.
        differences: The parts that differ from `memory`.
    """

    memory: bytes | bytearray = attrs.field(repr=False)
    stack_pointer: int
    workspace: Workspace
    size: int = attrs.field(default=attrs.Factory(lambda self: len(self.memory), takes_self=True))
    differences: Stretches = attrs.field(factory=Stretches, repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether `memory` covers the whole size; if not, the bytes beyond `memory` are zeros."""
        return self.size == len(self.memory)


class Guest(Machine):
    """One instance with a QuickJS runtime and one context in it.

    Args:
        memory_bytes: Size in bytes to which the memory may grow; `None` for the maximum of the
            format.
        instance: One that was wiped, which must be loaded before it is used; else a new one.

    Raises:
        EngineFailure: It cannot be started.
    """

    def __init__(self, memory_bytes: int | None, instance: Instance | None = None) -> None:
        super().__init__(memory_bytes, instance)
        #: Set by the realm: names and sources of modules, as look-ups.
        self.resolve_module: Callable[[str, str], str | None] = lambda base, specifier: None
        self.load_module: Callable[[str], str | None] = lambda name: None
        self._workspace: Workspace | None = None

    # -- memory ----------------------------------------------------------------------------

    def has_room(self) -> bool:
        """Whether enough memory is free for the next cell to begin."""
        limit = self._memory_limit
        if limit is None or self.memory_bytes + _HEADROOM <= limit:
            return True
        address = self.call("qjs_alloc", _HEADROOM)
        if address:
            self.call("qjs_free", address, _HEADROOM)
        return address != 0

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
        """A copy of the whole state, without the unused part of the stack.

        Args:
            into: Memory of an earlier, unused copy; used again if it fits, since fresh memory costs
                more than the copying.
        """
        space, size = self._space(), self.memory_bytes
        memory = into if into is not None and len(into) == size else bytearray(size)
        stack = self.copy_to(address_of(memory), size)
        return Heap(memory, stack, space)

    def copy_to(self, address: int, size: int) -> int:
        """Copy the memory, but for what lies below the stack pointer, to an address of the host.

        Args:
            address: An address of this process with room for the copy.
            size: Bytes of the memory, with the stack.

        Returns:
            The stack pointer.
        """
        instance = self._instance
        stack: int = instance.stack_pointer.value(instance.store)
        source = self._host_address(stack, size - stack)
        ctypes.memmove(address + stack, source, size - stack)
        return stack

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
        if not self._begins_with(heap):
            self.write(heap.memory, heap.stack_pointer, heap.stack_pointer)
        whole = (ctypes.c_char * heap.size).from_address(self._host_address(0, heap.size))
        memory = memoryview(whole).cast("B")  # hundreds of calls of `memmove` would take longer
        for address, data in heap.differences:
            end = address + len(data)
            if address < 0 or end > heap.size:
                raise EngineFailure(f"the state has no memory at {address}+{len(data)}")
            memory[address:end] = data
        instance.stack_pointer.set_value(instance.store, heap.stack_pointer)
        self._workspace = heap.workspace

    def _begins_with(self, heap: Heap) -> bool:
        """Have the memory begin as that of a base heap, without copying it, if that is possible."""
        template = template_of(heap.memory) if heap.is_whole else None
        return self._instance.begin_with(template)

    # -- calls -----------------------------------------------------------------------------

    def evaluate(self, source: str, export: str = "eval_code", *more: int) -> tuple[int, int]:
        """Run a script; status and handle of its value, or of the thrown value.

        Args:
            source: The script.
            export: The guest's function that runs it.
            more: Arguments of that function, behind the source.
        """
        data, out = source.encode(), self._space().address
        with self._placed(data) as address:
            status = self.call(export, address, len(data), *more, out)
            if status == STATUS_JS_ERROR:
                self.call("last_exception", out)
            return status, self._word(out)

    def evaluate_nameless(self, source: str) -> tuple[int, int]:
        """The same for a module that nothing can import."""
        return self.evaluate(source, "eval_module", self._space().address, 0)

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
        """Run all pending promise jobs.

        Raises:
            OutOfTime: The time is up; more of them are waiting.
        """
        self._go_on(self.call("execute_pending_jobs"))

    def _go_on(self, done: int) -> None:
        """Run the jobs that are left after some were done."""
        while done:
            self.pause()
            if done < _JOBS_PER_CALL:
                return
            done = self.call("execute_pending_jobs")

    def tell(self, function: int, text: str) -> bool:
        """Call a guest function with a text, then run all pending promise jobs.

        Returns:
            False if the function failed; no jobs were run then.

        Raises:
            OutOfTime: The time is up; more jobs are waiting.
        """
        space, data = self._space(), text.encode()
        with self._placed(data) as address:
            done = self.call("tell", function, space.undefined, address, len(data), space.address)
        if done == _FAILED:
            return False
        self._go_on(done)
        return True

    def ask(self, function: int, text: str) -> tuple[int, str | None]:
        """Call a guest function with a text.

        Returns:
            Status, and the text that it returns; `None` for any other value.
        """
        space, data = self._space(), text.encode()
        slots = space.address
        with self._placed(data) as address:
            status = self.call("ask", function, space.undefined, address, len(data), slots)
        start, length = struct.unpack("<ii", self.read(slots + 8, 8))
        answer = self.read(start, length) if length > 0 else b""
        self.call("asked", slots)
        return status, None if length < 0 else answer.decode("utf-8", "replace")

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
