"""Copies of the pages that a guest has written to.

A copy of all of a guest's memory has megabytes, of which most is what all guests begin with. The C
library serves such blocks from the same heap as small objects, and does not give that back to the
system once small objects lie behind them. So a copy holds no more than what was written, in memory
that the system provides for it alone.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["SHORT", "Pages", "Span", "address_of", "memory_at"]

#: Bytes of a part for which other threads wait: to let them run takes longer than to copy it.
SHORT: Final = 2**18
#: Start and end of a part of a memory, in bytes.
Span = tuple[int, int]
_WRITABLE: Final = 0x200  # PyBUF_WRITE
_view: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)


def memory_at(address: int, size: int) -> memoryview:
    """A view of memory of this process, valid for as long as the memory is.

    An array of `ctypes` would be a new class for each size, which takes 20 times as long to make,
    and which only the garbage collector removes.

    Args:
        address: The address of the memory.
        size: Bytes of the view.
    """
    view: memoryview = _view(address, size, _WRITABLE)
    return view


def address_of(data: bytes | bytearray) -> int:
    """The address of some bytes in this process."""
    if isinstance(data, bytearray):
        return ctypes.addressof(ctypes.c_char.from_buffer(data)) if data else 0
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


class Pages:
    """A copy of parts of a memory.

    Args:
        address: The address of the memory in this process.
        spans: The parts, in order.
        earlier: A copy that is no longer needed, whose room is used again if it is large enough:
            fresh memory costs more than the copying.

    Attributes:
        room: The memory that holds the parts, one after another.
    """

    def __init__(self, address: int, spans: Iterable[Span], earlier: Pages | None = None) -> None:
        self._spans = tuple(spans)
        needed = sum(end - start for start, end in self._spans)
        reusable = earlier is not None and len(earlier.room) >= needed
        self.room: mmap.mmap = earlier.room if earlier and reusable else _new_room(needed)
        behind = self._spans[-1][1] if self._spans else 0
        target = ctypes.c_char.from_buffer(self.room)
        memory, room, at = memory_at(address, behind), memoryview(self.room), 0
        for start, end in self._spans:
            size = end - start
            if size <= SHORT:
                room[at : at + size] = memory[start:end]
            else:
                ctypes.memmove(ctypes.byref(target, at), address + start, size)
            at += size

    def __iter__(self) -> Iterator[tuple[int, memoryview]]:
        """Address and content of each part."""
        at, room = 0, memoryview(self.room)
        for start, end in self._spans:
            yield start, room[at : at + end - start]
            at += end - start


def _new_room(size: int) -> mmap.mmap:
    """Memory of this process alone, which the child of a fork has a copy of."""
    size = max(size, mmap.PAGESIZE)
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
