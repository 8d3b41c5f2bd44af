"""Lines of a server's output as messages."""

from __future__ import annotations

import json
from typing import Any

from mcp.shared.message import SessionMessage
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    REQUEST_TIMEOUT,
    ErrorData,
    JSONRPCError,
    jsonrpc_message_adapter,
)

__all__ = ["BrokenMessage", "read_line"]

#: Codes by which the SDK tells what has happened to the connection, and which are a server's, too.
_OF_THE_SDK = frozenset({CONNECTION_CLOSED, REQUEST_TIMEOUT})


class BrokenMessage(Exception):
    """Raised when a line is a message that belongs to no known request."""


def read_line(line: bytes) -> SessionMessage | Exception:
    """The message of a line; an exception, which the SDK passes over, if the line is none.

    An answer that has another form becomes the error of its request, so that nobody waits for it.

    Raises:
        BrokenMessage: The line begins like a message and cannot be read.
    """
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError as error:
        return _repaired(line, error)
    if isinstance(message, JSONRPCError) and message.error.code in _OF_THE_SDK:
        other = message.error.model_copy(update={"code": INTERNAL_ERROR})
        return SessionMessage(message.model_copy(update={"error": other}))
    return SessionMessage(message)


def _repaired(line: bytes, error: ValueError) -> SessionMessage | Exception:
    if b'"jsonrpc"' not in line:
        return error  # output that is not meant for the client, such as a log
    try:
        found = json.loads(line)
        # Servers cut texts in the middle of a character, and write its halves as escapes.
        whole = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError) as fault:
        raise BrokenMessage(str(fault)) from fault
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(whole, by_name=False))
    except ValueError:
        return _failed(found) or error


def _failed(found: Any) -> SessionMessage | None:
    """The error of the request that a malformed answer belongs to; `None` if it is no answer."""
    number = found.get("id") if isinstance(found, dict) and "method" not in found else None
    if isinstance(number, float) and number.is_integer():  # servers that have no integers
        number = int(number)
    if type(number) not in (int, str):
        return None
    error = ErrorData(code=INTERNAL_ERROR, message="the server's answer is malformed")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=number, error=error))
