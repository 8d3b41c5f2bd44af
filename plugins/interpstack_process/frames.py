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
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from interpstack.values import read_json
from interpstack_workers import MalformedMessage

__all__ = ["SLICE_SECONDS", "Channel", "Closed", "pack_frame"]

_HEAD: Final = struct.Struct("<QQ")
_CHUNK: Final = 2**20
#: Flags of a call that returns at once.
_NO_WAIT: Final = socket.MSG_DONTWAIT
#: Bytes that are asked for at least: most frames come with one call.
_AT_ONCE: Final = 2**14
#: Seconds and microseconds, as the system takes the time after which it ends a wait.
_TIME: Final = struct.Struct("@ll")
#: Seconds between two looks at whether waiting still makes sense.
SLICE_SECONDS: Final = 0.05


class Closed(Exception):
    """The other side is gone.

    Attributes:
        unread: Whether the frame being sent was not received completely, so that it had no effect.
    """

    def __init__(self, message: str, *, unread: bool = False) -> None:
        super().__init__(message)
        self.unread = unread


def pack_frame(message: Any, attached: bytes = b"") -> deque[memoryview]:
    """The bytes of a frame, in parts that are not empty.

    Args:
        message: A value for `json.dumps`.
        attached: Bytes that go with it.
    """
    text = json.dumps(message, separators=(",", ":")).encode("ascii")
    parts = (_HEAD.pack(len(text), len(attached)) + text, attached)
    return deque(memoryview(part) for part in parts if part)


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
        self._wanted = 0  # bytes of the next frame, once they are known
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
        parts = pack_frame(message, attached)
        with self._sending:
            self._wait_in_slices(check, unread=True)
            for part in parts:
                while part := self._sent(part, 0):
                    if check is not None:
                        check()

    def push(self, parts: deque[memoryview]) -> None:
        """Send what goes without waiting of a packed frame, and take it out of its parts.

        Raises:
            Closed: The other side is gone.
        """
        while parts:
            before = len(parts[0])
            parts[0] = self._sent(parts[0], _NO_WAIT)
            if len(parts[0]) == before:
                return
            if not parts[0]:
                parts.popleft()

    def _wait_in_slices(self, check: Callable[[], None] | None, *, unread: bool) -> None:
        """Have each wait end after a slice of time, if there is a check; else when it may go on."""
        in_slices = check is not None
        if in_slices is self._in_slices:
            return
        time = _TIME.pack(0, int(SLICE_SECONDS * 1e6) if in_slices else 0)
        try:
            self._socket.settimeout(None)
            for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                self._socket.setsockopt(socket.SOL_SOCKET, option, time)
        except OSError as error:  # closed by another thread
            raise Closed(str(error), unread=unread) from error
        self._in_slices = in_slices

    def _sent(self, data: memoryview, flags: int) -> memoryview:
        """Send a part of the data; what is left."""
        try:
            return data[self._socket.send(data, flags) :]
        except BlockingIOError:
            return data  # nothing moved: a check raises when it was too long
        except OSError as error:
            raise Closed(str(error), unread=True) from error

    def receive(self, check: Callable[[], None] | None = None) -> tuple[Any, bytes]:
        """Wait for a frame, and return its message and its attachment.

        Raises:
            Closed: The other side is gone.
            MalformedMessage: The received bytes are not a frame, or are too large.
        """
        self._wait_in_slices(check, unread=False)
        frame = self.frame()
        while frame is None:
            self._fill(0)
            frame = self.frame()
            if frame is None and check is not None:
                check()
        return frame

    def frame(self) -> tuple[Any, bytes] | None:
        """Take the next frame out of what was received; `None` if its end has not come.

        Raises:
            MalformedMessage: The received bytes are not a frame, or are too large.
        """
        data = self._received
        if len(data) < _HEAD.size:
            return None
        text_size, attached_size = _HEAD.unpack_from(data)
        if text_size + attached_size > self._max_bytes:
            raise MalformedMessage(
                f"a frame of {text_size + attached_size} bytes; at most {self._max_bytes}"
            )
        text_end = _HEAD.size + text_size
        end = self._wanted = text_end + attached_size
        if len(data) < end:
            return None
        text, attached = data[_HEAD.size : text_end], bytes(data[text_end:end])
        del data[:end]
        self._wanted = 0
        try:
            return read_json(str(text, "ascii")), attached
        except (ValueError, RecursionError) as error:
            raise MalformedMessage(f"text that is not JSON ({error})") from error

    @property
    def has_more(self) -> bool:
        """Whether something was received that no frame has taken yet."""
        return bool(self._received)

    def fill(self) -> None:
        """Receive a part of what has come, without waiting.

        Raises:
            Closed: The other side is gone.
        """
        self._fill(_NO_WAIT)

    def _fill(self, flags: int) -> None:
        missing = self._wanted - len(self._received)
        try:
            chunk = self._socket.recv(min(max(missing, _AT_ONCE), _CHUNK), flags)
        except BlockingIOError:
            return  # nothing came in this slice of time: a check raises when it was too long
        except OSError as error:
            raise Closed(str(error)) from error
        if not chunk:
            raise Closed("the connection was closed")
        self._received += chunk

    def fileno(self) -> int:
        """The number of the socket, by which an event loop knows it."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
