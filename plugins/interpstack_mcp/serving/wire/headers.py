"""Headers of requests over HTTP, refused with the reason and the option that permits them.

The SDK refuses the same ones, and does not say what is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from interpstack.checks import shown

__all__ = ["CheckedHeaders"]

_JSON: Final = "application/json"
#: The endpoint; the metadata of OAuth, beside it, are for everybody.
_PATH: Final = "/mcp"


class CheckedHeaders:
    """Checks the headers of each request before anything else of it is read.

    Args:
        app: The application.
        hosts: Accepted values of `Host`, in lower case; `:*` stands for any port.
        origins: Accepted values of `Origin`.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str], origins: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        own = scope["type"] == "http" and scope["path"].rstrip("/") == _PATH
        if own and (refused := self._refused(scope)) is not None:
            await refused(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refused(self, scope: Scope) -> PlainTextResponse | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get(b"host", ""), headers.get(b"origin")
        if not self._accepts(host):
            text = f"the Host header {shown(host)} is not accepted; permit it with --allow-host"
            return _refusal(421, text)
        if origin is not None and not self._is_permitted(origin):
            text = (
                f"the Origin header {shown(origin)} is not accepted; permit it with --allow-origin"
            )
            return _refusal(403, text)
        if scope["method"] != "POST":
            return None
        type_ = headers.get(b"content-type", "")
        if type_.partition(";")[0].strip().lower() != _JSON:
            return _refusal(415, f"the Content-Type of a message is {_JSON}; got {shown(type_)}")
        encoding = headers.get(b"content-encoding", "identity")
        if encoding.lower() != "identity":
            text = f"a message is not compressed; got the Content-Encoding {shown(encoding)}"
            return _refusal(415, text)
        return None

    def _accepts(self, host: str) -> bool:
        return host in self._hosts or f"{host.rpartition(':')[0]}:*" in self._hosts

    def _is_permitted(self, origin: str) -> bool:
        return origin in self._origins or f"{origin.rpartition(':')[0]}:*" in self._origins


def _refusal(status: int, text: str) -> PlainTextResponse:
    return PlainTextResponse(text, status, headers={"Connection": "close"})
