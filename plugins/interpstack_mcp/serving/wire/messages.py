"""Messages of clients, read before the SDK acts on them.

The SDK drops a message that it cannot read, and takes a request whose id MCP does not allow for a
notification, so that a client would wait in vain.
"""

from __future__ import annotations

import json
from typing import Any, Final

import attrs
from mcp import types
from pydantic import ValidationError
from pydantic_core import from_json

from interpstack_mcp.faults import failed_response

__all__ = ["RefusedMessage", "read_message"]

#: Characters of the reason.
_REASON_CHARS: Final = 200
#: Requests of a batch that get an error of their own.
_BATCH_ERRORS: Final = 100


@attrs.frozen
class RefusedMessage:
    """A message that nothing comes of.

    Attributes:
        answer: The error for its sender.
    """

    answer: types.JSONRPCError
    #: The errors for the requests of a batch, in place of the one above, where each is sent.
    each: tuple[types.JSONRPCError, ...] = ()


def read_message(raw: str | bytes) -> types.JSONRPCMessage | RefusedMessage | None:
    """The message in a text.

    A malformed response becomes an error response, which ends the request of ours that waits for
    it: a response is never answered, as its sender could take that for the answer to a request of
    its own with the same id.

    Args:
        raw: The text.

    Returns:
        `None` for a malformed response that belongs to no request.
    """
    try:
        found = from_json(raw)
    except ValueError as error:
        found = _leniently(raw)
        if _is_response(found):
            return failed_response(found, "client")
        text = f"the message is not JSON: Invalid JSON: {error!s:.{_REASON_CHARS}}"
        return _refused(found, types.PARSE_ERROR, text)
    if _has_wrong_id(found):
        return _refused(
            found,
            types.INVALID_REQUEST,
            "the id of a request is a text or an integer; leave id out of a notification",
        )
    if isinstance(found, list):
        return _refused_batch(found)
    try:
        return types.jsonrpc_message_adapter.validate_python(found, by_name=False)
    except ValidationError:
        if _is_response(found):
            return failed_response(found, "client")
        text = "the message is not a request of JSON-RPC 2.0"
        return _refused(found, types.INVALID_REQUEST, text)


def _leniently(raw: str | bytes) -> Any:
    """A text that is almost JSON, such as one with half of a surrogate pair; `None` for others."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _is_id(given: Any) -> bool:
    return isinstance(given, str | int) and not isinstance(given, bool)


def _has_wrong_id(found: Any) -> bool:
    return (
        isinstance(found, dict) and "method" in found and "id" in found and not _is_id(found["id"])
    )


def _is_response(found: Any) -> bool:
    return (
        isinstance(found, dict) and "method" not in found and bool({"result", "error"} & {*found})
    )


def _refused(found: Any, code: int, message: str) -> RefusedMessage:
    error = types.ErrorData(code=code, message=message)
    return RefusedMessage(types.JSONRPCError(jsonrpc="2.0", id=_request_id(found), error=error))


def _refused_batch(parts: list[Any]) -> RefusedMessage:
    """A batch, which no version since 2025-06-18 has; without an answer, its sender would wait."""
    text = "a batch (a JSON array) is not accepted; send each message by itself"
    requests = [one for one in parts if isinstance(one, dict) and "method" in one and "id" in one]
    each = tuple(
        _refused(one, types.INVALID_REQUEST, text).answer for one in requests[:_BATCH_ERRORS]
    )
    return attrs.evolve(_refused(None, types.INVALID_REQUEST, text), each=each)


def _request_id(found: Any) -> str | int | None:
    """The id of a request, for its client to know; `None` if it has none that can be sent."""
    given = found.get("id") if isinstance(found, dict) and "method" in found else None
    if isinstance(given, str):
        return given if given.isprintable() else None
    return given if type(given) is int and abs(given) < 2**63 else None
