"""The server over HTTP: tokens, hosts, origins, sessions and limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_requests import ACCEPT, INITIALIZE

from interpstack import ConfigurationError
from interpstack_mcp.api import HttpOptions, serve_http

TOKEN = "a-token-for-tests-only"
both = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest_asyncio.fixture
async def address(serve: Any) -> AsyncIterator[str]:
    """The address of a server on a free port."""
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    served = serve(clients=3, request_bytes=10_000)
    options = HttpOptions(token=TOKEN, origins=["https://example.org"])
    task = asyncio.ensure_future(serve_http(served.server, options, listening.set_result))
    yield await listening
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def http_client(token: str = TOKEN) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30)


async def value(client: Client, code: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool("run_code", {"code": code, **arguments})
    assert result.structured_content is not None, result
    return result.structured_content


@both
async def test_each_client_has_a_session_of_its_own(address: str, mode: str) -> None:
    async with http_client() as one, http_client() as two:
        first = Client(streamable_http_client(address, http_client=one), mode=mode)
        second = Client(streamable_http_client(address, http_client=two), mode=mode)
        async with first, second:
            given = await value(first, "var x = 1; x")
            same = {"session": given["session"]} if mode == "auto" else {}
            assert ("session" in given) == (mode == "auto")
            assert (await value(first, "x", **same))["result"] == "1"
            assert (await value(second, "typeof x"))["result"] == "undefined"


async def test_a_session_that_was_not_made_is_refused(address: str) -> None:
    async with http_client() as one, Client(streamable_http_client(address, http_client=one)) as c:
        result = await c.call_tool("run_code", {"code": "1", "session": "guess"})
    assert result.is_error
    assert result.content[0].text == "there is no such session; call again without session"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "https://example.org"}, 200),
        ({}, 200),
    ],
)
async def test_requests_are_checked(address: str, headers: dict[str, str], status: int) -> None:
    async with http_client() as client:
        response = await client.post(address, json=INITIALIZE, headers={**ACCEPT, **headers})
        assert response.status_code == status
        if status == 401:
            assert response.headers["www-authenticate"] == "Bearer"
        large = {**INITIALIZE, "id": "y" * 20_000}
        refused = await client.post(address, json=large, headers=ACCEPT)
        assert refused.status_code == 413


async def _begun(client: httpx2.AsyncClient, address: str) -> dict[str, str]:
    """Begin a session; the headers of its requests."""
    answer = await client.post(address, json=INITIALIZE, headers=ACCEPT)
    return {**ACCEPT, "Mcp-Session-Id": answer.headers["mcp-session-id"]}


async def test_the_session_idle_longest_ends_when_another_one_is_too_many(address: str) -> None:
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    async with http_client() as client:
        made = [await _begun(client, address) for _ in range(3)]
        assert (await client.post(address, json=ping, headers=made[0])).status_code == 200
        made.append(await _begun(client, address))
        statuses = [
            (await client.post(address, json=ping, headers=one)).status_code for one in made
        ]
    assert statuses == [200, 404, 200, 200]


@pytest.mark.parametrize(
    ("headers", "status", "text"),
    [
        ({"Authorization": f"bearer {TOKEN}"}, 200, ""),
        ({"Authorization": f"Basic {TOKEN}"}, 401, "send the header Authorization: Bearer TOKEN"),
        ({"Host": "evil.example"}, 421, "the Host header 'evil.example' is not accepted; permit"),
        ({"Host": "127.0.0.1.evil.example"}, 421, "--allow-host"),
        ({"Host": "evil@127.0.0.1:80"}, 421, "--allow-host"),
        ({"Host": "localhost:99"}, 200, ""),
        ({"Origin": "null"}, 403, "the Origin header 'null' is not accepted; permit"),
        ({"Content-Type": "text/plain"}, 415, "the Content-Type of a message is application/json"),
        ({"Content-Type": "application/jsonx"}, 415, "got 'application/jsonx'"),
        ({"Content-Type": "application/json; charset=utf-8"}, 200, ""),
        ({"Content-Encoding": "gzip"}, 415, "a message is not compressed"),
    ],
)
async def test_a_refusal_names_what_is_accepted(
    address: str, headers: dict[str, str], status: int, text: str
) -> None:
    async with http_client() as client:
        sent = {**ACCEPT, **headers}
        response = await client.post(address, json=INITIALIZE, headers=sent)
    assert response.status_code == status
    assert text in response.text


async def test_a_client_that_goes_in_the_middle_of_a_body_leaves_no_traceback(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    port = int(address.rsplit(":", 1)[1].partition("/")[0])
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {TOKEN}\r\nContent-Length: 100\r\n\r\n{{"
    writer.write(head.encode())
    await writer.drain()
    writer.close()
    async with http_client() as client:
        for _ in range(3):
            await _begun(client, address)
    assert not [one for one in caplog.records if one.exc_info]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token": "short"}, "token takes a string of 16 characters"),
        ({"token": "with space in the middle"}, "printable ASCII"),
        ({"host": "0.0.0.0"}, "0.0.0.0 is reached from other machines"),
        ({"host": "example.org"}, "--allow-host"),
        ({"port": 70000}, "port takes a whole number from 0 to 65535; got 70000"),
        ({"port": "8000"}, "port takes a whole number from 0 to 65535; got '8000'"),
        ({"host": None}, "host takes an address, such as '127.0.0.1'; got None"),
        ({"hosts": "tools.example.org"}, "hosts takes a list of strings; got 'tools.example.org'"),
        ({"origins": "https://a.org"}, "origins takes a list of strings; got 'https://a.org'"),
        ({"token": "", "oauth": "https://a.org"}, "oauth takes an OAuthResource or None"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        HttpOptions(**{"token": TOKEN, **options})


def test_the_loopback_is_the_default() -> None:
    options = HttpOptions(token=TOKEN)
    assert options.host == "127.0.0.1"
    assert "localhost:*" in options.accepted_hosts
    public = HttpOptions(token=TOKEN, host="0.0.0.0", hosts=["tools.example.org"])
    assert public.accepted_hosts == ["tools.example.org", "tools.example.org:*"]


async def test_an_address_in_use_is_named(address: str, serve: Any) -> None:
    port = int(address.rsplit(":", 1)[1].partition("/")[0])
    options = HttpOptions(token=TOKEN, port=port)
    with pytest.raises(ConfigurationError, match=f"{port} cannot be bound"):
        await serve_http(serve().server, options, print)
