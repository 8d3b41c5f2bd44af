"""Servers over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from mcp_config import Notes, free_port, http_server

from interpstack import InterpreterStack
from interpstack_mcp.api import McpLimits, McpServers, mcp


@pytest.fixture
def port() -> int:
    return free_port()


@pytest_asyncio.fixture
async def session(port: int) -> AsyncIterator[Any]:
    given = {"mcpServers": {"web": {"url": f"http://127.0.0.1:{port}/mcp"}}}
    plugin = mcp(given, limits=McpLimits(message_bytes=100_000))
    async with InterpreterStack(plugins=[plugin]) as stack, stack.session() as session:
        yield session


async def test_tools_are_called(session: Any, port: int, notes: Notes) -> None:
    with http_server(port, notes):
        outcome = await session.eval("(await mcp.web.add({first: 1, second: 2})).result")
        assert outcome.text == "3"
        assert (await session.eval("(await mcp.web.blocks()).length")).text == "6"


async def test_an_answer_that_is_too_long_is_refused(session: Any, port: int, notes: Notes) -> None:
    with http_server(port, notes):
        outcome = await session.eval("await mcp.web.large({size: 200000})")
        assert "more than 100000 bytes" in str(outcome.error)
        assert (await session.eval("(await mcp.web.large({size: 5}))[0].text")).text == "xxxxx"


async def test_a_server_that_is_started_again_is_found_again(
    session: Any, port: int, notes: Notes
) -> None:
    with http_server(port, notes):
        assert (await session.eval("await mcp.web.note({text: 'a'})")).ok
    lost = await session.eval("await mcp.web.note({text: 'b'})")
    assert lost.error is not None
    assert lost.error.name == "McpConnectionLost"
    assert "may have had its effects, so the call is not repeated" in lost.error.message
    with http_server(port, notes):
        assert (await session.eval("await mcp.web.note({text: 'c'})")).ok
    assert notes.text() == "a\nc\n"


async def test_requests_are_authenticated_by_the_hosts_own_class(port: int, notes: Notes) -> None:
    seen: list[str] = []

    class Auth(httpx2.Auth):
        def auth_flow(
            self, request: httpx2.Request
        ) -> Generator[httpx2.Request, httpx2.Response, None]:
            request.headers["authorization"] = "Bearer token"
            seen.append(f"{request.method} {request.headers['x-own']}")
            yield request

    web = {"url": f"http://127.0.0.1:{port}/mcp", "headers": {"x-own": "header"}}
    servers = McpServers.of({"mcpServers": {"web": web}}, auth={"web": Auth()})
    with http_server(port, notes):
        async with InterpreterStack(plugins=[mcp(servers)]) as stack, stack.session() as session:
            assert (await session.eval("(await mcp.web.pid()).length")).text == "1"
    assert "POST header" in seen
