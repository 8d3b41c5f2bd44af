"""The server: a real port of the loopback address, and links that open one browser each."""

from __future__ import annotations

import asyncio
import socket

import httpx
import pytest
from inspected import RecordSource

from interpstack import ConfigurationError
from interpstack_inspect.serving.server import serve


class Closing(RecordSource):
    closed = False

    async def aclose(self) -> None:
        self.closed = True


async def test_links_open_pages_and_the_source_is_closed_at_the_end() -> None:
    source, links = Closing(), asyncio.Queue[str]()
    serving = asyncio.ensure_future(serve(source, 0, links.put_nowait))
    try:
        link = await links.get()
        assert link.startswith("http://127.0.0.1:")
        async with httpx.AsyncClient() as client:
            opened = await client.get(link)
            assert opened.status_code == 200
            assert "server" not in opened.headers
            listed = await client.get(httpx.URL(link).join("/"))
            assert "Conversations" in listed.text
            again = await client.get(link)
            assert again.status_code == 401
        following = await links.get()
        assert following != link
    finally:
        serving.cancel()
        await asyncio.wait([serving])
    assert source.closed


async def test_a_port_that_is_taken_is_named() -> None:
    source = Closing()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"--port {port}: .*leave the option out"):
            await serve(source, port, print)
    assert source.closed
