"""What the guest's module has otherwise than quickjs-rs built it: a hook, and a mended `push`.

By the hook, QuickJS reports rejected promises that no code handles. It calls a function of its
embedder for each such promise, if there is one; quickjs-rs sets none. A module calls functions by
their place in its table, so that the function can be one of `bundles.wat`: the table gets a free
place for it, and is exported. `heap/rejections.py` then makes the function known to QuickJS.

`push` writes at the length of an array. Where the array has fewer items in memory, as
`new Array(3)` has none, QuickJS makes all of that memory items of the array, and code reads what
has been left there. A `push` in JavaScript would mend it too, and take five times as long.
"""

from __future__ import annotations

import re
from typing import Final

from interpstack import EngineFailure

__all__ = ["HANDLER", "HANDLER_AT", "hooked"]

#: The function's place in the table, as in `bundles.wat`.
HANDLER: Final = 1023
#: The handler and its argument in QuickJS's runtime, as `_CALL` reads them.
HANDLER_AT: Final = 180
#: QuickJS's call of the handler, with the two addresses in its runtime.
_CALL: Final = re.compile(
    rb"\x28\x02\xb4\x01\x22.\x45\x0d\x00\x20\x00\x20\x01\x20\x02\x41\x00\x20.\x28\x02\xb8\x01\x20.\x11",
    re.DOTALL,
)
#: In `push`: takes the length of an array, adds the number of arguments, and leaves the fast way if
#: the sum overflows.
_LENGTHENS: Final = bytes.fromhex("2008a72207 2002 6a 2209 2007 49 0d00 2009 4100 48 0d00")
#: The same, but leaves it if the array has another number of items. That many fit into memory, so
#: the sum cannot overflow. Two `nop` keep the size.
_LENGTHENS_ITEMS: Final = bytes.fromhex("2008a72207 2006 280228 47 0d00 2007 2002 6a 2109 0101")
_TABLE, _EXPORT = 4, 7
_HEADER_BYTES: Final = 8


def hooked(source: bytes) -> bytes:
    """The guest's module with a mended `push` and a larger table, which it exports as `table`.

    Args:
        source: The module, in WebAssembly's binary form.

    Raises:
        EngineFailure: It is of another build than this was made for.
    """
    if len(_CALL.findall(source)) != 1:
        raise EngineFailure(
            "the guest of quickjs-rs is of an unknown build, which reports no rejected promises; "
            "run: pip install 'quickjs-rs>=0.2.6,<0.3'"
        )
    if source.count(_LENGTHENS) != 1:
        raise EngineFailure(
            "the guest of quickjs-rs is of an unknown build, whose Array.prototype.push may be "
            "faulty; run: pip install 'quickjs-rs>=0.2.6,<0.3'"
        )
    source = source.replace(_LENGTHENS, _LENGTHENS_ITEMS)
    parts, at = [source[:_HEADER_BYTES]], _HEADER_BYTES
    while at < len(source):
        kind = source[at]
        size, start = _number(source, at + 1)
        content = source[start : start + size]
        at = start + size
        if kind == _TABLE:
            content = _larger(content)
        elif kind == _EXPORT:
            count, names = _number(content, 0)
            content = _encoded(count + 1) + content[names:] + b"\x05table\x01\x00"
        parts.append(bytes([kind]) + _encoded(len(content)) + content)
    return b"".join(parts)


def _larger(content: bytes) -> bytes:
    """The section of the only table, with room for the handler."""
    limits, at = [], 3
    while at < len(content):
        limit, at = _number(content, at)
        limits.append(limit)
    if content[:3] != b"\x01\x70\x01" or len(limits) != 2 or max(limits) > HANDLER:
        raise EngineFailure("the guest of quickjs-rs has another table than known builds have")
    return content[:3] + 2 * _encoded(HANDLER + 1)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number in WebAssembly's form (LEB128), and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _encoded(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])
