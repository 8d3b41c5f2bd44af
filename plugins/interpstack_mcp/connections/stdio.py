"""A server as a process, whose messages are lines of a bounded length.

The SDK's own transport collects a line of any length, so an untrusted server could fill the memory.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import attrs
from mcp.client.stdio import get_default_environment

from interpstack import to_end
from interpstack_mcp.configuration import StdioServer
from interpstack_mcp.connections.causes import printable
from interpstack_mcp.connections.lines import IncomingLines, OutgoingLines
from interpstack_mcp.connections.open_requests import OpenRequests
from interpstack_mcp.limits import McpLimits

__all__ = ["NoFolder", "ServerOutput", "Stderr", "stdio_transport"]

_log = logging.getLogger("interpstack.mcp")
#: Seconds in which a server ends by itself once its input is closed, and then after each signal.
_END_SECONDS: Final = 2.0
#: Bytes of one line of a server's standard error; the rest of a longer one is dropped.
_LINE_BYTES: Final = 4096
#: Lines of a server's standard error that are remembered for an error message.
_LINES: Final = 5
#: Characters of one line, and of all of them, in an error message.
_SHOWN_CHARS, _TOLD_CHARS = 300, 400
#: Seconds in which the standard error of a server that ends is read to its end. A process that the
#: server has started may keep it open.
_LAST_SECONDS: Final = 1.0


@attrs.define(eq=False)
class Stderr:
    """The standard error of a server: logged, and its last lines remembered.

    Attributes:
        server: The server's name, for the log.
    """

    server: str
    _last: deque[str] = attrs.field(factory=partial(deque, maxlen=_LINES), init=False)
    _ended: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self._ended.set()  # nothing is read yet

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Read a server's standard error to its end."""
        self._ended.clear()
        try:
            await self._read(stream)
        finally:
            self._ended.set()

    async def until_ended(self) -> None:
        """Wait a moment for the last words of a server that ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                await self._ended.wait()

    async def _read(self, stream: asyncio.StreamReader) -> None:
        rest = b""
        while chunk := await stream.read(_LINE_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[:_LINE_BYTES]
            for line in lines:
                self._note(line)
        if rest:
            self._note(rest)

    def _note(self, line: bytes) -> None:
        text = line[:_LINE_BYTES].decode("utf-8", "replace").strip()
        shown = printable(text)
        if shown:
            self._last.append(shown[:_SHOWN_CHARS])
            _log.debug("server %s: %s", self.server, shown)

    @property
    def last_text(self) -> str:
        """The last lines, for an error message; empty if there were none."""
        shown, count = list[str](), 0
        for line in reversed(self._last):
            count += len(line)
            if shown and count > _TOLD_CHARS:
                break
            shown.insert(0, line)
        return " / ".join(shown)


@attrs.define(eq=False)
class ServerOutput:
    """What a server sends beside its answers, for the errors of requests that get none.

    Attributes:
        server: The server's name, for the log.
        stderr: Its standard error.
        requests: Its requests, and what answers none.
    """

    server: str
    stderr: Stderr = attrs.field(init=False)
    requests: OpenRequests = attrs.field(factory=OpenRequests, init=False)

    def __attrs_post_init__(self) -> None:
        self.stderr = Stderr(self.server)

    def begin(self) -> OpenRequests:
        """Begin anew for another process of the server; returns its requests."""
        self.stderr, self.requests = Stderr(self.server), OpenRequests()
        return self.requests

    @property
    def said(self) -> str:
        """The end of an error message, with the last lines of the standard error."""
        return f"; it wrote: {self.stderr.last_text}" if self.stderr.last_text else ""

    def unanswered(self, since: float) -> str:
        """The end of an error message, with what was sent since a time and answers no request."""
        notes = self.requests.notes(since)
        return f"; meanwhile, the server sent {notes}" if notes else ""

    async def last_words(self, since: float) -> str:
        """The end of the error message of a request whose connection was lost."""
        await self.stderr.until_ended()
        return f"{self.unanswered(since)}{self.said}"


class NoFolder(FileNotFoundError):
    """Raised when the folder in which a server would run is not there."""


@asynccontextmanager
async def stdio_transport(
    server: StdioServer,
    limits: McpLimits,
    output: ServerOutput,
    ended: Callable[[str], None],
) -> AsyncIterator[tuple[IncomingLines, OutgoingLines]]:
    """Run a server, and exchange messages with it as the SDK's transports do.

    Args:
        server: The server.
        limits: Limits of one message; a larger one ends the connection.
        output: Takes the server's standard error, and what it sends that answers no request.
        ended: Called when the server sends no more, with the reason if its messages were refused.

    Raises:
        OSError: The server cannot be started.
    """
    _find_folder(server)
    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.args,
        env={**get_default_environment(), **server.env},
        cwd=server.cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=limits.message_bytes,
        start_new_session=True,  # so that its own processes end with it
    )
    assert process.stdin is not None  # noqa: S101 - the process was started with pipes
    requests = output.begin()
    incoming = IncomingLines(_pipe(process.stdout), limits, ended, requests)
    outgoing = OutgoingLines(process.stdin, requests)
    logging_stderr = asyncio.ensure_future(output.stderr.read(_pipe(process.stderr)))
    try:
        yield incoming, outgoing
    finally:
        outgoing.close()
        incoming.close()
        await to_end(_end(process, logging_stderr))


def _find_folder(server: StdioServer) -> None:
    if server.cwd is not None and not Path(server.cwd).is_dir():
        raise NoFolder(errno.ENOENT, "no such folder", server.cwd)


def _pipe(stream: asyncio.StreamReader | None) -> asyncio.StreamReader:
    assert stream is not None  # noqa: S101 - the process was started with pipes
    return stream


async def _end(process: asyncio.subprocess.Process, stderr: asyncio.Task[None]) -> None:
    """End the server: close its input, wait, then end it with all processes it started."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (None, "SIGTERM", "SIGKILL"):
        if number is not None:
            _signal(process, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
                break
    await asyncio.wait({stderr}, timeout=_LAST_SECONDS)
    stderr.cancel()
    await asyncio.gather(stderr, return_exceptions=True)
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - a grandchild may hold a pipe


def _signal(process: asyncio.subprocess.Process, name: str) -> None:
    with suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, getattr(signal, name))
        else:
            process.kill()
