"""The gate: requests of other hosts, origins and browsers are refused, and answers have headers."""

from __future__ import annotations

import httpx
import pytest
from inspected import ADDRESS, RecordSource, Server
from starlette.types import Receive, Scope, Send

from interpstack_inspect.serving.gate import RequestGate
from interpstack_inspect.serving.visitors import Visitors


@pytest.fixture
def server() -> Server:
    return Server.of(RecordSource())


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example#127.0.0.1",
        "",
        "[",
        "10.0.0.1:4747",
        "0.0.0.0:4747",
    ],
)
async def test_a_name_that_resolves_to_this_machine_is_refused(server: Server, host: str) -> None:
    async with server.browser() as client:
        for path in ("/", "/static/style.css", f"/open?token={server.tokens[-1]}"):
            answer = await client.get(path, headers={"host": host})
            assert answer.status_code == 421
            assert "set-cookie" not in answer.headers
    assert len(server.tokens) == 2  # it was not used


@pytest.mark.parametrize("host", ["127.0.0.1:4747", "localhost:9000", "LOCALHOST", "[::1]:80"])
async def test_names_of_the_loopback_address_are_answered(server: Server, host: str) -> None:
    async with server.browser() as client:
        cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        answer = await client.get("/", headers={"host": host, "cookie": cookies})
        assert answer.status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:4747", "http://127.0.0.1:4748", ""]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_another_origin_is_refused(server: Server, origin: str, method: str) -> None:
    async with server.browser() as client:
        answer = await client.request(method, "/", headers={"origin": origin})
        assert answer.status_code == 403
        assert (await client.request("GET", "/", headers={"origin": ADDRESS})).status_code == 200


async def test_a_form_without_an_origin_is_refused(server: Server) -> None:
    async with server.browser() as client:
        assert (await client.post("/")).status_code == 403


@pytest.mark.parametrize("cookie", ["", "interpstack-inspect-4747=wrong", "=;;\x01", 'a="'])
async def test_a_browser_without_a_cookie_sees_nothing(server: Server, cookie: str) -> None:
    async with server.client() as client:
        for path in ("/", "/conversation?name=t", "/eval?name=t&number=1", "/gone"):
            answer = await client.get(path, headers={"cookie": cookie})
            assert answer.status_code == 401
            assert "open the link that the command printed last" in answer.text
            assert "input of t" not in answer.text
        assert (await client.get("/static/style.css")).status_code == 200


async def test_the_cookie_is_for_this_server_and_for_no_script(server: Server) -> None:
    async with server.client() as client:
        opened = await client.get("/open", params={"token": server.tokens[0]})
        cookie = opened.headers["set-cookie"]
        assert cookie.startswith("interpstack-inspect-4747=")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
        again = await client.get("/open", params={"token": server.tokens[0]})
        assert again.status_code == 401
        assert "set-cookie" not in again.headers


async def test_every_answer_has_the_headers(server: Server) -> None:
    async with server.browser() as client:
        answers = [await client.get(path) for path in ("/", "/gone", "/static/inspect.js", "/open")]
        answers.append(await client.get("/", headers={"host": "evil.example"}))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"


async def test_two_browsers_look_at_once(server: Server) -> None:
    async with server.browser() as one, server.browser() as other:
        answers = [await client.get("/") for client in (one, other, one)]
        assert [answer.status_code for answer in answers] == [200, 200, 200]
        shared = httpx.Cookies({**one.cookies, **other.cookies})
        assert len({*one.cookies.values(), *other.cookies.values()}) == 2
        assert len(shared) == 1


async def test_other_protocols_are_not_served() -> None:
    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("it was asked")

    async def nothing() -> dict[str, str]:
        return {}

    gate = RequestGate(never, Visitors([].append), lambda status, reason: never)
    with pytest.raises(RuntimeError, match="'websocket' are not served"):
        await gate({"type": "websocket"}, nothing, never)  # type: ignore[arg-type]
