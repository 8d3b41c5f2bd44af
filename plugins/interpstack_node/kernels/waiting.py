"""Waiting for a connection, in a thread or on an event loop.

A conversation with a kernel is a generator that yields a `KernelWait` whenever nothing more can be
read or sent. So one text of the conversation serves both kinds of callers, and a kernel needs no
thread.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import attrs

__all__ = ["KernelWait", "Talk", "converse", "converse_blocking"]

_T = TypeVar("_T")


@attrs.frozen
class KernelWait:
    """Something to wait for.

    Attributes:
        connection: The socket.
        sends: Whether to wait also until bytes can be sent.
        seconds: The longest wait.
    """

    connection: socket.socket
    sends: bool
    seconds: float


#: A conversation, with its result.
Talk = Generator[KernelWait, None, _T]


def converse_blocking(talk: Talk[_T]) -> _T:
    """The result of a conversation, which holds the calling thread."""
    try:
        while True:
            wait = next(talk)
            poller = select.poll()
            poller.register(wait.connection, select.POLLIN | (select.POLLOUT if wait.sends else 0))
            poller.poll(wait.seconds * 1000)
    except StopIteration as end:
        result: _T = end.value
        return result


async def converse(talk: Talk[_T], interrupt: Callable[[], None]) -> _T:
    """The result of a conversation, which holds no thread.

    Args:
        talk: The conversation.
        interrupt: Called when the caller is cancelled; the conversation is to end soon then.

    Raises:
        CancelledError: The caller was cancelled; the conversation has ended nevertheless.
    """
    cancelled: asyncio.CancelledError | None = None
    try:
        while True:
            wait = next(talk)
            try:
                await _ready(wait)
            except asyncio.CancelledError as error:
                cancelled = cancelled or error
                interrupt()
    except StopIteration as end:
        if cancelled is not None:
            raise cancelled from None
        result: _T = end.value
        return result


async def _ready(wait: KernelWait) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def wake(*_: Any) -> None:
        if not ready.done():
            ready.set_result(None)

    number = wait.connection.fileno()
    loop.add_reader(number, wake)
    if wait.sends:
        loop.add_writer(number, wake)
    timer = loop.call_later(wait.seconds, wake)
    try:
        await ready
    finally:
        timer.cancel()
        loop.remove_reader(number)
        if wait.sends:
            loop.remove_writer(number)
