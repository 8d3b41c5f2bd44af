"""Memory that begins as a view of a template, copied page by page as the guest writes to it.

A guest writes to a small part of its memory. To copy all of the base heap into a new instance
takes longer than most cells, since the system has to provide the memory first. On Linux the
template is a sealed file in memory, and the instance's memory a private mapping of the file: what
a guest writes reaches neither the file nor another guest. Elsewhere memory is copied.

The kernel knows which pages of a mapping were written to, and tells it in `/proc/self/pagemap`. So
only these need to be compared for an image, and put back for the next guest.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from interpstack_quickjs.webassembly.pages import address_of, memory_at

__all__ = [
    "PAGE",
    "TEMPLATES",
    "Template",
    "drop_template",
    "keep_template",
    "put_back",
    "runs",
    "template_of",
]

_FIXED: Final = 0x10  # MAP_FIXED, which `mmap` does not name
#: Size of the pages that are reported as written.
PAGE: Final = 4096
#: Whether a page was written to, by the highest byte of its entry in the page map: it is in swap,
#: or present and not the file's.
_WRITTEN: Final = bytes(bool(top & 0x40 or (top & 0x80 and not top & 0x20)) for top in range(256))
#: Unwritten pages that end a run; to copy fewer takes less than a call.
_GAP: Final = bytes(7)
_MARKED: Final = rb"\x01+"
#: `fcntl` with the seals against a change of size, of content and of the seals themselves.
_ADD_SEALS: Final = 1033
_SEALS: Final = 0x1 | 0x2 | 0x4 | 0x8

#: Compared at once to find the first byte that is not zero.
_ZEROS: Final = bytes(65536)

#: Whether the system has templates.
TEMPLATES: Final = sys.platform.startswith("linux") and hasattr(os, "memfd_create")


class Template:
    """Content that the memory of any number of instances may begin with.

    Args:
        memory: The content, a whole number of pages.

    Raises:
        OSError: The system has no such files, or no more of them.
    """

    def __init__(self, memory: bytes) -> None:
        self.memory = memory
        address, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        offset = ctypes.c_long
        self._map = _function("mmap", address, address, size, number, number, number, offset)
        self._advise = _function("madvise", number, address, size, number)
        # Functions of `os` let other threads run, and so take several times as long.
        self._open = _brief("open", number, ctypes.c_char_p, number)
        self._pread = _brief("pread", ctypes.c_ssize_t, number, address, size, offset)
        self._close = _brief("close", number, number)
        self._file = os.memfd_create("interpstack-heap", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self._file, len(memory))
            done = _leading_zeros(memory)  # the unused stack, for which the file needs no memory
            while done < len(memory):
                done += os.pwrite(self._file, memoryview(memory)[done:], done)
            _seal(self._file)
        except BaseException:
            os.close(self._file)
            raise
        weakref.finalize(self, os.close, self._file)  # views stay valid without it
        self._tells_written = mmap.PAGESIZE == PAGE and self._finds_written()

    def map_over(self, address: int) -> None:
        """Replace memory at an address of this process by a new view.

        Raises:
            OSError: The system refuses.
        """
        size, rights = len(self.memory), mmap.PROT_READ | mmap.PROT_WRITE
        kind = mmap.MAP_PRIVATE | _FIXED
        if self._map(address, size, rights, kind, self._file, 0) != address:
            raise OSError(ctypes.get_errno(), "the memory of a guest cannot be mapped")

    def written(self, address: int, size: int, start: int = 0) -> bytes | None:
        """A byte for each page of a memory that begins as a view, and otherwise with zeros.

        Args:
            address: The address of the memory in this process.
            size: Bytes of the memory.
            start: Where the part of interest starts; the pages before it are not looked at.

        Returns:
            1 for each page that may have changed, 0 for the others; `None` if that is unknown.
        """
        if not self._tells_written:
            return None
        left = start // PAGE
        found = self._written(address + left * PAGE, size - left * PAGE)
        return None if found is None else bytes(left) + found

    def _written(self, address: int, size: int) -> bytes | None:
        pages = size // PAGE
        # Opened each time: in the child of a fork, an open file would tell of the parent.
        file = self._open(b"/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        if file < 0:
            return None
        entries = bytearray(8 * pages)
        found = self._pread(file, address_of(entries), len(entries), address // PAGE * 8)
        self._close(file)
        return bytes(entries[7::8].translate(_WRITTEN)) if found == len(entries) else None

    def _finds_written(self) -> bool:
        """Whether this system tells of written pages as `written` reads it."""
        size = 4 * PAGE
        if sys.byteorder != "little" or len(self.memory) < size:
            return False
        with mmap.mmap(self._file, size, flags=mmap.MAP_PRIVATE) as view:
            whole = (ctypes.c_char * size).from_buffer(view)
            try:
                _ = view[0], view[2 * PAGE]
                view[PAGE] = view[PAGE] ^ 1
                return self._written(ctypes.addressof(whole), size) == b"\0\1\0\0"
            finally:
                del whole

    def put_back(self, address: int, written: bytes) -> None:
        """Give written pages the template's content again, or zeros behind it; keep the pages."""
        put_back(address, written, self.memory)

    def reset(self, address: int, size: int) -> None:
        """Discard everything that was written to a memory that began as a view.

        Raises:
            OSError: The system refuses.
        """
        if self._advise(address, size, mmap.MADV_DONTNEED) != 0:
            raise OSError(ctypes.get_errno(), "the memory of a guest cannot be reset")


def runs(written: bytes) -> Iterator[tuple[int, int]]:
    """Start and end, in bytes, of runs that hold all pages that were written to."""
    end = 0
    while (start := written.find(1, end)) >= 0:
        gap = written.find(_GAP, start)
        end = gap if gap >= 0 else len(written.rstrip(b"\0"))
        yield PAGE * start, PAGE * end


def put_back(address: int, pages: bytes, content: bytes | bytearray) -> None:
    """Give marked pages of a memory their earlier content again, and write to no others.

    To write to any other page of a view would make that page a written one, too.

    Args:
        address: The address of the memory in this process.
        pages: A byte for each page, 1 where it is marked.
        content: The earlier content; zeros follow it.
    """
    memory, before = memory_at(address, PAGE * len(pages)), memoryview(content)
    for found in re.finditer(_MARKED, pages):  # dozens of calls of `memmove` would take longer
        start, end = PAGE * found.start(), PAGE * found.end()
        if end <= len(content):
            memory[start:end] = before[start:end]
        else:
            memory[start:end] = bytes(before[start:end]).ljust(end - start, b"\0")


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the C library."""
    return ctypes.CFUNCTYPE(result, *arguments, use_errno=True)((name, ctypes.CDLL(None)))


def _brief(name: str, result: Any, *arguments: Any) -> Any:
    """The same, which keeps the interpreter lock."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.PyDLL(None)))


def _leading_zeros(memory: bytes) -> int:
    """Bytes at the start that are zero, rounded down."""
    count = 0
    while memory.startswith(_ZEROS, count):
        count += len(_ZEROS)
    return count


def _seal(file: int) -> None:
    import fcntl

    fcntl.fcntl(file, _ADD_SEALS, _SEALS)


#: By the id of their memory, which they keep alive.
_templates: dict[int, Template] = {}


def keep_template(memory: bytes) -> None:
    """Make a template of some memory, where the system has templates, until it is dropped."""
    if not TEMPLATES or len(memory) % mmap.PAGESIZE:
        return
    with suppress(OSError):  # no more files, for example: the memory is copied then
        _templates[id(memory)] = Template(memory)


def drop_template(memory: bytes | bytearray) -> None:
    """Let go of the template of this object; memory that began as a view of it stays as it is."""
    _templates.pop(id(memory), None)


def template_of(memory: bytes | bytearray) -> Template | None:
    """The template that was made of this object; `None` if there is none."""
    return _templates.get(id(memory))
