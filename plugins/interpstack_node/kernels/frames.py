"""Frames: how text crosses the connection between the host and a kernel.

A frame is a kind (one ASCII character), the length of its text in bytes (four bytes, little
endian) and the text as UTF-8. A kernel is not trusted: kinds and lengths are checked before
memory is taken for a text.
"""

from __future__ import annotations

import struct
from typing import Final

import attrs

__all__ = ["Frame", "Frames", "MalformedFrame", "packed"]

_HEAD: Final = struct.Struct("<BI")
#: Kinds of frames that a kernel may send, in the order of `kernel/main.js`.
KINDS: Final = frozenset("RNPDEVZF")


class MalformedFrame(Exception):
    """The bytes of a kernel are not frames, or are too many."""


@attrs.frozen
class Frame:
    """One frame.

    Attributes:
        kind: One character.
        data: The text as UTF-8, unchecked.
    """

    kind: str
    data: bytes

    @property
    def text(self) -> str:
        """The text.

        Raises:
            MalformedFrame: It is not UTF-8.
        """
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise MalformedFrame(f"text that is not UTF-8 ({error.reason})") from error


def packed(kind: str, text: str) -> bytes:
    """A frame for a kernel."""
    data = text.encode("utf-8", "backslashreplace")
    return _HEAD.pack(ord(kind), len(data)) + data


class Frames:
    """Splits received bytes into frames.

    Args:
        most: Bytes that the frames of one answer may have in all.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most
        self._bytes = bytearray()

    def begin(self) -> None:
        """Expect another answer.

        Raises:
            MalformedFrame: Something is left that belongs to no answer.
        """
        if self._bytes:
            raise MalformedFrame("more than was asked for")
        self._left = self._most

    def add(self, received: bytes) -> None:
        """Take received bytes.

        Raises:
            MalformedFrame: The answer is too large.
        """
        self._left -= len(received)
        if self._left < 0:
            raise MalformedFrame(f"an answer of more than {self._most} bytes")
        self._bytes += received

    def take(self) -> Frame | None:
        """The next frame; `None` until all of it has arrived.

        Raises:
            MalformedFrame: It is of no known kind, or announces more than an answer may have.
        """
        if len(self._bytes) < _HEAD.size:
            return None
        kind, size = _HEAD.unpack_from(self._bytes)
        if chr(kind) not in KINDS:
            raise MalformedFrame(f"a frame of no known kind ({kind})")
        end = _HEAD.size + size
        if end > self._most:
            raise MalformedFrame(f"a frame of {size} bytes; at most {self._most}")
        if len(self._bytes) < end:
            return None
        data = bytes(self._bytes[_HEAD.size : end])
        del self._bytes[:end]
        return Frame(chr(kind), data)
