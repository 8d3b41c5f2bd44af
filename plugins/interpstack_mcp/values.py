"""Values of code as arguments of MCP tools, and results of MCP tools as values of code."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from mcp import types

from interpstack import GuestException

__all__ = ["BLOCKS", "to_arguments", "to_value"]

#: Characters of the message of a tool that reports an error.
_ERROR_CHARS: Final = 4000
#: The schema of the value of a tool without an output schema: the content blocks of MCP.
BLOCKS: Final[Mapping[str, Any]] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "type": {"enum": ["text", "image", "audio", "resource", "resource_link"]},
            "text": {"type": "string"},
            "data": {"type": "string"},
            "mimeType": {"type": "string"},
            "uri": {"type": "string"},
            "resource": {"type": "object", "additionalProperties": True},
        },
        "required": ["type"],
    },
}


def to_arguments(value: Any) -> Any:
    """A plain value of code as JSON: bytes become Base64, points in time text in ISO 8601.

    Raises:
        TypeError: A number is not finite, or a text has half of a surrogate pair: no message could
            carry it, and the connection would be lost.
    """
    if isinstance(value, dict):
        return {to_arguments(key): to_arguments(item) for key, item in value.items()}
    if isinstance(value, list):
        return [to_arguments(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError("an MCP tool takes JSON, which has no NaN and no Infinity")
    return _unicode(value) if isinstance(value, str) else value


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TypeError(
            "an MCP tool takes Unicode text, which has no halves of surrogate pairs; got "
            f"{text!r:.40}, and toWellFormed() replaces them"
        ) from error
    return text


def to_value(result: types.CallToolResult, *, structured: bool) -> Any:
    """The value of a result in code.

    Args:
        result: The server's answer.
        structured: Whether the tool has an output schema.

    Returns:
        The structured content of a tool with an output schema; else the content blocks, with all
        their fields: `{"type": "image", "mimeType": "image/png", "data": "<Base64>"}`.

    Raises:
        GuestException: The result is an error of the tool.
    """
    if result.is_error:
        texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
        message = "\n".join(texts).strip()[:_ERROR_CHARS] or "the tool failed without a message"
        raise GuestException(message)
    if not structured:
        return [_plain(block) for block in result.content]
    if result.structured_content is None:
        raise GuestException(
            "the tool was called, but its answer has no structured content, which its output "
            "schema promises",
            name="McpAnswerInvalid",
        )
    return result.structured_content


def _plain(block: types.ContentBlock) -> dict[str, Any]:
    return block.model_dump(mode="json", by_alias=True, exclude_none=True)
