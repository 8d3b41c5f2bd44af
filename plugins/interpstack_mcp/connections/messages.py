"""Messages of a server, as they are read.

Answers in another form than MCP's become failures of their requests, so that nobody waits for them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, Final

from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from interpstack_mcp.connections.causes import printable
from interpstack_mcp.connections.failures import Rejected, failed_request
from interpstack_mcp.faults import failed_response

__all__ = ["infinite_in", "read_message"]

#: Bytes at both ends of an answer in which the id of its request is looked for.
_ENDS_BYTES: Final = 512
#: What each number that is not finite has in its text: a word, a large exponent or many digits.
_MAY_BE_INFINITE: Final = re.compile(rb"NaN|Infinity|[eE]\+?\d{3}|\d{200}")
#: Characters of one name in the place of a value, and of the place.
_NAME_CHARS, _PLACE_CHARS = 40, 200
#: Characters of a malformed answer in the error of its request.
_SHOWN_CHARS: Final = 300
_BEGIN: Final = re.compile(rb'\{\s*"(?:jsonrpc|id|result|error)"\s*:')
#: The id, which the SDK numbers, as the first and as the last field.
_VERSION: Final = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID: Final = rb'"id"\s*:\s*"?(\d{1,18})"?'
_ID_FIRST: Final = re.compile(rb"\{\s*(?:%s\s*,\s*)?%s\s*," % (_VERSION, _ID))
_ID_LAST: Final = re.compile(rb",\s*%s\s*(?:,\s*%s\s*)?\}$" % (_ID, _VERSION))


def read_message(data: bytes | str) -> SessionMessage | Exception:
    """A message of a server, or an exception, which the SDK passes over, if there is none.

    An answer that has another form, or is not JSON, becomes the failure of its request, so that
    nobody waits for it; without an id, it has the id `None`. Other output, such as a log, may
    contain messages, and is none. Neither is an answer accepted whose numbers no JSON can carry:
    whoever passes it on would send `null` in their place.
    """
    whole = data if isinstance(data, bytes) else data.encode("utf-8", "replace")
    found: SessionMessage | Exception
    try:
        found = SessionMessage(jsonrpc_message_adapter.validate_json(data, by_name=False))
    except ValueError as error:
        found = _repaired(whole, error)
    if isinstance(found, SessionMessage) and _MAY_BE_INFINITE.search(whole):
        return _finite(found)
    return found


def _finite(found: SessionMessage) -> SessionMessage:
    """The message, or the failure of its request if a number of an answer is not finite."""
    message = found.message
    if isinstance(message, JSONRPCResponse):
        place = infinite_in("result", message.result)
    elif isinstance(message, JSONRPCError):
        place = infinite_in("error.data", message.error.data)
    else:
        return found
    if not place:
        return found
    said = ""
    if isinstance(message, JSONRPCError):
        said = f"; the error is: {printable(message.error.message)[:_SHOWN_CHARS]}"
    why = f"{place} is no number of JSON, which has no NaN, no Infinity and nothing beyond 1.8e308"
    return SessionMessage(failed_request(message.id, Rejected(f"{why}{said}")))


def infinite_in(place: str, value: Any) -> str:
    """The place of the first number that is not finite; empty if there is none."""
    waiting = [(place, value)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, float) and not math.isfinite(value):
            return place
        if isinstance(value, dict):
            parts: Iterable[tuple[Any, Any]] = value.items()
        elif isinstance(value, list):
            parts = enumerate(value)
        else:
            continue
        waiting += [
            (f"{place}.{printable(str(name))[:_NAME_CHARS]}"[:_PLACE_CHARS], part)
            for name, part in reversed([*parts])
        ]
    return ""


def _repaired(data: bytes, error: ValueError) -> SessionMessage | Exception:
    if b'"jsonrpc"' not in data:
        return error
    try:
        found = json.loads(data)
        # Servers cut texts in the middle of a character, and write its halves as escapes.
        units = json.dumps(found, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
        whole = units.decode("utf-16-le", "replace")
    except (ValueError, RecursionError):
        return _broken(data) or error
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(whole, by_name=False))
    except ValueError:
        if not _is_answer(found):
            return error
        if found.get("id") is None:
            return _without_id(found) or error
        failed = failed_response(found, "server")
        if failed is None or failed.id is None:
            return error
        return SessionMessage(failed_request(failed.id, Rejected(_malformed(found))))


def _without_id(found: dict[str, Any]) -> SessionMessage | None:
    """An answer whose id is missing or null, as an error of the server or as a failure."""
    if "error" not in found and "result" not in found:
        return None
    try:
        error = JSONRPCError.model_validate({**found, "id": None}, by_name=False)
    except ValueError:
        return SessionMessage(failed_request(None, Rejected(f"it has no id, and {_fault(found)}")))
    return SessionMessage(error)


def _malformed(found: dict[str, Any]) -> str:
    """The fault of an answer of another form, with its beginning, which may be a server's error."""
    return f"it is malformed: {_fault(found)}"


def _fault(found: dict[str, Any]) -> str:
    part = "error" if "error" in found else "result"
    if part not in found:
        return "it has neither 'result' nor 'error'"
    text = printable(json.dumps(found[part], ensure_ascii=False))
    shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
    return f"its {part} is {shown}"


def _is_answer(found: Any) -> bool:
    """Whether JSON claims to be an answer: a record of a log may have the fields of one, too."""
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return False
    return "result" in found or "error" in found or set(found) <= {"jsonrpc", "id"}


def _broken(data: bytes) -> SessionMessage | None:
    """The failure of the request that an answer belongs to which is not JSON, as one cut short."""
    head = data[:_ENDS_BYTES].lstrip()
    if not _BEGIN.match(head) or b'"method"' in head:
        return None
    found = _ID_FIRST.match(head) or _ID_LAST.search(data[-_ENDS_BYTES:].rstrip())
    if found is None:
        return None
    return SessionMessage(failed_request(int(found[1]), Rejected("it is not JSON")))
