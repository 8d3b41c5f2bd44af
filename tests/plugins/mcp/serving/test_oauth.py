"""A server as a protected resource: a real authorization server says what tokens are worth."""

from __future__ import annotations

import asyncio
import base64
import socket
import time
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import attrs
import httpx2
import pytest
import pytest_asyncio
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp_config import free_port
from mcp_requests import ACCEPT, INITIALIZE
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from interpstack import ConfigurationError
from interpstack_mcp.api import HttpOptions, OAuthResource, serve_http


@attrs.define
class Login:
    """An authorization server.

    Attributes:
        url: Its address.
        resource: The address of the server that it protects.
        tokens: Answers about tokens.
        asked: Tokens that were asked about.
    """

    url: str
    resource: str
    tokens: dict[str, Any]
    asked: list[str]

    def grant(self, token: str, **changed: Any) -> str:
        """Issue a token."""
        self.tokens[token] = {
            "active": True,
            "iss": self.url,
            "client_id": "app",
            "sub": "ann",
            "aud": [self.resource, "https://other.example"],
            "scope": "other code:run",
            "exp": int(time.time()) + 600,
            **changed,
        }
        return token

    async def introspect(self, request: Request) -> Response:
        expected = base64.b64encode(b"interpstack:hidden").decode()
        if request.headers.get("authorization") != f"Basic {expected}":
            return JSONResponse({"error": "invalid_client"}, 401)
        token = str((await request.form())["token"])
        self.asked.append(token)
        answer = self.tokens.get(token, {"active": False})
        return answer if isinstance(answer, Response) else JSONResponse(answer)

    def options(self, **changed: Any) -> OAuthResource:
        given = {
            "issuer": self.url,
            "resource": self.resource,
            "introspection": f"{self.url}/introspect",
            "client_id": "interpstack",
            "client_secret": "hidden",
            "scopes": ["code:run"],
        }
        return OAuthResource(**{**given, **changed})


@pytest_asyncio.fixture
async def login(serve: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Login]:
    """An authorization server, and a server that it protects."""
    # Each puts back the handlers of signals that it found: of two, perhaps those of the other.
    monkeypatch.setattr(uvicorn.Server, "capture_signals", lambda server: nullcontext())
    ports = free_port(), free_port()
    url, resource = f"http://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}/mcp"
    made = Login(url, resource, {}, [])
    app = Starlette(routes=[Route("/introspect", made.introspect, methods=["POST"])])
    bound = socket.create_server(("127.0.0.1", ports[0]))  # requests wait until it serves
    config = uvicorn.Config(app, log_level="warning", lifespan="off")
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    options = HttpOptions(oauth=made.options(), port=ports[1])
    tasks = [
        asyncio.ensure_future(uvicorn.Server(config).serve(sockets=[bound])),
        asyncio.ensure_future(serve_http(serve().server, options, listening.set_result)),
    ]
    assert await listening == resource
    yield made
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    bound.close()


def http_client(token: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30)


async def status(login: Login, token: str) -> int:
    async with http_client(token) as client:
        return (await client.post(login.resource, json=INITIALIZE, headers=ACCEPT)).status_code


async def test_clients_learn_where_to_log_in(login: Login) -> None:
    async with httpx2.AsyncClient() as client:
        refused = await client.post(login.resource, json=INITIALIZE, headers=ACCEPT)
        assert refused.status_code == 401
        found = refused.headers["www-authenticate"]
        address = found.partition('resource_metadata="')[2].rstrip('"')
        metadata = (await client.get(address)).json()
    assert metadata["resource"] == login.resource
    assert [one.rstrip("/") for one in metadata["authorization_servers"]] == [login.url]
    assert metadata["scopes_supported"] == ["code:run"]
    assert login.asked == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, 200),
        ({"aud": None}, 401),
        ({"aud": "https://other.example"}, 401),
        ({"iss": "https://other.example"}, 401),
        ({"exp": 1}, 401),
        ({"exp": "soon"}, 401),
        ({"active": False}, 401),
        ({"active": "yes"}, 401),
        ({"client_id": None, "sub": None}, 401),
        ({"scope": "code:running"}, 403),
        ({"scope": None}, 403),
        ({"scope": ["code:run"]}, 401),
    ],
)
async def test_tokens_are_checked(login: Login, changed: dict[str, Any], expected: int) -> None:
    assert await status(login, login.grant("token", **changed)) == expected
    assert login.asked == ["token"]


@pytest.mark.parametrize(
    "answer",
    [
        JSONResponse({"active": True}, 500),
        Response("<html>", media_type="text/html"),
        JSONResponse(["active"]),
        JSONResponse({"active": True, "more": "x" * 70_000}),
        Response(status_code=302, headers={"Location": "/introspect"}),
    ],
)
async def test_a_broken_authorization_server_lets_nobody_in(login: Login, answer: Response) -> None:
    login.tokens["token"] = answer
    assert await status(login, "token") == 401


async def test_a_revoked_token_is_refused_with_the_next_request(login: Login) -> None:
    async with http_client(login.grant("token")) as http:
        one = await http.post(login.resource, json=INITIALIZE, headers=ACCEPT)
        assert one.status_code == 200
        login.tokens.clear()
        again = {**ACCEPT, "Mcp-Session-Id": one.headers["mcp-session-id"]}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert (await http.post(login.resource, json=listing, headers=again)).status_code == 401


async def test_a_session_belongs_to_the_person_who_began_it(login: Login) -> None:
    big = {"code": "var x = 7; 'y'.repeat(9000)"}
    async with http_client(login.grant("a")) as one, http_client(login.grant("b", sub="bo")) as two:
        first = Client(streamable_http_client(login.resource, http_client=one))
        second = Client(streamable_http_client(login.resource, http_client=two))
        async with first, second:
            made = await first.call_tool("run_code", big)
            assert made.structured_content is not None
            session = {"session": made.structured_content["session"]}
            (link,) = [block for block in made.content if block.type == "resource_link"]
            mine = await first.call_tool("run_code", {"code": "x", **session})
            assert mine.structured_content is not None
            assert mine.structured_content["result"] == "7"
            theirs = await second.call_tool("run_code", {"code": "x", **session})
            assert theirs.is_error
            assert "there is no such session" in theirs.content[0].text
            assert (await first.read_resource(link.uri)).contents
            with pytest.raises(Exception, match="no such resource"):
                await second.read_resource(link.uri)


async def test_a_verifier_of_ones_own(login: Login, serve: Any) -> None:
    class Verifier:
        async def verify_token(self, token: str) -> AccessToken | None:
            scopes = ["code:run"]
            given = {"client_id": "app", "scopes": scopes, "resource": login.resource}
            return AccessToken(token=token, **given) if token == "good" else None

    own = login.options(introspection="", client_id="", verifier=Verifier())
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(
        serve_http(serve().server, HttpOptions(oauth=own), listening.set_result)
    )
    other = attrs.evolve(login, resource=await listening)
    assert [await status(other, token) for token in ("good", "bad")] == [200, 401]
    assert login.asked == []
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"issuer": "http://login.example"}, "OAuth issuer takes an https URL"),
        ({"resource": "https://"}, "OAuth resource takes an https URL"),
        ({"introspection": "ftp://login.example"}, "OAuth introspection takes an https URL"),
        ({"introspection": ""}, "an introspection URL or a verifier"),
        ({"client_id": ""}, "needs the client_id"),
        ({"scopes": "code:run"}, "scopes takes a list of strings; got 'code:run'"),
        ({"issuer": 1}, "OAuth issuer takes a URL; got 1"),
        ({"scopes": ["a b"]}, "'a b' is not a name of a scope"),
    ],
)
def test_wrong_settings_are_refused(changed: dict[str, Any], message: str) -> None:
    login = Login("https://login.example", "https://tools.example/mcp", {}, [])
    with pytest.raises(ConfigurationError, match=message):
        login.options(**changed)
    assert "hidden" not in repr(login.options())
    with pytest.raises(ConfigurationError, match="a token or oauth, and not both"):
        HttpOptions(token="a-token-of-16-chars", oauth=login.options())
