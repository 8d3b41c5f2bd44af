"""The gate before all pages: which requests are answered at all, and the headers of answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interpstack_http import Admission
from interpstack_inspect.serving.visitors import Visitors

__all__ = ["OPEN_PATH", "VISITOR", "RequestGate", "cookie_name"]

#: The path of links, which a browser without a cookie may open, and that of scripts and styles.
OPEN_PATH: Final = "/open"
_STATIC: Final = "/static/"
#: The key of a request's state that has its visitor.
VISITOR: Final = "visitor"
#: Names of this machine's own address; a page of another name that resolves to it is refused.
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

_HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        b"img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Forms would be sent with the origin `null` if there were no referrer at all.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)

#: Makes the answer to a request that is refused: status, and the reason.
Refusal = Callable[[int, str], ASGIApp]


def cookie_name(port: int) -> str:
    """The name of the cookie: cookies are shared by all servers of one host."""
    return f"interpstack-inspect-{port}"


class RequestGate:
    """Answers requests of known browsers to this machine's own address, and refuses others.

    Args:
        app: The pages.
        visitors: The browsers that may look.
        refusal: Makes the answer to other requests.
    """

    def __init__(self, app: ASGIApp, visitors: Visitors, refusal: Refusal) -> None:
        self._app = app
        self._visitors = visitors
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"requests of the type {scope['type']!r} are not served")
        answer = self._app
        refused = self._refused(scope)
        if refused is not None:
            answer = self._refusal(*refused)
        await answer(scope, receive, _with_headers(send))

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason if a request is refused; notes its visitor if not."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        host = headers.get("host", "")
        if _host_name(host) not in _LOOPBACK:
            return 421, "This address is not one of the inspector: open it at 127.0.0.1."
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            return 403, "The request came from a page of another origin."
        if scope["method"] == "POST" and origin is None:
            return 403, "The request has no Origin header, which every form of these pages sends."
        visitor = self._visitors.of(_cookie(headers.get("cookie", ""), scope))
        admission = Admission.of(scope)
        if visitor is not None and admission is not None:
            admission.grant()
        if scope["path"] == OPEN_PATH or scope["path"].startswith(_STATIC):
            return None
        if visitor is None:
            return 401, (
                "This browser is not known: open the link that the command printed last. Each "
                "link opens one browser."
            )
        scope.setdefault("state", {})[VISITOR] = visitor
        return None


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _cookie(header: str, scope: Mapping[str, Any]) -> str:
    server = scope.get("server") or ("", 0)
    cookies = SimpleCookie()
    try:
        cookies.load(header)
    except CookieError:
        return ""
    found = cookies.get(cookie_name(server[1]))
    return "" if found is None else found.value


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name for name, _ in _HEADERS}
            own = [one for one in message.get("headers", ()) if one[0].lower() not in names]
            message = {**message, "headers": [*own, *_HEADERS]}
        await send(message)

    return sending
