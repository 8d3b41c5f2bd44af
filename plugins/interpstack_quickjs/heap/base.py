"""The base heap: a fresh context with kernel, web APIs and the plugins' guest sources in it.

Made once per set of sources, then copied into every new realm. It depends on nothing but code,
so it is the same in every process, and images can be stored as differences from it.
"""

from __future__ import annotations

import hashlib
import json
import struct
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import attrs

from interpstack import EngineFailure, GuestSource
from interpstack_javascript import KERNEL_NAME, kernel_source, web_source
from interpstack_quickjs.guest import STATUS_OK, Guest
from interpstack_quickjs.guest_memory import WORKSPACE_BYTES, Heap, Workspace
from interpstack_quickjs.webassembly.runtime import guest_runtime
from interpstack_quickjs.webassembly.templates import keep_template
from interpstack_wasm.compiled import read_cached, write_cached

__all__ = ["Base", "base_heaps", "built_base", "call_function", "stored_base"]

#: Changes whenever the stored form or the code for fresh guests changes.
_FORMAT = "base 10"


#: Names of guest sources that get a function by which their code asks the host.
ASKING: Final = frozenset({"interpstack:intl"})


@attrs.frozen(repr=False)
class Base:
    """A base heap and the handles of the kernel's functions in it.

    Attributes:
        id: The same exactly where the heap is the same.
        heap: The heap from which new realms start.
        dispatch: Handle of the kernel's `dispatch`, likewise `next`; see `kernel/intrinsics.js`.
        printed: Address of the console output; see `printed.py`.
        allocator: Address of the allocator's state, 0 if unknown.
    """

    id: str
    heap: Heap
    dispatch: int
    next: int
    printed: int
    allocator: int

    def wipe(self, memory: bytearray) -> None:
        """Put a realm's memory back to the base heap's wherever it holds nothing of the guest's."""
        from interpstack_quickjs.heap.allocator import free_spans  # loaded for images only

        space, before = self.heap.workspace.address, self.heap.memory
        passing = (space, space + WORKSPACE_BYTES)
        for start, end in (passing, *free_spans(memory, self.allocator)):
            memory[start:end] = before[start:end].ljust(end - start, b"\0")


class BaseHeaps:
    """Base heaps by guest sources; made once a process."""

    def __init__(self) -> None:
        self._bases: dict[tuple[GuestSource, ...], Base] = {}
        self._lock = threading.Lock()

    def get(self, sources: Sequence[GuestSource]) -> Base:
        """The base heap with these sources installed, in order."""
        key = tuple(sources)
        base = self._bases.get(key)
        if base is None:
            with self._lock:
                base = self._bases.get(key)
                if base is None:
                    base = self._bases[key] = _load(sources)
        return base


#: Shared by all engines: a base heap depends on nothing but its sources.
base_heaps = BaseHeaps()


def _load(sources: Sequence[GuestSource]) -> Base:
    parts = [_FORMAT, guest_runtime().compiled.source_hash, kernel_source(), web_source()]
    parts.append(_builtins_source())
    parts += [f"{source.name}\0{source.source}" for source in sources]
    key = hashlib.sha256("\0\0".join(parts).encode()).hexdigest()
    return stored_base(f"base-{key[:32]}.bin", lambda: _build(sources))


def stored_base(name: str, build: Callable[[], Base]) -> Base:
    """A base heap from the cache; one that is not there is built and stored.

    Args:
        name: Name of the file in the cache.
        build: Makes the base heap.
    """
    data = read_cached(name)
    base = None if data is None else _parse(data)
    if base is None:
        base = build()
        write_cached(name, _dump(base))
    keep_template(bytes(base.heap.memory))
    return base


def _build(sources: Sequence[GuestSource]) -> Base:
    from interpstack_quickjs.heap.printed import find_printed
    from interpstack_quickjs.heap.rejections import track_rejections

    guest = Guest(None)
    try:
        install = _function(guest, kernel_source(), KERNEL_NAME)
        kernel = call_function(guest, install)
        builtins = _function(guest, _builtins_source(), "interpstack:builtins")
        begin = call_function(guest, builtins, kernel)
        track_rejections(guest)
        call_function(guest, begin)
        api = guest.get(kernel, "api")
        web = GuestSource("javascript", "interpstack:web", web_source())
        for source in (web, *sources):
            function = _function(guest, source.source, source.name)
            asks = (guest.host_function(source.name),) if source.name in ASKING else ()
            call_function(guest, function, api, *asks)
        call_function(guest, guest.get(kernel, "seal"))
        dispatch, following = (guest.get(kernel, name) for name in ("dispatch", "next"))
        return built_base(guest, dispatch, following, find_printed)
    finally:
        guest.close()


def built_base(
    guest: Guest, dispatch: int, following: int = 0, find: Callable[[Heap], int] | None = None
) -> Base:
    """The base heap that a guest has become.

    Args:
        guest: The guest, in which nothing runs.
        dispatch: Handle of the function that answers commands.
        following: Handle of the kernel's `next`.
        find: Finds the console output in the heap; `None` if there is none.
    """
    from interpstack_quickjs.heap.allocator import find_allocator

    guest.run_jobs()
    guest.call("run_gc")
    heap = guest.heap()
    heap = attrs.evolve(heap, memory=bytes(heap.memory))
    allocator = find_allocator(heap.memory, heap.stack_pointer)
    handles = (dispatch, following, 0 if find is None else find(heap), allocator)
    return Base(_id(heap, handles), heap, *handles)


@cache
def _builtins_source() -> str:
    return (files("interpstack_quickjs") / "builtins.js").read_text("utf-8")


def _function(guest: Guest, source: str, name: str) -> int:
    return guest.evaluate_module(f"export default {source}", name)


def call_function(guest: Guest, function: int, *args: int) -> int:
    """Call a function of a guest that runs our own code.

    Raises:
        EngineFailure: It throws.
    """
    status, handle = guest.invoke(function, *args)
    if status != STATUS_OK:
        parts = [guest.string(guest.get(handle, key)) for key in ("message", "stack")]
        raise EngineFailure("a guest source failed: " + "\n".join(p for p in parts if p))
    return handle


def _id(heap: Heap, handles: Sequence[int]) -> str:
    digest = hashlib.sha256(heap.memory)
    digest.update(json.dumps([heap.stack_pointer, *handles]).encode())
    return digest.hexdigest()[:32]


_HEADER = struct.Struct("<32s7i")


def _dump(base: Base) -> bytes:
    space = base.heap.workspace
    numbers = (base.heap.stack_pointer, space.address, space.undefined)
    handles = (base.dispatch, base.next, base.printed, base.allocator)
    used = base.heap.memory[base.heap.stack_pointer :]  # below it everything is zero
    return _HEADER.pack(base.id.encode(), *numbers, *handles) + used


def _parse(data: memoryview) -> Base | None:
    if len(data) < _HEADER.size + 65536:
        return None
    name, stack, address, undefined, *handles = _HEADER.unpack_from(data)
    memory = bytes(stack) + data[_HEADER.size :]
    heap = Heap(memory, stack, Workspace(address, undefined))
    return Base(name.decode(), heap, *handles)
