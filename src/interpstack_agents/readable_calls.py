"""Arguments of calls from code as a person or a model reads them: values, not their wire form.

The wire form of `1000n` is `{"$": "bigint", "v": "3e8"}`, which reads as another number. An integer
of any size is shown in digits. Of the values that JSON lacks, a date is shown as
`{"$date": "<ISO 8601>"}`, bytes as `{"$bytes": "<Base64>"}`, and others as `{"$value": "…"}`.
"""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import Any, Final

from interpstack import UNDEFINED, Request, decode
from interpstack_agents.marked_values import Mark

__all__ = ["readable_arguments", "readable_json", "readable_request", "readable_wire"]


def readable_json(value: Any, *, ascii_only: bool = False) -> str:
    """A value of code as JSON that a person reads; no two values have the same text.

    Args:
        value: The value, as the host has it.
        ascii_only: Whether other characters are shown as escapes.
    """
    for mark in _MARKS:
        value = mark.marked(value)
    return json.dumps(value, ensure_ascii=ascii_only)


def readable_request(request: Request, *, ascii_only: bool = False) -> str:
    """The arguments of a request as JSON that a person reads.

    Args:
        request: The request; a malformed one is shown in its wire form.
        ascii_only: Whether other characters are shown as escapes.
    """
    try:
        value = request.wire if request.plain else decode(request.wire)
        return readable_json(value, ascii_only=ascii_only)
    except (TypeError, ValueError):
        return json.dumps(request.wire, ensure_ascii=ascii_only, default=repr)


def readable_arguments(request: Request) -> str:
    """The arguments of a request as `readable_request` has them; empty if it was made without."""
    text = readable_request(request)
    return "" if text == readable_json(UNDEFINED) else text


def readable_wire(text: str) -> str:
    """A recorded value as JSON that a person reads.

    Args:
        text: The wire form, as JSON. One that was cut off stays as it is.
    """
    if '"$"' not in text and "\\u" not in text:  # all of its values are JSON, and can be read
        return text
    try:
        value = decode(json.loads(text))
    except (RecursionError, TypeError, ValueError):
        return text
    return readable_json(value)


def _date(value: Any) -> str | None:
    return value.isoformat() if isinstance(value, datetime) else None


def _base64(value: Any) -> str | None:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else None


def _other(value: Any) -> str | None:
    if value is UNDEFINED:
        return "undefined"
    return None if isinstance(value, str | int | float | None) else repr(value)


def _unread(text: str) -> None:
    """Nobody writes these forms."""


_MARKS: Final = (
    Mark("date", _date, _unread),
    Mark("bytes", _base64, _unread),
    Mark("value", _other, _unread),
)
