"""Ends of requests that are no answers of a server, kept apart from a server's own errors.

The SDK reports both as errors of JSON-RPC, and some codes have two meanings: a server may send
-32000, and the SDK uses it for a closed connection. What this side finds out travels as the `data`
of such an error in an object, which no server can send. A server's error whose code the SDK uses,
too, is marked in the same way.
"""

from __future__ import annotations

from typing import Any, Final

import attrs
from mcp.shared.exceptions import MCPError
from mcp.types import CONNECTION_CLOSED, INTERNAL_ERROR, REQUEST_TIMEOUT, ErrorData, JSONRPCError

__all__ = [
    "HttpFailed",
    "Lost",
    "Rejected",
    "SessionExpired",
    "Unavailable",
    "failed_request",
    "failure_in",
    "from_server",
    "is_of_server",
    "marked",
    "unknown_effects",
]

#: Codes by which the SDK reports the end of a connection or of a request's time.
_OF_THE_SDK: Final = frozenset({CONNECTION_CLOSED, REQUEST_TIMEOUT})


#: Statuses with which a server refuses a request before it runs it.
_NOT_RUN: Final = frozenset({401, 403, 404, 405, 406, 411, 413, 414, 415, 429, 431})
#: The first status that says nothing about what was done.
_BROKEN: Final = 500


def unknown_effects(name: str) -> str:
    """The advice on a call whose answer is lost."""
    return (
        f"{name} may have had its effects, so the call is not repeated: check before calling it "
        "again"
    )


class Unavailable(Exception):
    """Raised when a server cannot be reached; the request was not run."""


class SessionExpired(Unavailable):
    """Raised when a server does not know its session any more; the request was not run."""


class Lost(Exception):
    """Raised when the answer to a request was lost; the request may have had its effects."""


class HttpFailed(Lost):
    """Raised when an HTTP server answers with a status that is not an answer of the protocol.

    Attributes:
        status: The status.
        of_session: Whether the request named a session.
    """

    def __init__(self, text: str, status: int, of_session: bool) -> None:
        super().__init__(text)
        self.status = status
        self.of_session = of_session

    @property
    def not_run(self) -> bool:
        """Whether the status says that the request was not run."""
        return self.status in _NOT_RUN

    def told_of(self, name: str, server: str) -> str:
        """What the failure means for a call.

        Args:
            name: The name of the called tool.
            server: The name of the server.
        """
        if self.not_run:
            return f"{name} was not run: MCP server {server!r} refused the call: {self}"
        if self.status < _BROKEN:
            return f"MCP server {server!r} refused {name}: {self}"
        return f"{name} failed: {self}; {unknown_effects(name)}"


class Rejected(ValueError):
    """Raised when an answer came that this side does not accept; the request was run."""


@attrs.frozen(eq=False)
class _Failure:
    """The failure of a request, as the data of an error."""

    error: Exception


@attrs.frozen(eq=False)
class _OfServer:
    """The data of an error that a server has sent."""

    data: Any


def failed_request(request: str | int | None, error: Exception, code: int = INTERNAL_ERROR) -> Any:
    """The end of a request with a failure, as a message for the SDK.

    Args:
        request: The id of the request; `None` if it is not known.
        error: The failure, which `failure_in` finds again.
        code: The code, by which the SDK chooses the version of the protocol.
    """
    data = ErrorData(code=code, message=str(error), data=_Failure(error))
    return JSONRPCError(jsonrpc="2.0", id=request, error=data)


def marked(message: JSONRPCError) -> JSONRPCError:
    """A server's error, marked as such if its code has a meaning for the SDK, too."""
    error = message.error
    if error.code not in _OF_THE_SDK or isinstance(error.data, _Failure):
        return message
    data = error.model_copy(update={"data": _OfServer(error.data)})
    return message.model_copy(update={"error": data})


def failure_in(error: MCPError) -> Exception | None:
    """The failure that an error of the SDK stands for; `None` if there is none."""
    return error.data.error if isinstance(error.data, _Failure) else None


def is_of_server(error: MCPError) -> bool:
    """Whether an error without a failure is a server's answer, and not the SDK's."""
    return isinstance(error.data, _OfServer) or error.code not in _OF_THE_SDK


def from_server(error: MCPError) -> MCPError:
    """A server's error as the server has sent it."""
    if not isinstance(error.data, _OfServer):
        return error
    return MCPError(error.code, error.message, error.data.data)
