"""Search in WebAssembly for the differences between a guest's memory and the base heap.

Pure Python takes several times as long, and holds the interpreter lock meanwhile. `scan.wat` does
what `allocator.free_spans`, `Base.wipe` and `images.compared` do, with the same result to the bit;
those serve for memories that are too large to keep a copy of.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from functools import cache
from importlib.resources import as_file, files
from typing import Any, Final

import wasmtime

from interpstack_quickjs.guest import Guest
from interpstack_quickjs.guest_memory import WORKSPACE_BYTES, Heap
from interpstack_quickjs.heap.base import Base
from interpstack_quickjs.heap.images import Memory, difference
from interpstack_quickjs.webassembly.pages import address_of, memory_at
from interpstack_quickjs.webassembly.raw_calls import memory_place, raw_call
from interpstack_quickjs.webassembly.templates import put_back, runs
from interpstack_wasm.compiled import load_module
from interpstack_wasm.host import wasm_host
from interpstack_wasm.stores import WasmStore

__all__ = ["MAX_BYTES", "Scanner", "scanned"]

#: Bytes of the largest memory that is scanned.
MAX_BYTES: Final = 16 * 2**20
#: Scanners that are kept, each with a copy of the base heap and of the last memory.
_KEPT: Final = 4
_PAGE: Final = 65536
#: Bytes of the zeros at the start of the scanner's memory; marks of pages follow.
_ZEROS: Final = 4096
#: What `free` in `scan.wat` needs beside its bits.
_LISTS_BYTES: Final = 4 * 2**20
#: One call on memory of that size takes less than a millisecond.
_TICKS: Final = 10**9


class Scanner:
    """One instance of `scan.wat`, for one thread at a time.

    Its memory holds a page of zeros, the base heap, the guest's memory, and room for the result.
    """

    def __init__(self) -> None:
        self._store = WasmStore(wasm_host().engine)
        self._store.set_epoch_deadline(_TICKS)
        exports: Any = wasmtime.Instance(self._store, _module(), []).exports(self._store)
        self._memory: wasmtime.Memory = exports["memory"]
        self._address, self._size = memory_place(self._store, self._memory)
        self._place = raw_call(self._store, exports["place"], brief=True)
        self._scan = raw_call(self._store, exports["scan"])
        self._base: Memory | None = None
        #: Pages in which the room for the guest's memory may differ from the base heap, a byte
        #: for each; `None` if that may be any of them.
        self._stale: bytes | None = None

    def scan(self, guest: Guest, base: Base) -> Heap:
        """A guest's memory without its free blocks, as the memory of `base` and the differences."""
        before, size = base.heap.memory, guest.memory_bytes
        heap = _PAGE + len(before)
        room = heap + size
        self._grow(room + max(size + _PAGE, _LISTS_BYTES + size // 64))
        start = self._address()
        if self._base is not before:
            self._base = None  # until it is whole
            ctypes.memmove(start + _PAGE, address_of(before), len(before))
            self._base, self._stale = before, None
        written = guest.written(before)
        if written is None:
            self._stale = None
            stack = guest.copy_to(start + heap, size)
        else:
            stack = self._copy_written(guest, start + heap, before, written)
        marks = 0
        if written is not None:  # the page of zeros has room for them behind the zeros
            marks = _ZEROS
            memory_at(start + marks, len(written))[:] = written
        self._place(_PAGE, len(before), heap, size, marks)
        space = base.heap.workspace.address
        length = self._scan(space, space + WORKSPACE_BYTES, base.allocator, stack, room)
        found = ctypes.string_at(start + room, length)
        self._stale = written
        return difference(base.heap, stack, size, found)

    def _copy_written(self, guest: Guest, address: int, before: Memory, written: bytes) -> int:
        """Copy the pages that the guest has written into a copy of the base heap."""
        stale, self._stale = self._stale, None
        if stale is None or len(stale) != len(written):
            stale = bytes([1]) * len(written)
        put_back(address, _without(stale, written), before)
        return guest.copy_runs(address, runs(written))

    def _grow(self, needed: int) -> None:
        missing = needed - self._size()
        if missing > 0:
            self._memory.grow(self._store, -(-missing // _PAGE))


def _without(pages: bytes, others: bytes) -> bytes:
    """The marks of pages that are not among the others."""
    left = int.from_bytes(pages) & ~int.from_bytes(others)
    return left.to_bytes(len(pages))


@cache
def _module() -> wasmtime.Module:
    """The compiled `scan.wat`: compiling it takes 15 ms, once a process without a cache."""
    host = wasm_host()
    with as_file(files("interpstack_quickjs.heap") / "scan.wat") as path:
        return load_module(host.engine, path, host.variant).module


_idle: deque[Scanner] = deque()
_lock = threading.Lock()


def scanned(guest: Guest, base: Base) -> Heap | None:
    """See `Scanner.scan`; `None` if the memory is too large for it, or there is none for it."""
    if guest.memory_bytes > MAX_BYTES:
        return None
    wasm_host().signals.keep()  # the scanner follows lists that the guest may have damaged
    try:
        try:
            scanner = _idle.pop()  # the last one used, whose memory is still at hand
        except IndexError:
            scanner = Scanner()
        heap = scanner.scan(guest, base)
    except wasmtime.WasmtimeError:
        return None
    with _lock:
        if len(_idle) < _KEPT:
            _idle.append(scanner)
    return heap
