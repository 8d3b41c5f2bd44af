"""Servers over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from typing import Any

import attrs
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
        data = {"jsonrpc": "2.0", "id": message.get("id")}
        if message["method"] == "tools/call":
            return Response(body.replace(b"ID", str(message["id"]).encode()), headers=headers)
        if message["method"] in results:
            return JSONResponse({**data, "result": results[message["method"]]})
        if "id" not in message:
            return Response(status_code=202)
        return JSONResponse({**data, "error": {"code": -32601, "message": "no such method"}})

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
    assert outcome.error is not None
    assert outcome.error.name == "McpAnswerInvalid"
    assert "is not accepted: " in outcome.error.message
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
    ("body", "headers", "found"),
    [
        (gzip.compress(bytes(10_000_000)), GZIP, "compressed its answer"),
        (_MESSAGE, _JSON, "more than 50 values (McpLimits.message_values)"),
        (b"data: " + _MESSAGE + b"\n\n", _EVENTS, "more than 50 values (McpLimits.message_values)"),
    ],
)
async def test_answers_that_grow_when_they_are_read_are_refused(
    port: int, body: bytes, headers: dict[str, str], found: str
) -> None:
    web = {"url": f"http://127.0.0.1:{port}/mcp"}
    plugin = mcp({"mcpServers": {"web": web}}, limits=McpLimits(message_values=50))
    stack = InterpreterStack(plugins=[plugin])
    async with _served(_answering(body, headers), port), stack, stack.session() as session:
        assert found in str((await session.eval("await mcp.web.go({})")).error)


async def test_a_server_that_is_started_again_is_found_again(
    session: Any, port: int, notes: Notes
) -> None:
    with http_server(port, notes):
        assert (await session.eval("await mcp.web.note({text: 'a'})")).ok
    lost = await session.eval("await mcp.web.note({text: 'b'})")
    assert lost.error is not None
    assert lost.error.name == "McpUnavailable"
    assert "mcp.web.note was not called: the server is not available" in lost.error.message
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


@attrs.define
class _Scripted:
    """A server whose answers to calls a test chooses.

    Attributes:
        answer: Makes the answer to a call; `None` for a result.
        listening: The status of requests for a stream of events.
        session: The session that the server knows; empty for none.
        calls: Calls that came.
        sessions: Sessions that were begun.
    """

    answer: Callable[[Any, str], Response | None] = lambda _, __: None
    listening: int = 405
    session: str = ""
    calls: int = 0
    sessions: int = 0

    def app(self) -> Any:
        return Starlette(routes=[Route("/mcp", self._answer, methods=["GET", "POST", "DELETE"])])

    async def _answer(self, request: Any) -> Any:
        if request.method != "POST":
            return Response(status_code=self.listening)
        message = json.loads(await request.body())
        about = {"jsonrpc": "2.0", "id": message.get("id")}
        method = message["method"]
        if method == "initialize":
            self.sessions += 1
            self.session = f"session-{self.sessions}"
            result: Any = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            }
            headers = {"Mcp-Session-Id": self.session}
            return JSONResponse({**about, "result": result}, headers=headers)
        if "id" not in message:
            return Response(status_code=202)
        if method in ("tools/call", "ping"):
            self.calls += method == "tools/call"
            refused = self.answer(message, request.headers.get("mcp-session-id", ""))
            content = {"content": [{"type": "text", "text": "done"}]}
            return refused or JSONResponse({**about, "result": content})
        if method == "tools/list":
            tools = [{"name": "go", "inputSchema": {"type": "object"}}]
            return JSONResponse({**about, "result": {"tools": tools}})
        return JSONResponse({**about, "error": {"code": -32601, "message": "no such method"}})


def _error(message: Any, code: int, text: str, status: int = 200, data: Any = None) -> Response:
    error = {"code": code, "message": text, **({} if data is None else {"data": data})}
    found = {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return JSONResponse(found, status_code=status)


async def _caught(session: Any) -> Any:
    """What a call returns in code, or name, message, code and data of its error."""
    outcome = await session.eval(
        "await (async () => { try { return JSON.stringify((await mcp.web.go({}))[0].text) } "
        "catch (e) { return JSON.stringify([e.name, e.message, e.code ?? e.status, e.data]) } })()"
    )
    assert outcome.ok, outcome.error
    return json.loads(outcome.text)


@pytest.mark.parametrize("code", [-32000, -32001, -32603])
@pytest.mark.parametrize("events", [False, True])
async def test_an_error_of_a_server_is_no_end_of_the_connection(
    session: Any, port: int, code: int, events: bool
) -> None:
    def answer(message: Any, _: str) -> Response | None:
        if message["method"] == "ping":
            return None
        made = _error(message, code, "Request timed out", data={"seconds": 3})
        if not events:
            return made
        return Response(b"data: " + made.body + b"\n\n", headers=_EVENTS)

    server = _Scripted(answer)
    async with _served(server.app(), port):
        name, text, given, data = await _caught(session)
        assert (name, text, given) == ("ToolError", "Request timed out", code)
        assert data == {"seconds": 3}
        await _caught(session)
    assert (server.calls, server.sessions) == (2, 1)


@pytest.mark.parametrize(
    ("status", "body", "found"),
    [
        (500, "boom", ["McpHttpError", "HTTP 500 Internal Server Error: boom", "may have had"]),
        (503, "", ["McpHttpError", "HTTP 503 Service Unavailable", "may have had its effects"]),
        (400, "bad field", ["McpHttpError", "refused mcp.web.go: HTTP 400 Bad Request: bad field"]),
        (401, "who?", ["HTTP 401 Unauthorized: who?", "'headers'", "'oauth'"]),
        (403, "not yours", ["mcp.web.go was not run", "HTTP 403 Forbidden: not yours"]),
        (413, "too long", ["mcp.web.go was not run", "HTTP 413"]),
        (429, "slow down", ["was not run", "HTTP 429 Too Many Requests: slow down"]),
    ],
)
async def test_a_failure_of_http_keeps_its_status_and_its_text(
    session: Any, port: int, status: int, body: str, found: list[str]
) -> None:
    def answer(message: Any, _: str) -> Response | None:
        return None if message["method"] == "ping" else Response(body, status_code=status)

    server = _Scripted(answer)
    async with _served(server.app(), port):
        name, text, given, _ = await _caught(session)
        assert given == status
        assert all(one in f"{name}: {text}" for one in found), text
        await _caught(session)
    assert (server.calls, server.sessions) == (2, 1)


@pytest.mark.parametrize(
    "refuse",
    [
        lambda message: Response("gone", status_code=404),
        lambda message: _error(message, -32001, "Session not found", 404),
        lambda message: _error(message, -32000, "Bad Request: No valid session ID", 400),
        lambda message: Response("invalid session", status_code=400),
        lambda message: Response("Unauthorized: Session not found", status_code=401),
        lambda message: Response("unknown session", status_code=403),
        lambda message: _error(message, -32000, "Session expired"),
    ],
)
async def test_an_expired_session_is_begun_anew_and_the_call_was_not_run(
    session: Any, port: int, refuse: Any
) -> None:
    lost = "none"

    def answer(message: Any, of: str) -> Response | None:
        return refuse(message) if of == lost else None

    server = _Scripted(answer)
    async with _served(server.app(), port):
        assert await _caught(session) == "done"
        lost = "session-1"
        name, text, _, _ = await _caught(session)
        assert name == "McpUnavailable"
        assert "mcp.web.go was not called: the server is not available: its session has" in text
        assert await _caught(session) == "done"
    assert server.sessions == 2


async def test_all_calls_of_an_expired_session_were_not_run(session: Any, port: int) -> None:
    server = _Scripted(lambda _, of: Response(status_code=404) if of == "session-1" else None)
    async with _served(server.app(), port):
        outcome = await session.eval(
            "(await Promise.allSettled(Array.from({length: 20}, () => mcp.web.go({}))))"
            ".map(one => one.reason.name).join()"
        )
    assert outcome.text == ",".join(["McpUnavailable"] * 20)


async def test_a_tool_that_knows_sessions_of_its_own_is_no_expired_session(
    session: Any, port: int
) -> None:
    def answer(message: Any, _: str) -> Response | None:
        return None if message["method"] == "ping" else _error(message, -32602, "no session 7")

    server = _Scripted(answer)
    async with _served(server.app(), port):
        assert (await _caught(session))[1:3] == ["no session 7", -32602]
        await _caught(session)
    assert (server.calls, server.sessions) == (2, 1)


@pytest.mark.parametrize("status", [404, 405, 400, 500])
async def test_a_server_without_a_stream_of_events_stays_connected(
    session: Any, port: int, status: int
) -> None:
    server = _Scripted(listening=status)
    async with _served(server.app(), port):
        for _ in range(3):
            assert await _caught(session) == "done"
    assert server.sessions == 1


async def test_a_stream_that_ends_without_an_answer_costs_its_own_call_only(
    session: Any, port: int
) -> None:
    def answer(message: Any, _: str) -> Response | None:
        broken = server.calls == 1 and message["method"] == "tools/call"
        return Response(b": nothing\n\n", headers=_EVENTS) if broken else None

    server = _Scripted(answer)
    async with _served(server.app(), port):
        name, text, _, _ = await _caught(session)
        assert name == "McpConnectionLost"
        assert "may have had its effects" in text
        assert await _caught(session) == "done"
    assert server.sessions == 1


@pytest.mark.parametrize(
    ("response", "found"),
    [
        (
            Response("No more calls\n today", headers={"Content-Type": "text/html"}),
            "its content type is text/html, which is not of MCP; its text is No more calls today",
        ),
        (
            Response('{"message": "the quota is used up"}', headers=_JSON),
            'it is not a message of the protocol: {"message": "the quota is used up"}',
        ),
        (Response("data: [1, 2]\n\n", headers=_EVENTS), "not a message of the protocol: [1, 2]"),
        (Response("", headers=_JSON), "is not accepted: it is empty"),
        (Response(status_code=202), "the server sends no answer to the request"),
        (Response(status_code=307, headers={"Location": "http://a.example/"}), "Redirect to http"),
    ],
)
async def test_a_response_that_is_no_answer_is_named(
    session: Any, port: int, response: Response, found: str
) -> None:
    server = _Scripted(lambda message, _: response if message["method"] != "ping" else None)
    async with _served(server.app(), port):
        assert found in (await _caught(session))[1]


@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize("id_", [99, "another", None, "own"])
async def test_an_answer_to_another_request_is_refused(
    session: Any, port: int, events: bool, id_: Any
) -> None:
    def answer(message: Any, _: str) -> Response | None:
        own = str(message["id"]) if id_ == "own" else id_
        made = _error({"id": own}, -32602, "of somebody else")
        if not events:
            return made
        return Response(b"data: " + made.body + b"\n\n", headers=_EVENTS)

    async with _served(_Scripted(answer).app(), port):
        name, text, *_ = await _caught(session)
    if id_ in (None, "own"):  # a server that cannot read the id, or writes it as a text
        assert (name, text) == ("ToolError", "of somebody else")
    else:
        assert name == "McpAnswerInvalid"
        assert text.startswith("mcp.web.go was called, but the answer of MCP server 'web' is not")
        assert f"it has the id of another request ({id_}, and not " in text
