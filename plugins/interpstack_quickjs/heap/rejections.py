"""Makes QuickJS report promises that are rejected and not handled; see `webassembly/hooks.py`.

The runtime of QuickJS has two words for it: the handler, and an argument for the handler, here the
address of the list `rejections` of `builtins.js`. Both are written once, into the base heap.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from interpstack import EngineFailure
from interpstack_quickjs.guest import Guest
from interpstack_quickjs.heap.printed import place_of
from interpstack_quickjs.webassembly.hooks import HANDLER, HANDLER_AT

__all__ = ["track_rejections"]

#: As in `builtins.js`.
_NUMBERS: Final = range(1492590337, 1492590337 + 513)
#: A memory limit that nothing else in the memory looks like, and its place in the runtime.
_LIMIT: Final = 0x3EED1234
_LIMIT_AT: Final = 28
#: Before the limit there are five functions, by their places in the table, and two counts.
_FUNCTIONS: Final = struct.Struct("<5I8x")
#: The handler and its argument.
_HANDLER: Final = struct.Struct("<II")


def track_rejections(guest: Guest) -> None:
    """Have rejected promises noted, once the function that `builtins.js` returns was called.

    Args:
        guest: A fresh guest, with a kernel.

    Raises:
        EngineFailure: QuickJS has another form than this was made for.
    """
    memory = bytes(guest.heap().memory)
    slots, runtime = place_of(memory, _NUMBERS), _runtime(guest, memory)
    handler = runtime + HANDLER_AT
    if slots == 0 or runtime == 0 or any(memory[handler : handler + _HANDLER.size]):
        raise EngineFailure("the list of rejected promises has no place in the guest's memory")
    guest.write(_HANDLER.pack(HANDLER, slots), handler)


def _runtime(guest: Guest, before: bytes) -> int:
    """Address of QuickJS's runtime, known by a limit that is set in it; 0 if it is not found."""
    guest.call("set_memory_limit", _LIMIT)
    memory, found = bytes(guest.heap().memory), 0
    for at in _places(memory, struct.pack("<I", _LIMIT)):
        functions = _FUNCTIONS.unpack_from(memory, at - _LIMIT_AT)
        if all(0 < one < HANDLER for one in functions):
            found = at - _LIMIT_AT
        guest.write(before[at : at + 4], at)  # as it was
    return found


def _places(memory: bytes, pattern: bytes) -> Iterator[int]:
    at = memory.find(pattern)
    while at >= 0:
        yield at
        at = memory.find(pattern, at + 1)
