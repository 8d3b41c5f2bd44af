"""Frames: how a message and the bytes attached to it cross a socket.

A frame consists of the length of its text, the length of its attachment (8 bytes each, little
endian), the text, which is JSON, and the attachment. The lengths are checked against a bound before
the rest is read, and memory is allocated only for received bytes.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Final

from interpstack_protocol import read_json
from interpstack_workers import Malformed

__all__ = ["Channel", "Closed"]

_HEAD: Final = struct.Struct("<QQ")
_CHUNK: Final = 2**20
#: Bytes that are asked for at least: most frames come with one call.
_AT_ONCE: Final = 2**14
#: Seconds and microseconds, as the system takes the time after which it ends a wait.
_TIME: Final = struct.Struct("@ll")
#: Seconds between two looks at whether waiting still makes sense.
_SLICE_SECONDS: Final = 0.05


class Closed(Exception):
    """The other side is gone.

    Attributes:
        unread: Whether the frame being sent was not received completely, so that it had no effect.
    """

    def __init__(self, message: str, *, unread: bool = False) -> None:
        super().__init__(message)
        self.unread = unread


class Channel:
    """One end of a connection.

    Each call of a socket lets other threads run, and a busy event loop does not soon let this one
    go on. So frames are sent and received in as few calls as possible, and the system ends a wait
    after a slice of time: a timeout of Python's takes one more call each time.

    Args:
        connection: A stream socket.
        max_bytes: Largest frame to accept.
    """

    def __init__(self, connection: socket.socket, max_bytes: int) -> None:
        self._socket = connection
        self._max_bytes = max_bytes
        self._in_slices: bool | None = None
        self._received = bytearray()  # of the frames to come
        self._sending = threading.Lock()  # output of a guest may come from another thread

    def send(
        self, message: Any, attached: bytes = b"", check: Callable[[], None] | None = None
    ) -> None:
        """Send a frame.

        Args:
            message: A value for `json.dumps`.
            attached: Bytes that go with it.
            check: Called repeatedly during the wait for the other side; an exception from it ends
                the wait. `None` waits forever.

        Raises:
            Closed: The other side is gone.
        """
        text = json.dumps(message, separators=(",", ":")).encode("ascii")
        with self._sending:
            self._wait_in_slices(check, unread=True)
            for part in (_HEAD.pack(len(text), len(attached)) + text, attached):
                self._send(memoryview(part), check)

    def _wait_in_slices(self, check: Callable[[], None] | None, *, unread: bool) -> None:
        """Have each wait end after a slice of time, if there is a check; else when it may go on."""
        in_slices = check is not None
        if in_slices is self._in_slices:
            return
        time = _TIME.pack(0, int(_SLICE_SECONDS * 1e6) if in_slices else 0)
        try:
            self._socket.settimeout(None)
            for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                self._socket.setsockopt(socket.SOL_SOCKET, option, time)
        except OSError as error:  # closed by another thread
            raise Closed(str(error), unread=unread) from error
        self._in_slices = in_slices

    def _send(self, data: memoryview, check: Callable[[], None] | None) -> None:
        while data:
            try:
                data = data[self._socket.send(data) :]
            except BlockingIOError:
                pass  # nothing moved in this slice of time: `check` raises when it was too long
            except OSError as error:
                raise Closed(str(error), unread=True) from error
            if check is not None:
                check()

    def receive(self, check: Callable[[], None] | None = None) -> tuple[Any, bytes]:
        """Wait for a frame, and return its message and its attachment.

        Raises:
            Closed: The other side is gone.
            Malformed: The received bytes are not a frame, or are too large.
        """
        self._wait_in_slices(check, unread=False)
        text_size, attached_size = _HEAD.unpack(self._read(_HEAD.size, check))
        if text_size + attached_size > self._max_bytes:
            raise Malformed(
                f"a frame of {text_size + attached_size} bytes; at most {self._max_bytes}"
            )
        text = self._read(text_size, check)
        attached = self._read(attached_size, check)
        try:
            return read_json(str(text, "ascii")), bytes(attached)
        except (ValueError, RecursionError) as error:
            raise Malformed(f"text that is not JSON ({error})") from error

    def _read(self, size: int, check: Callable[[], None] | None) -> bytearray:
        data = self._received
        while len(data) < size:
            try:
                chunk = self._socket.recv(min(max(size - len(data), _AT_ONCE), _CHUNK))
                if not chunk:
                    raise Closed("the connection was closed")
                data += chunk
            except BlockingIOError:
                pass  # nothing moved in this slice of time: `check` raises when it was too long
            except OSError as error:
                raise Closed(str(error)) from error
            if check is not None and len(data) < size:
                check()
        self._received = data[size:]
        del data[size:]
        return data

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
