"""Frames: how a message and the bytes attached to it cross a socket.

A frame is the length of its text, the length of its attachment (8 bytes each, little endian),
the text, which is JSON, and the attachment. What is announced is checked against a bound before
anything is read, and memory is taken only for what has arrived.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Final

__all__ = ["Channel", "Closed", "Malformed"]

_HEAD: Final = struct.Struct("<QQ")
_CHUNK: Final = 2**20
#: Seconds between two looks at whether waiting still makes sense.
_SLICE_SECONDS: Final = 0.05


class Closed(Exception):
    """The other side is gone.

    Attributes:
        unread: What was being sent had not all been taken, so it was not acted upon.
    """

    def __init__(self, message: str, *, unread: bool = False) -> None:
        super().__init__(message)
        self.unread = unread


class Malformed(Exception):
    """The other side does not keep to the format."""


class Channel:
    """One end of a connection.

    Args:
        connection: A stream socket.
        max_bytes: Largest frame to accept.
    """

    def __init__(self, connection: socket.socket, max_bytes: int) -> None:
        self._socket = connection
        self._max_bytes = max_bytes
        self._sending = threading.Lock()  # what a guest prints may come from a thread of its own

    def send(
        self, message: Any, attached: bytes = b"", check: Callable[[], None] | None = None
    ) -> None:
        """Send a frame.

        Args:
            message: What `json.dumps` takes.
            attached: Bytes that go with it.
            check: Called again and again while the other side keeps us waiting; what it raises
                ends the waiting. `None` waits for ever.

        Raises:
            Closed: The other side is gone.
        """
        text = json.dumps(message, separators=(",", ":")).encode("ascii")
        with self._sending:
            self._socket.settimeout(None if check is None else _SLICE_SECONDS)
            for part in (_HEAD.pack(len(text), len(attached)) + text, attached):
                self._send(memoryview(part), check)

    def _send(self, data: memoryview, check: Callable[[], None] | None) -> None:
        while data:
            try:
                data = data[self._socket.send(data) :]
            except TimeoutError:
                pass  # nothing moved in this slice of time: `check` raises when it was too long
            except OSError as error:
                raise Closed(str(error), unread=True) from error
            if check is not None:
                check()

    def receive(self, check: Callable[[], None] | None = None) -> tuple[Any, bytes]:
        """Wait for a frame; its message and what is attached.

        Raises:
            Closed: The other side is gone.
            Malformed: What it sent is no frame, or too large.
        """
        self._socket.settimeout(None if check is None else _SLICE_SECONDS)
        text_size, attached_size = _HEAD.unpack(self._read(_HEAD.size, check))
        if text_size + attached_size > self._max_bytes:
            raise Malformed(
                f"a frame of {text_size + attached_size} bytes; at most {self._max_bytes}"
            )
        text = self._read(text_size, check)
        attached = self._read(attached_size, check)
        try:
            return json.loads(text.decode("ascii")), bytes(attached)
        except (ValueError, RecursionError) as error:
            raise Malformed(f"text that is no JSON ({error})") from error

    def _read(self, size: int, check: Callable[[], None] | None) -> bytearray:
        data = bytearray()
        while len(data) < size:
            try:
                chunk = self._socket.recv(min(size - len(data), _CHUNK))
                if not chunk:
                    raise Closed("the connection was closed")
                data += chunk
            except TimeoutError:
                pass  # nothing moved in this slice of time: `check` raises when it was too long
            except OSError as error:
                raise Closed(str(error)) from error
            if check is not None and len(data) < size:
                check()
        return data

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
