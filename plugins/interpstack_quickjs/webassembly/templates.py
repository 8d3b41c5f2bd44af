"""Memory that begins as a view of a template, copied page by page as the guest writes to it.

A guest writes to a small part of its memory. To copy all of the base heap into a new instance
takes longer than most cells, since the system has to provide the memory first. On Linux the
template is a sealed file in memory, and the instance's memory a private mapping of the file: what
a guest writes reaches neither the file nor another guest. Elsewhere memory is copied.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from contextlib import suppress
from typing import Any, Final

__all__ = ["Template", "keep_template", "template_of"]

_FIXED: Final = 0x10  # MAP_FIXED, which `mmap` does not name
#: `fcntl` with the seals against a change of size, of content and of the seals themselves.
_ADD_SEALS: Final = 1033
_SEALS: Final = 0x1 | 0x2 | 0x4 | 0x8


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
        self._file = os.memfd_create("interpstack-heap", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            left = memoryview(memory)
            while left:
                left = left[os.write(self._file, left) :]
            _seal(self._file)
        except BaseException:
            os.close(self._file)
            raise

    def map_over(self, address: int) -> None:
        """Replace memory at an address of this process by a new view.

        Raises:
            OSError: The system refuses.
        """
        size, rights = len(self.memory), mmap.PROT_READ | mmap.PROT_WRITE
        kind = mmap.MAP_PRIVATE | _FIXED
        if self._map(address, size, rights, kind, self._file, 0) != address:
            raise OSError(ctypes.get_errno(), "the memory of a guest cannot be mapped")

    def reset(self, address: int) -> None:
        """Discard everything that was written to a view.

        Raises:
            OSError: The system refuses.
        """
        if self._advise(address, len(self.memory), mmap.MADV_DONTNEED) != 0:
            raise OSError(ctypes.get_errno(), "the memory of a guest cannot be reset")


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the C library."""
    return ctypes.CFUNCTYPE(result, *arguments, use_errno=True)((name, ctypes.CDLL(None)))


def _seal(file: int) -> None:
    import fcntl

    fcntl.fcntl(file, _ADD_SEALS, _SEALS)


#: By the id of their memory, which they keep alive.
_templates: dict[int, Template] = {}


def keep_template(memory: bytes) -> None:
    """Make a template of some memory for good, where the system has templates."""
    offered = sys.platform.startswith("linux") and hasattr(os, "memfd_create")
    if not offered or len(memory) % mmap.PAGESIZE:
        return
    with suppress(OSError):  # no more files, for example: the memory is copied then
        _templates[id(memory)] = Template(memory)


def template_of(memory: bytes | bytearray) -> Template | None:
    """The template that was made of this object; `None` if there is none."""
    return _templates.get(id(memory))
