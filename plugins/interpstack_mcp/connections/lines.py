"""Lines of a server's output as messages, and messages as lines of its input.

Both directions work where the SDK reads and writes, without a task or a queue in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

import anyio
import attrs
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification

from interpstack_mcp.connections.counted import TooManyValues, ValueCount
from interpstack_mcp.connections.open_requests import OpenRequests
from interpstack_mcp.limits import McpLimits

__all__ = ["IncomingLines", "OutgoingLines"]

_log = logging.getLogger("interpstack.mcp")
#: Messages that are read one after the other while other tasks wait.
_IN_A_ROW: Final = 16
#: Messages that are written together, at most.
_AT_ONCE: Final = 16
#: Bytes of a message that waits for no others.
_LARGE_BYTES: Final = 2**16
#: Messages that cancel requests, and that are sent while a server does not read.
_CANCELS: Final = 1000
_CANCELLED: Final = "notifications/cancelled"


@attrs.define(eq=False)
class IncomingLines:
    """The messages of a server, as the SDK reads them.

    Attributes:
        reader: The server's output.
        limits: Limits of one message; a larger one ends the messages.
        ended: Called once, when no more messages come, with the reason if they were refused.
        requests: The requests that these messages answer.
    """

    reader: asyncio.StreamReader
    limits: McpLimits
    ended: Callable[[str], None]
    requests: OpenRequests = attrs.field(factory=OpenRequests)
    #: More messages of the line that was read last.
    _more: deque[SessionMessage | Exception] = attrs.field(factory=deque, init=False)
    _in_a_row: int = attrs.field(default=0, init=False)
    _closed: bool = attrs.field(default=False, init=False)

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or an exception for a line that is none.

        Raises:
            EndOfStream: No more messages come.
        """
        if self._closed:
            raise anyio.EndOfStream
        self._in_a_row += 1
        if self._in_a_row % _IN_A_ROW == 0:
            await asyncio.sleep(0)
        why = ""
        try:
            while not self._more:
                line = await self.reader.readuntil(b"\n")
                if len(line) > self.limits.message_values:  # else it holds no more values, either
                    ValueCount(self.limits.message_values).add(line)
                self._more += self.requests.read(line)
            return self._more.popleft()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the server has closed its output
        except asyncio.LimitOverrunError:
            why = (
                f"a message of the server has more than {self.limits.message_bytes} bytes "
                "(McpLimits.message_bytes)"
            )
        except TooManyValues as error:
            why = str(error)
        if why:
            _log.warning("an MCP connection is closed: %s", why)
        self.close(why)
        raise anyio.EndOfStream

    def close(self, why: str = "") -> None:
        """Note that no more messages come."""
        if not self._closed:
            self._closed = True
            self.ended(why)

    async def aclose(self) -> None:
        self.close()

    async def __aenter__(self) -> IncomingLines:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def __aiter__(self) -> IncomingLines:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


@attrs.define(eq=False)
class OutgoingLines:
    """The messages to a server, as the SDK writes them.

    The first one in a turn of the event loop is written at once, so that the server begins; more
    of the same turn are written together, because each write wakes the server.

    Attributes:
        writer: The server's input.
        requests: Notes the requests.
    """

    writer: asyncio.StreamWriter
    requests: OpenRequests = attrs.field(factory=OpenRequests)
    _waiting: list[bytes] = attrs.field(factory=list, init=False)
    _gathering: bool = attrs.field(default=False, init=False)
    _cancels: int = attrs.field(default=0, init=False)
    _closed: bool = attrs.field(default=False, init=False)

    async def send(self, item: SessionMessage) -> None:
        """Send a message, after a wait while the server does not read.

        Raises:
            ClosedResourceError: The stream was closed.
            BrokenResourceError: The server has closed its input.
        """
        if not self._is_cancel(item):
            try:
                await self.writer.drain()
            except ConnectionError as error:
                raise anyio.BrokenResourceError from error
            self._cancels = 0
        if self._closed:
            raise anyio.ClosedResourceError
        if self.writer.is_closing():
            raise anyio.BrokenResourceError
        self.requests.sent(item.message)
        self._waiting.append(line := _line(item))
        if not self._gathering:
            self._gathering = True
            asyncio.get_running_loop().call_soon(self._gathered)
            self._write()
        elif len(self._waiting) >= _AT_ONCE or len(line) > _LARGE_BYTES:
            self._write()

    def _is_cancel(self, item: SessionMessage) -> bool:
        """Whether a message cancels a request, and need not wait until the server reads.

        Else each would hold its cell up. Other messages are not lines while they wait, since their
        senders may be cancelled again and again; so there is a bound for those that do not wait.
        """
        message = item.message
        if not isinstance(message, JSONRPCNotification) or message.method != _CANCELLED:
            return False
        self._cancels += 1
        return self._cancels <= _CANCELS

    def _gathered(self) -> None:
        self._gathering = False
        self._write()

    def _write(self) -> None:
        lines, self._waiting = self._waiting, []
        if lines and not self.writer.is_closing():
            self.writer.write(b"".join(lines))

    def close(self) -> None:
        """Write the messages that wait, and take no more."""
        self._closed = True
        self._write()

    async def aclose(self) -> None:
        self.close()

    async def __aenter__(self) -> OutgoingLines:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()


def _line(item: SessionMessage) -> bytes:
    """A message as the server reads it."""
    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
    return text.encode() + b"\n"
