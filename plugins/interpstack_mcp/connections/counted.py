"""Values of JSON that are counted before it is parsed.

A small message can hold millions of values, whose objects would fill the memory and keep the event
loop busy.
"""

from __future__ import annotations

from typing import Final

import attrs

__all__ = ["TooManyValues", "ValueCount"]

#: Bytes that are looked at together.
_SLICE: Final = 2**16


class TooManyValues(Exception):
    """Raised when a message holds more values than are accepted."""


@attrs.define(eq=False)
class ValueCount:
    """The number of values in JSON that arrives in pieces.

    Counted are the commas and the opening brackets outside of texts.

    Attributes:
        most: Values that are accepted.
    """

    most: int
    _count: int = attrs.field(default=0, init=False)
    _in_text: bool = attrs.field(default=False, init=False)
    #: The backslash at the end of the last piece, whose escape continues in the next one.
    _rest: bytes = attrs.field(default=b"", init=False)

    def add(self, data: bytes) -> None:
        """Count the values of the next piece.

        Raises:
            TooManyValues: There are more than `most`.
        """
        for begin in range(0, len(data), _SLICE):
            self._add(data[begin : begin + _SLICE])
            if self._count > self.most:
                raise TooManyValues(
                    f"a message of the server holds more than {self.most} values "
                    "(McpLimits.message_values)"
                )

    def _add(self, data: bytes) -> None:
        data = (self._rest + data).replace(b"\\\\", b"")
        self._rest = b"\\" if data.endswith(b"\\") else b""
        parts = data.replace(b'\\"', b"").split(b'"')
        for part in parts[self._in_text :: 2]:
            self._count += part.count(b",") + part.count(b"[") + part.count(b"{")
        self._in_text ^= len(parts) % 2 == 0

    def begin(self) -> None:
        """Count the next message from 0."""
        self._count, self._in_text, self._rest = 0, False, b""
