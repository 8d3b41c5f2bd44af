"""The server on standard input and output."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from io import StringIO
from typing import Any, Final, TextIO

import anyio
import attrs
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from interpstack_mcp.request_ids import NumericTexts
from interpstack_mcp.serving.server import CodeServer
from interpstack_mcp.serving.wire.messages import RefusedMessage, read_message

__all__ = ["MessageReader", "serve_stdio"]

_log = logging.getLogger("interpstack.mcp")
#: The mark with which some programs on Windows begin a text.
_MARK: Final = "\ufeff"


async def serve_stdio(server: CodeServer) -> None:
    """Serve one client on standard input and output, until the input ends."""
    app = server.app()
    nothing = anyio.wrap_file(StringIO())  # the SDK's own reader does not tell what it drops
    try:
        with _standard_input() as source:
            async with stdio_server(stdin=nothing) as (unused, write), unused:
                reader = MessageReader(partial(_next_line, source), write)
                await app.run(reader, write, app.create_initialization_options())
    except* BrokenPipeError:
        _log.info("the client has closed the server's output")
    finally:
        await server.aclose()


@attrs.define(eq=False)
class MessageReader:
    """The messages of a client, as the SDK reads a stream.

    Messages that cannot be read are answered with an error. Cancellations that the SDK would take
    for those of other requests are dropped.

    Attributes:
        next_line: Returns the client's next line, empty at the end.
        write: The stream for messages to the client.
    """

    next_line: Callable[[], Awaitable[str]]
    write: Any
    _ids: NumericTexts = attrs.field(factory=NumericTexts, init=False)

    async def receive(self) -> SessionMessage:
        """The next message.

        Raises:
            EndOfStream: The client has closed the stream.
        """
        while line := await self.next_line():
            line = line.strip().removeprefix(_MARK)
            if not line:  # between two messages, as some clients end them
                continue
            message = read_message(line)
            if isinstance(message, RefusedMessage):
                for answer in message.each or (message.answer,):
                    await self.write.send(SessionMessage(answer))
            elif message is not None and self._ids.allows(message):
                return SessionMessage(message)
        raise anyio.EndOfStream

    def __aiter__(self) -> MessageReader:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> MessageReader:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the stream; a line that is being read stays behind."""


async def _next_line(source: TextIO) -> str:
    """The next line of a stream, read in a thread that does not keep the process alive.

    After Ctrl-C, the line that is being read may never come, and nothing can stop the thread.
    """
    line: Future[str] = Future()
    line.set_running_or_notify_cancel()

    def read() -> None:
        try:
            line.set_result(source.readline())
        except BaseException as error:  # noqa: BLE001 - whoever awaits gets it
            line.set_exception(error)

    threading.Thread(target=read, name="interpstack-stdin", daemon=True).start()
    return await asyncio.wrap_future(line)


@contextmanager
def _standard_input() -> Iterator[TextIO]:
    """Standard input for the server alone: tools and their processes find it empty meanwhile."""
    if sys.stdin is None:
        yield StringIO()
        return
    try:
        number = sys.stdin.fileno()
    except (OSError, ValueError):  # not a file, as in a test
        yield sys.stdin
        return
    own = os.dup(number)
    _empty(number)
    try:
        # Open until the process ends: a thread may still read from it.
        yield os.fdopen(own, encoding="utf-8", errors="replace", closefd=False)
    finally:
        os.dup2(own, number)
        _tell_windows(number)


def _empty(number: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, number)
    os.close(nothing)
    _tell_windows(number)


def _tell_windows(number: int) -> None:
    """Let new processes on Windows have the file that a number now stands for."""
    if sys.platform == "win32":
        from mcp.os.win32.utilities import rebind_std_handle_to_fd

        rebind_std_handle_to_fd(number)
