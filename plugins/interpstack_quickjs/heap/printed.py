"""Console output, read from the memory of a guest that cannot run any more.

The kernel keeps it in a list named `printed` that never moves: a count of omitted characters, a
count of characters that are elsewhere, the number of the output, then short texts. The output stays
there when the host has taken it; its number is odd then. A JavaScript value takes eight bytes in
this build of QuickJS: an integer or an address, then a tag. A text has a header: its length and
whether it takes two bytes a character in the second word, what kind of text it is in the third.
`tests/plugins/quickjs/test_guest.py` names what breaks if that changes.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Final

import attrs

from interpstack import EngineFailure
from interpstack_quickjs.guest import Guest
from interpstack_quickjs.guest_memory import Heap

__all__ = ["Ear", "find_printed", "place_of", "read_printed"]

#: As in `kernel/console.js`.
_PIECES: Final = 32
_PIECE_CHARS: Final = 500
_SLOTS: Final = 3 + _PIECES
_FIRST_NUMBER: Final = 1592590337

#: Seconds between two looks at the output of a guest that computes.
_LOOK_SECONDS: Final = 0.05

_VALUE: Final = struct.Struct("<Ii")
_INTEGER: Final = 0
_STRING: Final = -7
_HEADER: Final = struct.Struct("<4xII")
#: From the start of a text to its characters.
_HEADER_BYTES: Final = 28


def find_printed(heap: Heap) -> int:
    """Address of the first value, by the numbers that a fresh kernel has there.

    Raises:
        EngineFailure: They are not there, or more than once.
    """
    address = place_of(bytes(heap.memory), range(_FIRST_NUMBER, _FIRST_NUMBER + _SLOTS))
    if address == 0:
        raise EngineFailure("the kernel's console output has no place in the guest's memory")
    return address


def place_of(memory: bytes, numbers: range) -> int:
    """Address of the first value of a list of these numbers; 0 unless there is exactly one."""
    pattern = b"".join(_VALUE.pack(number, _INTEGER) for number in numbers)
    address = memory.find(pattern)
    return address if address > 0 and memory.find(pattern, address + 1) < 0 else 0


def read_printed(guest: Guest, address: int, taken: int) -> tuple[str, int]:
    """Read console output that the host does not have, and the number of missing characters.

    Args:
        guest: The guest.
        address: The address of the output.
        taken: The number of the output that the host has; see `LiveGuest.taken_output`.
    """
    memory = guest.read(address, _SLOTS * _VALUE.size)
    (omitted, _), (surplus, _), (number, _), *pieces = _VALUE.iter_unpack(memory)
    if number == taken:
        return "", 0
    text = "".join(_piece(guest, at) for at, tag in pieces if tag == _STRING)
    return text[1:], omitted + surplus  # each line begins with its line break


@attrs.define(eq=False, repr=False)
class Ear:
    """Delivery of a guest's output during a computation, read from the guest's memory.

    Args:
        hear: Takes each new part.
        address: The address of the output.
    """

    _hear: Callable[[str], None]
    _address: int
    _taken: int = attrs.field(default=0, init=False)
    _heard: int = attrs.field(default=0, init=False)
    _next: float = attrs.field(default=0.0, init=False)

    def begin(self, taken: int) -> None:
        """Begin a computation.

        Args:
            taken: The number of the output that the host has.
        """
        self._taken = taken
        self._heard = 0

    def look(self, guest: Guest) -> None:
        """Pass on new output; the guest calls this regularly while it computes."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _LOOK_SECONDS
        text, _ = read_printed(guest, self._address, self._taken)
        if len(text) > self._heard:
            self._hear(text[self._heard :])
            self._heard = len(text)


def _piece(guest: Guest, address: int) -> str:
    try:
        length, kind = _HEADER.unpack(guest.read(address, _HEADER.size))
        wide, length = length >> 31, length & 0x7FFFFFFF
        if kind >> 28 & 3 or length > _PIECE_CHARS:
            return ""  # no such text is ever stored there, so this memory is damaged
        data = guest.read(address + _HEADER_BYTES, length << wide)
    except EngineFailure:  # it is not all there: likewise
        return ""
    return data.decode("utf-16-le", "surrogatepass") if wide else data.decode("latin-1")
