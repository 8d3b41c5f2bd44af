"""A hook in the guest's module, by which QuickJS reports rejected promises that no code handles.

QuickJS calls a function of its embedder for each such promise, if there is one; quickjs-rs sets
none. A module calls functions by their place in its table, so that the function can be one of
`bundles.wat`: the table gets a free place for it, and is exported. `heap/rejections.py` then makes
the function known to QuickJS.
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
_TABLE, _EXPORT = 4, 7
_HEADER_BYTES: Final = 8


def hooked(source: bytes) -> bytes:
    """The guest's module with a larger table, which it exports as `table`.

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
