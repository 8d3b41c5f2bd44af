"""Logging in once, in a browser that returns to a page of this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import attrs
import mcp
import uvicorn
from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from interpstack import ConfigurationError, InterpstackError
from interpstack.checks import shown
from interpstack_http import BACKLOG, CONCURRENCY, served_connections
from interpstack_mcp.configuration import HttpServer, read_servers
from interpstack_mcp.connections.causes import cause_of, in_words, printable
from interpstack_mcp.connections.failures import failure_in
from interpstack_mcp.connections.http import http_transport
from interpstack_mcp.connections.sdk_logs import own_request
from interpstack_mcp.limits import McpLimits
from interpstack_mcp.oauth.providers import Person, authorized
from interpstack_mcp.oauth.settings import OAuth
from interpstack_mcp.oauth.tokens import login_file

__all__ = ["LoginFailed", "log_in", "log_out"]

_LOOPBACK: Final = "127.0.0.1"
_PATH: Final = "/callback"
_REASON_CHARS: Final = 500


class LoginFailed(InterpstackError, RuntimeError):
    """Raised when a person could not log in."""


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


@attrs.define
class _Return:
    """The page of this machine to which the browser returns.

    The browser gets its answer when the login has ended. The page is shown in a task of its own,
    since what shows it may wait for that answer.
    """

    show: Callable[[str], Awaitable[None]]
    _state: str = attrs.field(default="", init=False)
    _shown: asyncio.Task[None] | None = attrs.field(default=None, init=False)
    _result: asyncio.Future[AuthorizationCodeResult] = attrs.field(factory=_future, init=False)
    _succeeded: asyncio.Future[bool] = attrs.field(factory=_future, init=False)

    async def open(self, url: str) -> None:
        self._state = parse_qs(urlsplit(url).query)["state"][0]
        self._shown = asyncio.ensure_future(self._show(url))

    async def wait(self) -> AuthorizationCodeResult:
        return await self._result

    def end(self, succeeded: bool) -> None:
        """Tell the browser how the login ended."""
        self._succeeded.set_result(succeeded)

    async def close(self) -> None:
        """Stop to show the page."""
        if self._shown is not None:
            self._shown.cancel()
            await asyncio.wait({self._shown})

    async def _show(self, url: str) -> None:
        try:
            await self.show(url)
        except Exception as error:  # noqa: BLE001 - the caller's own function may raise anything
            if not self._result.done():
                self._result.set_exception(error)

    async def page(self, request: Request) -> Response:
        given = request.query_params
        if not self._state or given.get("state") != self._state or self._result.done():
            return PlainTextResponse("This login is not the one that is awaited.", 400)
        if "code" not in given:
            reason = given.get("error_description") or given.get("error") or "no code came"
            words = printable(reason)[:_REASON_CHARS]
            self._result.set_exception(OAuthFlowError(f"the login was refused: {words}"))
            return PlainTextResponse("The login was refused. You can close this page.", 400)
        self._result.set_result(
            AuthorizationCodeResult(code=given["code"], state=given["state"], iss=given.get("iss"))
        )
        if await self._succeeded:
            return PlainTextResponse("You are logged in. You can close this page.")
        return PlainTextResponse("The login failed; the program that asked for it shows why.", 400)


async def log_in(
    servers: Path, name: str, show: Callable[[str], Awaitable[None]], seconds: float = 300.0
) -> int:
    """Let a person log in at a server, and keep the login for later uses of it.

    Args:
        servers: The configuration.
        name: The server's name in it.
        show: Takes the address of a page, and shows the page to the person.
        seconds: Time for the login.

    Returns:
        The number of tools that the server lists.

    Raises:
        ConfigurationError: The server is unknown, or needs no login.
        LoginFailed: The login failed, or took too long.
    """
    server, oauth = _chosen(servers, name)
    try:
        async with asyncio.timeout(seconds), _returning(show, oauth) as person:
            auth = authorized(name, server.url, oauth, person)
            with own_request():
                return await _count(attrs.evolve(server, auth=auth))
    except ConfigurationError:
        raise
    except TimeoutError as error:
        raise LoginFailed(f"nobody logged in at {name!r} within {seconds:g} seconds") from error
    except Exception as error:
        raise LoginFailed(f"the login at {name!r} failed: {_reason(error)}") from error


def log_out(servers: Path, name: str) -> bool:
    """Forget the login at a server, and return whether there was one.

    Args:
        servers: The configuration.
        name: The server's name in it.

    Raises:
        ConfigurationError: The server is unknown, or needs no login.
    """
    server, oauth = _chosen(servers, name)
    return login_file(server.url, oauth).remove()


def _chosen(servers: Path, name: str) -> tuple[HttpServer, OAuth]:
    reached = {
        server.name: server
        for server in read_servers(servers)
        if isinstance(server, HttpServer) and server.oauth is not None and server.oauth.needs_login
    }
    if name not in reached:
        listed = ", ".join(sorted(reached)) or "none"
        raise ConfigurationError(
            f'{servers} has no server {shown(name)} with a login ("oauth": true); it has: {listed}'
        )
    server = reached[name]
    if server.oauth is None:
        raise ValueError("a server was chosen that has no OAuth")
    return server, server.oauth


@asynccontextmanager
async def _returning(show: Callable[[str], Awaitable[None]], oauth: OAuth) -> AsyncIterator[Person]:
    """A page of this machine to which a browser can return."""
    page = _Return(show)
    try:
        bound = socket.create_server((_LOOPBACK, oauth.callback_port))
    except OSError as error:
        raise ConfigurationError(
            f"the port {oauth.callback_port} is taken ({error.strerror}); set another callbackPort"
        ) from error
    app = Starlette(routes=[Route(_PATH, page.page)])
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="error",
            lifespan="off",
            http=served_connections(),
            ws="none",
            limit_concurrency=CONCURRENCY,
            backlog=BACKLOG,
        )
    )
    serving, succeeded = asyncio.ensure_future(server.serve(sockets=[bound])), False
    try:
        port = bound.getsockname()[1]
        yield Person(f"http://{_LOOPBACK}:{port}{_PATH}", page.open, page.wait)
        succeeded = True
    finally:
        page.end(succeeded)
        server.should_exit = True
        await serving
        await page.close()
        bound.close()


async def _count(server: HttpServer) -> int:
    transport: Any = http_transport(server, McpLimits())
    async with mcp.Client(transport, cache=None) as client:
        return len((await client.list_tools()).tools)


def _reason(error: BaseException) -> str:
    cause = cause_of(error)
    if isinstance(cause, MCPError) and (failure := failure_in(cause)) is not None:
        cause = failure.__cause__ or cause
    known = isinstance(cause, (OAuthFlowError, MCPError)) and str(cause).strip()
    said = printable(" ".join(str(cause).split()))
    return (said if known else in_words(cause))[:_REASON_CHARS]
