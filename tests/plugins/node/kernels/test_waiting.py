"""One conversation, held by a thread or by an event loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest

from interpstack_node.kernels.waiting import KernelWait, Talk, converse, converse_blocking


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def _read(connection: socket.socket, seconds: float = 60.0) -> Talk[bytes]:
    while True:
        try:
            return connection.recv(100)
        except BlockingIOError:
            yield KernelWait(connection, sends=False, seconds=seconds)


def test_a_thread_waits(ends: tuple[socket.socket, socket.socket]) -> None:
    timer = threading.Timer(0.02, ends[1].sendall, [b"hello"])
    timer.start()
    assert converse_blocking(_read(ends[0])) == b"hello"
    timer.join()


async def test_a_loop_waits(ends: tuple[socket.socket, socket.socket]) -> None:
    asyncio.get_running_loop().call_later(0.02, ends[1].sendall, b"hello")
    assert await converse(_read(ends[0]), lambda: None) == b"hello"


async def test_a_wait_ends_by_itself(ends: tuple[socket.socket, socket.socket]) -> None:
    waits = 0

    def look() -> Talk[int]:
        nonlocal waits
        for _ in range(3):
            waits += 1
            yield KernelWait(ends[0], sends=False, seconds=0.001)
        return waits

    assert await converse(look(), lambda: None) == 3
    assert converse_blocking(look()) == 6


async def test_a_wait_to_send(ends: tuple[socket.socket, socket.socket]) -> None:
    def send() -> Talk[str]:
        yield KernelWait(ends[0], sends=True, seconds=60)
        return "writable"

    assert await converse(send(), lambda: None) == "writable"
    assert converse_blocking(send()) == "writable"


async def test_a_cancelled_conversation_goes_on_to_its_end(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    found: list[str] = []
    task = asyncio.create_task(converse(_read(ends[0]), lambda: found.append("stop")))
    for count in (1, 2):
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0.01)
        assert found == ["stop"] * count
    ends[1].sendall(b"stopped")
    with pytest.raises(asyncio.CancelledError):
        await task
