"""Clients without credentials, who hold connections to a server on the loopback address."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

__all__ = ["HALF_A_HEADER", "flood", "held", "websocket_attempts"]

HALF_A_HEADER = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
_UPGRADE = (
    "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@contextmanager
def held(port: int, sent: bytes, count: int = 300) -> Iterator[None]:
    """Connections that are held for the block, and send no more than some bytes."""
    with ExitStack() as stack:
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 60))
            if sent:
                connection.sendall(sent)
        yield


@contextmanager
def flood(port: int) -> Iterator[None]:
    """Connections that come by the hundred, send nothing, and go, for the block."""
    ended = threading.Event()

    def come_and_go() -> None:
        while not ended.is_set():
            with ExitStack() as stack:
                for _ in range(100):
                    one = stack.enter_context(socket.socket())
                    one.setblocking(False)
                    with suppress(BlockingIOError):
                        one.connect(("127.0.0.1", port))
                ended.wait(0.02)

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def websocket_attempts(port: int, *paths: str) -> list[int]:
    """The statuses with which a server answers attempts to open a WebSocket."""
    statuses = []
    for path in paths:
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            connection.sendall(_UPGRADE.format(path=path, port=port).encode())
            with connection.makefile("rb") as answer:
                statuses.append(int(answer.readline().split()[1]))
    return statuses
