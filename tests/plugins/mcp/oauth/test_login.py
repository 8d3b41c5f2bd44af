"""Logging in at a real authorization server, and using the login in other processes."""

from __future__ import annotations

import asyncio
import json
import re
import stat
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import httpx2
import pytest
from mcp_config import Notes, free_port, guarded_server

from interpstack import ConfigurationError, InterpreterStack
from interpstack_mcp.api import LoginFailed, log_in, log_out, mcp


@attrs.frozen
class Guarded:
    """A server whose clients log in.

    Attributes:
        file: The configuration.
        url: The server's address.
        data: The folder of the user's own data.
        notes: What the authorization server did.
    """

    file: Path
    url: str
    data: Path
    notes: Notes

    def configure(self, oauth: Any) -> None:
        server = {"url": self.url, "oauth": oauth}
        self.file.write_text(json.dumps({"mcpServers": {"guarded": server}}))

    async def ask(self, path: str) -> None:
        """Change what the server knows or answers."""
        async with httpx2.AsyncClient() as client:
            await client.post(self.url.replace("/mcp", path))

    def login(self) -> tuple[Path, dict[str, Any]]:
        (path,) = self.data.rglob("*.json")
        return path, json.loads(path.read_text())

    async def run(self) -> tuple[str, tuple[str, ...]]:
        """What a new stack gets, as a new process would."""
        async with InterpreterStack(plugins=[mcp(self.file)]) as stack, stack.session() as session:
            outcome = await session.eval("(await mcp.guarded.whoami()).result")
            return outcome.text, outcome.notices


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Notes]]:
    """The address of the server of all tests, and what its authorization server notes."""
    port, notes = free_port(), Notes.empty(tmp_path_factory.mktemp("guarded"))
    with guarded_server(port, notes, "authorization_code"):
        yield f"http://127.0.0.1:{port}/mcp", notes


@pytest.fixture
def guarded(server: tuple[str, Notes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guarded:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: tmp_path / "data")
    url, notes = server
    notes.path.write_text("")
    httpx2.post(url.replace("/mcp", "/change"))
    made = Guarded(tmp_path / "servers.json", url, tmp_path / "data", notes)
    made.configure(True)
    return made


def browser(change: Callable[[str], str] = str) -> Callable[[str], Awaitable[None]]:
    """A browser that follows the address that it is shown."""

    async def show(address: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=False) as client:
            at_server = await client.get(address)
            await client.get(change(at_server.headers["location"]))

    return show


def in_background(show: Callable[[str], Awaitable[None]]) -> Callable[[str], Awaitable[None]]:
    """A browser that goes on when the login has ended."""
    running: list[Any] = []

    async def start(address: str) -> None:
        running.append(asyncio.ensure_future(show(address)))

    return start


async def test_a_login_serves_later_processes(guarded: Guarded) -> None:
    text, notices = await guarded.run()
    assert "run: interpstack mcp login FILE guarded" in notices[0]
    assert guarded.notes.text() == "", "without a login, the server is not even asked"
    assert await log_in(guarded.file, "guarded", browser()) == 1
    text, notices = await guarded.run()
    assert (text, notices) == ("somebody who is allowed to", ())
    assert guarded.notes.text() == "registered\nlogged in\n"


async def test_an_access_token_that_the_server_refuses_is_renewed_once(guarded: Guarded) -> None:
    await log_in(guarded.file, "guarded", browser())
    code = "(await mcp.guarded.whoami()).result"
    async with InterpreterStack(plugins=[mcp(guarded.file)]) as stack, stack.session() as session:
        await guarded.ask("/forget")
        assert (await session.eval(code)).text == "somebody who is allowed to"
        await guarded.ask("/forget")
        assert (await session.eval(code)).text == "somebody who is allowed to"
    assert guarded.notes.text().count("renewed") == 2
    assert (await guarded.run())[0] == "somebody who is allowed to", "the new tokens are stored"
    assert guarded.notes.text().count("renewed") == 2


async def test_parallel_calls_with_a_refused_token_renew_it_once(guarded: Guarded) -> None:
    await log_in(guarded.file, "guarded", browser())
    code = "(await Promise.all([1, 2, 3].map(() => mcp.guarded.whoami()))).length"
    async with InterpreterStack(plugins=[mcp(guarded.file)]) as stack, stack.session() as session:
        assert (await session.eval(code)).text == "3"
        await guarded.ask("/forget")
        assert (await session.eval(code)).text == "3"
    assert guarded.notes.text().count("renewed") == 1


async def test_tokens_that_another_process_has_renewed_are_used(guarded: Guarded) -> None:
    await log_in(guarded.file, "guarded", browser())
    code = "(await mcp.guarded.whoami()).result"
    async with InterpreterStack(plugins=[mcp(guarded.file)]) as stack, stack.session() as session:
        assert (await session.eval(code)).text == "somebody who is allowed to"
        await guarded.ask("/forget")
        await guarded.run()  # its refresh token can be used once
        assert (await session.eval(code)).text == "somebody who is allowed to"
    assert guarded.notes.text().count("renewed") == 1


async def test_a_call_whose_login_cannot_be_renewed_now_says_so(guarded: Guarded) -> None:
    await log_in(guarded.file, "guarded", browser())
    code = "(await mcp.guarded.whoami()).result"
    async with InterpreterStack(plugins=[mcp(guarded.file)]) as stack, stack.session() as session:
        assert (await session.eval(code)).text == "somebody who is allowed to"
        await guarded.ask("/forget")
        await guarded.ask("/change?token=503")
        error = (await session.eval(code)).error
        assert error is not None
        assert (error.name, error.data["status"]) == ("McpHttpError", 401)
        assert "the authorization server answers HTTP 503; try again later" in error.message
        await guarded.ask("/change")
        assert (await session.eval(code)).text == "somebody who is allowed to"


async def test_a_call_that_the_server_refuses_is_reported_as_refused(
    guarded: Guarded, capfd: pytest.CaptureFixture[str]
) -> None:
    await log_in(guarded.file, "guarded", browser())
    code = "(await mcp.guarded.whoami()).result"
    async with InterpreterStack(plugins=[mcp(guarded.file)]) as stack, stack.session() as session:
        assert (await session.eval(code)).text == "somebody who is allowed to"
        await guarded.ask("/forget?all")
        error = (await session.eval(code)).error
    assert error is not None
    assert (error.name, error.data["status"]) == ("McpHttpError", 401)
    assert "run: interpstack mcp login FILE guarded" in error.message
    assert "may have had its effects" not in error.message
    assert capfd.readouterr().err == ""


async def test_only_the_owner_can_read_a_login(guarded: Guarded) -> None:
    await log_in(guarded.file, "guarded", browser())
    path, _ = guarded.login()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [one.name for one in path.parent.iterdir()] == [path.name], "nothing is left behind"


async def test_a_login_that_has_run_out_is_renewed(guarded: Guarded) -> None:
    await log_in(guarded.file, "guarded", browser())
    path, login = guarded.login()
    path.write_text(json.dumps({**login, "expires": time.time() - 1}))
    assert (await guarded.run())[0] == "somebody who is allowed to"
    assert guarded.notes.text().endswith("renewed\n")
    assert guarded.login()[1]["tokens"] != login["tokens"]
    assert (await guarded.run())[0] == "somebody who is allowed to"
    assert guarded.notes.text().count("renewed") == 1


async def test_a_login_that_the_server_has_forgotten_needs_a_person(guarded: Guarded) -> None:
    await log_in(guarded.file, "guarded", browser())
    path, login = guarded.login()
    tokens = {**login["tokens"], "access_token": "wrong", "refresh_token": "wrong"}
    path.write_text(json.dumps({**login, "tokens": tokens}))
    _, notices = await guarded.run()
    assert "run: interpstack mcp login FILE guarded" in notices[0]
    assert await log_in(guarded.file, "guarded", browser()) == 1
    assert (await guarded.run())[0] == "somebody who is allowed to"


async def test_a_damaged_login_is_none(guarded: Guarded) -> None:
    await log_in(guarded.file, "guarded", browser())
    path, login = guarded.login()
    for damaged in ("", "{", json.dumps({**login, "form": 99}), json.dumps({"url": 1})):
        path.write_text(damaged)
        _, notices = await guarded.run()
        assert "run: interpstack mcp login FILE guarded" in notices[0]


async def test_logging_out_removes_the_login(guarded: Guarded) -> None:
    await log_in(guarded.file, "guarded", browser())
    assert log_out(guarded.file, "guarded")
    assert not log_out(guarded.file, "guarded")
    assert not list(guarded.data.rglob("*.json"))


async def test_a_refused_login_says_so(guarded: Guarded) -> None:
    refused = browser(lambda address: address.replace("code=", "error=access_denied&by="))
    with pytest.raises(LoginFailed, match="the login was refused: access_denied"):
        await log_in(guarded.file, "guarded", refused)
    assert not list(guarded.data.rglob("*.json"))


@pytest.mark.parametrize("methods", ["null", "[]", '["plain"]'])
async def test_an_authorization_server_without_the_challenges_of_pkce_is_refused(
    guarded: Guarded, methods: str
) -> None:
    await guarded.ask(f"/change?challenges={methods}")
    shown: list[str] = []

    async def show(address: str) -> None:
        shown.append(address)

    said = "is missing" if methods == "null" else re.escape(f"is {methods}")
    with pytest.raises(LoginFailed, match=f"code_challenge_methods_supported {said}") as caught:
        await log_in(guarded.file, "guarded", show)
    assert "ask the operator to add it" in str(caught.value)
    assert not shown, "nobody is sent to it"


@pytest.mark.parametrize("status", [404, 500])
async def test_an_authorization_server_whose_metadata_cannot_be_read_is_refused(
    guarded: Guarded, status: int
) -> None:
    await guarded.ask(f"/change?metadata={status}")
    shown: list[str] = []

    async def show(address: str) -> None:
        shown.append(address)

    with pytest.raises(LoginFailed, match="has no metadata that can be read") as caught:
        await log_in(guarded.file, "guarded", show, seconds=20)
    assert "does not say that it supports PKCE with S256" in str(caught.value)
    assert not shown, "nobody is sent to it"


@pytest.mark.parametrize("token", [200, 400])
async def test_the_browser_shows_how_the_login_ended(
    guarded: Guarded, token: int, caplog: pytest.LogCaptureFixture
) -> None:
    pages: asyncio.Queue[httpx2.Response] = asyncio.Queue()

    async def show(address: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=False) as client:
            at_server = await client.get(address)
            pages.put_nowait(await client.get(at_server.headers["location"]))

    if token == 200:
        await log_in(guarded.file, "guarded", in_background(show))
    else:
        await guarded.ask(f"/change?token={token}")
        with pytest.raises(LoginFailed, match=r"Token exchange failed \(400\)"):
            await log_in(guarded.file, "guarded", in_background(show))
    page = await pages.get()
    found = "You are logged in" if token == 200 else "The login failed"
    assert (page.status_code, page.text.partition(".")[0].partition(";")[0]) == (token, found)
    assert not [one for one in caplog.records if one.name.startswith("mcp.")]


async def test_a_page_that_cannot_be_shown_ends_the_login(guarded: Guarded) -> None:
    async def show(address: str) -> None:
        raise OSError("no browser")

    with pytest.raises(LoginFailed, match="OSError: no browser"):
        await log_in(guarded.file, "guarded", show)


async def test_the_return_of_another_login_is_not_taken(guarded: Guarded) -> None:
    forged = browser(lambda address: address.replace("state=", "state=forged"))
    with pytest.raises(LoginFailed, match=r"nobody logged in at 'guarded' within 1 seconds"):
        await log_in(guarded.file, "guarded", forged, seconds=1)


async def test_only_servers_with_a_login_are_accepted(guarded: Guarded) -> None:
    with pytest.raises(ConfigurationError, match=r"has no server 'other' .*it has: guarded"):
        await log_in(guarded.file, "other", browser())


async def test_a_port_that_is_taken_is_named(guarded: Guarded) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    guarded.configure({"callbackPort": port})
    try:
        with pytest.raises(ConfigurationError, match=f"the port {port} is taken"):
            await log_in(guarded.file, "guarded", browser())
    finally:
        server.close()
        await server.wait_closed()
