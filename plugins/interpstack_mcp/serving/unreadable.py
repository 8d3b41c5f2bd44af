"""Answers to messages that are no messages of MCP, so that no client waits for one in vain.

The SDK passes such a message on as an exception, which its sessions drop.
"""

from __future__ import annotations

import json
from typing import Any, Final

import anyio
from mcp import types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

__all__ = ["AnsweringReader"]

_NO_JSON: Final = "json_invalid"
#: Characters of the reason.
_REASON_CHARS: Final = 200


class AnsweringReader:
    """The stream of a transport's messages, without those that cannot be read.

    Each of these is answered with an error, under the id of the request if the message has one.

    Args:
        read: The transport's stream of messages and exceptions.
        write: The transport's stream for messages to the client.
    """

    def __init__(self, read: Any, write: Any) -> None:
        self._read = read
        self._write = write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    async def receive(self) -> Any:
        """The next message.

        Raises:
            EndOfStream: The client has closed the stream.
        """
        while isinstance(item := await self._read.receive(), Exception):
            await self._write.send(SessionMessage(_answer(item)))
        return item

    def __aiter__(self) -> AnsweringReader:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> AnsweringReader:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._read.aclose()


def _answer(error: Exception) -> types.JSONRPCError:
    faults: list[Any] = []
    if isinstance(error, ValidationError):
        faults += error.errors(include_url=False)
    no_json = any(fault["type"] == _NO_JSON for fault in faults)
    reason = f": {faults[0]['msg']:.{_REASON_CHARS}}" if no_json else ""
    code = types.PARSE_ERROR if no_json else types.INVALID_REQUEST
    text = "the message is not JSON" if no_json else "the message is no request of JSON-RPC 2.0"
    found = types.ErrorData(code=code, message=f"{text}{reason}")
    return types.JSONRPCError(jsonrpc="2.0", id=_request_id(faults), error=found)


def _request_id(faults: list[Any]) -> str | int | None:
    """The id of a request that cannot be read, for its client to know; `None` if it has none."""
    for fault in faults:
        given = fault["input"]
        if fault["type"] == _NO_JSON:  # such as half of a surrogate pair, which Python takes
            try:
                given = json.loads(given)
            except (ValueError, TypeError, RecursionError):
                return None
        is_message = isinstance(given, dict) and ("jsonrpc" in given or "method" in given)
        found = given.get("id") if is_message else None
        if isinstance(found, str | int) and not isinstance(found, bool):
            return _text(found)
    return None


def _text(found: str | int) -> str | int | None:
    """An id that can be sent."""
    if isinstance(found, str):
        return found if found.isprintable() else None
    return found if abs(found) < 2**63 else None
