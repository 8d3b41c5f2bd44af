"""Messages that clients post over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from interpstack_mcp.serving.wire import posts


class Posting:
    """An application that reads a body as the SDK does; `slow` waits until it goes on."""

    def __init__(self) -> None:
        self.begun, self.goes_on = asyncio.Event(), asyncio.Event()
        self.bodies: list[bytes] = []
        self.begun_sessions = 0
        transport = httpx2.ASGITransport(posts.CheckedPosts(self._app, 1000, self._begins))
        self.client = httpx2.AsyncClient(transport=transport)

    async def _begins(self) -> None:
        self.begun_sessions += 1

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        body = await Request(scope, receive).body()
        self.bodies.append(body)
        if b"slow" in body:
            self.begun.set()
            await self.goes_on.wait()
        await PlainTextResponse("unreadable" if b"\0" in body else "done")(scope, receive, send)

    async def post(self, content: Any, session: str = "one") -> tuple[int, str]:
        headers = {"mcp-session-id": session} if session else {}
        answer = await self.client.post("http://x/mcp", content=content, headers=headers)
        return answer.status_code, answer.text

    async def request(
        self, id_: Any, method: str = "ping", session: str = "one", **params: Any
    ) -> tuple[int, str]:
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        return await self.post(json.dumps(message), session)

    async def cancel(self, id_: Any) -> tuple[int, str]:
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        return await self.post(json.dumps({**message, "params": {"requestId": id_}}))


@pytest_asyncio.fixture
async def posting() -> AsyncIterator[Posting]:
    made = Posting()
    async with made.client:
        yield made


async def test_an_id_in_use_is_refused(posting: Posting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posts, "_ENDING_SECONDS", 0.01)
    first = asyncio.ensure_future(posting.request(7, "slow"))
    await posting.begun.wait()
    for id_ in (7, "7"):  # the SDK does not tell one from the other
        status, text = await posting.request(id_)
        assert (status, json.loads(text)["id"]) == (400, None)
        assert "with the same id has no answer yet; use another id" in text
    assert not first.done()
    for free in ({"id_": 8}, {"id_": 8}, {"id_": 7, "session": "two"}, {"id_": 7, "session": ""}):
        assert await posting.request(**free) == (200, "done")
    monkeypatch.setattr(posts, "_ENDING_SECONDS", 60)
    second = asyncio.ensure_future(posting.request(7))  # the first request is just ending
    assert await posting.request(8) == (200, "done")
    assert not second.done()
    posting.goes_on.set()
    assert await first == await second == (200, "done")
    assert await posting.request(7) == (200, "done")


async def test_only_the_request_of_that_id_is_cancelled(posting: Posting) -> None:
    first = asyncio.ensure_future(posting.request(7, "slow"))
    await posting.begun.wait()
    assert await posting.cancel("7") == (202, "")
    assert posting.bodies[-1] == b"\0"
    assert await posting.cancel(7) == (200, "done")
    assert json.loads(posting.bodies[-1])["params"] == {"requestId": 7}
    posting.goes_on.set()
    await first


@pytest.mark.parametrize("session", ["one", ""])
async def test_an_id_that_mcp_does_not_allow_is_refused(posting: Posting, session: str) -> None:
    for id_ in (None, 1.5, True, [7]):
        status, text = await posting.request(id_, session=session)
        answer = json.loads(text)
        assert (status, answer["id"], answer["error"]["code"]) == (400, None, -32600)


async def test_a_malformed_response_becomes_an_error_of_its_request(posting: Posting) -> None:
    assert await posting.post('{"jsonrpc":"2.0","id":3,"result":null}') == (200, "done")
    assert json.loads(posting.bodies[-1]) == {
        "jsonrpc": "2.0",
        "id": 3,
        "error": {"code": -32603, "message": "the client's answer is malformed"},
    }
    assert await posting.post('{"jsonrpc":"2.0","id":1.5,"result":null}') == (202, "")


async def test_other_bodies_come_as_they_are(posting: Posting) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for part in (b'{"jsonrpc":"2.0",', b'"id":1,"method":"ping"', b"}"):
            yield part

    assert await posting.post(parts()) == (200, "done")
    assert posting.bodies[-1] == b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    for body in (b"{", b'{"code":"\\ud800"}', b"x" * 3000):
        assert await posting.post(body) == (200, "done")
        assert posting.bodies[-1] == body
    answer = await posting.client.get("http://x/mcp")
    assert answer.text == "done"


async def test_a_session_begins_with_a_request_without_one(posting: Posting) -> None:
    await posting.request(1, "ping", session="")
    await posting.request(1, "initialize", session="one")
    assert posting.begun_sessions == 0
    await posting.request(1, "initialize", session="")
    assert posting.begun_sessions == 1


async def test_a_body_that_does_not_end_is_refused(
    posting: Posting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posts, "_BODY_SECONDS", 0.05)
    sent: list[Any] = []
    begun = {"type": "http.request", "body": b'{"jsonrpc', "more_body": True}

    async def receive() -> Any:
        if "more_body" in begun:
            return {**begun, "more_body": begun.pop("more_body")}
        await asyncio.Event().wait()
        return begun

    async def send(message: Any) -> None:
        sent.append(message)

    checked = posts.CheckedPosts(posting._app, 1000, posting._begins)
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [], "query_string": b""}
    await checked(scope, receive, send)
    assert sent[0]["status"] == 408
    assert sent[1]["body"] == b"the body of the request did not come within 0.05 seconds"
