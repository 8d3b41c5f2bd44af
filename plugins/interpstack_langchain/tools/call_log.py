"""The log of calls from code.

The logger `interpstack.tools` gets one bounded line for each call at `INFO`, and the exact answer
at `DEBUG`. The fields of a line are also attributes of its record: `tool`, `call_id`, `kind`,
`size`, `duration_ms` and `is_error`.
"""

from __future__ import annotations

import logging
import reprlib
import time
from collections.abc import Coroutine
from typing import Any, Final, TypeAlias

from interpstack_langchain.tools.tool_errors import message_of

__all__ = ["logged"]

_Call: TypeAlias = Coroutine[Any, Any, Any]

_log = logging.getLogger("interpstack.tools")
#: Bytes of a preview.
_PREVIEW: Final = 512
_short = reprlib.Repr()
_short.maxstring, _short.maxother, _short.maxlevel = _PREVIEW, _PREVIEW, 4


def logged(tool: str, call_id: str, passes: tuple[type[BaseException], ...], call: _Call) -> _Call:
    """A call whose end is logged; the call itself while nobody listens.

    Args:
        tool: Name of the tool.
        call_id: The call's tool-call id.
        passes: Exceptions that are not the end of the call, such as a pause.
        call: The call; its value is the answer that code gets.
    """
    return _logged(tool, call_id, passes, call) if _log.isEnabledFor(logging.INFO) else call


async def _logged(
    tool: str, call_id: str, passes: tuple[type[BaseException], ...], call: _Call
) -> Any:
    begun = time.monotonic()
    try:
        value = await call
    except BaseException as error:
        if not isinstance(error, passes):
            name, text = type(error).__name__, message_of(error)
            _note(tool, call_id, begun, name, len(text), text, is_error=True)
        raise
    _note(tool, call_id, begun, *_measured(value), value, is_error=False)
    return value


def _note(
    tool: str, call_id: str, begun: float, kind: str, size: int, value: Any, *, is_error: bool
) -> None:
    duration = (time.monotonic() - begun) * 1000
    fields = {
        "tool": tool,
        "call_id": call_id,
        "kind": kind,
        "size": size,
        "duration_ms": duration,
        "is_error": is_error,
    }
    line = "%s: is_error=%s, kind=%s, size=%d, %.1f ms, call %s: %s"
    shown = (_preview(tool), is_error, kind, size, duration, _preview(call_id), _preview(value))
    _log.info(line, *shown, extra=fields)
    _log.debug("%s answered %r", tool, value, extra=fields)


def _measured(value: Any) -> tuple[str, int]:
    """The kind of an answer, and its size in characters, bytes, items or content blocks."""
    if value is None:
        return "nothing", 0
    if isinstance(value, (str, bytes)):
        return ("text" if isinstance(value, str) else "bytes"), len(value)
    if isinstance(value, dict):
        return "object", len(value)
    if not isinstance(value, list):
        return type(value).__name__, 1
    blocks = bool(value) and all(isinstance(item, dict) and "type" in item for item in value)
    return ("content" if blocks else "list"), len(value)


def _preview(value: Any) -> str:
    """A value in one line of printable characters."""
    text = value[:_PREVIEW] if isinstance(value, str) else _short.repr(value)
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:_PREVIEW])
    return printable.encode("utf-8", "replace")[:_PREVIEW].decode("utf-8", "ignore")
