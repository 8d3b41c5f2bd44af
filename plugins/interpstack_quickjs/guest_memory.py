"""The memory of a guest: copies of it, and the block in which the host passes data."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import attrs
import wasmtime

from interpstack import EngineFailure
from interpstack_quickjs.heap.stretches import Stretches
from interpstack_quickjs.webassembly.instance import Instance
from interpstack_quickjs.webassembly.machine import Machine
from interpstack_quickjs.webassembly.pages import Pages, address_of, memory_at
from interpstack_quickjs.webassembly.raw_calls import FAST
from interpstack_quickjs.webassembly.templates import template_of
from interpstack_quickjs.webassembly.ticks import ASKS

__all__ = ["SLOTS_BYTES", "WORKSPACE_BYTES", "GuestMemory", "Heap", "OutOfRoom", "Workspace"]

#: Size of the block for passing data; longer data is allocated each time.
WORKSPACE_BYTES: Final = 65536
#: Bytes at its start for handles.
SLOTS_BYTES: Final = 64
#: Bytes that must be free for the kernel to begin the next cell.
_HEADROOM: Final = 256 * 1024


class OutOfRoom(EngineFailure):
    """The guest's memory is so full that the kernel could not do its work."""


@attrs.frozen(repr=False)
class Workspace:
    """A block of guest memory for passing data in and out without allocating.

    Attributes:
        address: The address of 64 bytes for handles, followed by room for text.
        undefined: A handle of `undefined`.
    """

    address: int
    undefined: int


@attrs.frozen(repr=False)
class Heap:
    """The memory of an instance, and the values that are needed to run it again.

    Attributes:
        memory: The linear memory, or the beginning of it: zeros follow. The bytes below the stack
            pointer are meaningless.
        stack_pointer: The guest's own stack pointer.
        workspace: The part of the memory in which the host passes data.
        size: Size of the memory in bytes.
        differences: The parts that differ from `memory`.
    """

    memory: bytes | bytearray = attrs.field(repr=False)
    stack_pointer: int
    workspace: Workspace
    size: int = attrs.field(default=attrs.Factory(lambda self: len(self.memory), takes_self=True))
    differences: Stretches | Pages = attrs.field(factory=Stretches, repr=False)

    def whole(self) -> Heap:
        """The same heap without differences: `memory` covers the whole size."""
        if self.size == len(self.memory) and next(iter(self.differences), None) is None:
            return self
        memory = bytearray(self.memory)
        memory.extend(bytes(self.size - len(memory)))
        for address, data in self.differences:
            memory[address : address + len(data)] = data
        return Heap(memory, self.stack_pointer, self.workspace)


class GuestMemory(Machine):
    """An instance of QuickJS, as memory.

    Args:
        memory_bytes: Size in bytes to which the memory may grow; `None` for the maximum of the
            format.
        instance: One that was wiped, which must be loaded before it is used; else a new one.

    Raises:
        EngineFailure: It cannot be started.
    """

    def __init__(self, memory_bytes: int | None, instance: Instance | None = None) -> None:
        super().__init__(memory_bytes, instance)
        self._workspace: Workspace | None = None

    def has_room(self) -> bool:
        """Whether enough memory is free for the next cell to begin."""
        limit = self._memory_limit
        if limit is None or self.memory_bytes + _HEADROOM <= limit:
            return True
        address = self.call("qjs_alloc", _HEADROOM)
        if address:
            self.call("qjs_free", address, _HEADROOM)
        return address != 0

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

    def written_heap(self, earlier: Heap | None = None) -> Heap:
        """A copy of the state that holds what the guest has written, where the system tells that.

        Args:
            earlier: Such a copy that is no longer needed, whose room is used again.
        """
        space, size = self._space(), self.memory_bytes
        used = earlier.differences if earlier is not None else None
        began, stack, pages = self.pages(used if isinstance(used, Pages) else None)
        return Heap(began or b"", stack, space, size, pages)

    def copy_to(self, address: int, size: int) -> int:
        """Copy the memory, but for what lies below the stack pointer, to an address of the host.

        Args:
            address: An address of this process with room for the copy.
            size: Bytes of the memory, with the stack.

        Returns:
            The stack pointer.
        """
        instance = self._instance
        stack = instance.stack()
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
        if not instance.begin_with(template_of(heap.memory)):
            self._copy_in(heap)
        if not self._apply(heap):
            self._write_all(heap)
        if instance.stack() != heap.stack_pointer:
            # To set it takes five times as long as to ask, and it is nearly always the same.
            instance.stack_pointer.set_value(instance.store, heap.stack_pointer)
        self._workspace = heap.workspace

    def _apply(self, heap: Heap) -> bool:
        """Let the guest's own bundle write small differences; False if it takes no such ones.

        There are hundreds of them, and Python takes about 0.3 µs for each. They are passed below
        the stack pointer, where a guest that is not running has nothing.
        """
        differences, stack = heap.differences, heap.stack_pointer
        if not (FAST and ASKS and isinstance(differences, Stretches) and differences.data):
            return False
        data = differences.data
        address = (stack - len(data)) & -16
        if address < 0:
            return False
        self.write(data, address)
        return self.call_untimed("apply", address, len(data), stack, heap.size) == 1

    def _write_all(self, heap: Heap) -> None:
        # Hundreds of calls of `memmove` would take longer.
        memory = memory_at(self._host_address(0, heap.size), heap.size)
        try:
            for address, data in heap.differences:
                end = address + len(data)
                if address < 0 or end > heap.size:
                    raise EngineFailure(f"the state has no memory at {address}+{len(data)}")
                memory[address:end] = data
        except ValueError as error:
            raise EngineFailure(f"the state is damaged: {error}") from error

    def _copy_in(self, heap: Heap) -> None:
        """Copy the memory that the heap builds on, and zeros behind it."""
        stack, end = heap.stack_pointer, len(heap.memory)
        if end > stack:
            self.write(heap.memory, stack, stack)
        start = max(stack, end)
        ctypes.memset(self._host_address(start, heap.size - start), 0, heap.size - start)

    # -- passing data ------------------------------------------------------------------------

    def _space(self) -> Workspace:
        if self._workspace is None:
            address = self.call("qjs_alloc", WORKSPACE_BYTES)
            self._workspace = Workspace(address, self.call("new_undefined"))
        return self._workspace

    @contextmanager
    def _placed(self, data: bytes) -> Iterator[int]:
        """Address of a copy in guest memory, with a NUL behind."""
        address = self._put(data)
        if address is not None:
            yield address
            return
        address = self._allocate(data)
        try:
            yield address
        finally:
            self.call("qjs_free", address, len(data) + 1)

    def _put(self, data: bytes) -> int | None:
        """Address of such a copy in the workspace, up to the next one; `None` if it has no room."""
        if len(data) >= WORKSPACE_BYTES - SLOTS_BYTES:
            return None
        address = self._space().address + SLOTS_BYTES
        self.write(data + b"\0", address)
        return address

    def _allocate(self, data: bytes) -> int:
        address = self.call("qjs_alloc", len(data) + 1)
        if address == 0:
            raise OutOfRoom(f"the guest has no room for {len(data)} bytes")
        self.write(data + b"\0", address)
        return address

    def _word(self, address: int) -> int:
        return int(struct.unpack("<i", self.read(address, 4))[0])
