"""Faults of messages that do not fit the protocol: in a few words, and as ends of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

__all__ = ["failed_response", "fault_of"]

#: Characters of the whole, and of one name in the place of the fault.
_CHARS, _NAME_CHARS = 200, 40
_REASONS: Final[Mapping[str, str]] = {
    "bool_parsing": "is neither true nor false",
    "bool_type": "is neither true nor false",
    "dict_type": "is not an object",
    "list_type": "is not an array",
    "literal_error": "is not one of the values that the protocol allows",
    "missing": "is missing",
    "model_attributes_type": "is not an object",
    "model_type": "is not an object",
    "string_type": "is not a string",
}


def fault_of(error: Exception) -> str:
    """A fault of a message, such as `content.0.text is missing`.

    A message may have one of several forms, and the check finds faults in each. The fault that
    counts is the deepest one of a form that the message claims to have.

    Args:
        error: What the check raised.
    """
    if not isinstance(error, ValidationError):
        return _printable(str(error))[:_CHARS]
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    unknown = [fault for fault in faults if fault["type"] == "literal_error"]
    other = {_form(fault) for fault in unknown}
    claimed = [fault for fault in faults if _form(fault) not in other and _depth(fault)]
    # If no form is claimed, the message has a part of a form that nobody knows.
    shown = max(claimed or unknown or faults, key=_depth)
    place = ".".join(_printable(str(one))[:_NAME_CHARS] for one in _place(shown))
    reason = _REASONS.get(shown["type"]) or f"is not valid: {shown['msg']}"
    return f"{place or 'it'} {_printable(reason)}"[:_CHARS]


def failed_response(found: Any, sender: str) -> JSONRPCError | None:
    """The error of the request that a malformed response belongs to.

    Args:
        found: The message, as JSON has it.
        sender: Who has sent it, for the error's message.

    Returns:
        `None` if the message is not a response, or belongs to no request.
    """
    given = found.get("id") if isinstance(found, dict) and "method" not in found else None
    if isinstance(given, float) and given.is_integer():  # senders that have no integers
        given = int(given)
    if type(given) not in (int, str):
        return None
    error = ErrorData(code=INTERNAL_ERROR, message=f"the {sender}'s answer is malformed")
    return JSONRPCError(jsonrpc="2.0", id=given, error=error)


def _is_form(part: Any) -> bool:
    """Whether a part of a place is the name of a form, and no name in the message."""
    return isinstance(part, str) and (part[:1].isupper() or "[" in part)


def _form(fault: Any) -> tuple[Any, ...]:
    """The place up to the last name of a form."""
    place = fault["loc"]
    last = max((i for i, part in enumerate(place) if _is_form(part)), default=-1)
    return tuple(place[: last + 1])


def _place(fault: Any) -> list[Any]:
    return [part for part in fault["loc"] if not _is_form(part)]


def _depth(fault: Any) -> int:
    return len(_place(fault))


def _printable(text: str) -> str:
    return "".join(sign for sign in text if sign.isprintable())
