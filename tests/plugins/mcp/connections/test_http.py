"""Servers over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import pytest_asyncio
import uvicorn
from mcp_config import Notes, free_port, http_server
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from interpstack import InterpreterStack
from interpstack_mcp.api import McpLimits, McpServers, mcp

_sdk_log = logging.getLogger("mcp.client.streamable_http")


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


GZIP = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
MANY = [{"type": "text", "text": ""}] * 100


def _answering(body: bytes, headers: dict[str, str]) -> Callable[..., Any]:
    """A server that answers calls with a body of its own."""

    async def answer(request: Any) -> Any:
        message = json.loads(await request.body())
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]},
        }
        told = {"jsonrpc": "2.0", "id": message.get("id")}
        if message["method"] == "tools/call":
            return Response(body.replace(b"ID", str(message["id"]).encode()), headers=headers)
        if message["method"] in results:
            return JSONResponse({**told, "result": results[message["method"]]})
        if "id" not in message:
            return Response(status_code=202)
        return JSONResponse({**told, "error": {"code": -32601, "message": "no such method"}})

    return Starlette(routes=[Route("/mcp", answer, methods=["POST"])])


BROKEN = b'{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "\\ud83d'


@pytest.mark.parametrize(
    ("body", "type_"),
    [(BROKEN, "application/json"), (b"data: " + BROKEN + b"\n\n", "text/event-stream")],
)
async def test_the_sdk_writes_no_stack_of_a_broken_answer(
    session: Any, port: int, body: bytes, type_: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with _served(_answering(body, {"Content-Type": type_}), port):
        outcome = await session.eval("await mcp.web.go({})")
    assert "Failed to parse" in str(outcome.error)
    logged = [one for one in caplog.records if "the MCP SDK logs: Error parsing" in one.message]
    assert [(one.name, one.levelname) for one in logged] == [("interpstack.mcp", "DEBUG")]
    assert not [one for one in caplog.records if one.name.startswith("mcp.client.streamable")]
    _sdk_log.error("a connection of somebody else")
    assert caplog.records[-1].name == _sdk_log.name


@asynccontextmanager
async def _served(app: Any, port: int) -> AsyncIterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    running = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn tells it in no other way
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        await running


_MESSAGE = b'{"jsonrpc":"2.0","id":ID,"result":%s}' % json.dumps({"content": MANY}).encode()
_JSON, _EVENTS = {"Content-Type": "application/json"}, {"Content-Type": "text/event-stream"}


@pytest.mark.parametrize(
    ("body", "headers", "told"),
    [
        (gzip.compress(bytes(10_000_000)), GZIP, "compressed its answer"),
        (_MESSAGE, _JSON, "more than 50 values (McpLimits.message_values)"),
        (b"data: " + _MESSAGE + b"\n\n", _EVENTS, "McpConnectionLost"),
    ],
)
async def test_answers_that_grow_when_they_are_read_are_refused(
    port: int, body: bytes, headers: dict[str, str], told: str
) -> None:
    web = {"url": f"http://127.0.0.1:{port}/mcp"}
    plugin = mcp({"mcpServers": {"web": web}}, limits=McpLimits(message_values=50))
    stack = InterpreterStack(plugins=[plugin])
    async with _served(_answering(body, headers), port), stack, stack.session() as session:
        assert told in str((await session.eval("await mcp.web.go({})")).error)


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
