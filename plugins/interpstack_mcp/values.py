"""Values of code as arguments of MCP tools, and results of MCP tools as values of code."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from mcp import types

from interpstack import GuestException
from interpstack.values import same_json
from interpstack_mcp.connections.counted import TooManyValues, ValueCount

__all__ = ["BLOCKS", "bounded", "content_beside", "to_arguments", "to_value"]

#: Characters of the message of a tool that reports an error.
_ERROR_CHARS: Final = 4000
#: Characters of one detail of an error, as JSON.
_DETAIL_CHARS: Final = 4000
#: From here on, JavaScript writes numbers with an exponent.
_EXPONENT: Final = 1e21
#: Values in a text that is compared with structured content.
_REPEATED_VALUES: Final = 50_000
#: The schema of the value of a tool without an output schema: the content blocks of MCP.
BLOCKS: Final[Mapping[str, Any]] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "type": {"enum": ["text", "image", "audio", "resource", "resource_link", "structured"]},
            "text": {"type": "string"},
            "data": {"type": "string"},
            "mimeType": {"type": "string"},
            "uri": {"type": "string"},
            "resource": {"type": "object", "additionalProperties": True},
            "structuredContent": {},
        },
        "required": ["type"],
    },
}


def to_arguments(value: Any) -> Any:
    """A plain value of code as JSON: bytes become Base64; points in time and whole numbers get the
    form that JavaScript gives them. Servers refuse `9007199254740992.0` where they want an integer.

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
        return _date(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError("an MCP tool takes JSON, which has no NaN and no Infinity")
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXPONENT:
        return int(value)
    return _unicode(value) if isinstance(value, str) else value


def _date(value: datetime) -> str:
    """A point in time as JavaScript writes it, such as `2026-01-31T12:00:00.000Z`."""
    if value.tzinfo is None:
        return value.isoformat()
    unit = "microseconds" if value.microsecond % 1000 else "milliseconds"
    return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=unit)}Z"


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TypeError(
            "an MCP tool takes Unicode text, which has no halves of surrogate pairs; got "
            f"{text!r:.40}, and toWellFormed() replaces them"
        ) from error
    return text


def to_value(result: types.CallToolResult, *, has_schema: bool) -> Any:
    """The value of a result in code.

    Args:
        result: The server's answer.
        has_schema: Whether the tool has an output schema.

    Returns:
        The structured content of a tool with an output schema; else the content blocks, with all
        their fields: `{"type": "image", "mimeType": "image/png", "data": "<Base64>"}`. Structured
        content of a tool without an output schema is the first of them, as
        `{"type": "structured", "structuredContent": …, "text": "<JSON>"}`.

    Raises:
        GuestException: The result is an error of the tool.
    """
    structured = result.structured_content
    if result.is_error:
        texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
        message = "\n".join(texts).strip()[:_ERROR_CHARS] or "the tool failed without a message"
        raise GuestException(
            message,
            **bounded(
                structuredContent=structured,
                content=None if len(texts) == len(result.content) else _blocks(result.content),
            ),
        )
    if has_schema:
        if structured is None:
            raise GuestException(
                "the tool was called, but its answer has no structured content, which its output "
                "schema promises",
                name="McpAnswerInvalid",
            )
        return structured
    if structured is None:
        return _blocks(result.content)
    text = json.dumps(structured, ensure_ascii=False)
    first = {"type": "structured", "structuredContent": structured, "text": text}
    return [first, *_blocks(_beside(structured, result.content))]


def content_beside(value: Any, result: types.CallToolResult) -> Any:
    """Structured content with the blocks that say more, under `content` or a free name like it."""
    blocks = _blocks(_beside(value, result.content))
    if not blocks or not isinstance(value, dict):
        return value
    name = "content"
    while name in value:
        name += "_"
    return {**value, name: blocks}


def bounded(**detail: Any) -> dict[str, Any]:
    """The details of an error that there are; longer ones are shortened, as JSON text."""
    found: dict[str, Any] = {}
    for name, value in detail.items():
        if value is None:
            continue
        text = json.dumps(value, ensure_ascii=True)
        plain = len(text) <= _DETAIL_CHARS and "NaN" not in text and "Infinity" not in text
        found[name] = value if plain else f"{text[: _DETAIL_CHARS // 2]}…"
    return found


def _beside(structured: Any, blocks: list[types.ContentBlock]) -> list[types.ContentBlock]:
    """The blocks that say more than structured content does.

    Servers repeat structured content as text for clients that do not read it: as JSON, or, where
    the SDK of the server has wrapped a value as `result`, that value or its items.
    """
    texts = [block.text for block in blocks if isinstance(block, types.TextContent)]
    if not _repeats(texts, structured):
        return blocks
    return [block for block in blocks if not isinstance(block, types.TextContent)]


def _repeats(texts: list[str], structured: Any) -> bool:
    forms = [[structured]]
    if isinstance(structured, dict) and set(structured) == {"result"}:
        inner = structured["result"]
        forms += [[inner], inner if isinstance(inner, list) else []]
    for form in forms:
        if len(form) == len(texts) and all(map(_says, texts, form)):
            return True
    return not texts


def _says(text: str, value: Any) -> bool:
    if isinstance(value, str) and text == value:
        return True
    try:
        ValueCount(_REPEATED_VALUES).add(text.encode("utf-8", "replace"))
        return same_json(json.loads(text), value)
    except (ValueError, RecursionError, TooManyValues):
        return False


def _blocks(blocks: list[types.ContentBlock]) -> list[dict[str, Any]]:
    return [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in blocks]
