"""The server over HTTP."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType
from typing import Any, Final

import attrs
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from interpstack import ConfigurationError
from interpstack.checks import expect, shown
from interpstack_http import BACKLOG, CONCURRENCY, Admission, served_connections
from interpstack_mcp.serving.arguments import texts
from interpstack_mcp.serving.loopback import is_loopback
from interpstack_mcp.serving.oauth import OAuthResource, TokenVerifier
from interpstack_mcp.serving.server import CodeServer
from interpstack_mcp.serving.wire.headers import CheckedHeaders
from interpstack_mcp.serving.wire.posts import CheckedPosts
from interpstack_mcp.serving.wire.sessions import BoundedSessions

__all__ = ["HttpOptions", "http_app", "serve_http"]

#: Characters that a token has at least.
_TOKEN_CHARS: Final = 16
_UNAUTHORIZED: Final = (
    "a bearer token is needed: send the header Authorization: Bearer TOKEN with the token of this "
    "server (INTERPSTACK_MCP_TOKEN)"
)


def _hosts(given: Any) -> Sequence[str]:
    return texts("hosts", given)


def _origins(given: Any) -> Sequence[str]:
    return texts("origins", given)


@attrs.frozen(kw_only=True)
class HttpOptions:
    """The settings of a server over HTTP.

    Attributes:
        token: The bearer token that every request must have, of 16 characters or more; empty with
            `oauth`.
        oauth: The authorization server whose tokens requests must have instead of `token`.
        host: The address to bind to.
        port: The port; 0 for a free one.
        hosts: Further names by which clients reach the server, as in their `Host` headers. Required
            if `host` is not a loopback address.
        origins: Origins whose pages may call the server, such as `https://example.org`.

    Raises:
        ConfigurationError: A value is wrong.
    """

    token: str = attrs.field(default="", repr=False)
    oauth: OAuthResource | None = None
    host: str = "127.0.0.1"
    port: int = 0
    hosts: Sequence[str] = attrs.field(default=(), converter=_hosts)
    origins: Sequence[str] = attrs.field(default=(), converter=_origins)

    def __attrs_post_init__(self) -> None:
        expect(self.oauth, (OAuthResource, NoneType), "oauth takes an OAuthResource or None")
        expect(self.host, str, "host takes an address, such as '127.0.0.1'")
        if self.oauth is None:
            _check_token(self.token)
        elif self.token:
            raise ConfigurationError("a server takes a token or oauth, and not both")
        if type(self.port) is not int or not 0 <= self.port <= 65535:
            raise ConfigurationError(
                f"port takes a whole number from 0 to 65535; got {shown(self.port)}"
            )
        if not self.hosts and not is_loopback(self.host):
            raise ConfigurationError(
                f"{self.host} is reached from other machines: name the hosts by which clients "
                "reach the server (--allow-host), so that requests with other Host headers are "
                "refused"
            )

    @property
    def accepted_hosts(self) -> list[str]:
        """Accepted values of `Host` headers; `:*` stands for any port."""
        own = ["127.0.0.1", "localhost", "[::1]"] if is_loopback(self.host) else []
        names = [*own, *self.hosts]
        return [form for name in names for form in (name, f"{name}:*")]


def _check_token(token: Any) -> None:
    if not isinstance(token, str) or len(token) < _TOKEN_CHARS:
        raise ConfigurationError(
            f"token takes a string of {_TOKEN_CHARS} characters or more; on the command line, "
            "it is INTERPSTACK_MCP_TOKEN"
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError("token takes printable ASCII characters without spaces")


def http_app(server: CodeServer, options: HttpOptions) -> ASGIApp:
    """The server as an ASGI application, at `/mcp`."""
    oauth = options.oauth
    made = server.app()
    app = made.streamable_http_app(
        transport_security=TransportSecuritySettings(
            allowed_hosts=options.accepted_hosts, allowed_origins=list(options.origins)
        ),
        max_request_body_size=server.limits.request_bytes,
        max_sessions=server.limits.clients,
        session_idle_timeout=server.limits.idle_seconds,
        auth=None if oauth is None else oauth.settings,
        token_verifier=None if oauth is None else _Admitting(oauth.checking),
    )
    host = options.accepted_hosts[0]
    most, end = server.limits.clients, made.session_manager.handle_request
    sessions = BoundedSessions(most, server.is_busy, end, app)
    posts = CheckedPosts(sessions, server.limits.request_bytes, partial(sessions.make_room, host))
    checked = CheckedHeaders(posts, options.accepted_hosts, options.origins)
    return _Entered(checked) if oauth is not None else _Authorized(checked, options.token)


class _Entered:
    """Lets the verifier of tokens find the connection of a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (admission := Admission.of(scope)) is not None:
            admission.enter()
        await self._app(scope, receive, send)


class _Admitting:
    """A verifier of tokens that admits the connection of a request whose token is good."""

    def __init__(self, verifier: TokenVerifier) -> None:
        self._verifier = verifier

    async def verify_token(self, token: str) -> AccessToken | None:
        access = await self._verifier.verify_token(token)
        if access is not None and (admission := Admission.current()) is not None:
            admission.grant()
        return access


class _Authorized:
    """Refuses requests without the token, before anything of them is read."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._allows(dict(scope["headers"])):
            headers = {"WWW-Authenticate": "Bearer", "Connection": "close"}
            refused = PlainTextResponse(_UNAUTHORIZED, 401, headers=headers)
            await refused(scope, receive, send)
            return
        if (admission := Admission.of(scope)) is not None:
            admission.grant()
        await self._app(scope, receive, send)

    def _allows(self, headers: dict[bytes, bytes]) -> bool:
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token, self._expected)


async def serve_http(
    server: CodeServer, options: HttpOptions, listening: Callable[[str], object]
) -> None:
    """Serve clients over HTTP, until the process receives a signal to end.

    Args:
        server: The server.
        options: The settings.
        listening: Called with the address of the endpoint.

    Raises:
        ConfigurationError: The address cannot be bound.
    """
    bound = _bound(options)
    shown = f"[{options.host}]" if ":" in options.host else options.host
    config = uvicorn.Config(
        http_app(server, options),
        log_level="error",  # strangers can cause any number of warnings
        http=served_connections(),
        ws="none",
        limit_concurrency=CONCURRENCY,
        backlog=BACKLOG,
        server_header=False,
    )
    try:
        listening(f"http://{shown}:{bound.getsockname()[1]}/mcp")
        await uvicorn.Server(config).serve(sockets=[bound])
    finally:
        bound.close()
        await server.aclose()


def _bound(options: HttpOptions) -> Any:
    try:
        return socket.create_server(
            (options.host, options.port),
            family=socket.AF_INET6 if ":" in options.host else socket.AF_INET,
        )
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(
            f"{options.host}:{options.port} cannot be bound: {reason}; choose another address"
        ) from error
