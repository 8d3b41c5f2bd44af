"""A server on the loopback address, and clients that send nothing, too little or no credentials."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import uvicorn

from interpstack_http import BACKLOG, CONCURRENCY, Admission, served_connections

KEY = (b"authorization", b"key")


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Admit requests with the key, and answer them; refuse the others."""
    good = KEY in scope["headers"]
    admission = Admission.of(scope)
    if good and admission is not None:
        admission.grant()
    if scope["path"] == "/slow":
        await asyncio.sleep(0.6)
    status = 200 if good else 401
    await send({"type": "http.response.start", "status": status, "headers": [], "trailers": False})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def served(**options: Any) -> AsyncIterator[int]:
    """A server, by its port."""
    config = uvicorn.Config(
        app,
        port=0,
        http=served_connections(**options),
        ws="none",
        lifespan="off",
        log_level="error",
        limit_concurrency=CONCURRENCY,
        backlog=BACKLOG,
    )
    server = uvicorn.Server(config)
    running = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn tells it in no other way
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await running


async def asked(port: int, path: str = "/", **headers: str) -> int:
    async with httpx.AsyncClient(timeout=30) as client:
        return (await client.get(f"http://127.0.0.1:{port}{path}", headers=headers)).status_code


async def ended(reader: asyncio.StreamReader) -> float:
    """The seconds after which the server ends a connection."""
    begin = time.monotonic()
    try:
        async with asyncio.timeout(30):
            while await reader.read(1000):
                pass
    except ConnectionError:
        pass
    return time.monotonic() - begin


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: a\r\nX-Half: "])
async def test_silent_connections_shut_nobody_out(sent: bytes) -> None:
    async with served(header_seconds=60) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2 * CONCURRENCY)]
        for _, writer in held:
            writer.write(sent)
        assert [await asked(port, authorization="key") for _ in range(3)] == [200] * 3
        assert await asked(port) == 401
        for _, writer in held:
            writer.close()


async def test_requests_without_credentials_shut_nobody_out() -> None:
    async with served(decision_seconds=60) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONCURRENCY)]
        for _, writer in held:
            writer.write(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        assert await asked(port, authorization="key") == 200
        for _, writer in held:
            writer.close()


async def test_the_oldest_of_too_many_silent_connections_is_ended() -> None:
    async with served(silent=2, header_seconds=60) as port:
        first, *others = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        await ended(first[0])
        assert not any(reader.at_eof() for reader, _ in others)
        for _, writer in (first, *others):
            writer.close()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: a\r\n", b"GET /"])
async def test_a_header_that_does_not_come_ends_its_connection(sent: bytes) -> None:
    async with served(header_seconds=0.3) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        assert await ended(reader) >= 0.2
        writer.close()


async def test_a_request_that_nobody_admits_ends_its_connection() -> None:
    async with served(decision_seconds=0.3) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        assert await ended(reader) < 0.6
        writer.close()


async def test_an_admitted_request_takes_its_time() -> None:
    async with served(header_seconds=0.2, decision_seconds=0.2) as port:
        assert await asked(port, "/slow", authorization="key") == 200


async def test_the_next_header_of_an_admitted_client_has_its_time_too() -> None:
    async with served(header_seconds=0.3) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: key\r\n\r\n")
        assert b"200" in await reader.readline()
        writer.write(b"GET / HTTP/1.1\r\nHost: ")
        await ended(reader)
        writer.close()


async def test_attempts_to_open_a_websocket_are_answered_without_a_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    with caplog.at_level(logging.WARNING):
        async with served() as port:
            assert await asked(port, **upgrade, **{"sec-websocket-key": "AAAA"}) == 401
    assert not [one for one in caplog.records if "uvicorn" in one.name]
